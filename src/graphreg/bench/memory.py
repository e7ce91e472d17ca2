"""Resident memory of this process."""

from __future__ import annotations

from pathlib import Path


def resident_bytes(which: str) -> int:
    """Return the resident memory now (``"VmRSS"``) or at its peak (``"VmHWM"``), in bytes.

    Linux only; `resource.getrusage` would include the peak of the parent process.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith(which))

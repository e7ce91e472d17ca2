"""How much memory a process holds."""

from __future__ import annotations

from pathlib import Path


def resident_bytes(which: str) -> int:
    """Now (VmRSS) or at its peak (VmHWM). Linux; getrusage would count what the parent process held."""
    status = Path("/proc/self/status").read_text()
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith(which))

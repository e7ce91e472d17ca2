"""What a figure was measured with: versions, machine, and a fingerprint of the code."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from graphreg._version import __version__


def setting() -> dict[str, Any]:
    """What the figures depend on beside the code's own settings."""
    from importlib.metadata import version  # slow to import, and rarely needed

    return {
        "graphreg": __version__,
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    """Its model where the system tells, as Linux does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")

"""A function that crashes its worker. Workers import this module, so that it imports little."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import graphreg


def faulty_register(source: Any, target: Any, *, fault: str = "", mark: str = "", **options: Any) -> graphreg.Result:
    """Register, but crash, hang or raise where the job has the setting `fault`.

    The file `mark` is created in the first attempt; where it exists, the fault does not occur.
    """
    if fault and not (mark and Path(mark).exists()):
        if mark:
            Path(mark).touch()
        if fault == "exit":
            os._exit(7)
        if fault == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if fault == "hang":
            time.sleep(1000)
        if fault == "memory":
            raise MemoryError
        raise RuntimeError(fault)
    return graphreg.register(source, target, **options)

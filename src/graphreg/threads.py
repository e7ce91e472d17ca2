"""How many threads a call may use. Results are the same for any number."""

from __future__ import annotations

import operator
import os

from graphreg.errors import InputError


def thread_count(threads: int | None) -> int:
    """`threads` as asked for, or where it is None as many as this process may run on."""
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    try:
        wanted = operator.index(threads)
    except TypeError:
        raise InputError(f"threads: expected a whole number or None, got {threads!r}") from None
    if wanted < 1:
        raise InputError(f"threads: expected at least 1, got {wanted}")
    return min(wanted, 1024)

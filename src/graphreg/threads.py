"""The number of threads that a call uses. Results are the same for any number."""

from __future__ import annotations

import operator
import os

from graphreg.errors import InputError

MAX_THREADS = 1024


def thread_count(threads: int | None) -> int:
    """Validate the argument `threads` of a call.

    Parameters
    ----------
    threads : int or None
        The number of threads, at least 1; None for all cores that this process may run on.

    Returns
    -------
    int
        At most 1024.

    Examples
    --------
    >>> thread_count(2)
    2
    """
    if threads is None:
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1
    try:
        count = operator.index(threads)
    except TypeError:
        raise InputError(f"threads: expected a whole number or None, got {threads!r}") from None
    if count < 1:
        raise InputError(f"threads: expected at least 1, got {count}")
    return min(count, MAX_THREADS)

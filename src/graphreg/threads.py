"""The number of threads that a call uses. Results are the same for any number."""

from __future__ import annotations

import os

from graphreg.argument_checks import check_integer

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
    return min(check_integer("threads", threads, 1), MAX_THREADS)

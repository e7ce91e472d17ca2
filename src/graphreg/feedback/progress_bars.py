"""Progress of calls that take long: a bar on standard error or in a notebook, a function, or a bar of tqdm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from graphreg.argument_checks import shown
from graphreg.errors import InputError

Progress = Callable[[int, int], Any]
"""Called as progress(done, total); the total may grow, and is 0 where it is not known."""


Item = TypeVar("Item")


def check_progress(progress: Any) -> None:
    """Refuse an argument `progress` that `progress_bar` cannot use, before the work begins."""
    if not (progress is None or isinstance(progress, bool) or callable(progress) or _is_bar(progress)):
        raise InputError(f"progress: expected True, False, a function or a bar of tqdm, got {shown(progress)}")


def _is_bar(progress: Any) -> bool:
    return all(hasattr(progress, name) for name in ("n", "total", "update"))


@contextmanager
def progress_bar(progress: Any, what: str) -> Iterator[Progress | None]:
    """Show the progress of a call as its caller asks for.

    Parameters
    ----------
    progress : bool, callable, bar of tqdm, or None
        True for a bar on standard error, which disappears at the end. A function is called as progress(done, total).
        A bar of tqdm, or anything else that has `n`, `total` and `update`, is updated.
    what : str
        What is done, as in "registering pairs".

    Yields
    ------
    callable or None
        Takes the number done and the total; None where nothing is to be shown.

    Raises
    ------
    InputError
        Where `progress` is something else.

    Examples
    --------
    >>> with progress_bar(lambda done, total: print(done, "of", total), "counting") as show:
    ...     show(1, 2)
    1 of 2
    """
    check_progress(progress)
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with _bar(what) as show:
            yield show
    elif _is_bar(progress):

        def update(done: int, total: int) -> None:
            progress.total = total or None
            progress.update(done - progress.n)

        yield update
    else:
        yield progress


def counted(items: Iterable[Item], progress: Any, what: str, total: int = 0) -> Iterator[Item]:
    """Yield items, and show how many are done.

    Parameters
    ----------
    items : iterable
    progress, what
        As in `progress_bar`.
    total : int, default 0
        Number of items; 0 where it is not known.

    Examples
    --------
    >>> list(counted("ab", lambda done, total: print(done, "of", total), "spelling", 2))
    1 of 2
    2 of 2
    ['a', 'b']
    """
    with progress_bar(progress, what) as show:
        for done, item in enumerate(items, 1):
            yield item
            if show is not None:
                show(done, total)


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    # Imported here, as `import graphreg` must stay fast.
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    console = Console(stderr=True)
    hidden = not (console.is_terminal or console.is_jupyter)
    with Progress(*columns, console=console, transient=True, disable=hidden) as bars:
        task = bars.add_task(what, total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total or None)

        yield show

"""Progress bars on standard error, only where a person looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for bytes: call it with how many are done, of how many."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield show


@contextmanager
def steps(what: str) -> Iterator[Callable[[int], None]]:
    """A sign of life for work whose steps are few or of unknown number: call it with the number of each step."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}, step {task.completed}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task(what, total=None)

        def show(number: int) -> None:
            bars.update(task, completed=number)

        yield show


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life for work that is a single step."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bars.add_task(what, total=None)
        yield


def each(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """A bar over a known number of items."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    yield from track(items, what, total, console=console, transient=True, disable=not console.is_terminal)

"""Progress bars on standard error, only where a person looks on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from graphreg.cli.console import detail, is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

T = TypeVar("T")


@contextmanager
def reading(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for bytes: call it with how many are done, of how many."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    described = TextColumn("{task.description}")
    with _bar(what, described, BarColumn(), DownloadColumn(), TimeRemainingColumn()) as (bars, task):

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield show


@contextmanager
def steps(what: str) -> Iterator[Callable[[int], None]]:
    """A sign of life for work whose steps are few or of unknown number: call it with the number of each step."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    described = TextColumn("{task.description}, step {task.completed}")
    with _bar(what, SpinnerColumn(), described, TimeElapsedColumn()) as (bars, task):

        def show(number: int) -> None:
            bars.update(task, completed=number)

        yield show


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life for work that is a single step."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _bar(what, SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()):
        yield


def each(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """A bar over a known number of items."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    described = TextColumn("{task.description}")
    with _bar(what, described, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as (bars, task):
        yield from bars.track(items, total, task)


@contextmanager
def counting(what: str) -> Iterator[Callable[..., None]]:
    """A bar for work of which there may come to be more: call it with how much is done, of how much, and where it is
    known how much a second."""
    from datetime import timedelta

    from rich.progress import BarColumn, TextColumn

    with _bar(what, TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[said]}")) as (bars, task):

        def show(done: int, total: int, rate: float = 0.0) -> None:
            pace = f", {rate:.3g} a second, {timedelta(seconds=round((total - done) / rate))} left" if rate else ""
            bars.update(task, completed=done, total=total, said=f"{done:,} of {total:,}{pace}")

        yield show


@contextmanager
def _bar(what: str, *columns: ProgressColumn) -> Iterator[tuple[Progress, TaskID]]:
    import time

    from rich.console import Console
    from rich.progress import Progress

    began = time.perf_counter()
    console = Console(stderr=True)
    hidden = is_quiet() or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bars:
        yield bars, bars.add_task(what, total=None, said="")
    detail(f"{what}: {time.perf_counter() - began:.2f} s")

"""Progress bars on standard error, only if that is a terminal; with --verbose, the duration of each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from graphreg.cli.console import detail, is_quiet

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

T = TypeVar("T")


@contextmanager
def byte_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for bytes; yields a function of the bytes done and the total."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    description = TextColumn("{task.description}")
    with _bar(what, description, BarColumn(), DownloadColumn(), TimeRemainingColumn()) as (bars, task):

        def show(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield show


@contextmanager
def iteration_progress(what: str) -> Iterator[Callable[[int], None]]:
    """A spinner for an unknown number of iterations; yields a function of the number of the iteration."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    description = TextColumn("{task.description}, iteration {task.completed}")
    with _bar(what, SpinnerColumn(), description, TimeElapsedColumn()) as (bars, task):

        def show(number: int) -> None:
            bars.update(task, completed=number)

        yield show


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """A spinner for work of a single step."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _bar(what, SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()):
        yield


def item_progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """A bar over a known number of items."""
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    description = TextColumn("{task.description}")
    with _bar(what, description, BarColumn(), TaskProgressColumn(), TimeRemainingColumn()) as (bars, task):
        yield from bars.track(items, total, task)


@contextmanager
def count_progress(what: str) -> Iterator[Callable[..., None]]:
    """A bar for work whose total may grow; yields a function of the number done, the total and the rate per second."""
    from datetime import timedelta

    from rich.progress import BarColumn, TextColumn

    with _bar(what, TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}")) as (bars, task):

        def show(done: int, total: int, rate: float = 0.0) -> None:
            pace = f", {rate:.3g} per second, {timedelta(seconds=round((total - done) / rate))} left" if rate else ""
            bars.update(task, completed=done, total=total, count=f"{done:,} of {total:,}{pace}")

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
        yield bars, bars.add_task(what, total=None, count="")
    detail(f"{what}: {time.perf_counter() - began:.2f} s")

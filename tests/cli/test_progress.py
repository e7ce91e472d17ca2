"""Progress: nothing where there is no terminal, and durations with --verbose."""

from __future__ import annotations

from contextvars import copy_context

import pytest

from graphreg.cli.console import set_verbose
from graphreg.cli.progress import byte_progress, count_progress, item_progress, iteration_progress, spinner


def use_all() -> None:
    with byte_progress("reading") as bytes_done:
        bytes_done(1, 2)
    with iteration_progress("registering") as iteration:
        iteration(3)
    with spinner("writing"):
        pass
    assert list(item_progress("abc", "frames", 3)) == ["a", "b", "c"]
    with count_progress("jobs") as count:
        count(0, 5)
        count(1, 6, 0.5)


def test_nothing_is_printed_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    use_all()
    assert capsys.readouterr() == ("", "")


def test_verbose_prints_the_duration_of_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    def verbose() -> None:
        set_verbose(True)
        use_all()

    copy_context().run(verbose)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["reading", "registering", "writing", "frames", "jobs"]
    assert all(line.endswith(" s") for line in lines)

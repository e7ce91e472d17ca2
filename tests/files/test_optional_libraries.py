"""Optional libraries: a missing one is reported with its extra, and their errors become errors of the file."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from graphreg.errors import FileError, MissingExtraError
from graphreg.files.optional_libraries import import_library, reporting_damage


def test_a_library_is_imported() -> None:
    assert import_library("json", "reading", "extra").loads("1") == 1


def test_a_missing_library_is_reported_with_the_command_that_installs_it() -> None:
    with pytest.raises(MissingExtraError, match=r"reading X files needs .*pip install 'graphreg\[x\]'"):
        import_library("graphreg_no_such_library", "reading X files", "x")


@pytest.mark.parametrize("problem", [ValueError("bad\nmore"), RuntimeError(), BaseException("panic"), OSError("odd")])
def test_errors_of_a_library_become_errors_of_the_file(problem: BaseException) -> None:
    with (
        pytest.raises(FileError, match=r"a\.las: is damaged \((bad|RuntimeError|panic|odd)\)"),
        reporting_damage(Path("a.las")),
    ):
        raise problem


@pytest.mark.parametrize(
    "problem", [KeyboardInterrupt(), SystemExit(1), FileError("b", "x"), OSError(errno.ENOSPC, "full")]
)
def test_errors_of_the_system_and_interrupts_are_passed_on(problem: BaseException) -> None:
    with pytest.raises(type(problem)) as caught, reporting_damage(Path("a.las")):
        raise problem
    assert caught.value is problem

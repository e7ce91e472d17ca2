"""Libraries of optional formats: imported when they are needed, their errors reported as errors of the file."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from graphreg.errors import FileError, MissingExtraError


def import_library(name: str, purpose: str, extra: str) -> Any:
    """Import the library of an optional format.

    Parameters
    ----------
    name : str
        The module.
    purpose, extra : str
        What needs it, and the extra that installs it, see `MissingExtraError`.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        Where it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingExtraError(purpose, extra) from problem


@contextlib.contextmanager
def reporting_damage(path: Path) -> Iterator[None]:
    """Convert what a library raises about a damaged file to a FileError; errors of the system are passed on."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, FileError):
        raise
    except BaseException as problem:  # a panic of Rust code is no Exception
        # An invalid argument is a position beyond any file, which the file states.
        if isinstance(problem, OSError) and problem.errno not in (None, errno.EINVAL):
            raise
        message = str(problem).strip().split("\n")[0] or type(problem).__name__
        raise FileError(path, f"is damaged ({message})") from problem

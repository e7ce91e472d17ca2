"""Exceptions that graphreg raises."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """An argument that cannot be used; the message names it, its value and what was expected."""


class FileError(InputError):
    """A file that cannot be read or written as asked for.

    Parameters
    ----------
    path : str or Path
        The file, which the message names.
    problem : str
        What is wrong with it.
    """

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = Path(path)
        self.problem = problem

    def __reduce__(self) -> tuple[type[FileError], tuple[Path, str]]:
        return type(self), (self.path, self.problem)


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message has the command that installs it.

    Parameters
    ----------
    purpose : str
        What needs the dependency, as in "reading LAS files".
    extra : str
        The extra of graphreg that installs it, as in "las".
    """

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an extra that is not installed: pip install 'graphreg[{extra}]'")
        self.purpose = purpose
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.purpose, self.extra)

"""What goes wrong, and how the user is told."""

from __future__ import annotations

from pathlib import Path


class InputError(ValueError):
    """An argument that cannot be used: the message says which one, what it held and what was expected."""


class FileError(InputError):
    """A file that cannot be read as a point cloud: the message holds its name and what is wrong with it."""

    def __init__(self, path: str | Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = Path(path)
        self.problem = problem

    def __reduce__(self) -> tuple[type[FileError], tuple[Path, str]]:
        return type(self), (self.path, self.problem)


class MissingExtraError(ImportError):
    """A library that only this call needs is not installed: the message holds the command that installs it."""

    def __init__(self, purpose: str, extra: str) -> None:
        super().__init__(f"{purpose} needs an extra that is not installed: pip install 'graphreg[{extra}]'")
        self.purpose = purpose
        self.extra = extra

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.purpose, self.extra)

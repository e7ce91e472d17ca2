"""Damage to one file of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def damage(path: str, content: str | None) -> Callable[[Path], None]:
    """A function that writes another content to a file of a folder, or deletes it."""

    def change(root: Path) -> None:
        if content is None:
            (root / path).unlink()
        else:
            (root / path).write_text(content)

    return change

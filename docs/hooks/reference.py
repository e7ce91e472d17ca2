"""For mkdocstrings: every docstring as Markdown, its rows of names as tables."""

from __future__ import annotations

from typing import Any

import griffe

from docstrings import as_markdown  # the hook beside it has put this folder on the path


class Tables(griffe.Extension):
    """Rewrites docstrings when an object has been found."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

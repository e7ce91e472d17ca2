"""Parsing of HTML pages: their elements, texts and embedded data."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """The elements and texts of a page; fails on an element that is not closed.

    Attributes
    ----------
    elements : list of (str, dict)
        Name and attributes of every element.
    texts : dict of str to list of str
        The texts of the elements of each name.
    """

    VOID = ("meta", "wbr", "link", "input", "img", "br", "rect", "path", "polyline")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and data.strip():
            self.texts.setdefault(self._open[-1], []).append(data.strip())

    def text(self) -> str:
        """Return the visible text of the page."""
        shown = (texts for tag, texts in self.texts.items() if tag not in ("script", "style"))
        return " ".join(text for texts in shown for text in texts)

    def data(self) -> dict[str, Any]:
        """Return the data of the interactive viewer."""
        data: dict[str, Any] = json.loads(next(text for text in self.texts["script"] if text.startswith("{")))
        return data

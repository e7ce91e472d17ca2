"""Explanations of terms on pages, from the table that the glossary of the documentation shows."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from pathlib import Path

GLOSSARY = Path(__file__).parent / "page" / "glossary.md"
# A link or an emphasis of Markdown, of which the text stays.
MARKUP = re.compile(r"\[([^]]*)\]\([^)]*\)|[*`]")


def glossary_table() -> str:
    """Return the table of the glossary, as Markdown."""
    return GLOSSARY.read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def terms() -> dict[str, str]:
    """Return {term in lower case: its meaning, as plain text}; terms that share a line share a meaning.

    Examples
    --------
    >>> terms()["overlap"]
    "share of the source that is on the target's surface after registration"
    """
    rows = (line.strip("| ").split(" | ", 1) for line in glossary_table().splitlines()[2:])
    return {
        term.strip().lower(): MARKUP.sub(lambda found: found[1] or "", meaning)
        for names, meaning in rows
        for term in names.split(",")
    }


def explained(text: str) -> str:
    """Escape a name, and explain it on hover where it is a term of the glossary, also in the plural.

    Examples
    --------
    >>> explained("a < b")
    'a &lt; b'
    >>> explained("RPE")
    '<abbr title="relative pose error, between consecutive frames">RPE</abbr>'
    """
    known = terms()
    meaning = known.get(text.lower()) or known.get(text.lower().removesuffix("s"))
    return f'<abbr title="{escape(meaning)}">{escape(text)}</abbr>' if meaning else escape(text)

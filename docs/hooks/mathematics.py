"""Formulas as MathML, which browsers show by themselves: no script, no font and no network is needed."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

# As pymdownx.arithmatex leaves them: \(...\) in a line, \[...\] on lines of their own.
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def with_formulas(page: str) -> str:
    """The HTML of a page with its formulas made."""
    return FORMULA.sub(_formula, page)


def _formula(found: re.Match[str]) -> str:
    # After \Big the converter knows a norm only by its letter.
    tag, text = found[1], html.unescape(found[2]).strip()
    made = convert(text.replace(r"\|", "\N{DOUBLE VERTICAL LINE}"), display="inline" if tag == "span" else "block")
    return f'<{tag} class="formula">{made}</{tag}>'

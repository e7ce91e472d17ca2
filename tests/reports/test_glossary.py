"""Explanations of terms: every term of the glossary has one, and pages show them on hover."""

from __future__ import annotations

from graphreg.reports.glossary import explained, terms
from graphreg.reports.page_layout import figure_cards, table


def test_every_term_has_a_plain_meaning() -> None:
    assert {"overlap", "inlier rmse", "rpe", "ate", "confidence", "surfel", "degenerate direction"} <= set(terms())
    for meaning in terms().values():
        assert meaning
        assert not set(meaning) & set("*`[]")


def test_terms_are_explained_in_cards_and_heads_of_tables_alone() -> None:
    title = f'title="{terms()["overlap"]}"'
    assert figure_cards([("Overlap", "93 %", "")]).count("<abbr") == 1
    assert table([("", "overlap", "colour"), ("a", "overlap", "blue")], "t").count("<abbr ") == 1
    assert title in table([("", "overlap", "colour"), ("a", "1", "2")], "t").replace("&#x27;", "'")


def test_other_names_and_markup_are_escaped() -> None:
    assert explained("a <b>") == "a &lt;b&gt;"
    assert explained("Degenerate directions").startswith("<abbr ")

"""What notebooks show of results; the pictures are tested with `graphreg.reports.notebook_pictures`."""

from __future__ import annotations

from graphreg.feedback.notebooks import notebook_html


def test_a_value_without_a_picture_is_text() -> None:
    assert notebook_html("a < b") == "<pre>a &lt; b</pre>"

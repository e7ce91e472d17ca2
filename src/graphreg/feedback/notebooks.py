"""Results in notebooks: their text, and a picture where a module above this layer makes one."""

from __future__ import annotations

from functools import singledispatch
from importlib import import_module
from typing import Any

# The module that registers functions with `html_with_picture`. It is imported when a notebook shows a result.
module_of_pictures: str | None = None


def notebook_html(result: Any) -> str:
    """Return the HTML that a notebook shows of a result.

    Parameters
    ----------
    result : object

    Returns
    -------
    str
        With a picture, if one is made of such results; else its text.
    """
    if module_of_pictures is not None:
        import_module(module_of_pictures)
    return html_with_picture(result)


@singledispatch
def html_with_picture(result: Any) -> str:
    """Return the text of a result as HTML; functions are registered for results that there is a picture of."""
    return text_html(result)


def text_html(result: Any) -> str:
    """Return the text of a result as HTML."""
    from html import escape

    return f"<pre>{escape(str(result))}</pre>"

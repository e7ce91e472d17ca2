"""Hooks of mkdocs: parts made from the code are inserted into the pages, formulas are converted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from generated import every_command, list_of_formats, list_of_methods, settings_of_every_method
from graphreg.reports.glossary import glossary_table
from mathematics import with_formulas

PARTS = {
    "<!-- settings of every method -->": settings_of_every_method,
    "<!-- list of methods -->": list_of_methods,
    "<!-- list of formats -->": list_of_formats,
    "<!-- every command -->": every_command,
    "<!-- glossary -->": glossary_table,
}
EXAMPLE = re.compile(r"<!-- example (\w+\.py) -->")
COUNT = re.compile(r"(<td[^>]*>[\d,]+) of ([\d,]+</td>)")
EXAMPLES = Path(__file__).parents[2] / "examples"


def on_config(config: Any) -> Any:
    """Under Results stand all pages of docs/results, by their own titles."""
    folder = Path(config.docs_dir)
    for entry in config.nav:
        if "Results" in entry:
            pages = sorted(folder.glob("results/*.md"), key=lambda page: (page.stem != "README", page.stem))
            entry["Results"] = [page.relative_to(folder).as_posix() for page in pages]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    for marker, part in PARTS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, part())
    return EXAMPLE.sub(lambda found: _fenced(EXAMPLES / found[1]), markdown)


def on_page_content(html: str, **_: Any) -> str:
    return with_formulas(COUNT.sub(r"\1&nbsp;of&nbsp;\2", html))


def _fenced(script: Path) -> str:
    return f"```python\n{script.read_text(encoding='utf-8').strip()}\n```"

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
EXAMPLES = Path(__file__).parents[2] / "examples"


def on_config(config: Any) -> Any:
    """Under Results stand all pages of docs/results, by their own titles."""
    folder = Path(config.docs_dir)
    for entry in config.nav:
        if "Results" in entry:
            pages = sorted(folder.glob("results/*.md"), key=lambda page: (page.stem != "README", page.stem))
            entry["Results"] = [page.relative_to(folder).as_posix() for page in pages]
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    for marker, part in PARTS.items():
        if marker in markdown:
            markdown = markdown.replace(marker, part())
    markdown = EXAMPLE.sub(lambda found: _fenced(EXAMPLES / found[1]), markdown)
    if page.file.src_uri.startswith("results/"):
        markdown += _figures(Path(page.file.abs_src_path), markdown)
    return markdown


def on_page_content(html: str, **_: Any) -> str:
    return with_formulas(html)


def _fenced(script: Path) -> str:
    return f"```python\n{script.read_text(encoding='utf-8').strip()}\n```"


def _figures(page: Path, markdown: str) -> str:
    """The figures that lie beside a page of results, where it does not show them itself."""
    beside = [*page.parent.glob(f"{page.stem}.svg"), *sorted(page.parent.glob(f"{page.stem}_*.svg"))]
    return "".join(f"\n\n![{figure.stem}]({figure.name})" for figure in beside if figure.name not in markdown)

"""The layout that all pages share: one HTML file that opens offline in any browser, light or dark, and prints well.

A page is a list of sections, each a heading and any HTML. The functions here make the usual contents of a section:
tables, figures, charts and images. They escape their text arguments; callers that write HTML of their own escape it
themselves. Style sheets and scripts are files in `page/`.

Examples
--------
>>> sections = {"Time": timing_table({"search": 0.2}), "Poses": sortable_table([{"scan": "a", "x": 0.5}], "Poses")}
>>> page_from_sections("Two scans", sections).splitlines()[0]
'<!doctype html>'
"""

from __future__ import annotations

import base64
import datetime
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from graphreg.files.output_file import atomic_write
from graphreg.provenance import machine, package_versions
from graphreg.reports.glossary import explained
from graphreg.reports.table_cells import cell, columns_of, is_number

ASSETS = Path(__file__).parent / "page"
# Figures with more characters are set in a smaller font.
MAX_LARGE_FIGURE = 24
# Pages with at least this many sections have a table of contents.
MIN_CONTENTS = 4
# Tables with at least this many columns beside the row headers scroll in narrow windows.
WIDE_TABLE_COLUMNS = 3

# A number, with its unit.
NUMBER = re.compile(r"[-+±]?[\d.,]+(e[-+]?\d+)?(\s?[%°]|\s\S{1,3})?$")

Row = tuple[str, ...]


def page_from_sections(title: str, sections: Mapping[str, str], kind: str = "report") -> str:
    """Build a page from sections.

    Parameters
    ----------
    title : str
        Title of the page, as plain text.
    sections : mapping of str to str
        {heading: HTML}, in order. A section without a heading comes first.
    kind : str, default "report"
        Kind of page, displayed above the title.

    Returns
    -------
    str
        The HTML of the page.
    """
    headings = [heading for heading in sections if heading]
    contents = "".join(f'<li><a href="#s{k}">{escape(heading)}</a></li>' for k, heading in enumerate(headings, 1))
    blocks = [f'<nav aria-label="Contents"><ul>{contents}</ul></nav>'] if len(headings) >= MIN_CONTENTS else []
    for heading, body in sections.items():
        if heading:
            anchor = f"s{headings.index(heading) + 1}"
            blocks.append(
                f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{escape(heading)}</h2>\n{body}\n</section>'
            )
        else:
            blocks.insert(0, f"<section>\n{body}\n</section>")
    return page_from_body(title, escape(title), kind, "\n\n".join(blocks))


def page_from_body(
    title: str, heading: str, kind: str, body: str, styles: Iterable[str] = (), scripts: Iterable[str] = ()
) -> str:
    """Build a page whose body has a layout of its own.

    Parameters
    ----------
    title : str
        Title of the window, as plain text.
    heading, body : str
        HTML.
    kind : str
        Kind of page, displayed above the heading.
    styles, scripts : iterable of str
        Files of `page/` that are added to `layout.css` and run after `layout.js`. That script dispatches the event
        "themechange" when the page changes between light and dark.

    Returns
    -------
    str
        The HTML of the page.
    """
    return Template(asset("layout.html")).substitute(
        title=escape(title),
        heading=heading,
        kind=escape(kind),
        style="\n".join(map(asset, ("layout.css", *styles))),
        body=body,
        footer=escape(_footer()),
        script="\n".join(map(asset, ("layout.js", *scripts))),
    )


def asset(name: str) -> str:
    """Read a file of `page/`."""
    return (ASSETS / name).read_text(encoding="utf-8")


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Write a page. The file is replaced as a whole or not at all."""
    with atomic_write(Path(path)) as output:
        output.file.write(text.encode(errors="backslashreplace"))  # of names that are no UTF-8


def verdict_banner(success: bool, headline: str, reason: str, beside: str = "") -> str:
    """Format a verdict on green or red; `beside` is HTML to the right of it."""
    return (
        f'<section class="verdict {"good" if success else "bad"}" aria-label="Verdict">\n'
        f'<span class="mark" aria-hidden="true">{"✓" if success else "✕"}</span>\n'
        f"<div><h2>{escape(headline)}</h2><p>{escape(reason)}</p></div>\n{beside}</section>"
    )


def figure_cards(cards: Iterable[tuple[str, str, str]]) -> str:
    """Format key figures as cards: (name, value, explanation)."""
    blocks = (
        f'<div><dt>{explained(name)}</dt><dd class="{"long" if len(value) > MAX_LARGE_FIGURE else "short"}">'
        f"{_unbroken(value)}<small>{escape(note)}</small></dd></div>"
        for name, value, note in cards
    )
    return '<dl class="figures">\n' + "\n".join(blocks) + "\n</dl>"


def chart_grid(figures: Iterable[str]) -> str:
    """Arrange chart figures side by side, as far as the width of the window allows."""
    return '<div class="charts">\n' + "\n".join(figures) + "\n</div>"


def chart_figure(svg: str, note: str = "", kind: str = "", data: str = "") -> str:
    """Embed an SVG of `line_chart`; its colours follow the theme of the page.

    Parameters
    ----------
    svg : str
        Text of the chart.
    note : str, optional
        Caption below the chart.
    kind, data : str, optional
        Class name and data attributes of the figure, as HTML.
    """
    caption = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    labelled = svg.replace("<svg ", '<svg role="img" ', 1)
    return f'<figure class="chart {kind}" {data}>{labelled}{caption}</figure>'


def image(content: bytes, description: str) -> str:
    """Embed a PNG or an SVG, at most as wide as the page, with a description for screen readers."""
    return f'<img class="picture" alt="{escape(description)}" src="{data_uri(content)}">'


def data_uri(content: bytes) -> str:
    """Encode a PNG or an SVG as a data URI."""
    kind = "png" if content.startswith(b"\x89PNG") else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def json_script(text: str) -> str:
    """Escape JSON for a script element, in which nothing may look like the end of that element."""
    return text.replace("<", "\\u003c")


def table(rows: Iterable[Row], caption: str) -> str:
    """Format a table whose first column is the row header.

    Parameters
    ----------
    rows : iterable of tuple of str
        (header, cell, ...); a row with an empty header is the head of the table.
    caption : str
        Name of the table, for screen readers.
    """
    lines, wide, names = [], False, list[str]()
    for header, *cells in rows:
        wide = wide or len(cells) >= WIDE_TABLE_COLUMNS
        if header:
            lines.append(f'<tr><th scope="row">{_breakable(header)}</th>{labelled_cells(names, cells)}</tr>')
        else:
            names = cells
            head = "".join(f'<th scope="col">{explained(text)}</th>' for text in cells)
            lines.append(f"<thead><tr><td></td>{head}</tr></thead>")
    html = _captioned(lines, caption)
    return scroll_region("wide-table", html, caption) if wide else html


def labelled_cells(names: Sequence[str], cells: Sequence[str]) -> str:
    """Format the cells of a row; on phones, where a row is a block, the names of their columns precede them."""
    labels = names if len(names) == len(cells) else [""] * len(cells)
    return "".join(
        f'<td class="{"nowrap" if NUMBER.match(text) else "text"}" data-label="{escape(name)}">{escape(text)}</td>'
        for name, text in zip(labels, cells, strict=True)
    )


def scroll_region(kind: str, body: str, name: str) -> str:
    """Wrap HTML that may be wider than the window, so that keyboards and screen readers can reach it."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(name)}">{body}</div>'


def sortable_table(rows: Sequence[Mapping[str, Any]], caption: str, published_prefix: str = "paper: ") -> str:
    """Format records as a table that a click on a column header sorts.

    Parameters
    ----------
    rows : sequence of mapping
        Records with the same keys. The first field is the row header; fields that contain lists or mappings are left
        out.
    caption : str
        Name of the table, for screen readers.
    published_prefix : str, default "paper: "
        Columns with this prefix contain published figures and are set in italics.
    """
    names = columns_of(rows)
    numeric = {name for name in names if is_number(rows, name)}
    classes = {
        name: " ".join(["number"] * (name in numeric) + ["published"] * name.startswith(published_prefix))
        for name in names
    }
    headers = {name: _breakable(name) if (shown := explained(name)) == escape(name) else shown for name in names}
    head = "".join(f'<th scope="col" class="{classes[name]}">{headers[name]}</th>' for name in names)
    lines = [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row in rows:
        header, *others = (escape(cell(row[name])) for name in names)
        data = "".join(f'<td class="{classes[name]}">{text}</td>' for name, text in zip(names[1:], others, strict=True))
        lines.append(f'<tr><th scope="row">{header}</th>{data}</tr>')
    lines.append("</tbody>")
    return scroll_region("records", _captioned(lines, caption), caption)


def timing_table(timings: Mapping[str, float]) -> str:
    """Format the seconds of each stage as a table with bars, the total last."""
    stages = {name: seconds for name, seconds in timings.items() if name != "total"}
    whole = max(sum(stages.values()), 1e-9)
    rows = [
        f'<tr><th scope="row">{escape(name)}</th><td class="number">{seconds:.3f} s</td>'
        f'<td class="bar" aria-hidden="true"><span style="width:{100 * seconds / whole:.1f}%"></span></td></tr>'
        for name, seconds in stages.items()
    ]
    total = timings.get("total", whole)
    rows.append(f'<tr class="total"><th scope="row">total</th><td class="number">{total:.3f} s</td><td></td></tr>')
    return _captioned(rows, "Seconds of each stage")


def _breakable(text: str) -> str:
    """Escape the name of a file or a column, which may break at its underscores."""
    return escape(text).replace("_", "_<wbr>")


def _unbroken(text: str) -> str:
    """Escape text whose numbers must not break, as they could at their signs."""
    parts = (
        f'<span class="nowrap">{escape(part)}</span>' if NUMBER.match(part) else escape(part)
        for part in text.split(", ")
    )
    return ", ".join(parts)


def _captioned(lines: Iterable[str], caption: str) -> str:
    return f"<table><caption>{escape(caption)}</caption>\n" + "\n".join(lines) + "\n</table>"


def _footer() -> str:
    """The date, the versions and the machine."""
    at = {**package_versions(), **machine()}
    when = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")
    return (
        f"Written {when} by graphreg {at['graphreg']}, numpy {at['numpy']}, scipy {at['scipy']}, Python {at['python']} "
        f"on {at['system']} {at['architecture']}, {at['cores']} cores, {at['processor']}"
    )

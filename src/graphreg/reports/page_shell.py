"""One shell for all pages: a single HTML file that opens offline in any browser, light or dark, and prints well.

text = page("Two scans", {"Time": times({"search": 0.2}), "Poses": records(rows, "The pose of each scan")})
write_page("report.html", text)

A section is a heading and any HTML; the functions here make what most sections hold. Texts are escaped by them, and
are to be escaped by whoever writes HTML of their own. Style and scripts are in `page/`.
"""

from __future__ import annotations

import base64
import datetime
import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from graphreg.files.output_file import atomic_write
from graphreg.provenance import machine, package_versions
from graphreg.reports.table_cells import cell, columns_of, is_number

PARTS = Path(__file__).parent / "page"
# Figures of more letters are set smaller.
LONG_VALUE = 24
# So many sections or more get a list of contents.
LEAST_CONTENTS = 4
# A table of so many columns beside the names of its rows is wide.
WIDE = 3

Row = tuple[str, ...]


def page(title: str, sections: Mapping[str, str], kind: str = "report") -> str:
    """The whole text of a page.

    title     its name, as plain text
    sections  {heading: HTML}, in this order; one without a heading stands above the others
    kind      what sort of page it is, above the title
    """
    named = [heading for heading in sections if heading]
    contents = "".join(f'<li><a href="#s{k}">{escape(heading)}</a></li>' for k, heading in enumerate(named, 1))
    parts = [f'<nav aria-label="Contents"><ul>{contents}</ul></nav>'] if len(named) >= LEAST_CONTENTS else []
    for heading, body in sections.items():
        if heading:
            name = f"s{named.index(heading) + 1}"
            parts.append(
                f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(heading)}</h2>\n{body}\n</section>'
            )
        else:
            parts.insert(0, f"<section>\n{body}\n</section>")
    return shell(title, escape(title), kind, "\n\n".join(parts))


def shell(title: str, heading: str, kind: str, body: str, style: str = "", scripts: Iterable[str] = ()) -> str:
    """What is about a body that is laid out by itself.

    title          plain text, for the window
    heading, body  HTML
    style          beyond that of all pages
    scripts        run after the one of all pages, which tells by the event "dressed" that light and dark have changed
    """
    return Template(part("shell.html")).substitute(
        title=escape(title),
        heading=heading,
        kind=escape(kind),
        style=part("shell.css") + style,
        body=body,
        footer=escape(_footer()),
        script="\n".join([part("shell.js"), *scripts]),
    )


def part(name: str) -> str:
    """A file of `page/`."""
    return (PARTS / name).read_text(encoding="utf-8")


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """The file appears whole or not at all."""
    with atomic_write(Path(path)) as output:
        output.file.write(text.encode())


def verdict(good: bool, headline: str, reason: str, beside: str = "") -> str:
    """What was found, in words, on green or red; beside: HTML that stands to the right of it."""
    return (
        f'<section class="verdict {"good" if good else "bad"}" aria-label="Verdict">\n'
        f'<span class="mark" aria-hidden="true">{"✓" if good else "✕"}</span>\n'
        f"<div><h2>{escape(headline)}</h2><p>{escape(reason)}</p></div>\n{beside}</section>"
    )


def figures(told: Iterable[tuple[str, str, str]]) -> str:
    """The figures that sum something up: name, value, and what it means."""
    cards = (
        f'<div><dt>{escape(name)}</dt><dd class="{"long" if len(value) > LONG_VALUE else "short"}">{escape(value)}'
        f"<small>{escape(note)}</small></dd></div>"
        for name, value, note in told
    )
    return '<dl class="figures">\n' + "\n".join(cards) + "\n</dl>"


def charts(drawn: Iterable[str]) -> str:
    """Charts side by side where there is room."""
    return '<div class="charts">\n' + "\n".join(drawn) + "\n</div>"


def chart(svg: str, note: str = "", kind: str = "", data: str = "") -> str:
    """One of `line_chart`, with a note below it, in the colours of light and dark."""
    caption = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    named = svg.replace("<svg ", '<svg role="img" ', 1)
    return f'<figure class="chart {kind}" {data}>{named}{caption}</figure>'


def picture(png: bytes, told: str) -> str:
    """A picture as wide as the page at most; told: what is on it, for those who do not see it."""
    return f'<img class="picture" alt="{escape(told)}" src="{embedded(png)}">'


def embedded(png: bytes) -> str:
    """The address of a picture that is within the page."""
    return "data:image/png;base64," + base64.b64encode(png).decode()


def table(rows: Iterable[Row], caption: str) -> str:
    """Rows with their name first; one without a name holds those of the columns. Wide ones scroll in narrow windows."""
    lines, wide = [], False
    for name, *cells in rows:
        wide = wide or len(cells) >= WIDE
        if name:
            told = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
            lines.append(f'<tr><th scope="row">{escape(name)}</th>{told}</tr>')
        else:
            told = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in cells)
            lines.append(f"<thead><tr><td></td>{told}</tr></thead>")
    made = _captioned(lines, caption)
    return scrolling("wide-table", made, caption) if wide else made


def scrolling(kind: str, body: str, told: str) -> str:
    """What scrolls where it finds no room can be reached by keys, and has a name."""
    return f'<div class="{kind}" tabindex="0" role="region" aria-label="{escape(told)}">{body}</div>'


def records(rows: Sequence[Mapping[str, Any]], caption: str, theirs: str = "paper: ") -> str:
    """Records that share their keys, a line each; columns can be sorted by, and scroll where they are many.

    rows    the first field names the line; fields that hold lists or mappings are left out
    theirs  columns whose name begins so hold figures that others published, and look like it
    """
    names = columns_of(rows)
    numbers = {name for name in names if is_number(rows, name)}
    kinds = {name: " ".join(["number"] * (name in numbers) + ["theirs"] * name.startswith(theirs)) for name in names}
    # Names of files and columns may break at their underscores.
    heads = {name: escape(name).replace("_", "_<wbr>") for name in names}
    head = "".join(f'<th scope="col" class="{kinds[name]}">{heads[name]}</th>' for name in names)
    lines = [f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row in rows:
        first, *others = (escape(cell(row[name])) for name in names)
        cells = "".join(f'<td class="{kinds[name]}">{text}</td>' for name, text in zip(names[1:], others, strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    lines.append("</tbody>")
    return scrolling("records", _captioned(lines, caption), caption)


def times(timings: Mapping[str, float]) -> str:
    """Seconds of stages as a table with bars, the total last."""
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


def _captioned(lines: Iterable[str], caption: str) -> str:
    return f"<table><caption>{escape(caption)}</caption>\n" + "\n".join(lines) + "\n</table>"


def _footer() -> str:
    at = {**package_versions(), **machine()}
    when = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %z")
    return (
        f"Written {when} by graphreg {at['graphreg']}, numpy {at['numpy']}, scipy {at['scipy']}, Python {at['python']} "
        f"on {at['system']} {at['architecture']}, {at['cores']} cores, {at['processor']}"
    )

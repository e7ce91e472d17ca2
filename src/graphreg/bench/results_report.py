"""Results as one page that opens offline in any browser: every table, figure and setting of what was measured.

`results_page` writes the same as Markdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from graphreg.bench import EXPERIMENTS
from graphreg.bench.comparison_runs import OURS
from graphreg.bench.comparison_statistics import median_of
from graphreg.bench.comparison_wording import READING
from graphreg.bench.results_files import Results, Row, pictures_of
from graphreg.bench.results_page import GLANCE, glance, not_first, results_in
from graphreg.errors import InputError
from graphreg.reports.page_layout import (
    image,
    page_from_sections,
    sortable_table,
    table,
    write_page,
)
from graphreg.reports.table_cells import cell

# Longer tables are collapsed.
MAX_OPEN_LINES = 40
# Stages of our methods in the order that they run in.
STAGES = ("preprocess", "describe", "search", "register", "refine", "judge")
PAPERS = 'columns in italics, whose names begin with "paper:", hold the paper\'s own figures'


def write_report(folder: Path, names: Sequence[str] | None, path: Path) -> None:
    """Write the results of a folder as one HTML page.

    Parameters
    ----------
    folder : Path
        Folder that `graphreg bench` wrote to.
    names : sequence of str or None
        Experiments to show, in this order; None for all results of the folder.
    path : Path
        The page.

    Raises
    ------
    InputError
        If the folder has no results of an experiment.
    """
    found = results_in(folder)
    if missing := [name for name in names or () if name not in found]:
        raise InputError(f"out: {folder} holds no results of {', '.join(missing)}")
    shown = {name: found[name] for name in ([*EXPERIMENTS, *found] if names is None else names) if name in found}
    title = "Results" if len(shown) > 1 else next(iter(shown.values())).title
    sections = {}
    if any(line in READING for result in shown.values() for line in result.summary):
        sections["How to read this"] = _list((PAPERS, *READING))
    if len(shown) > 1:
        if lines := glance(shown):
            sections["At a glance"] = sortable_table(lines, "At a glance") + f"<p>{escape(GLANCE)}</p>"
        sections[f"Where {OURS} is not first"] = _list(not_first(shown) or ["nowhere in these results"])
    for name, result in shown.items():
        sections[result.title] = _section(folder, name, result)
    write_page(path, page_from_sections(title, sections, "experiments"))


def _section(folder: Path, name: str, result: Results) -> str:
    about = result.about
    description = f": {EXPERIMENTS[name]}" if name in EXPERIMENTS else ""
    summary = [line for line in result.summary if line not in READING]
    parts = [f"<p><code>{escape(result.provenance.command)}</code>{escape(description)}</p>", _list(summary)]
    parts += [image(file.read_bytes(), f"{result.title}: {file.stem}") for file in pictures_of(folder, name)]
    for title, shown in result.shown.items():
        if shown:
            caption = title or result.title
            is_open = len(shown) <= MAX_OPEN_LINES
            parts.append(_folded(title or "Figures", sortable_table(shown, caption), is_open=is_open))
    if stages := _stages(result.rows):
        heading = "Median time of each stage (s)"
        parts.append(_folded(heading, sortable_table(stages, heading)))
    parts.append(_folded("Measured with", table(_measured(result), "Measured with")))
    if about.get("methods"):
        rows = [
            (method, ", ".join(f"{key} {_text(value)}" for key, value in settings.items()))
            for method, settings in about["methods"].items()
        ]
        parts.append(_folded("Settings of the methods", table(rows, "Settings of the methods")))
    return "\n".join(parts)


def _stages(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The median time of each stage, a line for each method, stages in the order that they run in."""
    timed: dict[str, list[dict[str, float]]] = {}
    for row in rows:
        if row.get("stages"):
            timed.setdefault(row["method"], []).append(row["stages"])
    seen = dict.fromkeys(name for runs in timed.values() for run in runs for name in run)
    others = [name for name in seen if name not in (*STAGES, "total")]
    names = [name for name in (*STAGES, *others, "total") if name in seen]
    return [
        {"method": method, **{name: median_of([{name: run.get(name)} for run in runs], name) for name in names}}
        for method, runs in timed.items()
    ]


def _measured(result: Results) -> list[tuple[str, str]]:
    """Provenance, seeds, and how many runs were left out for lack of time."""
    about, provenance = result.about, result.provenance
    fields = {
        "date": provenance.date,
        **provenance.versions,
        **provenance.machine,
        "code fingerprint": provenance.fingerprint,
        "state": provenance.state,
        "seeds": ", ".join(map(str, about.get("seeds", []))),
        "time limit of a method (s)": about.get("budget in seconds"),
        "runs left out": about.get("not run"),
    }
    return [(name, _text(value)) for name, value in fields.items() if value not in (None, "")]


def _text(value: Any) -> str:
    return "by default" if value is None else cell(value)


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _folded(title: str, body: str, is_open: bool = False) -> str:
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>\n{body}\n</details>"

"""The page on all results of a folder: what each experiment found, its first table, its pictures, how to rerun it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import EXPERIMENTS
from graphreg.bench.comparison_runs import OURS, ROTATION_ERROR
from graphreg.bench.comparison_statistics import median_of
from graphreg.bench.comparison_wording import NOT_FIRST, READING, UNDECIDED
from graphreg.bench.results_files import Results, markdown_table, opening, pictures_of, read_results
from graphreg.errors import InputError
from graphreg.files.output_file import atomic_write

# Longer tables are shown only on the experiment's own page.
MAX_TABLE_LINES = 40
GLANCE = f"Of {OURS}: rotation errors in degrees, their median and quantiles, and the median time of the whole call."
PROVENANCE = (
    "What each file was measured with. Stale: the code that the figures depend on is not the code that this page was "
    "written with, or not known. A fingerprint is a hash of that code without comments, docstrings and layout."
)


def write_page(folder: Path) -> Path:
    """Write README.md of a folder of results from its JSON files.

    Parameters
    ----------
    folder : Path
        Folder that `graphreg bench` wrote to.

    Returns
    -------
    Path
        The page.
    """
    found = results_in(folder)
    experiments = [name for name in EXPERIMENTS if name in found]
    others = [name for name in found if name not in experiments]
    shown = {name: found[name] for name in experiments}
    lines_of_ours = glance(shown)
    lines = [
        "# Results",
        "",
        "Written by `graphreg bench page` from the files beside it. Each experiment has its own page with every "
        "figure; the same as JSON, with provenance, seeds and settings; and every run as a line of "
        "`NAME.rows.jsonl.gz`. To measure again: `graphreg bench NAME --out FOLDER`, or `all` in the place of the "
        "name; `--quick` takes minutes. Real scans come in through `GRAPHREG_DATA`, other libraries with `pip install "
        "'graphreg[peers]'`.",
        "",
        'Columns that begin with "paper:" hold the paper\'s own figures.',
        "",
        *(["## At a glance", "", *markdown_table(lines_of_ours), "", GLANCE, ""] if lines_of_ours else ()),
        "## How to read the comparisons",
        "",
        *(f"- {line}" for line in READING),
        "",
        "## Where graphreg is not first",
        "",
        "By the median rotation error, among all methods that were measured:",
        "",
        *(f"- {line}" for line in not_first(shown) or ["nowhere in these results"]),
        "",
        "## Measured with",
        "",
        *markdown_table(provenance_table({name: found[name] for name in (*experiments, *others)})),
        "",
        PROVENANCE,
    ]
    for name in experiments:
        lines += _section(folder, name, found[name])
    if others:
        lines += ["", "## Also measured", "", *(f"- [{found[name].title}]({name}.md)" for name in others)]
    path = folder / "README.md"
    with atomic_write(path) as output:
        output.file.write(("\n".join(lines) + "\n").encode())
    return path


def results_in(folder: Path) -> dict[str, Results]:
    """Read all results of a folder, by their names."""
    found = {path.stem: read_results(path) for path in sorted(folder.glob("*.json"))}
    if not found:
        raise InputError(f"out: {folder} holds no results")
    return found


def glance(results: Mapping[str, Results]) -> list[dict[str, Any]]:
    """Summarise the comparisons for our own method, a line each."""
    lines = []
    for result in results.values():
        ran = [row for row in result.rows if row.get("method") == OURS and ROTATION_ERROR in row and "correct" in row]
        degrees = [row[ROTATION_ERROR] for row in ran if row[ROTATION_ERROR] is not None]
        if degrees:
            low, middle, high = np.quantile(degrees, [0.1, 0.5, 0.9])
            lines.append(
                {
                    "experiment": result.title,
                    "correct": f"{sum(bool(row['correct']) for row in ran)} of {len(ran)}",
                    f"median {ROTATION_ERROR}": float(middle),
                    "10 % (deg)": float(low),
                    "90 % (deg)": float(high),
                    "median time (s)": median_of(ran, "seconds"),
                    "runs of all methods": len(result.rows),
                }
            )
    return lines


def not_first(results: Mapping[str, Results]) -> list[str]:
    """List where ours is not first, as the summaries of the experiments say."""
    return [
        f"{result.title}: {line}"
        for result in results.values()
        for line in result.summary
        if line not in READING and (NOT_FIRST in line or UNDECIDED in line)
    ]


def provenance_table(results: Mapping[str, Results]) -> list[dict[str, Any]]:
    """List date, version, fingerprint and state of each results file."""
    return [
        {
            "results": f"[{name}]({name}.md)",
            "date": result.provenance.date,
            "graphreg": result.provenance.versions["graphreg"],
            "code fingerprint": result.provenance.fingerprint,
            "state": result.provenance.state,
        }
        for name, result in results.items()
    ]


def _section(folder: Path, name: str, result: Results) -> list[str]:
    command = f"`{result.provenance.command}`"
    lines = ["", f"## {result.title}", "", f"{command}: {EXPERIMENTS[name]}. [Every figure]({name}.md)", ""]
    notes = [line for line in result.summary if line not in READING]
    lines += opening(result.title, notes, [file.name for file in pictures_of(folder, name)])
    for title, rows in list((result.tables or {}).items())[:1]:
        if rows and len(rows) <= MAX_TABLE_LINES:
            lines += ["", *([f"{title}:", ""] if title else ()), *markdown_table(rows)]
    return lines

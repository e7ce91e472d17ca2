"""The page on all results of a folder: what each experiment says, its first table, its pictures, how to rerun it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import EXPERIMENTS
from graphreg.bench.comparison import OURS, READING, median_of
from graphreg.bench.tables import markdown_table
from graphreg.errors import FileError, InputError
from graphreg.files.output_file import atomic_write

# Longer tables stay in the experiment's own file.
MOST_LINES = 40
GLANCE = f"Of {OURS}: degrees off the truth, their median and quantiles, and seconds of the whole call."


def write_page(folder: Path) -> Path:
    """README.md in a folder of results, from the JSON files that are there."""
    found = results_in(folder)
    mine = [name for name in EXPERIMENTS if name in found]
    shown = {name: found[name] for name in mine}
    lines_of_ours = glance(shown)
    lines = [
        "# Results",
        "",
        "Written by `graphreg bench page` from the files beside it. Each experiment has its own page with every "
        "figure, and the same as JSON and CSV, with machine, versions, seeds and settings. To measure again: "
        "`graphreg bench NAME --out FOLDER`, or `all` in the place of the name; `--quick` takes minutes. Real scans "
        "come in through `GRAPHREG_DATA`, other libraries with `pip install 'graphreg[peers]'`.",
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
        "By the median of degrees off the truth, beside all methods that were measured:",
        "",
        *(f"- {line}" for line in not_first(shown) or ["nowhere in these results"]),
    ]
    for name in mine:
        lines += _section(folder, name, found[name])
    others = [name for name in found if name not in mine]
    if others:
        lines += ["", "## Also measured", ""]
        lines += [f"- [{found[name]['title']}]({name}.md)" for name in others]
    path = folder / "README.md"
    with atomic_write(path) as output:
        output.file.write(("\n".join(lines) + "\n").encode())
    return path


def results_in(folder: Path) -> dict[str, Any]:
    """What the JSON files of a folder hold, by their names."""
    found = {path.stem: _read(path) for path in sorted(folder.glob("*.json"))}
    if not found:
        raise InputError(f"out: {folder} holds no results")
    return found


def glance(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the comparisons come to for our own method, a line each."""
    lines = []
    for result in results.values():
        ran = [row for row in result["rows"] if row.get("method") == OURS and "right" in row]
        degrees = [row["degrees"] for row in ran if row["degrees"] is not None]
        if degrees:
            low, middle, high = np.quantile(degrees, [0.1, 0.5, 0.9])
            lines.append(
                {
                    "experiment": result["title"],
                    "right": f"{sum(bool(row['right']) for row in ran)} of {len(ran)}",
                    "median degrees": float(middle),
                    "10 %": float(low),
                    "90 %": float(high),
                    "median s": median_of(ran, "seconds"),
                    "runs of all methods": len(result["rows"]),
                }
            )
    return lines


def not_first(results: Mapping[str, Any]) -> list[str]:
    """Where ours is not, as the experiments say themselves, in plain words."""
    return [
        f"{result['title']}: {line}"
        for result in results.values()
        for line in result["summary"]
        if line not in READING and ("NOT first" in line or "cannot tell" in line)
    ]


def pictures_of(folder: Path, name: str) -> tuple[list[Path], list[Path]]:
    """Files with the charts of an experiment (SVG), and with rendered scans (PNG); their names begin with its own."""
    return sorted(folder.glob(f"{name}*.svg")), sorted(folder.glob(f"{name}*.png"))


def _section(folder: Path, name: str, result: dict[str, Any]) -> list[str]:
    command = result.get("about", {}).get("command", f"graphreg bench {name}")
    lines = ["", f"## {result['title']}", "", f"`{command}`: {EXPERIMENTS[name]}. [Every figure]({name}.md)", ""]
    lines += [f"- {line}" for line in result["summary"] if line not in READING]
    for title, rows in list(result.get("tables", {}).items())[:1]:
        if rows and len(rows) <= MOST_LINES:
            lines += ["", *([f"{title}:", ""] if title else ()), *markdown_table(rows)]
    charts, pictures = pictures_of(folder, name)
    for file in sorted([*charts, *pictures], key=lambda path: path.stem):
        lines += ["", f"![{result['title']}: {file.stem}]({file.name})"]
    return lines


def _read(path: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _ = result["title"], result["summary"], result["rows"]
    except (ValueError, KeyError, TypeError) as problem:
        raise FileError(path, "is no result of an experiment") from problem
    return result

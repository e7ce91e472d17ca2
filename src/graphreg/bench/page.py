"""The page on all results of a folder: what each experiment says, its first table, its pictures, how to rerun it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from graphreg.bench import EXPERIMENTS
from graphreg.bench.comparison import READING
from graphreg.bench.tables import markdown_table
from graphreg.errors import FileError, InputError
from graphreg.files.sink import replacing

# Longer tables stay in the experiment's own file.
MOST_LINES = 40


def write_page(folder: Path) -> Path:
    """README.md in a folder of results, from the JSON files that are there."""
    found = {path.stem: _read(path) for path in sorted(folder.glob("*.json"))}
    if not found:
        raise InputError(f"out: {folder} holds no results")
    mine = [name for name in EXPERIMENTS if name in found]
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
        "How to read the comparisons:",
        "",
        *(f"- {line}" for line in READING),
        "",
        "## Where graphreg is not first",
        "",
        "By the median of degrees off the truth, beside all methods that were measured:",
        "",
        *(_not_first(mine, found) or ["- nowhere in these results"]),
    ]
    for name in mine:
        lines += _section(folder, name, found[name])
    others = [name for name in found if name not in mine]
    if others:
        lines += ["", "## Also measured", ""]
        lines += [f"- [{found[name]['title']}]({name}.md)" for name in others]
    path = folder / "README.md"
    with replacing(path, None) as sink:
        sink.file.write(("\n".join(lines) + "\n").encode())
    return path


def _not_first(names: list[str], found: dict[str, Any]) -> list[str]:
    """What the experiments say themselves, in plain words."""
    return [
        f"- {found[name]['title']}: {line}"
        for name in names
        for line in found[name]["summary"]
        if line not in READING and ("NOT first" in line or "cannot tell" in line)
    ]


def _section(folder: Path, name: str, result: dict[str, Any]) -> list[str]:
    command = result.get("about", {}).get("command", f"graphreg bench {name}")
    lines = ["", f"## {result['title']}", "", f"`{command}`: {EXPERIMENTS[name]}. [Every figure]({name}.md)", ""]
    lines += [f"- {line}" for line in result["summary"] if line not in READING]
    for title, rows in list(result.get("tables", {}).items())[:1]:
        if rows and len(rows) <= MOST_LINES:
            lines += ["", *([f"{title}:", ""] if title else ()), *markdown_table(rows)]
    # An experiment's pictures begin with its name.
    svgs = {path.stem for path in folder.glob(f"{name}*.svg")}
    pictures = sorted([*svgs, *(path.name for path in folder.glob(f"{name}*.png") if path.stem not in svgs)])
    for picture in pictures:
        file = picture if picture.endswith(".png") else f"{picture}.svg"
        lines += ["", f"![{result['title']}: {Path(file).stem}]({file})"]
    return lines


def _read(path: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _ = result["title"], result["summary"]
    except (ValueError, KeyError, TypeError) as problem:
        raise FileError(path, "is no result of an experiment") from problem
    return result

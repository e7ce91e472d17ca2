"""Results as JSON (with machine, versions, date and settings), CSV and Markdown, side by side."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.files.output_file import atomic_write
from graphreg.provenance import setting
from graphreg.reports.table_cells import cell, columns_of, is_number

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]


def write_table(
    folder: Path,
    name: str,
    title: str,
    summary: Sequence[str],
    rows: Sequence[Row],
    shown: Tables | Sequence[Row] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Path:
    """Write rows that share their keys, and what they come to. Returns the path of the Markdown file.

    shown  what the Markdown file has in place of the rows, where these are too many to read: one table, or several
           under their titles
    about  what else the rows depend on: settings, versions of other libraries
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables: Tables = {"": rows} if shown is None else shown if isinstance(shown, Mapping) else {"": shown}
    date = datetime.now(timezone.utc).date().isoformat()
    head = {"title": title, "date": date, "setting": setting(), "about": about or {}, "summary": list(summary)}
    if shown is not None:
        head["tables"] = tables
    fields = [f"{json.dumps(key)}: {json.dumps(_plain(value), allow_nan=False)}" for key, value in head.items()]
    lines = ",\n".join(json.dumps(_plain(row), allow_nan=False) for row in rows)
    _write(folder / f"{name}.json", "{" + ",\n".join([*fields, f'"rows": [\n{lines}\n]']) + "}\n")
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows({key: json.dumps(v) if isinstance(v, dict) else v for key, v in row.items()} for row in rows)
    _write(folder / f"{name}.csv", text.getvalue())
    path = folder / f"{name}.md"
    _write(path, _markdown(title, summary, tables, date))
    return path


def markdown_table(rows: Sequence[Row]) -> list[str]:
    """Lines of a table, numbers to the right."""
    names = columns_of(rows)
    return [
        "| " + " | ".join(names) + " |",
        "|" + "".join("---:|" if is_number(rows, name) else "---|" for name in names),
        *("| " + " | ".join(cell(row[name]).replace("|", "/") for name in names) + " |" for row in rows),
    ]


def _markdown(title: str, summary: Sequence[str], tables: Tables, date: str) -> str:
    lines = [f"# {title}", ""]
    lines += [f"- {line}" for line in summary]
    for heading, rows in tables.items():
        lines += ["", *([f"## {heading}", ""] if heading else ()), *markdown_table(rows)]
    at = setting()
    versions = f"graphreg {at['graphreg']}, numpy {at['numpy']}, Python {at['python']}"
    lines += ["", f"{date}; {versions}; {at['cores']} cores, {at['processor']}"]
    return "\n".join(lines) + "\n"


def _plain(value: Any) -> Any:
    """What JSON can hold: it has no NaN and no numpy types."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as output:
        output.file.write(text.encode())

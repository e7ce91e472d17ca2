"""Results as JSON (with machine, versions, date and settings), CSV and Markdown, side by side."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import graphreg
from graphreg.files.sink import replacing

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


def setting() -> dict[str, Any]:
    """What the figures depend on beside the code's own settings."""
    return {
        "graphreg": graphreg.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Names of what can be shown in a table; what holds lists or mappings is left to the other files."""
    return [name for name in rows[0] if not any(isinstance(row[name], (list, dict)) for row in rows)]


def is_number(rows: Sequence[Row], name: str) -> bool:
    """Whether a column holds numbers, and nothing else but gaps."""
    held = [row[name] for row in rows if row[name] is not None]
    return bool(held) and all(isinstance(value, (int, float, np.number)) for value in held)


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


def _processor() -> str:
    """Its model where the system tells, as Linux does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")


def _plain(value: Any) -> Any:
    """What JSON can hold: it has no NaN and no numpy types."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def cell(value: Any) -> str:
    """A value as it is shown."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write(path: Path, text: str) -> None:
    with replacing(path, None) as sink:
        sink.file.write(text.encode())

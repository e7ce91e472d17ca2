"""Results as JSON (with machine, versions and date), CSV and Markdown, side by side."""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphreg

Row = Mapping[str, Any]


def write_table(
    folder: Path, name: str, title: str, summary: Sequence[str], rows: Sequence[Row], shown: Sequence[Row] | None = None
) -> Path:
    """Write rows that share their keys, and what they come to. Returns the path of the Markdown file.

    shown  what the Markdown file has in place of the rows, where these are too many to read
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = {"title": title, "summary": list(summary), "setting": setting(), "rows": list(rows)}
    (folder / f"{name}.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    (folder / f"{name}.csv").write_text(text.getvalue(), encoding="utf-8")
    path = folder / f"{name}.md"
    path.write_text(_markdown(title, summary, rows if shown is None else shown), encoding="utf-8")
    return path


def setting() -> dict[str, Any]:
    """What the figures depend on beside the code's own settings."""
    return {
        "graphreg": graphreg.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def _markdown(title: str, summary: Sequence[str], rows: Sequence[Row]) -> str:
    names = [name for name, value in rows[0].items() if not isinstance(value, list)]
    lines = [f"# {title}", ""]
    lines += [f"- {line}" for line in summary]
    lines += ["", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in rows]
    at = setting()
    lines += ["", f"graphreg {at['graphreg']}, numpy {at['numpy']}, Python {at['python']}, {at['cores']} cores"]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

"""Results files: NAME.json (provenance, summary, tables), NAME.rows.jsonl.gz (every run), NAME.md for readers."""

from __future__ import annotations

import gzip
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.errors import FileError
from graphreg.files.output_file import atomic_write
from graphreg.provenance import Provenance
from graphreg.reports.table_cells import cell, columns_of, is_number

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

ROWS_SUFFIX = ".rows.jsonl.gz"


@dataclass(frozen=True)
class Results:
    """Results of an experiment.

    Attributes
    ----------
    title : str
        Title of the experiment.
    provenance : Provenance
        What the rows were measured with.
    summary : sequence of str
        Statements about the results, one a line.
    rows : sequence of mappings
        One row for each run; all have the same keys.
    tables : mapping of str to sequences of rows, optional
        Tables to show instead of the rows, where these are too many to read, by their headings.
    about : mapping, optional
        What else the rows depend on, such as settings and seeds.
    """

    title: str
    provenance: Provenance
    summary: Sequence[str]
    rows: Sequence[Row]
    tables: Tables | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shown(self) -> Tables:
        """The tables, or the rows as a table without a heading."""
        return {"": self.rows} if self.tables is None else self.tables

    def to_dict(self) -> dict[str, Any]:
        """Return everything, rows included, as values that JSON can store."""
        return {**self.head(), "tables": _plain(self.shown), "rows": _plain(self.rows)}

    def head(self) -> dict[str, Any]:
        """Return what stands before the tables, as values that JSON can store."""
        return {
            "title": self.title,
            "provenance": self.provenance.to_dict(),
            "about": _plain(self.about),
            "summary": list(self.summary),
        }


def write_results(folder: Path, name: str, results: Results) -> Path:
    """Write results as JSON and Markdown, and their rows as compressed JSON lines unless they are the only table.

    Parameters
    ----------
    folder : Path
        Folder to write to; created if missing.
    name : str
        Name of the files, without suffix.
    results : Results
        What to write.

    Returns
    -------
    Path
        The Markdown file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    fields = [f"{json.dumps(key)}: {_json(value)}" for key, value in results.head().items()]
    tables = [f"{json.dumps(heading)}: [\n{_lines(rows, ',')}\n]" for heading, rows in results.shown.items()]
    text = "{" + ",\n".join([*fields, '"tables": {' + ",\n".join(tables) + "}"]) + "}\n"
    _write(folder / f"{name}.json", text.encode())
    rows_path = folder / f"{name}{ROWS_SUFFIX}"
    if results.tables is None:
        rows_path.unlink(missing_ok=True)
    else:
        _write(rows_path, compressed(f"{_lines(results.rows)}\n".encode()))
    return write_markdown(folder, name, results)


def write_markdown(folder: Path, name: str, results: Results) -> Path:
    """Write NAME.md, which opens with the figures that lie beside it."""
    path = folder / f"{name}.md"
    _write(path, markdown(results, [file.name for file in pictures_of(folder, name)]).encode())
    return path


def pictures_of(folder: Path, name: str) -> list[Path]:
    """Return the charts (SVG), then the rendered scans (PNG) of an experiment; their names begin with its name."""
    return [
        path
        for suffix in ("svg", "png")
        for stem in (name, f"{name}_*")
        for path in sorted(folder.glob(f"{stem}.{suffix}"))
    ]


def read_results(path: Path) -> Results:
    """Read results from NAME.json and, where they have a file of their own, their rows.

    Raises
    ------
    FileError
        If a file does not hold the results of an experiment.
    """
    rows_path = path.with_name(f"{path.stem}{ROWS_SUFFIX}")
    rows = read_rows(rows_path) if rows_path.exists() else None
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
        provenance = Provenance.from_dict(head["provenance"])
        title, summary, tables, about = (head[key] for key in ("title", "summary", "tables", "about"))
        if rows is None:
            return Results(title, provenance, summary, tables[""], None, about)
    except (ValueError, KeyError, TypeError) as problem:
        raise FileError(path, "is no result of an experiment") from problem
    return Results(title, provenance, summary, rows, tables, about)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read the rows of NAME.rows.jsonl.gz.

    Raises
    ------
    FileError
        If the file is damaged.
    """
    try:
        return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    except (OSError, EOFError, ValueError) as problem:
        raise FileError(path, "holds no rows of an experiment") from problem


def compressed(content: bytes) -> bytes:
    """Compress with gzip, without file name and time, so that the same content gives the same bytes."""
    sink = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=sink, mtime=0) as file:
        file.write(content)
    return sink.getvalue()


def markdown(results: Results, pictures: Sequence[str] = ()) -> str:
    """Return results as a Markdown page: title, pictures, summary (folded below pictures), tables and provenance."""
    lines = [f"# {results.title}", "", *opening(results.title, results.summary, pictures)]
    for heading, rows in results.shown.items():
        lines += ["", *([f"## {heading}", ""] if heading else ()), *markdown_table(rows)]
    return "\n".join([*lines, "", results.provenance.sentence()]) + "\n"


def opening(title: str, notes: Iterable[str], pictures: Sequence[str]) -> list[str]:
    """Return the lines of pictures, and of notes, which are folded where there are pictures."""
    listed = [f"- {line}" for line in notes]
    if not pictures:
        return listed
    shown = [line for name in pictures for line in (f"![{title}: {Path(name).stem}]({name})", "")]
    return [*shown, '<details markdown="1">', "<summary>Notes</summary>", "", *listed, "", "</details>"]


def markdown_table(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a Markdown table, numbers to the right."""
    # As they are read back from JSON, which has no NaN.
    plain = [_plain(row) for row in rows]
    names = columns_of(plain)
    return [
        "| " + " | ".join(names) + " |",
        "|" + "".join("---:|" if is_number(plain, name) else "---|" for name in names),
        *("| " + " | ".join(cell(row[name]).replace("|", "/") for name in names) + " |" for row in plain),
    ]


def _lines(rows: Sequence[Row], separator: str = "") -> str:
    return f"{separator}\n".join(map(_json, rows))


def _json(value: Any) -> str:
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    """A value as JSON can store it: without NaN and numpy types."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, content: bytes) -> None:
    with atomic_write(path) as output:
        output.file.write(content)

"""Our docstrings as Markdown: rows of a name, two blanks and what it is become a table."""

from __future__ import annotations

import inspect
import re

ROW = re.compile(r"([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*) {2,}(\S.*)")

Row = tuple[tuple[str, ...], str]


SECTION = re.compile(r"^(?:Parameters|Attributes)\n-{3,}\n((?:.*\n?)*?)(?=^\w.*\n-{3,}$|\Z)", re.MULTILINE)
FIELD = re.compile(r"([A-Za-z_]\w*(?:, [A-Za-z_]\w*)*)(?: : .*)?$")


def rows(text: str) -> list[Row]:
    """The names that a docstring describes, and their descriptions: of numpy sections, and of rows of two columns."""
    sections = SECTION.findall(inspect.cleandoc(text))
    if sections:
        return [row for section in sections for row in _fields(section)]
    return [row for part in _paragraphs(text) if ROW.match(part) for row in _rows(part)]


def _fields(section: str) -> list[Row]:
    """The fields of a numpy section: a line `name : type`, and its description, indented."""
    found: list[Row] = []
    for line in section.splitlines():
        if field := FIELD.match(line):
            found.append((tuple(field[1].split(", ")), ""))
        elif line.strip() and found:
            names, said = found.pop()
            found.append((names, f"{said} {line.strip()}".strip()))
    return found


def as_markdown(text: str) -> str:
    """A docstring with its tables as tables; all else stays as it is."""
    return "\n\n".join(_table(_rows(part)) if ROW.match(part) else part for part in _paragraphs(text))


def cell(text: str) -> str:
    """Text that can stand in a cell of a Markdown table."""
    return text.replace("|", "\\|")


def _paragraphs(text: str) -> list[str]:
    return re.split(r"\n\s*\n", inspect.cleandoc(text))


def _rows(part: str) -> list[Row]:
    first, *more = part.splitlines()
    start = ROW.match(first)
    assert start is not None
    column = start.start(2)
    found = [(start[1], start[2])]
    for line in more:
        if line.startswith(" "):
            name, said = found.pop()
            found.append((name, f"{said} {line.strip()}"))
        elif row := ROW.match(line):
            found.append((row[1], row[2]))
        else:  # the name fills its column
            found.append((line[:column].strip(), line[column:].strip()))
    return [(tuple(name.split(", ")), said) for name, said in found]


def _table(found: list[Row]) -> str:
    lines = ["| name | what it is |", "|---|---|"]
    lines += [f"| {', '.join(f'`{name}`' for name in names)} | {cell(said)} |" for names, said in found]
    return "\n".join(lines)

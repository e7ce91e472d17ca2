"""The parts of pages that the code itself knows: settings, commands, file formats, methods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import typer

from docstrings import cell, rows
from graphreg.cli import app
from graphreg.files import formats
from graphreg.registration import METHODS, methods


def settings_of_every_method() -> str:
    """A section for each method: every setting, its default and what its docstring says."""
    return "\n\n".join(_settings_of(name) for name in METHODS)


def undocumented() -> list[str]:
    """Settings of which no docstring tells."""
    return [
        f"{method}: {field.name}"
        for method, held in METHODS.items()
        for field in fields(held.settings)
        if field.name not in {name for names, _ in _described(type(held.settings)) for name in names}
    ]


def list_of_methods() -> str:
    lines = ["| method | in a line |", "|---|---|"]
    return "\n".join(lines + [f"| [`{name}`](#{name}) | {cell(line)} |" for name, line in methods().items()])


def list_of_formats() -> str:
    lines = ["| suffix | what | read | written | needs |", "|---|---|---|---|---|"]
    for suffix, held in formats().items():
        extra = f"`pip install 'graphreg[{held.extra}]'`" if held.extra else ""
        reads, writes = ("yes" if able else "no" for able in (held.reads, held.writes))
        lines.append(f"| `{suffix}` | {held.description} | {reads} | {writes} | {extra} |")
    return "\n".join(lines)


def every_command() -> str:
    """A section for each command: how it is called, what it does, examples, arguments and options."""
    return "\n\n".join(_section(words, command) for words, command in commands())


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that does something, by the words that call it."""
    yield from _below("graphreg", typer.main.get_command(app))


def examples_of(command: Any) -> list[str]:
    """The command lines that its --help shows."""
    _, _, block = (command.help or "").partition("\b\n")
    return [line.strip() for line in block.splitlines()[1:] if line.strip()]


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", {})
    if not inner or command.invoke_without_command:
        yield words, command
    for name, other in inner.items():
        yield from _below(f"{words} {name}", other)


def _section(words: str, command: Any) -> str:
    context = command.context_class(command, info_name=words)
    text, _, _ = (command.help or "").partition("\b\n")
    parts = [f"## {words}", text.strip()]
    parts.append(f"```text\n{words} {' '.join(command.collect_usage_pieces(context))}\n```")
    if examples := examples_of(command):
        parts.append("```bash\n" + "\n".join(examples) + "\n```")
    shown = [record for parameter in command.params if (record := parameter.get_help_record(context))]
    if shown:
        lines = ["| argument or option | what it is |", "|---|---|"]
        parts.append("\n".join(lines + [f"| `{name}` | {cell(said)} |" for name, said in shown]))
    return "\n\n".join(parts)


def _settings_of(name: str) -> str:
    method = METHODS[name]
    lines = [f"## {name}", method.summary[0].upper() + method.summary[1:] + ".", ""]
    lines += ["| setting | default | what it is |", "|---|---|---|"]
    for names, said in _described(type(method.settings)):
        defaults = ", ".join(f"`{_shown(getattr(method.settings, one))}`" for one in names)
        lines.append(f"| {', '.join(f'`{one}`' for one in names)} | {defaults} | {cell(said)} |")
    return "\n".join(lines)


def _described(kind: type) -> list[tuple[tuple[str, ...], str]]:
    """The rows of its docstring, and of what it inherits from."""
    return [row for one in kind.__mro__ if one is not object for row in rows(one.__doc__ or "")]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)

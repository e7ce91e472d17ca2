"""Parts of pages that are made from the code: settings, commands, file formats, methods."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Any

import typer

from graphreg.cli import app
from graphreg.files import formats
from graphreg.registration import METHODS, methods


def settings_of_every_method() -> str:
    """A section for each method: every setting, its default and its description."""
    return "\n\n".join(_settings_of(name) for name in METHODS)


def undocumented() -> list[str]:
    """Settings that no docstring describes."""
    return [
        f"{name}: {field.name}"
        for name, method in METHODS.items()
        for field in fields(method.settings)
        if field.name not in {described for names, _ in _described(type(method.settings)) for described in names}
    ]


def list_of_methods() -> str:
    lines = ["| method | summary |", "|---|---|"]
    return "\n".join(lines + [f"| [`{name}`](#{name}) | {_cell(line)} |" for name, line in methods().items()])


def list_of_formats() -> str:
    lines = ["| suffix | what | read | written | needs |", "|---|---|---|---|---|"]
    for suffix, entry in formats().items():
        extra = f"`pip install 'graphreg[{entry.extra}]'`" if entry.extra else ""
        reads, writes = ("yes" if able else "no" for able in (entry.reads, entry.writes))
        lines.append(f"| `{suffix}` | {entry.description} | {reads} | {writes} | {extra} |")
    return "\n".join(lines)


def every_command() -> str:
    """A section for each command: usage, description, examples, arguments and options."""
    return "\n\n".join(_section(words, command) for words, command in commands())


@lru_cache
def commands() -> tuple[tuple[str, Any], ...]:
    """Every command that does something, by the words that call it."""
    return tuple(_below("graphreg", typer.main.get_command(app)))


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
        lines = ["| argument or option | meaning |", "|---|---|"]
        parts.append("\n".join(lines + [f"| `{name}` | {_cell(said)} |" for name, said in shown]))
    return "\n\n".join(parts)


def _settings_of(name: str) -> str:
    method = METHODS[name]
    lines = [f"## {name}", method.summary[0].upper() + method.summary[1:] + ".", ""]
    lines += ["| setting | default | meaning |", "|---|---|---|"]
    for names, meaning in _described(type(method.settings)):
        defaults = ", ".join(f"`{_shown(getattr(method.settings, one))}`" for one in names)
        lines.append(f"| {', '.join(f'`{one}`' for one in names)} | {defaults} | {_cell(meaning)} |")
    return "\n".join(lines)


def _described(kind: type) -> Iterator[tuple[tuple[str, ...], str]]:
    """Names and descriptions of the attributes of a settings class, and of those that it inherits from."""
    import griffe

    kinds = (griffe.DocstringSectionKind.attributes, griffe.DocstringSectionKind.parameters)
    for one in kind.__mro__[:-1]:
        for section in griffe.Docstring(inspect.cleandoc(one.__doc__ or "")).parse("numpy"):
            for part in section.value if section.kind in kinds else ():
                yield tuple(part.name.split(", ")), " ".join(part.description.split())


def _cell(text: str) -> str:
    """Text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else repr(value)

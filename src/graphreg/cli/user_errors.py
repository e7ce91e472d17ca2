"""Errors in the words of the command line: options and files in place of the arguments of functions; and Ctrl-C."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand

from graphreg.cli.console import plain
from graphreg.errors import FileError, InputError

# The exception of Typer for wrong usage, which it does not export.
UsageError: Any = typer.BadParameter.__base__
# The arguments that the message of an `InputError` begins with.
ARGUMENTS = re.compile(r"(\w+(?:, \w+)*): ")


class Command(TyperCommand):
    """A command whose errors name its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as problem:  # an option without its value does not say of which command
            problem.ctx = problem.ctx or ctx
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as problem:
            raise in_terms_of_options(problem, self.params, ctx.params) from problem
        except KeyboardInterrupt as problem:
            # What is said of it by the command itself, if anything.
            more = "".join(f"; {said}" for said in problem.args)
            typer.echo(plain(f"graphreg: interrupted{more}"), err=True)
            raise


def in_terms_of_options(problem: InputError, parameters: list[Any], given: dict[str, Any]) -> InputError:
    """Return an error with options in place of the arguments that it begins with.

    Parameters
    ----------
    problem : InputError
        Such as "voxel: expected a positive number, got -1", or "source: has 2 points".
    parameters : list of click.Parameter
        Those of the command.
    given : dict
        Their values.

    Returns
    -------
    InputError
        Such as "--voxel: expected a positive number, got -1", or "scan.ply: has 2 points".
    """
    found = ARGUMENTS.match(str(problem))
    if isinstance(problem, FileError) or found is None:
        return problem
    names = {parameter.name: parameter for parameter in parameters}
    shown = [
        f"--set {name}" if name in _chosen(given) else _shown(names.get(name), given.get(name), name)
        for name in found[1].split(", ")
    ]
    subject, rest = ", ".join(shown), str(problem)[found.end() :]
    # Some say the value as well: "folder: nowhere is no folder".
    return InputError(rest if rest.startswith(f"{subject} ") else f"{subject}: {rest}")


def _chosen(given: dict[str, Any]) -> set[str]:
    """The names of the settings of --set."""
    return {text.partition("=")[0] for text in given.get("chosen") or ()}


def _shown(parameter: Any, value: Any, name: str) -> str:
    if parameter is None:
        return name
    if parameter.param_type_name == "argument":
        return str(value) if isinstance(value, Path) else str(parameter.metavar or name)
    return str(max(parameter.opts, key=len))

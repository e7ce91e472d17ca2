"""The command line: one file a command.

Exit status: 0 done, 1 not registered, 2 bad input or usage, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from inspect import cleandoc
from typing import Annotated, Any, NoReturn

import typer

from graphreg._version import __version__
from graphreg.cli.apply import apply
from graphreg.cli.batch import batch
from graphreg.cli.bench import bench
from graphreg.cli.clean import clean
from graphreg.cli.convert import convert
from graphreg.cli.data import data
from graphreg.cli.demo import demo
from graphreg.cli.info import info
from graphreg.cli.multiway import multiway
from graphreg.cli.register import register
from graphreg.cli.sequence import sequence
from graphreg.cli.view import view

# What Typer raises for words that it does not understand; it has no name for it of its own.
_UsageError: Any = typer.BadParameter.__base__
# As shells say it of a program that a closed pipe ends.
UNREAD = 141


def _unwrapped(text: str) -> str:
    """Each paragraph on one line, but for those that are marked to stay as they are."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith("\b") else part.replace("\n", " ") for part in paragraphs)


app = typer.Typer(
    help="""Point-cloud registration by graph signal processing and rigid-body dynamics.

    \b
    Examples:
      graphreg demo
      graphreg info scan.ply
      graphreg register source.ply target.ply -o T.txt --report report.html
      graphreg apply T.txt source.ply moved.ply

    `graphreg COMMAND --help` tells more. Exit status: 0 done, 1 not registered, 2 bad input, 130 interrupted.
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(register)
app.command()(sequence)
app.command()(multiway)
app.command()(view)
app.command()(batch)
app.command()(info)
app.command()(clean)
app.command()(apply)
app.command()(convert)
app.command()(demo)
app.command()(bench)
app.add_typer(data, name="data")
# Paragraphs are written for the width of our files; on the screen they take that of the terminal.
for _command in (*app.registered_commands, *data.registered_commands):
    _command.help = _unwrapped(_command.callback.__doc__ or "")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphreg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line; what the user did wrong is told in one line, without a traceback."""
    from graphreg.errors import InputError, MissingExtraError

    try:
        # In a context of its own, so that how much is said does not outlast the call.
        status = copy_context().run(app, prog_name="graphreg", standalone_mode=False)
    except _UsageError as problem:
        told = problem.format_message()
        # Where nothing was asked for, the help has been shown already.
        if not told:
            sys.exit(2)
        _leave(f"{told.rstrip('.')} (`{problem.ctx.command_path} --help` tells more)")
    except (InputError, MissingExtraError) as problem:
        _leave(str(problem))
    except OSError as problem:
        said = problem.strerror or str(problem)
        _leave(f"{problem.filename}: {said}" if problem.filename else said)
    except MemoryError:
        _leave("not enough memory for a scan of this size; thin it out with voxels first")
    except SystemExit as left:
        # What Typer and Rich make of a pipe that nobody reads on, as in `graphreg --help | head -1`, is our word for
        # "not registered".
        if isinstance(left.__context__, BrokenPipeError):
            sys.exit(UNREAD)
        raise
    except KeyboardInterrupt:
        typer.echo("graphreg: interrupted", err=True)
        sys.exit(130)
    sys.exit(status)


def _leave(problem: str) -> NoReturn:
    typer.echo(f"graphreg: {problem}", err=True)
    sys.exit(2)

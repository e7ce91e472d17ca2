"""The command line, one module per command.

Exit status: 0 done, 1 not registered, 2 bad input or usage, 130 interrupted (Ctrl-C), 141 output pipe closed.
"""

from __future__ import annotations

import os
import sys
from contextvars import copy_context
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from graphreg._version import __version__
from graphreg.cli.apply import apply
from graphreg.cli.batch import batch
from graphreg.cli.bench import bench
from graphreg.cli.clean import clean
from graphreg.cli.compare import compare
from graphreg.cli.console import plain
from graphreg.cli.convert import convert
from graphreg.cli.data import data
from graphreg.cli.deform import deform
from graphreg.cli.demo import demo
from graphreg.cli.info import info
from graphreg.cli.localise import localise
from graphreg.cli.locate import locate
from graphreg.cli.multiway import multiway
from graphreg.cli.register import register
from graphreg.cli.sequence import sequence
from graphreg.cli.user_errors import Command, UsageError
from graphreg.cli.view import view

# The status that shells report for a program ended by SIGPIPE.
PIPE_CLOSED = 141


def _unwrapped(text: str) -> str:
    """Join the lines of each paragraph, except those marked with \\b."""
    paragraphs = cleandoc(text).split("\n\n")
    return "\n\n".join(part if part.startswith("\b") else part.replace("\n", " ") for part in paragraphs)


app = typer.Typer(
    help="""Align any two 3D scans: no initial guess, no parameters, and it says whether it worked.

    \b
    Examples:
      graphreg demo
      graphreg info scan.ply
      graphreg register source.ply target.ply -o T.txt --report report.html
      graphreg apply T.txt source.ply moved.ply

    `graphreg COMMAND --help` shows the options of a command.

    Exit status: 0 done, 1 not registered, 2 bad input, 130 interrupted.
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(register)
app.command(cls=Command)(locate)
app.command(cls=Command)(compare)
app.command(cls=Command)(deform)
app.command(cls=Command)(sequence)
app.command(cls=Command)(localise)
app.command(cls=Command)(multiway)
app.command(cls=Command)(view)
app.command(cls=Command)(batch)
app.command(cls=Command)(info)
app.command(cls=Command)(clean)
app.command(cls=Command)(apply)
app.command(cls=Command)(convert)
app.command(cls=Command)(demo)
app.command(cls=Command)(bench)
app.add_typer(data, name="data")
# Docstrings are wrapped for the source; the help is wrapped by the terminal.
for _command in (*app.registered_commands, *data.registered_commands):
    _command.help = _unwrapped(_command.callback.__doc__ or "")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphreg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None: ...


@cache
def command() -> Any:
    """The command line as a command of Click, which Typer derives from the signatures: that takes a while."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; errors of the user are one line on standard error, without a traceback."""
    from graphreg.errors import InputError, MissingExtraError

    try:
        # In a context of its own, so that --quiet and --verbose end with the call.
        status = copy_context().run(command(), prog_name="graphreg", standalone_mode=False)
    except UsageError as problem:
        message = problem.format_message()
        # Without a command, the help has been shown already.
        if not message:
            sys.exit(2)
        _fail(f"{message.rstrip('.')} (see `{problem.ctx.command_path} --help`)")
    except (InputError, MissingExtraError) as problem:
        _fail(str(problem))
    except FileNotFoundError as problem:
        _fail(_missing(problem))
    except OSError as problem:
        message = problem.strerror or str(problem)
        _fail(f"{problem.filename}: {message}" if problem.filename else message)
    except MemoryError:
        _fail("not enough memory for a scan of this size; downsample it first")
    except SystemExit as exit:
        # Typer and Rich exit with 1 when the pipe is closed, as in `graphreg --help | head -1`; here 1 means "not
        # registered".
        if isinstance(exit.__context__, BrokenPipeError):
            sys.exit(PIPE_CLOSED)
        raise
    except KeyboardInterrupt:  # outside of a command
        sys.exit(130)
    sys.exit(status)


def _missing(problem: FileNotFoundError) -> str:
    """The message of a file that does not exist, with the one that was probably meant."""
    from difflib import get_close_matches

    message = problem.strerror or str(problem)
    if problem.filename is None:
        return message
    path = Path(os.fsdecode(problem.filename))
    files = os.listdir(path.parent) if path.parent.is_dir() else []
    # By stem; of several files with one stem that with the same suffix.
    names = {Path(name).stem: name for name in sorted(files, key=lambda name: Path(name).suffix == path.suffix)}
    close = get_close_matches(path.stem, names, n=1)
    return f"{path}: {message}{f'; did you mean {names[close[0]]}?' if close else ''}"


def _fail(problem: str) -> NoReturn:
    typer.echo(plain(f"graphreg: {problem}"), err=True)
    sys.exit(2)

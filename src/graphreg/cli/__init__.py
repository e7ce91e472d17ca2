"""The command line: one file a command.

Exit status: 0 done, 1 not registered, 2 bad input or usage, 130 interrupted.
"""

from __future__ import annotations

import sys
from contextvars import copy_context
from typing import Annotated, NoReturn

import typer

from graphreg import __version__
from graphreg.cli.apply import apply
from graphreg.cli.batch import batch
from graphreg.cli.bench import bench
from graphreg.cli.clean import clean
from graphreg.cli.convert import convert
from graphreg.cli.data import data
from graphreg.cli.demo import demo
from graphreg.cli.info import info
from graphreg.cli.register import register
from graphreg.cli.view import view

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
)
app.command()(register)
app.command()(view)
app.command()(batch)
app.command()(info)
app.command()(clean)
app.command()(apply)
app.command()(convert)
app.command()(demo)
app.command()(bench)
app.add_typer(data, name="data")


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
        copy_context().run(app, prog_name="graphreg")
    except (InputError, MissingExtraError) as problem:
        _leave(str(problem))
    except OSError as problem:
        _leave(f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem))
    except MemoryError:
        _leave("not enough memory for a scan of this size; thin it out with voxels first")
    except KeyboardInterrupt:
        typer.echo("graphreg: interrupted", err=True)
        sys.exit(130)


def _leave(problem: str) -> NoReturn:
    typer.echo(f"graphreg: {problem}", err=True)
    sys.exit(2)

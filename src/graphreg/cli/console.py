"""How much a command says: --quiet and --verbose, the same in every command.

What was asked for goes to standard output, all else to standard error. Errors are always told.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated

import typer

QUIET, USUAL, VERBOSE = "--quiet", "", "--verbose"
_loudness = ContextVar("loudness", default=USUAL)


def _choose(wanted: str, given: bool) -> bool:
    if given:
        if _loudness.get() not in (USUAL, wanted):
            raise typer.BadParameter(f"expected one of {QUIET} and {VERBOSE}, got both")
        _loudness.set(wanted)
    return given


def _be_quiet(given: bool) -> bool:
    return _choose(QUIET, given)


def _be_verbose(given: bool) -> bool:
    return _choose(VERBOSE, given)


# Options of a command. They take effect as they are read; its function need not look at them.
Quiet = Annotated[
    bool,
    typer.Option(QUIET, "-q", callback=_be_quiet, help="Print nothing but errors, and JSON where it is asked for."),
]
Verbose = Annotated[
    bool,
    typer.Option(VERBOSE, "-v", callback=_be_verbose, help="Also tell each step, how long it took and what it did."),
]


def is_quiet() -> bool:
    return _loudness.get() == QUIET


def tell(text: str) -> None:
    """What the command is for."""
    if not is_quiet():
        typer.echo(text)


def note(text: str) -> None:
    """What the user should know beside it."""
    if not is_quiet():
        typer.echo(text, err=True)


def detail(text: str) -> None:
    """What only those want to know who ask for it."""
    if _loudness.get() == VERBOSE:
        typer.echo(text, err=True)

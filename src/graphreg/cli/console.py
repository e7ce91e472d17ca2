"""Output of commands: results to standard output, notes to standard error, less with --quiet, more with --verbose.

Errors are printed always.
"""

from __future__ import annotations

import re
from contextvars import ContextVar

import typer

QUIET, NORMAL, VERBOSE = "--quiet", "", "--verbose"
# What a terminal obeys, and what it cannot print. Names and excerpts from files may contain it.
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_verbosity = ContextVar("verbosity", default=NORMAL)


def set_quiet(wanted: bool) -> bool:
    """Callback of the option --quiet."""
    return _set_verbosity(QUIET, wanted)


def set_verbose(wanted: bool) -> bool:
    """Callback of the option --verbose."""
    return _set_verbosity(VERBOSE, wanted)


def _set_verbosity(level: str, wanted: bool) -> bool:
    if wanted:
        if _verbosity.get() not in (NORMAL, level):
            raise typer.BadParameter(f"expected one of {QUIET} and {VERBOSE}, got both")
        _verbosity.set(level)
    return wanted


def is_quiet() -> bool:
    """Whether --quiet was passed."""
    return _verbosity.get() == QUIET


def plain(text: str) -> str:
    """The text with escapes instead of control characters."""
    return CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], text)


def output(text: str) -> None:
    """Print the result of a command."""
    if not is_quiet():
        typer.echo(plain(text))


def note(text: str) -> None:
    """Print a remark that is not part of the result."""
    if not is_quiet():
        typer.echo(plain(text), err=True)


def detail(text: str) -> None:
    """Print a remark with --verbose only."""
    if _verbosity.get() == VERBOSE:
        typer.echo(plain(text), err=True)

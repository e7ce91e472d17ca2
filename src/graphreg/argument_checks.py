"""Checks of arguments, with errors that name the argument, its value and what was expected."""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from graphreg.errors import InputError


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number of Python or numpy, of at most 64 bits; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and abs(int(value)) <= sys.maxsize


def is_number(value: Any) -> bool:
    """Whether a value is a real number of Python or numpy, and not too large for a float."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float; InputError unless it is a number from `low` to `high`."""
    if is_number(value) and low <= value <= high:
        return float(value)
    raise InputError(f"{name}: expected a number from {low:g} to {high:g}, got {shown(value)}")


def check_positive(name: str, value: Any, expected: str = "a positive number", infinite: bool = False) -> float:
    """`value` as a float; InputError unless it is a number above 0, and finite where it must be."""
    if is_number(value) and value > 0 and (infinite or value < math.inf):
        return float(value)
    raise InputError(f"{name}: expected {expected}, got {shown(value)}")


def check_integer(name: str, value: Any, low: int = 0) -> int:
    """`value` as an int; InputError unless it is a whole number from `low` on."""
    if is_integer(value) and value >= low:
        return int(value)
    raise InputError(f"{name}: expected a whole number from {low} on, got {shown(value)}")


def check_flag(name: str, value: Any) -> bool:
    """`value` as a bool; InputError unless it is True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise InputError(f"{name}: expected True or False, got {shown(value)}")


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """The choice that `value` is, in upper or lower case; InputError, with the closest one, where it is none."""
    if isinstance(value, str):
        for choice in (value, *choices):
            if choice in choices and choice.lower() == value.lower():
                return choice
    raise InputError(f"{name}: expected one of {', '.join(choices)}, got {shown(value)}{closest(value, choices)}")


def closest(value: Any, choices: Collection[str]) -> str:
    """A question for the choice that was probably meant, to be appended to an error message; empty if none is close."""
    from difflib import get_close_matches

    if not isinstance(value, str):
        return ""
    word = value.lower()[:60]
    # Of several, the one with the same letters: two were swapped.
    found = sorted(get_close_matches(word, choices), key=lambda choice: sorted(choice) != sorted(word))
    return f"; did you mean {found[0]!r}?" if found else ""


def check_callable(name: str, value: Callable[..., Any] | None) -> None:
    """InputError unless `value` can be called, or is None."""
    if value is not None and not callable(value):
        raise InputError(f"{name}: expected a function, got {shown(value)}")


def check_iterable(name: str, value: Any, expected: str) -> Iterator[Any]:
    """Return an iterator over several things."""
    try:
        return iter(value)
    except TypeError as problem:
        raise InputError(f"{name}: expected {expected}, got {type(value).__name__}") from problem


def shown(value: Any) -> str:
    """A value of any type and depth, short enough for an error message."""
    form = reprlib.Repr()
    form.maxstring = form.maxother = form.maxlong = 60
    try:
        return " ".join(form.repr(value).split())
    except ValueError:  # Python writes no whole number of more than 4,300 digits
        return f"a {type(value).__name__} of very many digits"

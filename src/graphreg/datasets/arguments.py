"""Checks of arguments, with errors that name the argument."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphreg.errors import InputError


def check_number(name: str, value: Any, low: float, high: float) -> float:
    """`value` as a float; InputError unless it is a number from `low` to `high`."""
    if isinstance(value, (int, float, np.number)) and low <= value <= high:
        return float(value)
    raise InputError(f"{name}: expected a number from {low:g} to {high:g}, got {value!r}")


def check_integer(name: str, value: Any, low: int = 0) -> None:
    """InputError unless `value` is an integer of `low` or more."""
    if not isinstance(value, (int, np.integer)) or value < low:
        raise InputError(f"{name}: expected an integer of {low} or more, got {value!r}")

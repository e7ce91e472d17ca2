"""Checks of arguments: what passes, what is refused, and that the error names the argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.datasets.arguments import check_integer, check_number
from graphreg.errors import InputError


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25), np.int64(1)])
def test_numbers_in_range_pass_as_floats(value: Any) -> None:
    assert check_number("share", value, 0, 1) == float(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "1", None, [1]])
def test_other_numbers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="^share: expected a number from 0 to 1, got "):
        check_number("share", value, 0, 1)


@pytest.mark.parametrize("value", [1, 7, np.int32(2)])
def test_integers_pass(value: Any) -> None:
    check_integer("frames", value, 1)


@pytest.mark.parametrize("value", [0, 1.0, "1", None])
def test_other_integers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="^frames: expected an integer of 1 or more, got "):
        check_integer("frames", value, 1)

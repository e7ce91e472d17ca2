"""Checks of arguments: what passes, what is refused, and that the error names the argument."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphreg.argument_checks import (
    check_callable,
    check_choice,
    check_flag,
    check_integer,
    check_iterable,
    check_number,
    check_positive,
    shown,
)
from graphreg.errors import InputError


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25), np.int64(1)])
def test_numbers_in_range_pass_as_floats(value: Any) -> None:
    assert check_number("share", value, 0, 1) == float(value)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "1", None, [1], True, pytest.param(10**5000, id="digits")])
def test_other_numbers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="^share: expected a number from 0 to 1, got "):
        check_number("share", value, 0, 1)


@pytest.mark.parametrize("value", [1, 7, np.int32(2)])
def test_integers_pass(value: Any) -> None:
    check_integer("frames", value, 1)


@pytest.mark.parametrize("value", [0, 1.0, "1", None, True, 2**63, pytest.param(10**5000, id="digits")])
def test_other_integers_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match="^frames: expected a whole number from 1 on, got "):
        check_integer("frames", value, 1)


def test_flags_choices_and_functions() -> None:
    assert check_flag("again", np.True_) is True
    assert check_choice("kind", "a", ("a", "b")) == "a"
    check_callable("callback", None)
    check_callable("callback", print)
    for check, value in ((check_flag, 1), (check_callable, 1)):
        with pytest.raises(InputError, match="^name: expected "):
            check("name", value)
    with pytest.raises(InputError, match=r"^kind: expected one of a, b, got \[\]$"):
        check_choice("kind", [], ("a", "b"))


def test_choices_have_any_case_and_the_closest_one_is_suggested() -> None:
    assert check_choice("method", "ICP", ("icp", "icp-kp")) == "icp"
    assert check_choice("name", "A", ("a", "A")) == "A"
    with pytest.raises(InputError, match=r"got 'cdp'; did you mean 'cpd'\?$"):
        check_choice("method", "cdp", ["icp", "cpd"])
    with pytest.raises(InputError, match=r"got 'icpkp'; did you mean 'icp-kp'\?$"):
        check_choice("method", "icpkp", ("icp-kp", "gmm"))
    with pytest.raises(InputError, match=r"got 'x'$"):
        check_choice("method", "x", ("icp-kp", "gmm"))


@pytest.mark.parametrize("value", [1, 0.5, np.float32(3)])
def test_positive_numbers_pass(value: Any) -> None:
    assert check_positive("size", value) == float(value)
    assert check_positive("size", math.inf, infinite=True) == math.inf


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, True, "1", 1j])
def test_others_are_not_positive(value: Any) -> None:
    with pytest.raises(InputError, match="^size: expected a positive number, got "):
        check_positive("size", value)


@pytest.mark.parametrize(
    "value",
    [pytest.param(10**5000, id="digits"), "x" * 10_000, list(range(10_000)), np.zeros((50, 50)), {"a": {"b": [1]}}],
)
def test_values_are_shown_in_a_short_line(value: Any) -> None:
    text = shown(value)
    assert 0 < len(text) < 200
    assert "\n" not in text


def test_what_cannot_be_iterated_is_refused() -> None:
    assert list(check_iterable("frames", (1, 2), "several clouds")) == [1, 2]
    with pytest.raises(InputError, match="^frames: expected several clouds, got object$"):
        check_iterable("frames", object(), "several clouds")

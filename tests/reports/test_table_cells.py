"""Formatting of table cells, and which columns are displayed and numeric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.reports.table_cells import MISSING, cell, columns_of, is_number, percent


@given(st.floats(-1e300, 1e300))
def test_floats_have_four_digits(value: float) -> None:
    assert float(cell(value)) == pytest.approx(value, rel=5.1e-4)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, MISSING), (0, "0"), (123456, "123456"), (0.123456, "0.1235"), (1e-9, "1e-09"), (True, "True"), ("a", "a")],
)
def test_other_values_are_complete(value: Any, text: str) -> None:
    assert cell(value) == text


def test_columns_with_lists_or_mappings_in_any_row_are_left_out() -> None:
    rows = [
        {"name": "a", "stages": None, "seeds": [0], "x": 1},
        {"name": "b", "stages": {"s": 1}, "seeds": [1], "x": 2},
    ]
    assert columns_of(rows) == ["name", "x"]


@pytest.mark.parametrize(
    ("values", "numeric"),
    [([1, 2.5], True), ([np.float64(1), None], True), ([None, None], False), ([1, "9 of 10"], False), (["-"], False)],
)
def test_a_column_is_numeric_if_all_its_known_values_are(values: list[Any], numeric: bool) -> None:
    assert is_number([{"x": value} for value in values], "x") is numeric


@given(st.floats(0, 1), st.integers(0, 3))
def test_percentages_are_rounded_to_their_digits(share: float, digits: int) -> None:
    number, unit = percent(share, digits).split()
    assert unit == "%"
    assert float(number) == pytest.approx(100 * share, abs=0.51 * 10**-digits)

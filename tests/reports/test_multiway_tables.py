"""Tables of multiway registration: digits, units and missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import random_transform, small_scan

import graphreg
from graphreg.multiscan.multiway_result import ControlResidual
from graphreg.poses import transform
from graphreg.reports.multiway_tables import control_rows, pair_rows, pose_rows, two_digits


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0001234, "0.00012"), (0.5, "0.5"), (7.0, "7"), (99.4, "99"), (134.0, "134"), (2345.6, "2346")],
)
def test_two_digits_have_no_exponent_from_a_hundred_on(value: float, shown: str) -> None:
    assert two_digits(value) == shown


def test_rows_show_poses_pairs_and_control_points_with_the_digits_of_their_deviations() -> None:
    body = small_scan("hare")
    result = graphreg.multiway([body[::2], transform(random_transform(1, 0.3), body[1::2])], names=("a", "b"))
    head, first, second = pose_rows(result)
    assert head[:5] == ("pose", "group", "x", "y", "z")
    assert first[0] == "a"
    assert first[-2:] == ("origin", "")
    # The last digit of x is at most a tenth of the standard deviation.
    assert 10.0 ** -len(second[2].partition(".")[2]) <= result.deviations(1)[1] / 10 * 1.01
    assert float(second[2]) == round(result.poses[1, 0, 3], len(second[2].partition(".")[2]))
    assert pose_rows(replace(result, fixed=(0,)))[1][-2] == "fixed"
    assert pair_rows(result)[1][0] == "b to a"
    apart = replace(result, groups=((0,), (1,)), edges=tuple(replace(edge, used=False) for edge in result.edges))
    assert pair_rows(apart)[1][1:3] == ("-", "-")
    assert len(pair_rows(apart, used=True)) == 1
    assert len(control_rows(result)) == 1
    point = ControlResidual("P", 1, True, np.array([0.0123, 0, 0]), 0.004, 0.5, True)
    row = ("P", "b", "control", "0.0123", "0.0000", "0.0000", "0.004", "used")
    assert control_rows(replace(result, control=(point,)))[1] == row

"""Arguments of survey work: which are refused, with which message, and how scans are named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg import InputError
from graphreg.files.control_points import ControlPoint
from graphreg.multiscan.survey_inputs import checked_survey
from graphreg.poses import pose, rotation_from_vector

NAMES = ("yard.e57", "hall.e57", "a/roof.ply", "b/roof.ply")
TILTED = np.tile(np.eye(4), (4, 1, 1))
TILTED[2] = pose(rotation_from_vector(np.array([0.01, 0, 0])), np.zeros(3))


def point(**changes: Any) -> ControlPoint:
    return ControlPoint(**{"name": "P", "scan": "hall", "point": (0.0, 0.0, 0.0), "sigma": 0.01} | changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fixed": "hall.e57"}, "fixed: expected a list of names or numbers of scans, got 'hall.e57'"),
        ({"fixed": ["cellar"]}, "fixed: expected the name of a scan, got 'cellar'; the scans are yard.e57, hall.e57"),
        ({"fixed": ["roof"]}, "fixed: several scans have the name 'roof'"),
        ({"fixed": [4]}, "fixed: expected the name of a scan, got 4"),
        ({"fixed": np.eye(4)}, "fixed: expected the name of a scan, got "),
        ({"init": np.eye(4)}, r"init: expected 4 poses, one for each scan, got shape \(4, 4\)"),
        ({"init": 2 * TILTED}, r"init\[0\]"),
        ({"init": np.full((4, 4, 4), np.nan), "fixed": ["hall"]}, "init: hall.e57 is fixed, but has no pose"),
        ({"init": TILTED, "dof": "rz,x,y,z"}, "init: the poses of yard.e57 and a/roof.ply differ by more than dof"),
        ({"dof": "rz,z"}, "dof: expected the translations across an axis of rotation as well, got rz,z"),
        ({"dof": "roll"}, "dof: expected some of"),
        ({"control": "points.csv"}, "control: expected a list of ControlPoint, got str"),
        ({"control": [(0, 0, 0)]}, "control: expected ControlPoint, got tuple"),
        ({"control": [point(sigma=None)]}, "control: P has no sigma"),
        ({"control": [point(scan="cellar")]}, "control: P: expected the name of a scan, got 'cellar'"),
        (
            {"control": [point(world=(0.0, 0.0, 1.0)), point(scan="yard", world=(0.0, 0.0, 2.0))]},
            "control: P has two world coordinates",
        ),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    given = {"init": None, "fixed": (), "dof": None, "control": None} | arguments
    with pytest.raises(InputError, match=message):
        checked_survey(NAMES, **given)


def test_scans_are_named_by_number_name_or_stem_and_may_be_chosen() -> None:
    control = [point(world=(1.0, 2.0, 3.0)), point(scan="a/roof.ply"), point(name="T", scan="yard.e57")]
    inputs = checked_survey(NAMES, None, ["hall", 3], ("rz", "x", "y"), control)
    assert inputs.fixed.tolist() == [False, True, False, True]
    assert inputs.has_pose.tolist() == inputs.fixed.tolist()
    assert inputs.free == (False, False, True, True, True, False)
    assert inputs.sightings.scans.tolist() == [1, 2, 0]
    assert inputs.sightings.points.tolist() == [0, 0, 1]
    assert inputs.sightings.known.tolist() == [True, False]
    fewer = inputs.of_scans([2, 3])
    assert fewer.sightings.scans.tolist() == [0]
    assert fewer.fixed.tolist() == [False, True]

"""The result: JSON and back, and points near the source."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.nonrigid.test_warps import POINTS, WARPS

import graphreg
from graphreg.nonrigid.relaxation import Relaxation

RESULT = graphreg.Deformation(
    points=np.vstack([WARPS[0].apply(POINTS), [[np.nan] * 3]]),
    success=True,
    confidence=0.9,
    reason="deformed",
    strain=np.append(np.zeros(len(POINTS)), np.nan),
    overlap=0.8,
    explained=0.7,
    inlier_rmse=float("nan"),
    transformation=np.eye(4),
    history=(Relaxation(10, 0.1, (2.0, 1.0)),),
    timings={"total": 1.0},
    method="elastic",
    settings={"stiffness": 1.0},
    seed=0,
    dropped=(1, 0),
    warp=WARPS[0],
)


def test_round_trip() -> None:
    again = graphreg.Deformation.from_json(RESULT.to_json())
    assert again.to_json() == RESULT.to_json()
    assert np.array_equal(again.points, RESULT.points, equal_nan=True)
    assert again.history == RESULT.history
    assert again.dropped == RESULT.dropped
    assert np.array_equal(np.asarray(again), RESULT.points, equal_nan=True)


def test_damaged_text_is_refused() -> None:
    values = json.loads(RESULT.to_json())
    damaged = [{**values, name: "no"} for name in values if name not in ("reason", "method")]
    for text in ("", "[]", "{}", *map(json.dumps, damaged)):
        with pytest.raises(graphreg.InputError, match="text"):
            graphreg.Deformation.from_json(text)


def test_apply() -> None:
    assert np.array_equal(RESULT.apply(POINTS), RESULT.points[:-1])
    rows = np.vstack([[[np.nan, 0, 0]], POINTS[:2]])
    assert np.isnan(RESULT.apply(rows)[0]).all()
    assert np.array_equal(RESULT.apply(rows)[1:], RESULT.points[:2])
    with pytest.raises(graphreg.InputError, match="points"):
        RESULT.apply([1, 2, 3])

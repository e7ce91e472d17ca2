"""The data of the viewer: valid JSON, points to half a step, poses from the initial to the final one."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.transform import Rotation
from tests.support.strategies import Floats, clouds

import graphreg
from graphreg.datasets import synthetic
from graphreg.method_interface import Iteration
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.display_clouds import DisplayCloud, describe_cloud, surface_distances
from graphreg.reports.page_payload import (
    UNKNOWN,
    encoded,
    frames,
    levels,
    quantised,
    registration_payload,
)

BODY = synthetic.scan("hare", points=2000).points
BODY = BODY - BODY.mean(axis=0)
T_TARGET_SOURCE = pose(rotation_from_vector([0.4, -0.3, 0.6]), [0.02, -0.01, 0.03])


@given(clouds)
def test_points_come_back_to_half_a_step(points: Floats) -> None:
    low, step, quanta = quantised(points)
    assert quanta.dtype == np.uint16
    # Half a step, and the rounding of coordinates of this size.
    slack = 8 * np.spacing(np.abs(points).max())
    assert (np.abs(low + step * quanta - points) <= 0.5 * step + slack).all()
    assert (step <= np.ptp(points, axis=0) / 65535 + slack).all()


def test_a_plane_has_a_zero_step() -> None:
    low, step, quanta = quantised(np.array([[0.0, 7, 1], [1, 7, 3]]))
    assert step.tolist() == [1 / 65535, 0, 2 / 65535]
    assert (low + step * quanta).tolist() == [[0, 7, 1], [1, 7, 3]]


def test_levels_span_their_range_and_mark_unknown_values() -> None:
    values = np.array([-5.0, 0, 5, 10, 99, np.nan, np.inf, -np.inf])
    assert levels(values, 0, 10).tolist() == [0, 0, 127, 254, 254, UNKNOWN, UNKNOWN, UNKNOWN]


def test_arrays_are_encoded_row_by_row() -> None:
    table = np.arange(6, dtype="<u2").reshape(2, 3)
    assert np.array_equal(np.frombuffer(base64.b64decode(encoded(table)), "<u2").reshape(2, 3), table)
    assert encoded(table.T.copy().T) == encoded(table)


def displayed(frame: dict[str, Any], points: Floats) -> Floats:
    """The points of the source where the viewer displays them."""
    return np.asarray(Rotation.from_quat(frame["rotation"]).apply(points) + frame["translation"])


def make_pair(scale: float = 1.0, offset: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Source, target and the transform between them."""
    T = pose(np.eye(3), np.full(3, offset)) @ pose(T_TARGET_SOURCE[:3, :3], scale * T_TARGET_SOURCE[:3, 3])
    target = scale * BODY + offset
    return transform(inverse(T), target), target, T


def payload_of(
    T: Floats, iterations: list[Iteration], source: Floats, target: Floats
) -> tuple[dict[str, Any], tuple[DisplayCloud, DisplayCloud]]:
    clouds = describe_cloud(source, "source"), describe_cloud(target, "target")
    residuals = surface_distances(*clouds, T), surface_distances(clouds[1], clouds[0], inverse(T))
    return registration_payload(T, iterations, clouds, residuals, 0.1), clouds


# At an offset of 1e9 coordinates are rounded to a ten-thousandth of the body's size, far more than by 16 bits.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "offset", "within"), [(1, 0, 1e-4), (1e6, 5e6, 1e-4), (1e-6, 0, 1e-4), (1, 1e6, 1e-4)]
)
def test_the_source_is_displayed_on_the_target(scale: float, offset: float, within: float) -> None:
    source, target, T = make_pair(scale, offset)
    payload, displays = payload_of(T, [], source, target)
    unit = max(display.radius for display in displays)
    points = []
    for cloud in payload["clouds"]:
        quanta = np.frombuffer(base64.b64decode(cloud["positions"]), "<u2").reshape(-1, 3)
        assert len(quanta) == cloud["points"]
        points.append(np.array(cloud["low"]) + np.array(cloud["step"]) * quanta)
    # Points of both clouds are in the same order, since the target is the transformed source.
    assert displayed(payload["frames"][-1], points[0]) == pytest.approx(points[1], abs=within)
    assert points[1] * unit + displays[1].centre == pytest.approx(displays[1].points, abs=within * unit)
    assert np.abs(json.loads(json.dumps(payload, allow_nan=False))["frames"][0]["translation"]).max() <= 3


def test_frames_go_from_before_to_after() -> None:
    source, target, _ = make_pair()
    result = graphreg.register(source[::2], target[1::2], method="icp")
    count = len(result.history)
    assert count > 3
    clouds = describe_cloud(source, "source"), describe_cloud(target, "target")
    listed = frames(result.transformation, result.history, clouds)
    assert [frame["name"] for frame in listed[:2]] == ["before", f"iteration 1 of {count}"]
    assert [frame["iteration"] for frame in listed] == list(range(count + 1))
    assert listed[-1]["name"] == "after"
    assert (listed[-1]["degrees"], listed[-1]["distance"]) == (0, 0)
    assert listed[0]["degrees"] == pytest.approx(
        np.degrees(np.linalg.norm(Rotation.from_matrix(result.transformation[:3, :3]).as_rotvec()))
    )
    unit = max(cloud.radius for cloud in clouds)
    for frame, T in zip(listed, [np.eye(4), *(step.transformation for step in result.history)], strict=True):
        centre = (transform(T, clouds[0].centre[None])[0] - clouds[1].centre) / unit
        assert frame["translation"] == pytest.approx(centre, abs=1e-12)
        assert Rotation.from_quat(frame["rotation"]).as_matrix() == pytest.approx(T[:3, :3], abs=1e-9)


def test_without_a_history_there_is_before_and_after() -> None:
    source, target, T = make_pair()
    listed = frames(T, [], (describe_cloud(source, "source"), describe_cloud(target, "target")))
    assert [frame["name"] for frame in listed] == ["before", "after"]


def test_clouds_far_apart_are_displayed_closer_and_marked() -> None:
    source, target, T = make_pair()
    away = source + np.array([1e8, 0, 0])
    payload, _ = payload_of(T @ pose(np.eye(3), [-1e8, 0, 0]), [], away, target)
    assert [frame["shortened"] for frame in payload["frames"]] == [True, False]
    assert payload["frames"][0]["distance"] == pytest.approx(1e8, rel=1e-3)


@pytest.mark.slow
@settings(max_examples=15)
@given(clouds)
def test_any_cloud_is_valid_json(points: Floats) -> None:
    payload, displays = payload_of(np.eye(4), [], points, points[::-1].copy())
    parsed = json.loads(json.dumps(payload, allow_nan=False))
    for cloud, display in zip(parsed["clouds"], displays, strict=True):
        assert cloud["points"] == len(display.points)
        for text in cloud["levels"].values():
            assert len(base64.b64decode(text)) == cloud["points"]
        assert 0 < cloud["inliers"] <= cloud["points"]

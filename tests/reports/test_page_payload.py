"""Laws of what the viewer gets: what JSON can hold, points to half a step, motions that end where they should."""

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
from graphreg.reports.display_clouds import Sample, distances, sample_of
from graphreg.reports.page_payload import UNKNOWN, encoded, frames, levels, payload, quantised, widest_residual

BODY = synthetic.scan("hare", points=2000).points
BODY = BODY - BODY.mean(axis=0)
MOTION = pose(rotation_from_vector([0.4, -0.3, 0.6]), [0.02, -0.01, 0.03])


@given(clouds)
def test_points_come_back_to_half_a_step(points: Floats) -> None:
    low, step, places = quantised(points)
    assert places.dtype == np.uint16
    # Half a step, and what rounding adds to coordinates of this size.
    slack = 8 * np.spacing(np.abs(points).max())
    assert (np.abs(low + step * places - points) <= 0.5 * step + slack).all()
    assert (step <= np.ptp(points, axis=0) / 65535 + slack).all()


def test_a_plane_has_no_step_across() -> None:
    low, step, places = quantised(np.array([[0.0, 7, 1], [1, 7, 3]]))
    assert step.tolist() == [1 / 65535, 0, 2 / 65535]
    assert (low + step * places).tolist() == [[0, 7, 1], [1, 7, 3]]


def test_levels_span_their_range_and_know_what_is_not_known() -> None:
    values = np.array([-5.0, 0, 5, 10, 99, np.nan, np.inf, -np.inf])
    assert levels(values, 0, 10).tolist() == [0, 0, 127, 254, 254, UNKNOWN, UNKNOWN, UNKNOWN]


def test_arrays_are_encoded_row_by_row() -> None:
    table = np.arange(6, dtype="<u2").reshape(2, 3)
    assert np.array_equal(np.frombuffer(base64.b64decode(encoded(table)), "<u2").reshape(2, 3), table)
    assert encoded(table.T.copy().T) == encoded(table)


def drawn(frame: dict[str, Any], places: Floats) -> Floats:
    """Points of the source where the viewer draws them."""
    return np.asarray(Rotation.from_quat(frame["rotation"]).apply(places) + frame["shift"])


def both(scale: float = 1.0, offset: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Source, target and the motion between them."""
    motion = pose(np.eye(3), np.full(3, offset)) @ pose(MOTION[:3, :3], scale * MOTION[:3, 3])
    target = scale * BODY + offset
    return transform(inverse(motion), target), target, motion


def held(
    motion: Floats, steps: list[Iteration], source: Floats, target: Floats
) -> tuple[dict[str, Any], tuple[Sample, Sample]]:
    samples = sample_of(source, "source"), sample_of(target, "target")
    residuals = distances(*samples, motion), distances(samples[1], samples[0], inverse(motion))
    return payload(motion, steps, samples, residuals, 0.1), samples


# At an offset of 1e9 coordinates are rounded to a ten-thousandth of the body's size, far more than by 16 bits.
@pytest.mark.parametrize(
    ("scale", "offset", "within"), [(1, 0, 1e-4), (1e6, 5e6, 1e-4), (1e-6, 0, 1e-4), (1, 1e6, 1e-4)]
)
def test_the_viewer_draws_the_source_on_the_target(scale: float, offset: float, within: float) -> None:
    source, target, motion = both(scale, offset)
    told, samples = held(motion, [], source, target)
    unit = max(sample.radius for sample in samples)
    places = []
    for cloud in told["clouds"]:
        whole = np.frombuffer(base64.b64decode(cloud["places"]), "<u2").reshape(-1, 3)
        assert len(whole) == cloud["points"]
        places.append(np.array(cloud["low"]) + np.array(cloud["step"]) * whole)
    # Rows of both samples are in the same order, since the target is the source moved.
    assert drawn(told["frames"][-1], places[0]) == pytest.approx(places[1], abs=within)
    assert places[1] * unit + samples[1].centre == pytest.approx(samples[1].points, abs=within * unit)
    assert np.abs(json.loads(json.dumps(told, allow_nan=False))["frames"][0]["shift"]).max() <= 3


def test_frames_go_from_before_to_after() -> None:
    source, target, _ = both()
    result = graphreg.register(source[::2], target[1::2], method="icp")
    count = len(result.history)
    assert count > 3
    samples = sample_of(source, "source"), sample_of(target, "target")
    way = frames(result.transformation, result.history, samples)
    assert [frame["name"] for frame in way[:2]] == ["before", f"step 1 of {count}"]
    assert [frame["step"] for frame in way] == list(range(count + 1))
    assert way[-1]["name"] == "after"
    assert (way[-1]["degrees"], way[-1]["distance"]) == (0, 0)
    assert way[0]["degrees"] == pytest.approx(
        np.degrees(np.linalg.norm(Rotation.from_matrix(result.transformation[:3, :3]).as_rotvec()))
    )
    unit = max(sample.radius for sample in samples)
    for frame, motion in zip(way, [np.eye(4), *(step.transformation for step in result.history)], strict=True):
        middle = (transform(motion, samples[0].centre[None])[0] - samples[1].centre) / unit
        assert frame["shift"] == pytest.approx(middle, abs=1e-12)
        assert Rotation.from_quat(frame["rotation"]).as_matrix() == pytest.approx(motion[:3, :3], abs=1e-9)


def test_without_a_history_there_is_before_and_after() -> None:
    source, target, motion = both()
    way = frames(motion, [], (sample_of(source, "source"), sample_of(target, "target")))
    assert [frame["name"] for frame in way] == ["before", "after"]


def test_clouds_far_apart_are_drawn_nearer_and_it_is_told() -> None:
    source, target, motion = both()
    away = source + np.array([1e8, 0, 0])
    told, _ = held(motion @ pose(np.eye(3), [-1e8, 0, 0]), [], away, target)
    assert [frame["shortened"] for frame in told["frames"]] == [True, False]
    assert told["frames"][0]["distance"] == pytest.approx(1e8, rel=1e-3)


def test_the_widest_residual_covers_what_overlaps() -> None:
    off = np.concatenate([np.full(60, 0.1), np.full(40, 50.0)])
    assert 0.1 < widest_residual(off, 0.6, 1.0) < 50
    assert widest_residual(np.zeros(10), 1.0, 1.0) > 0
    assert widest_residual(off, 0.0, 1.0) > 0


@settings(max_examples=15)
@given(clouds)
def test_any_cloud_becomes_json(points: Floats) -> None:
    told, samples = held(np.eye(4), [], points, points[::-1].copy())
    again = json.loads(json.dumps(told, allow_nan=False))
    for cloud, sample in zip(again["clouds"], samples, strict=True):
        assert cloud["points"] == len(sample.points)
        for text in cloud["values"].values():
            assert len(base64.b64decode(text)) == cloud["points"]
        assert 0 < cloud["on_surface"] <= cloud["near_surface"] <= cloud["points"]

"""Multiway registration: scans in any order and pose, foreign scans, groups, invariances, and bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.body_scans import assert_registered, body_scans, foreign_scan, registered_body
from tests.support.strategies import random_transform

import graphreg
from graphreg import InputError
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, transform
from graphreg.reports.multiway_page import multiway_report


@pytest.mark.slow
def test_scans_in_any_order_and_pose_are_registered() -> None:
    result = registered_body()
    assert_registered(result, (0, 1, 2, 3), *body_scans())
    assert result.success
    assert result.left_out == {}
    assert {edge.used for edge in result.edges if edge.success} == {True}


@pytest.mark.slow
def test_stages_sum_to_at_most_the_total() -> None:
    timings = dict(registered_body().timings)
    total = timings.pop("total")
    assert list(timings) == ["describe", "register", "optimise", "close", "refine"]
    assert 0 < sum(timings.values()) <= total


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    again = graphreg.multiway(body_scans()[0], threads=1)
    assert np.array_equal(again.poses, registered_body().poses)
    assert [edge.reason for edge in again.edges] == [edge.reason for edge in registered_body().edges]


@pytest.mark.slow
def test_a_foreign_scan_is_left_out_and_named() -> None:
    clouds, truth = body_scans()
    mixed = (foreign_scan(), *clouds)
    names = ("other", "a", "b", "c", "d")
    calls: list[tuple[int, int]] = []
    result = graphreg.multiway(mixed, names=names, progress=lambda done, total: calls.append((done, total)))
    assert_registered(result, (1, 2, 3, 4), mixed, (np.eye(4), *truth))
    assert not result.success
    assert list(result.left_out) == ["other"]
    assert "not registered to any of 4 scans; the best was " in result.left_out["other"]
    assert np.isnan(result.poses[0]).all()
    # Progress is reported after each pair.
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][0] == calls[-1][1]


@pytest.mark.slow
def test_groups_without_overlap_have_frames_of_their_own() -> None:
    clouds, _ = body_scans()
    moved = transform(random_transform(8, 1.0), foreign_scan())
    result = graphreg.multiway([clouds[0], foreign_scan(), clouds[3], moved])
    assert result.groups == ((0, 2), (1, 3))
    assert not result.success
    assert result.left_out == {}
    assert np.array_equal(result.poses[[0, 1]], np.tile(np.eye(4), (2, 1, 1)))
    assert angular_error(result.poses[3], inverse(random_transform(8, 1.0))) < 0.5


@pytest.mark.slow
def test_scans_far_from_the_origin_are_registered_as_well() -> None:
    clouds, _ = body_scans()
    offset = np.eye(4)
    offset[:3, 3] = [4e5, 5.4e6, 300.0]
    result = graphreg.multiway([transform(offset, cloud) for cloud in clouds])
    for scan in range(4):
        back, near = inverse(offset) @ result.poses[scan] @ offset, registered_body().poses[scan]
        # Coordinates of millions have nine digits after the point; a rotation by 1e-9 moves what is 5e6 away by 5e-3.
        assert angular_error(back, near) < 0.05
        centroid = clouds[scan].mean(axis=0)[None]
        np.testing.assert_allclose(transform(back, centroid), transform(near, centroid), atol=2e-4)


@pytest.mark.slow
def test_a_scan_with_most_points_on_one_close_object_is_registered() -> None:
    """So close to a lamp in a room that half of the points are on it."""
    scans = list(synthetic.sequence("room", 4, 12, viewpoint=84, points=5000))
    frames = [random_transform(number, 1.0) for number in range(4)]
    clouds = tuple(transform(frame, scan.points) for frame, scan in zip(frames, scans, strict=True))
    truth = tuple(scan.pose @ inverse(frame) for frame, scan in zip(frames, scans, strict=True))
    assert_registered(graphreg.multiway(clouds), (0, 1, 2, 3), clouds, truth)


@pytest.mark.slow
def test_a_scan_without_a_surface_does_not_stop_the_others() -> None:
    clouds, _ = body_scans()
    noise = np.random.default_rng(0).normal(size=(3000, 3))
    result = graphreg.multiway([clouds[0], noise, clouds[3]], names=("a", "noise", "b"))
    assert result.groups == ((0, 2),)
    assert "noise" in result.left_out


@pytest.mark.parametrize(
    ("clouds", "names", "message"),
    [
        ([np.zeros((20, 3))], None, "clouds: expected a list of at least two, got 1"),
        ("scans", None, "clouds: expected a list of at least two, got str"),
        ([np.zeros((20, 3))] * 2, ["a", "a"], "names: expected 2 different ones, got a, a"),
        ([np.zeros((4, 3)), np.zeros((20, 3))], ["a", "b"], "a: has 4 points, but at least 11 are needed"),
        ([np.zeros((20, 3)), np.eye(3)[[0, 1, 2] * 5]], ["a", "b"], "a: has 1 distinct points, but at least 11"),
        ([np.zeros((20, 3)), "text"], ["a", "b"], "b: expected an"),
    ],
)
def test_bad_input_is_named(clouds: object, names: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        graphreg.multiway(clouds, names=names)  # type: ignore[arg-type]


@pytest.mark.slow
def test_scans_with_too_few_points_are_left_out_and_named(tmp_path: Path) -> None:
    clouds, _ = body_scans()
    usable = graphreg.multiway([clouds[0], clouds[3]], names=("a", "b"))
    few = [np.empty((0, 3)), clouds[0], np.ones((30, 3)), clouds[3], np.full((50, 3), np.nan)]
    result = graphreg.multiway(few, names=("none", "a", "one", "b", "nan"))
    assert result.left_out == {
        "none": "has 0 points, but at least 11 are needed",
        "one": "has 1 distinct points, but at least 11 are needed",
        "nan": "has 0 points, but at least 11 are needed",
    }
    assert not result.success
    assert result.groups == ((1, 3),)
    assert [(edge.source, edge.target) for edge in result.edges] == [(3, 1)]
    assert np.array_equal(result.poses[[1, 3]], usable.poses)
    assert np.isnan(result.poses[[0, 2, 4]]).all()
    assert len(result.merged()) == len(usable.merged())
    assert result.graph.poses.shape == (5, 4, 4)
    assert '"none"' in result.to_json()
    multiway_report(result, tmp_path / "report.html")
    assert "has 0 points" in (tmp_path / "report.html").read_text()

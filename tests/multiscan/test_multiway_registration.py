"""Multiway registration: scans in any order and pose, foreign scans, groups, invariances, and bad input."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from tests.support.body_scans import assert_registered, body_scans, foreign_scan, registered_body
from tests.support.strategies import random_transform

import graphreg
from graphreg import InputError
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.multiway_page import multiway_report


@lru_cache
def registered_pair() -> graphreg.Multiway:
    """Two neighbouring scans of the body, registered."""
    return graphreg.multiway([body_scans()[0][scan] for scan in (0, 3)])


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
    assert list(timings) == ["describe", "register", "optimise", "close", "verify", "refine", "adjust"]
    assert 0 < sum(timings.values()) <= total


@pytest.mark.slow
def test_the_same_bits_for_any_number_of_threads() -> None:
    again = graphreg.multiway(body_scans()[0], threads=3)
    assert np.array_equal(again.poses, registered_body().poses)
    assert [edge.reason for edge in again.edges] == [edge.reason for edge in registered_body().edges]


@pytest.mark.slow
def test_a_foreign_scan_is_left_out_and_named() -> None:
    clouds, truth = body_scans()
    mixed = (foreign_scan(), clouds[0], clouds[3])
    names = ("other", "a", "b")
    calls: list[tuple[int, int]] = []
    result = graphreg.multiway(mixed, names=names, progress=lambda done, total: calls.append((done, total)))
    assert_registered(result, (1, 2), mixed, (np.eye(4), truth[0], truth[3]))
    assert not result.success
    assert list(result.left_out) == ["other"]
    assert "not registered to any of 2 scans; the best was " in result.left_out["other"]
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
    clouds = [body_scans()[0][scan] for scan in (0, 3)]
    offset = np.eye(4)
    offset[:3, 3] = [4e5, 5.4e6, 300.0]
    result = graphreg.multiway([transform(offset, cloud) for cloud in clouds])
    for scan in range(2):
        back, near = inverse(offset) @ result.poses[scan] @ offset, registered_pair().poses[scan]
        # Coordinates of millions have nine digits after the point; a rotation by 1e-9 moves what is 5e6 away by 5e-3.
        assert angular_error(back, near) < 0.05
        centroid = clouds[scan].mean(axis=0)[None]
        np.testing.assert_allclose(transform(back, centroid), transform(near, centroid), atol=2e-4)


@pytest.mark.slow
def test_a_scan_with_most_points_on_one_close_object_is_registered() -> None:
    """So close to a lamp in a room that half of the points are on it."""
    scans = list(synthetic.sequence("room", 3, 12, viewpoint=84, points=4000))
    frames = [random_transform(number, 1.0) for number in range(3)]
    clouds = tuple(transform(frame, scan.points) for frame, scan in zip(frames, scans, strict=True))
    truth = tuple(scan.pose @ inverse(frame) for frame, scan in zip(frames, scans, strict=True))
    assert_registered(graphreg.multiway(clouds), (0, 1, 2), clouds, truth)


@pytest.mark.slow
def test_a_scan_without_a_surface_does_not_stop_the_others() -> None:
    clouds, _ = body_scans()
    noise = np.random.default_rng(0).normal(size=(3000, 3))
    result = graphreg.multiway([clouds[0], noise, clouds[3]], names=("a", "noise", "b"))
    assert result.groups == ((0, 2),)
    assert "noise" in result.left_out


def displacement(result: graphreg.Multiway, scan: int, expected: np.ndarray) -> float:
    """Largest distance of a point from where it is in truth."""
    points = result.clouds[scan].points
    return float(np.linalg.norm(transform(result.poses[scan], points) - transform(expected, points), axis=1).max())


@lru_cache
def levelled_scans() -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Three levelled scans of a room, and their poses in a world of large coordinates. Not to be written to."""
    rng = np.random.default_rng(5)
    truth, clouds = [], []
    for scan in synthetic.sequence("room", 3, 20, points=4000):
        frame = pose(rotation_from_vector(np.array([0, 0, rng.uniform(-3, 3)])), rng.normal(size=3))
        clouds.append(transform(inverse(frame) @ scan.pose, scan.points))
        truth.append(pose(np.eye(3), np.array([4.5e5, 5.3e6, 210.0])) @ frame)
    return tuple(clouds), np.array(truth)


def control_points(sigma: float, wrong: tuple[int, ...] = ()) -> list[graphreg.ControlPoint]:
    """Four control points in each scan, some wrong by 0.3."""
    rng, (_, truth) = np.random.default_rng(2), levelled_scans()
    points = []
    for number in range(12):
        scan, x = number % 3, rng.uniform(-2, 2, 3)
        world = transform(truth[scan], x[None])[0]
        x = x + sigma * rng.normal(size=3) + 0.3 * np.eye(3)[0] * (number in wrong)
        points.append(graphreg.ControlPoint(f"P{number}", f"scan {scan}", tuple(x), tuple(world), sigma))
    return points


@pytest.mark.slow
def test_levelled_scans_stay_level_and_fixed_scans_stay() -> None:
    clouds, truth = levelled_scans()
    result = graphreg.multiway(clouds, dof="rz,x,y,z")
    assert result.groups == ((0, 1, 2),)
    assert np.abs(result.poses[:, 2, :2]).max() < 1e-12
    assert not result.covariances[:, :2].any()
    assert not result.in_world
    init = np.full_like(truth, np.nan)
    init[1] = truth[1]
    fixed = graphreg.multiway(clouds, names=("a", "b", "c"), dof="rz,x,y,z", init=init, fixed=["b"])
    assert np.array_equal(fixed.poses[1], truth[1])
    assert not fixed.covariances[1].any()
    assert fixed.in_world
    assert fixed.fixed == (1,)
    for scan in range(3):
        # The fine voxels of this room are 0.05 wide.
        assert displacement(fixed, scan, truth[scan]) < 0.01
        relative = truth[1] @ inverse(result.poses[1]) @ result.poses[scan]
        assert displacement(fixed, scan, relative) < 2e-3


@pytest.mark.slow
def test_pairs_are_refined_from_initial_poses_and_a_wrong_one_is_found_by_search() -> None:
    clouds, truth = levelled_scans()
    near = truth @ pose(rotation_from_vector(np.array([0.0, 0.0, 0.02])), np.array([0.03, 0.0, 0.0]))
    near[0] = truth[0]
    result = graphreg.multiway(clouds, init=near)
    assert np.array_equal(result.poses[0], truth[0])
    assert max(displacement(result, scan, truth[scan]) for scan in range(3)) < 0.01
    wrong = near.copy()
    wrong[2, :3, 3] += 100.0
    again = graphreg.multiway(clouds, init=wrong, fixed=[0])
    assert again.groups == ((0, 1, 2),)
    assert max(displacement(again, scan, truth[scan]) for scan in range(3)) < 0.01


@pytest.mark.slow
def test_control_points_bring_scans_into_the_world_and_outliers_are_named() -> None:
    clouds, truth = levelled_scans()
    result = graphreg.multiway(clouds, control=control_points(0.002, wrong=(4, 8)))
    assert result.success
    assert result.in_world
    assert [point.name for point in result.control if point.is_outlier] == ["P4", "P8"]
    assert [point.used for point in result.control].count(False) == 2
    for scan in range(3):
        degrees, distance = result.deviations(scan)
        centroid = clouds[scan].mean(axis=0)[None]
        error = np.linalg.norm(transform(result.poses[scan], centroid) - transform(truth[scan], centroid))
        assert error < 4 * distance < 0.02
        assert angular_error(result.poses[scan], truth[scan]) < 4 * degrees < 1
    assert '"P4"' in result.to_json()


@pytest.mark.slow
def test_control_points_join_scans_that_do_not_overlap() -> None:
    clouds, truth = levelled_scans()
    foreign = foreign_scan()
    points = [point for point in control_points(0.002) if point.scan == "scan 1"]
    alone = graphreg.multiway([foreign, clouds[1]], control=points)
    assert alone.groups == ((1,),)
    assert displacement(alone, 1, truth[1]) < 0.02
    assert list(alone.left_out) == ["scan 0"]
    place = truth[0]
    seen = np.random.default_rng(1).uniform(-1, 1, (4, 3))
    world = transform(place, seen)
    more = [
        graphreg.ControlPoint(f"Q{number}", "scan 0", tuple(x), tuple(X), 0.002)
        for number, (x, X) in enumerate(zip(seen, world, strict=True))
    ]
    both = graphreg.multiway([foreign, clouds[1]], control=[*points, *more])
    assert both.success
    assert displacement(both, 0, place) < 1e-6
    # One point determines no frame: this is said, and the poses are those of the scans alone.
    few = graphreg.multiway(clouds[:2], control=control_points(0.002)[:1])
    assert not few.success
    assert not few.in_world
    assert np.array_equal(few.poses[0], np.eye(4))
    assert not few.control[0].used


@pytest.mark.parametrize(
    ("clouds", "names", "message"),
    [
        ([np.zeros((20, 3))], None, "clouds: expected a list of at least two, got 1"),
        ("scans", None, "clouds: expected a list of at least two, got str"),
        ([np.zeros((20, 3))] * 2, ["a", "a"], "names: expected 2 different ones, got a, a"),
        ([np.zeros((4, 3)), np.zeros((20, 3))], ["a", "b"], "a: has 4 points, but at least 11 are needed"),
        ([np.zeros((20, 3)), np.eye(3)[[0, 1, 2] * 5]], ["a", "b"], "a: has 1 distinct points, but at least 11"),
        ([np.zeros((20, 3)), b"text"], ["a", "b"], "b: expected an"),
        ([1e-300 * np.mgrid[0:4, 0:4, 0:4].reshape(3, -1).T] * 2, ["a", "b"], "extent of 3e-300, too small for a pose"),
    ],
)
def test_bad_input_is_named(clouds: object, names: list[str] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        graphreg.multiway(clouds, names=names)  # type: ignore[arg-type]


@pytest.mark.slow
def test_scans_with_too_few_points_are_left_out_and_named(tmp_path: Path) -> None:
    clouds, _ = body_scans()
    usable = registered_pair()
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

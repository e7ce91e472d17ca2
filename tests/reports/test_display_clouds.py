"""Display clouds: sampled from the cloud, described by its graph, and invariant to rigid transforms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.support.strategies import random_transform, seeds

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import display_clouds
from graphreg.reports.display_clouds import (
    MAX_DISTANCE,
    default_view,
    describe_cloud,
    displayed_pose,
    surface_distances,
)

BODY = synthetic.scan("hare", points=2000).points
T_TARGET_SOURCE = pose(rotation_from_vector([0.3, -0.2, 0.5]), [0.1, 0.2, -0.3])


def is_subset(points: Floats, cloud: Floats) -> bool:
    rows = {row.tobytes() for row in cloud}
    return all(row.tobytes() in rows for row in points)


def test_all_points_of_a_small_cloud_are_displayed() -> None:
    shown = describe_cloud(BODY, "source")
    assert (len(shown.points), shown.too_far_count, shown.total) == (len(BODY), 0, len(BODY))
    assert is_subset(shown.points, BODY)


def test_a_large_cloud_is_subsampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_clouds, "MAX_POINTS", 500)
    shown = describe_cloud(BODY, "source")
    assert (len(shown.points), shown.total) == (500, len(BODY))
    assert is_subset(shown.points, BODY)
    assert len(np.unique(shown.points, axis=0)) == 500
    assert np.array_equal(shown.points, describe_cloud(BODY, "source").points)


def test_inliers_come_first() -> None:
    corrupted, is_outlier = synthetic.add_outliers(BODY, 0.3, "gaussian", 0)
    shown = describe_cloud(corrupted, "source")
    kept = graphreg.inliers(corrupted, rule="volume")
    assert is_subset(shown.points[: shown.inlier_count], corrupted[kept])
    assert is_subset(shown.points[shown.inlier_count :], corrupted[~kept])
    assert kept[is_outlier].mean() < 0.05


def test_signals_belong_to_their_points() -> None:
    corrupted, _ = synthetic.add_outliers(BODY, 0.3, "gaussian", 0)
    shown = describe_cloud(corrupted, "source")
    intensity, variation = graphreg.intensity(corrupted), graphreg.invariants(corrupted)[:, 0]
    row = {point.tobytes(): k for k, point in enumerate(corrupted)}
    rows = [row[point.tobytes()] for point in shown.points]
    assert np.array_equal(shown.intensity, intensity[rows])
    assert np.array_equal(shown.variation, variation[rows])


def test_points_far_from_the_rest_are_not_displayed() -> None:
    with_isolated = np.vstack([BODY, [[1e6, 0, 0], [0, 1e9, 0]]])
    shown, alone = describe_cloud(with_isolated, "source"), describe_cloud(BODY, "source")
    assert shown.too_far_count == 2
    assert shown.total == len(BODY) + 2
    assert shown.radius == pytest.approx(alone.radius, rel=0.01)


def plane(count: int, height: float, noise: float, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random((count, 2)), height + noise * rng.normal(size=count)])


def test_distances_are_to_the_surface_not_to_its_points() -> None:
    """Two samplings of one plane, offset by a tenth of their spacing: the nearest points are much farther away."""
    below, above = plane(2000, 0.0, 0.0, 0), plane(2000, 0.002, 0.0, 1)
    inner = above[(np.abs(above[:, :2] - 0.5) < 0.4).all(axis=1)]
    off = surface_distances(describe_cloud(inner, "source"), describe_cloud(below, "target"), np.eye(4))
    assert off == pytest.approx(np.full(len(inner), 0.002), rel=1e-6)


def test_distances_beyond_the_border_are_to_the_border() -> None:
    target = describe_cloud(plane(4000, 0.0, 0.0, 0), "target")
    offset = pose(np.eye(3), [3.0, 0.0, 0.0])
    off = surface_distances(describe_cloud(plane(500, 0.0, 0.0, 1), "source"), target, offset)
    # At least two, minus the radius of the outermost neighbourhoods.
    assert off.min() > 2 - 4 * target.spacing
    assert off.max() < 3


@pytest.mark.slow
@settings(max_examples=10)
@given(seeds)
def test_distances_are_invariant_to_rigid_transforms_of_both_clouds(seed: int) -> None:
    T = random_transform(seed, 1.0)
    source, target = BODY[::3], BODY[1::3]
    here = surface_distances(describe_cloud(source, "s"), describe_cloud(target, "t"), T_TARGET_SOURCE)
    there = surface_distances(
        describe_cloud(transform(T, source), "s"),
        describe_cloud(transform(T, target), "t"),
        T @ T_TARGET_SOURCE @ inverse(T),
    )
    # Of two points at the same distance, rounding may choose either.
    assert np.mean(np.isclose(np.sort(here), np.sort(there), rtol=1e-6, atol=1e-9)) > 0.99


@pytest.mark.slow
@settings(max_examples=20)
@given(seeds)
def test_the_default_view_is_a_rotation(seed: int) -> None:
    axes = default_view(describe_cloud(transform(random_transform(seed, 5.0), BODY), "target"))
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)


def test_a_landscape_is_viewed_from_above_and_a_scan_from_its_scanner() -> None:
    ground = plane(3000, 0.0, 0.001, 0)
    for origin in ([0, 0, 0], [5e5, 5e6, 100.0]):
        assert default_view(describe_cloud(ground + origin, "target"))[2, 2] > 0.8
    wall = np.roll(ground, 1, axis=1) - [0, 0.5, 0.5]
    for sign in (1.0, -1.0):
        _, up, viewer = default_view(describe_cloud(wall - [5 * sign, 0, 0], "target"))
        assert viewer[0] * sign > 0.8
        assert up[2] > 0.8


def test_a_depth_image_is_viewed_upright() -> None:
    """A depth camera looks along +z, with y pointing down."""
    _, up, viewer = default_view(describe_cloud(plane(3000, 4.0, 0.001, 0) - [0.5, 0.5, 0], "target"))
    assert viewer[2] < -0.8
    assert up[1] < -0.8


def test_the_source_is_displayed_in_its_pose_or_closer() -> None:
    source, target = describe_cloud(BODY, "source"), describe_cloud(transform(T_TARGET_SOURCE, BODY), "target")
    aligned = displayed_pose(T_TARGET_SOURCE, source, target)
    assert not aligned.shortened
    assert aligned.translation == pytest.approx(np.zeros(3), abs=1e-9)
    away = displayed_pose(pose(np.eye(3), [0, 0, 1e7]) @ T_TARGET_SOURCE, source, target)
    assert away.shortened
    assert away.translation == pytest.approx([0, 0, MAX_DISTANCE], abs=1e-6)


@pytest.mark.parametrize("points", [np.eye(3), np.zeros((20, 3)), np.arange(60.0).reshape(20, 3)])
def test_clouds_without_a_surface_are_displayed(points: Floats) -> None:
    shown = describe_cloud(points, "source")
    assert len(shown.points) == len(points)
    assert shown.inlier_count > 0
    assert np.isfinite(default_view(shown)).all()
    assert np.isfinite(surface_distances(shown, shown, np.eye(4))).all()

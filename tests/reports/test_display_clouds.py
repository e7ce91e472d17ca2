"""Laws of what is shown: drawn from the cloud, described as the graph describes it, the same under rigid motion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.support.strategies import random_transform, seeds

import graphreg
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.errors import InputError
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports import scenes
from graphreg.reports.display_clouds import FARTHEST, before_and_after, distances, placement_of, sample_of, standpoint
from graphreg.reports.pictures import PAPER

BODY = synthetic.scan("hare", points=3000).points
MOVED = pose(rotation_from_vector([0.3, -0.2, 0.5]), [0.1, 0.2, -0.3])


def in_rows(points: Floats, cloud: Floats) -> bool:
    held = {row.tobytes() for row in cloud}
    return all(row.tobytes() in held for row in points)


def test_all_points_of_a_small_cloud_are_shown() -> None:
    shown = sample_of(BODY, "source")
    assert (len(shown.points), shown.left_out, shown.total) == (len(BODY), 0, len(BODY))
    assert in_rows(shown.points, BODY)


def test_a_large_cloud_is_thinned_by_drawing_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scenes, "MOST_POINTS", 500)
    shown = sample_of(BODY, "source")
    assert (len(shown.points), shown.total) == (500, len(BODY))
    assert in_rows(shown.points, BODY)
    assert len(np.unique(shown.points, axis=0)) == 500
    assert np.array_equal(shown.points, sample_of(BODY, "source").points)


def test_points_on_surfaces_come_first_and_are_what_the_rule_keeps() -> None:
    spoilt, is_outlier = synthetic.add_outliers(BODY, 0.3, "gaussian", 0)
    shown = sample_of(spoilt, "source")
    kept = graphreg.inliers(spoilt)
    assert in_rows(shown.points[: shown.on_surface], spoilt[kept])
    assert in_rows(shown.points[shown.on_surface :], spoilt[~kept])
    assert shown.near_surface > shown.on_surface
    # Nearly all of what was put there is beyond the looser rule as well.
    far = {row.tobytes() for row in shown.points[shown.near_surface :]}
    every = {row.tobytes() for row in shown.points}
    outliers = [row.tobytes() in far for row in spoilt[is_outlier] if row.tobytes() in every]
    assert np.mean(outliers) > 0.95


def test_signals_belong_to_their_points() -> None:
    spoilt, _ = synthetic.add_outliers(BODY, 0.3, "gaussian", 0)
    shown = sample_of(spoilt, "source")
    intensity, variation = graphreg.intensity(spoilt), graphreg.invariants(spoilt)[:, 0]
    row = {point.tobytes(): k for k, point in enumerate(spoilt)}
    rows = [row[point.tobytes()] for point in shown.points]
    assert np.array_equal(shown.intensity, intensity[rows])
    assert np.array_equal(shown.variation, variation[rows])


def test_what_lies_far_off_is_left_out() -> None:
    stray = np.vstack([BODY, [[1e6, 0, 0], [0, 1e9, 0]]])
    shown, alone = sample_of(stray, "source"), sample_of(BODY, "source")
    assert shown.left_out == 2
    assert shown.total == len(BODY) + 2
    assert shown.radius == pytest.approx(alone.radius, rel=0.01)


def plane(count: int, height: float, noise: float, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random((count, 2)), height + noise * rng.normal(size=count)])


def test_distances_are_those_of_surfaces_not_of_points() -> None:
    """Two samples of one plane, a tenth of their spacing apart: the nearest points are much farther."""
    below, above = plane(2000, 0.0, 0.0, 0), plane(2000, 0.002, 0.0, 1)
    inner = above[(np.abs(above[:, :2] - 0.5) < 0.4).all(axis=1)]
    off = distances(sample_of(inner, "source"), sample_of(below, "target"), np.eye(4))
    assert off == pytest.approx(np.full(len(inner), 0.002), rel=1e-6)


def test_distances_beyond_the_rim_are_to_the_rim() -> None:
    target = sample_of(plane(4000, 0.0, 0.0, 0), "target")
    aside = pose(np.eye(3), [3.0, 0.0, 0.0])
    off = distances(sample_of(plane(500, 0.0, 0.0, 1), "source"), target, aside)
    # At least two wide, less the discs of the outermost points.
    assert off.min() > 2 - 4 * target.spacing
    assert off.max() < 3


@settings(max_examples=10)
@given(seeds)
def test_distances_do_not_depend_on_where_both_lie(seed: int) -> None:
    motion = random_transform(seed, 1.0)
    source, target = BODY[::3], BODY[1::3]
    here = distances(sample_of(source, "s"), sample_of(target, "t"), MOVED)
    there = distances(
        sample_of(transform(motion, source), "s"),
        sample_of(transform(motion, target), "t"),
        motion @ MOVED @ inverse(motion),
    )
    # Where two points are as near as each other, rounding may choose either.
    assert np.mean(np.isclose(np.sort(here), np.sort(there), rtol=1e-6, atol=1e-9)) > 0.99


@settings(max_examples=20)
@given(seeds)
def test_the_standpoint_is_a_rotation(seed: int) -> None:
    axes = standpoint(sample_of(transform(random_transform(seed, 5.0), BODY), "target"))
    assert axes @ axes.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1)


def test_a_landscape_is_seen_from_above_and_a_scan_from_its_scanner() -> None:
    ground = plane(3000, 0.0, 0.001, 0)
    for place in ([0, 0, 0], [5e5, 5e6, 100.0]):
        assert standpoint(sample_of(ground + place, "target"))[2, 2] > 0.8
    wall = np.roll(ground, 1, axis=1) - [0, 0.5, 0.5]
    for side in (1.0, -1.0):
        _, up, viewer = standpoint(sample_of(wall - [5 * side, 0, 0], "target"))
        assert viewer[0] * side > 0.8
        assert up[2] > 0.8


def test_what_a_camera_saw_is_seen_upright() -> None:
    """A camera looks along +z, with y down."""
    _, up, viewer = standpoint(sample_of(plane(3000, 4.0, 0.001, 0) - [0.5, 0.5, 0], "target"))
    assert viewer[2] < -0.8
    assert up[1] < -0.8


def test_the_source_is_drawn_where_the_motion_puts_it() -> None:
    source, target = sample_of(BODY, "source"), sample_of(transform(MOVED, BODY), "target")
    placed = placement_of(MOVED, source, target)
    assert not placed.shortened
    assert placed.shift == pytest.approx(np.zeros(3), abs=1e-9)
    away = placement_of(pose(np.eye(3), [0, 0, 1e7]) @ MOVED, source, target)
    assert away.shortened
    assert away.shift == pytest.approx([0, 0, FARTHEST], abs=1e-6)


def coloured(image: Any) -> Any:
    """Where a picture is blue, and where it is orange."""
    red, blue = image[..., 0].astype(int), image[..., 2].astype(int)
    return blue > red + 40, red > blue + 40


def test_the_picture_shows_both_apart_and_then_together() -> None:
    aside = pose(np.eye(3), [0.0, 0.0, 5.0])
    source, target = transform(inverse(aside), BODY[::2]), BODY[1::2]
    result = graphreg.register(source, target, method="icp", init=aside)
    image = before_and_after(result, source, target, size=(800, 300))
    assert image.shape == (300, 800, 3)
    gaps = []
    for panel in (image[:270, :400], image[:270, 400:]):
        blue, orange = (np.argwhere(mask) for mask in coloured(panel))
        assert min(len(blue), len(orange)) > 200
        gaps.append(np.linalg.norm(blue.mean(axis=0) - orange.mean(axis=0)))
    assert gaps[0] > 60
    assert gaps[1] < 10
    assert (image[0, 0] == np.round(255 * np.array(PAPER))).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_any_unit_gives_the_same_picture(scale: float) -> None:
    source = transform(inverse(MOVED), BODY)
    result = graphreg.register(source, BODY, method="icp", init=MOVED)
    larger = graphreg.register(
        scale * source, scale * BODY, method="icp", init=pose(MOVED[:3, :3], scale * MOVED[:3, 3])
    )
    images = [
        before_and_after(result, source, BODY, size=(300, 150)),
        before_and_after(larger, scale * source, scale * BODY, size=(300, 150)),
    ]
    # A dot on the edge of a pixel may fall on either side.
    assert np.mean(images[0] != images[1]) < 0.05


def test_bad_input_is_named() -> None:
    result = graphreg.register(BODY, BODY, method="icp")
    with pytest.raises(InputError, match=r"^result: expected what register"):
        before_and_after(None, BODY, BODY)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^target: has 2 points"):
        before_and_after(result, BODY, BODY[:2])
    with pytest.raises(InputError, match=r"^source: expected shape"):
        before_and_after(result, BODY[:, :2], BODY)
    with pytest.raises(InputError, match=r"^threads: "):
        before_and_after(result, BODY, BODY, threads=0)


@pytest.mark.parametrize("points", [np.eye(3), np.zeros((20, 3)), np.arange(60.0).reshape(20, 3)])
def test_clouds_without_a_surface_are_shown_too(points: Floats) -> None:
    shown = sample_of(points, "source")
    assert len(shown.points) == len(points)
    assert shown.on_surface > 0
    assert np.isfinite(standpoint(shown)).all()
    assert np.isfinite(distances(shown, shown, np.eye(4))).all()

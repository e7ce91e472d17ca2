"""Laws of `inspect`: counts, bounding box, spacing, attributes, and the guess at the kind of scan and its unit."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreg.clouds import as_cloud
from graphreg.datasets import synthetic
from graphreg.errors import InputError
from graphreg.inspection import PARAMETERS, inspect
from tests.support.strategies import Floats, clouds, random_cloud, seeds, small_scan


def grid(shape: tuple[int, int, int], size: float) -> Floats:
    """The corners of a cubic grid."""
    axes = np.meshgrid(*(np.arange(count) for count in shape), indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, 3) * size


@given(clouds, st.integers(0, 20), st.integers(0, 20), seeds)
def test_rows_are_finite_duplicates_or_new(points: Floats, repeated: int, missing: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    invalid = np.zeros((missing, 3))
    invalid[np.arange(missing), rng.integers(0, 3, missing)] = rng.choice([np.nan, np.inf, -np.inf], missing)
    rows = np.vstack([points, points[rng.integers(0, len(points), repeated)], invalid])
    summary = inspect(rng.permutation(rows))
    assert summary.points == len(points) + repeated
    assert summary.not_finite == missing
    assert summary.duplicates == summary.points - len(np.unique(points, axis=0))


def test_minus_zero_is_zero() -> None:
    assert inspect([[0.0, 0, 0], [-0.0, 0, 0], [1, 0, 0]]).duplicates == 1


@given(clouds)
def test_the_box_is_the_smallest_that_contains_the_points(points: Floats) -> None:
    summary = inspect(points)
    assert summary.low == tuple(points.min(axis=0))
    assert summary.high == tuple(points.max(axis=0))
    assert summary.size == tuple(points.max(axis=0) - points.min(axis=0))


def test_rows_with_nan_are_counted_and_change_nothing_else() -> None:
    points = random_cloud("surface", 500, 0)
    rows = np.vstack([points, np.full((7, 3), np.nan)])
    assert replace(inspect(rows), not_finite=0) == inspect(points)
    assert inspect(rows).not_finite == 7


@settings(max_examples=20)
@given(clouds, seeds)
def test_the_order_of_rows_does_not_matter(points: Floats, seed: int) -> None:
    """Up to rounding of the correlation that the guess goes by, which is far from its thresholds here."""
    assert len(points) <= PARAMETERS.sample_size
    assert inspect(np.random.default_rng(seed).permutation(points)) == inspect(points)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hare", "street"])
def test_any_number_of_threads_gives_the_same_summary(name: str) -> None:
    points = small_scan(name)
    assert inspect(points, threads=1) == inspect(points, threads=2) == inspect(points, threads=5) == inspect(points)


@given(st.tuples(*[st.integers(2, 12)] * 3), st.sampled_from([2.0**-10, 0.25, 1.0, 512.0]))
def test_the_spacing_of_a_grid_is_exact(shape: tuple[int, int, int], size: float) -> None:
    points = grid(shape, size)
    assert inspect(points).spacing == size
    assert inspect(np.repeat(points, 3, axis=0)).spacing == size, "duplicates are not neighbours"


@given(st.floats(0.01, 0.1), seeds)
def test_noise_reduces_the_spacing_of_a_grid_by_at_most_its_size(noise: float, seed: int) -> None:
    """Two neighbours that each move by at most e along each axis are at least s - 2 e apart, for a grid of size s."""
    points = grid((8, 8, 8), 1.0)
    moved = points + noise * np.random.default_rng(seed).uniform(-1, 1, points.shape)
    assert 1 - 2 * noise <= inspect(moved).spacing <= 1 + 2 * np.sqrt(3) * noise


def test_a_sample_of_a_large_cloud_gives_its_spacing() -> None:
    points = grid((40, 40, 40), 0.5)
    assert len(points) > PARAMETERS.sample_size
    summary = inspect(points)
    assert (summary.points, summary.duplicates, summary.spacing) == (64_000, 0, 0.5)


@given(clouds, st.sampled_from([2.0**-20, 0.5, 2.0, 2.0**20]))
def test_lengths_scale_with_the_unit(points: Floats, factor: float) -> None:
    """Factors are powers of two, so that nothing is rounded."""
    summary, scaled = inspect(points), inspect(factor * points)
    assert scaled.spacing == factor * summary.spacing
    assert scaled.size == tuple(factor * length for length in summary.size)


@given(clouds, st.tuples(*[st.integers(-1000, 1000)] * 3))
def test_a_translation_moves_the_box_and_keeps_the_spacing(points: Floats, offset: tuple[int, int, int]) -> None:
    summary, moved = inspect(points), inspect(points + offset)
    rounding = 8 * np.spacing(1000 + np.abs(points).max())
    np.testing.assert_allclose(moved.low, np.add(summary.low, offset), rtol=0, atol=rounding)
    np.testing.assert_allclose(moved.size, summary.size, rtol=0, atol=rounding)
    np.testing.assert_allclose(moved.spacing, summary.spacing, rtol=0, atol=rounding)


KINDS = [
    ("hare", 1.0, "object", "metres"),
    ("casting", 1000.0, "object", "millimetres"),
    ("facade", 1.0, "terrestrial", "metres"),
    ("room", 1.0, "room", "metres"),
    ("street", 1.0, "vehicle lidar", "metres"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale", "kind", "unit"), KINDS)
def test_kind_and_unit_of_synthetic_scans(name: str, scale: float, kind: str, unit: str) -> None:
    guess = inspect(scale * synthetic.scan(name, points=6000, variant=3).points).guess
    assert (guess.kind, guess.unit) == (kind, unit)
    assert guess.reason.startswith("extent ")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale", "kind", "unit"), KINDS)
def test_the_guess_does_not_depend_on_the_direction_of_the_horizontal_axes(
    name: str, scale: float, kind: str, unit: str
) -> None:
    points = scale * small_scan(name)
    quarter = np.column_stack([-points[:, 1], points[:, 0], points[:, 2]])
    assert inspect(quarter).guess == inspect(points).guess


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dragon", "hare", "hand"])
def test_an_object_is_one_in_metres_and_in_millimetres(name: str) -> None:
    points = small_scan(name)
    assert inspect(points).guess.kind == inspect(1000 * points).guess.kind == "object"
    assert inspect(points).guess.unit == "metres"
    assert inspect(1000 * points).guess.unit == "millimetres"


def test_what_is_too_large_for_an_object_in_millimetres_is_terrestrial() -> None:
    points = random_cloud("box", 500, 0, 1.0)
    assert inspect(points * 2 * PARAMETERS.max_object_millimetres).guess.kind == "room"
    assert inspect(points * 2 * PARAMETERS.max_room_millimetres).guess.kind == "terrestrial"
    assert inspect(points * 2 * PARAMETERS.max_object_millimetres * [1, 1, 0.05]).guess.kind == "terrestrial"


def test_attributes_are_summarised_for_the_finite_points() -> None:
    points = [[0, 0, 0], [1, 0, 0], [np.nan, 0, 0]]
    attributes = {
        "intensity": np.array([3, 7, 200], np.uint8),
        "colour": np.array([[0.5, 0.25, np.nan]] * 3, np.float32),
        "empty": np.full(3, np.nan),
        "label": np.array(["a", "b", "c"]),
    }
    summary = inspect(as_cloud(points, attributes=attributes)).attributes
    assert asdict(summary["intensity"]) == {"type": "uint8", "components": 1, "low": 3, "high": 7}
    assert asdict(summary["colour"]) == {"type": "float32", "components": 3, "low": 0.25, "high": 0.5}
    assert (summary["empty"].low, summary["empty"].high) == (None, None)
    assert (summary["label"].type, summary["label"].low) == ("<U1", None)


@pytest.mark.parametrize(
    "points",
    [[[1.0, 2, 3]], [[1.0, 2, 3]] * 40, np.eye(3) * 1e140, np.eye(3) * 1e-140, np.zeros((12, 3))],
    ids=["one point", "equal points", "huge", "tiny", "origin"],
)
def test_degenerate_clouds(points: Floats) -> None:
    summary = inspect(points)
    distinct = len(np.unique(points, axis=0))
    assert summary.duplicates == len(points) - distinct
    assert (summary.spacing > 0) == (distinct > 1)
    assert np.isfinite(summary.spacing)


@pytest.mark.parametrize("value", [np.zeros((0, 3)), [[np.nan] * 3], np.zeros((3, 2)), None])
def test_what_has_no_points_is_refused(value: object) -> None:
    with pytest.raises(InputError, match="^cloud: "):
        inspect(value)


@pytest.mark.parametrize(("extent", "kind"), [(1.5, "object"), (8, "room"), (40, "terrestrial"), (800, "terrestrial")])
def test_coordinates_of_a_map_are_in_metres(extent: float, kind: str) -> None:
    points = random_cloud("surface", 500, 0)
    points = points / np.ptp(points, axis=0).max() * extent
    guess = inspect(points + np.array([455_000, 5_421_000, 120])).guess
    assert (guess.kind, guess.unit) == (kind, "metres")
    assert guess.reason.endswith("as in the coordinates of a map")

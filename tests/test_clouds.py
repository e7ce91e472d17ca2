"""Conversion to a cloud: of any array, list or object with points; an error names what is none."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphreg
from graphreg.clouds import BLOCK_ROWS, Floats, as_cloud, as_rows, extent, finite_points, sample_rows, with_unit_scale
from graphreg.registration import prepare_sample
from tests.support.strategies import clouds, seeds, small_scan

POINTS = np.arange(36.0).reshape(12, 3) % 7


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i1", "i4", "u8", ">f4", ">i2"])
def test_any_real_dtype(dtype: str) -> None:
    assert np.array_equal(as_cloud(POINTS.astype(dtype)).points, POINTS)


@pytest.mark.parametrize(
    "value",
    [
        POINTS.tolist(),
        tuple(map(tuple, POINTS)),
        np.asfortranarray(POINTS),
        np.repeat(POINTS, 2, axis=0)[::2],
        POINTS[::-1][::-1],
        np.column_stack([POINTS, POINTS])[:, :3],
        memoryview(POINTS),
        SimpleNamespace(points=POINTS),
        SimpleNamespace(points=POINTS.tolist()),
        np.rec.fromarrays(POINTS.T, names="x,y,z"),
        np.ma.MaskedArray(POINTS),
    ],
    ids=[
        "list",
        "tuple",
        "fortran",
        "stride",
        "reversed",
        "columns",
        "buffer",
        "object",
        "object-list",
        "record",
        "masked",
    ],
)
def test_any_layout(value: Any) -> None:
    cloud = as_cloud(value)
    assert np.array_equal(cloud.points, POINTS)
    assert cloud.points.flags.c_contiguous
    assert cloud.points.dtype == np.float64


def test_rows_that_are_not_finite_are_dropped_and_counted() -> None:
    dirty = POINTS.copy()
    dirty[2, 1], dirty[5, 0], dirty[7, 2] = np.nan, np.inf, -np.inf
    cloud = as_cloud(dirty)
    good = np.delete(np.arange(12), [2, 5, 7])
    assert cloud.dropped == 3
    assert np.array_equal(cloud.points, POINTS[good])
    assert np.array_equal(np.flatnonzero(cloud.kept), good)
    restored = cloud.restore(cloud.points, np.nan)
    assert np.array_equal(restored[good], POINTS[good])
    assert np.isnan(restored[[2, 5, 7]]).all()


def test_masked_rows_are_dropped() -> None:
    masked = np.ma.MaskedArray(POINTS, mask=np.zeros_like(POINTS, bool))
    masked[3, 1] = np.ma.masked
    assert as_cloud(masked).dropped == 1


def test_the_callers_array_is_not_changed() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 3))
    points[17] = np.nan
    before = points.copy()
    for function in (graphreg.intensity, graphreg.inliers, graphreg.invariants, graphreg.normals):
        function(points)
    graphreg.resample(points, 0.5)
    graphreg.voxel_downsample(points, 0.5)
    assert np.array_equal(points, before, equal_nan=True)
    assert points.flags.writeable


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "NoneType"),
        (b"scan", "bytes"),
        ({"x": 1}, "dict"),
        (3.0, r"\(\)"),
        ([], r"\(0,\)"),
        (np.zeros((5, 2)), r"\(5, 2\)"),
        (np.zeros((5, 4)), r"points\[:, :3\]"),
        (np.zeros((3, 5)), r"points\.T"),
        (np.zeros((4, 5, 3)), r"reshape"),
        (np.zeros((5, 3), complex), "complex"),
        (np.zeros((5, 3), "U4"), "<U4"),
        (np.zeros((5, 3), "M8[s]"), "datetime64"),
        (np.zeros((5, 3), bool), "bool"),
        (np.zeros((5, 3), object), "object"),
        ([[1, 2, 3], [4, 5]], "unequal"),
        (lambda: None, "function"),
    ],
)
def test_what_is_no_cloud_is_refused(value: Any, message: str) -> None:
    with pytest.raises(graphreg.InputError, match=rf"^scan: .*{message}"):
        as_cloud(value, "scan")


def test_the_name_of_a_file_is_its_cloud(tmp_path: Path) -> None:
    graphreg.write(tmp_path / "scan.ply", POINTS)
    for path in (tmp_path / "scan.ply", str(tmp_path / "scan.ply")):
        assert np.array_equal(as_cloud(path).points, POINTS)
        assert len(graphreg.intensity(path, k=3)) == len(POINTS)
    with pytest.raises(graphreg.FileError, match=r"missing\.ply: No such file or directory$"):
        as_cloud(tmp_path / "missing.ply")
    with pytest.raises(graphreg.FileError, match=r"^scan\.unknown: its suffix '\.unknown' is not known"):
        as_cloud("scan.unknown")


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", ["normals('a.ply', k=3)", "register('a.ply', 'a.ply')", "multiway(['a.ply', 'a.ply'])"]
)
def test_the_first_call_of_a_program_may_name_files(tmp_path: Path, call: str) -> None:
    """In a process of its own, which has not imported what reads files."""
    graphreg.write(tmp_path / "a.ply", small_scan("hare"))
    subprocess.run([sys.executable, "-c", f"import graphreg; graphreg.{call}"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("value", [10**400, "x", object(), [[1], [1, 2]], len, {}, 1j])
def test_what_are_no_numbers_is_refused_with_the_argument(value: Any) -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    calls: dict[str, Callable[[], object]] = {
        "viewpoint": lambda: graphreg.normals(points, viewpoint=value),
        "normals": lambda: graphreg.fpfh(points, normals=value),
        "weights": lambda: graphreg.prepare(points, weights=value),
        "init": lambda: graphreg.register(points, points, init=value),
        "names": lambda: graphreg.multiway([points, points], names=3 if isinstance(value, (str, list)) else value),
    }
    for name, call in calls.items():
        with pytest.raises(graphreg.InputError, match=f"^{name}: expected"):
            call()


def test_too_few_points_are_counted() -> None:
    with pytest.raises(graphreg.InputError, match="has 0 points, but at least 1"):
        as_cloud(np.zeros((0, 3)))
    with pytest.raises(graphreg.InputError, match=r"has 1 point \(1 more were not finite\), but at least 2"):
        as_cloud([[0, 0, 0], [np.nan, 0, 0]], min_points=2)
    for function in (graphreg.intensity, graphreg.inliers, graphreg.invariants, graphreg.normals):
        with pytest.raises(graphreg.InputError, match="needs at least 11"):
            function(np.zeros((10, 3)))


def test_coordinates_too_large_to_square_are_refused() -> None:
    with pytest.raises(graphreg.InputError, match="too large"):
        as_cloud(np.full((20, 3), 1e200))


@given(st.integers(1, 500), st.integers(1, 500), seeds)
def test_sampled_rows_are_distinct_ascending_and_spread(count: int, size: int, seed: int) -> None:
    rows = sample_rows(count, size, seed)
    assert len(rows) == min(count, size)
    assert (np.diff(rows) > 0).all()
    assert rows[0] >= 0
    assert rows[-1] < count
    # One row of each run of count / size rows, so no gap is as long as two runs.
    assert np.diff(rows).max(initial=0) < 2 * (count / min(count, size) + 1)
    assert np.array_equal(rows, sample_rows(count, size, seed))


@given(clouds)
def test_the_extent_is_the_longest_edge_of_the_bounding_box(points: Floats) -> None:
    assert extent(points) == np.ptp(points, axis=0).max()


def test_attributes_follow_their_points() -> None:
    dirty = POINTS.copy()
    dirty[4] = np.nan
    cloud = as_cloud(dirty, attributes={"time": np.arange(12)})
    assert np.array_equal(cloud.attributes["time"], np.delete(np.arange(12), 4))
    chosen = cloud.select(np.array([0, 10]))
    assert np.array_equal(chosen.attributes["time"], [0, 11])
    with pytest.raises(graphreg.InputError, match="'time' has 3 rows for 12 points"):
        as_cloud(POINTS, attributes={"time": np.arange(3)})


@pytest.mark.parametrize(
    "cloud",
    [
        np.zeros((50, 3)),
        np.ones((50, 3)) * 1e7,
        np.outer(np.arange(50.0), [1, 2, 3]),
        np.repeat([[0.0, 0, 0], [1, 1, 1]], 25, axis=0),
        np.column_stack([np.meshgrid(*[np.arange(8.0)] * 2)[0].ravel(), np.arange(64) % 8, np.zeros(64)]),
        np.vstack([np.random.default_rng(0).normal(size=(49, 3)) * 1e-3, [[1e7, 1e7, 1e7]]]),
        np.random.default_rng(0).normal(size=(50, 3)) * 1e100,
        np.random.default_rng(0).normal(size=(50, 3)) * 1e-160,
    ],
    ids=[
        "equal-points",
        "equal-points-far-from-the-origin",
        "line",
        "two-locations",
        "repeated-plane",
        "one-outlier",
        "huge",
        "tiny",
    ],
)
def test_degenerate_clouds_have_finite_features_or_isolated_points(cloud: Floats) -> None:
    response = graphreg.intensity(cloud)
    assert response.shape == (len(cloud),)
    assert not np.isnan(response).any()
    assert (response >= 0).all()
    kept = graphreg.inliers(cloud)
    assert kept.dtype == bool
    assert np.isfinite(graphreg.invariants(cloud)).all()
    lengths = np.linalg.norm(graphreg.normals(cloud), axis=1)
    assert ((np.abs(lengths - 1) < 1e-12) | (lengths == 0)).all()
    assert len(graphreg.resample(cloud, 0.5, alpha=None)) == 25 + 7 * (len(cloud) == 64)


def test_equal_points_and_points_on_a_line_are_no_outliers() -> None:
    assert graphreg.inliers(np.zeros((50, 3))).all()
    assert not graphreg.normals(np.outer(np.arange(50.0), [1, 2, 3])).any()


def peak_memory(call: Callable[[], object]) -> int:
    """Bytes that numpy allocates during a call, at most."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_rows_that_are_not_finite_cost_no_more_memory_than_a_copy_of_the_points() -> None:
    points = np.random.default_rng(0).random((1_000_000, 3))
    points[7] = np.nan
    assert np.array_equal(as_cloud(points).points, np.delete(points, 7, axis=0))
    assert peak_memory(lambda: as_cloud(points)) < 1.2 * points.nbytes


@pytest.mark.parametrize("gaps", [[7], slice(0, None, 3), slice(0, 400_000)], ids=["one", "a third", "the first"])
def test_registration_needs_no_more_memory_where_rows_are_not_finite(gaps: Any) -> None:
    points = np.random.default_rng(0).random((1_000_000, 3))
    without = peak_memory(lambda: prepare_sample(points, points=1000))
    points[gaps] = np.nan
    # Two blocks of rows, and the indices of one, are there at a time.
    assert peak_memory(lambda: prepare_sample(points, points=1000)) < without + (2 * 24 + 8) * BLOCK_ROWS


@given(clouds, st.data())
def test_points_are_read_between_rows_that_are_not_finite(points: Floats, data: st.DataObject) -> None:
    gaps = np.array(data.draw(st.lists(st.integers(0, len(points)), min_size=1, max_size=20)))
    dirty = np.insert(points, gaps, np.nan, axis=0)
    dirty[~np.isfinite(dirty[:, 0]), data.draw(st.integers(0, 2))] = np.inf
    before = dirty.copy()
    with patch("graphreg.clouds.BLOCK_ROWS", data.draw(st.integers(1, 2 * len(points)))):
        found, same = as_rows(dirty), as_cloud(dirty)
        indices = sample_rows(len(points), data.draw(st.integers(1, len(points))))
        assert np.array_equal(found.take(indices), points[indices])
    assert np.shares_memory(found.rows, dirty)
    assert np.array_equal(dirty, before, equal_nan=True)
    assert (len(found), found.dropped) == (len(same), same.dropped) == (len(points), len(gaps))
    assert np.array_equal(found.points, points)
    assert np.array_equal(finite_points(dirty), points)
    assert np.array_equal(np.isfinite(dirty).all(axis=1), found.kept)


@given(clouds, st.integers(-490, 490))
def test_a_unit_scale_changes_no_digit(points: Floats, exponent: int) -> None:
    scaled = with_unit_scale(points * 2.0**exponent)
    assert 0.5 <= np.abs(scaled).max() < 1
    assert np.array_equal(scaled, with_unit_scale(points))
    assert not with_unit_scale(np.zeros((2, 3))).any()

"""Round trips: the same numbers, in every format, for every type of attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from graphreg import InputError
from graphreg.clouds import Cloud
from graphreg.files import formats, read, read_cloud, write

EXACT = [suffix for suffix, known in formats().items() if known.writes and suffix not in (".las", ".laz", ".bin")]
# LAS rounds, and must not round beyond what is allowed, 1e150.
COORDINATES = st.floats(-9e149, 9e149)
POINTS = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=COORDINATES)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round_trips")


def attributes(rows: int, dtypes: list[str]) -> st.SearchStrategy[dict[str, NDArray[Any]]]:
    columns = st.sampled_from(dtypes).flatmap(lambda d: hnp.arrays(np.dtype(d), rows))
    wide = st.sampled_from(dtypes).flatmap(lambda d: hnp.arrays(np.dtype(d), (rows, 3)))
    names = st.from_regex("[a-w][a-zA-Z0-9_]{0,9}", fullmatch=True).filter(lambda name: name != "points")
    return st.dictionaries(names, st.one_of(columns, wide), max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", EXACT)
@settings(max_examples=20, deadline=None)
@given(points=POINTS)
def test_coordinates_are_exact(folder: Path, suffix: str, points: NDArray[np.float64]) -> None:
    write(folder / f"a{suffix}", points)
    np.testing.assert_array_equal(read(folder / f"a{suffix}"), points)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".las", ".laz"])
@settings(max_examples=20, deadline=None)
@given(points=POINTS)
def test_las_rounds_by_at_most_half_its_scale(folder: Path, suffix: str, points: NDArray[np.float64]) -> None:
    write(folder / f"a{suffix}", points)
    farthest = np.abs(points - np.round((points.min(axis=0) + points.max(axis=0)) / 2)).max(axis=0)
    # The scale is the next power of ten above the distance over 2^31; float64 itself rounds the largest ones.
    scale = 10 * np.maximum(farthest, 1e-3) / 2**31
    error = np.abs(read(folder / f"a{suffix}") - points)
    assert (error <= scale / 2 + 4 * np.spacing(np.abs(points).max(axis=0))).all()


@settings(max_examples=20, deadline=None)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(2, 12), st.just(4)),
        elements=st.floats(-(2.0**99), 2.0**99, width=32),
    )
)
def test_kitti_is_exact_in_single_precision(folder: Path, values: NDArray[np.float32]) -> None:
    cloud = Cloud(values[:, :3].astype(float), np.ones(len(values), bool), {"reflectance": values[:, 3]})
    try:
        write(folder / "a.bin", cloud)
    except InputError:  # far away from the origin, for its size
        return
    again = read_cloud(folder / "a.bin")
    np.testing.assert_array_equal(again.points, cloud.points)
    np.testing.assert_array_equal(again.attributes["reflectance"], values[:, 3])


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.data(), POINTS)
def test_npz_keeps_attributes_exactly(folder: Path, data: st.DataObject, points: NDArray[np.float64]) -> None:
    extra = data.draw(attributes(len(points), DTYPES))
    write(folder / "a.npz", Cloud(points, np.ones(len(points), bool), extra))
    again = read_cloud(folder / "a.npz").attributes
    assert set(again) == set(extra)
    for name, values in extra.items():
        assert again[name].dtype == values.dtype.newbyteorder("=")
        np.testing.assert_array_equal(again[name], values)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.data(), POINTS)
def test_pcd_keeps_attributes(folder: Path, data: st.DataObject, points: NDArray[np.float64]) -> None:
    extra = data.draw(attributes(len(points), DTYPES))
    write(folder / "a.pcd", Cloud(points, np.ones(len(points), bool), extra))
    again = read_cloud(folder / "a.pcd").attributes
    assert list(again) == list(extra)
    for name, values in extra.items():
        same = {"b": np.dtype("u1"), "f": np.dtype("f8" if values.itemsize == 8 else "f4")}
        assert again[name].dtype == same.get(values.dtype.kind, values.dtype.newbyteorder("="))
        np.testing.assert_array_equal(again[name], values)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".ply", ".csv", ".las", ".laz"])
@settings(max_examples=20, deadline=None)
@given(st.data(), POINTS)
def test_attributes_are_stored_as_scalar_columns(
    folder: Path, suffix: str, data: st.DataObject, points: NDArray[np.float64]
) -> None:
    extra = data.draw(attributes(len(points), [d for d in DTYPES if d not in ("i8", "u8")]))
    write(folder / f"a{suffix}", Cloud(points, np.ones(len(points), bool), extra))
    again = read_cloud(folder / f"a{suffix}").attributes
    for name, values in extra.items():
        for i, column in enumerate(values.reshape(len(points), -1).T):
            column_read = again[name if values.ndim == 1 else f"{name}_{i}"]
            np.testing.assert_array_equal(column_read, column)
            if suffix == ".ply" and values.dtype.kind in "iu":
                assert column_read.dtype == values.dtype.newbyteorder("=")


def test_ply_stores_64_bit_integers_only_where_that_is_exact(folder: Path) -> None:
    columns = {"a": [-(2**31), 5], "b": [0, 2**32 - 1], "c": [-(2**53), 2**53], "d": [0, 2**53 + 1]}
    extra = {name: np.array(values, np.int64) for name, values in columns.items()}
    write(folder / "a.ply", Cloud(np.eye(3)[:2], np.ones(2, bool), extra))
    again = read_cloud(folder / "a.ply").attributes
    assert {name: v.dtype.name for name, v in again.items()} == {"a": "int32", "b": "uint32", "c": "float64"}
    assert all(again[name].tolist() == columns[name] for name in again)


def test_las_stores_standard_dimensions_only_where_that_is_exact(folder: Path) -> None:
    extra: dict[str, NDArray[Any]] = {
        "intensity": np.array([0.5, 1.0]),
        "red": np.array([255, 3], np.uint8),
        "return_number": np.array([1, 16]),
        "classification": np.array([2.0, 6.0]),
        "gps_time": np.array([1e9, 1.5]),
        "a_name_that_is_far_too_long_for_las_files": np.zeros(2),
    }
    write(folder / "a.las", Cloud(np.eye(3)[:2], np.ones(2, bool), extra))
    again = read_cloud(folder / "a.las").attributes
    assert again["red"].tolist() == [255, 3]
    assert again["classification"].tolist() == [2, 6]
    assert again["gps_time"].tolist() == [1e9, 1.5]
    assert again["intensity"].tolist() == again["return_number"].tolist() == [0, 0]
    assert "a_name_that_is_far_too_long_for_las_files" not in again


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".csv", ".npz", ".las"])
def test_unusual_names_are_kept(folder: Path, suffix: str) -> None:
    for name in ("Größe", "点", "#c", "//c", "nan", "1", "vertex", "list", "end_header", "DATA", "a/b", "file"):
        write(folder / f"a{suffix}", Cloud(np.eye(3), np.ones(3, bool), {name: np.arange(3.0)}))
        assert read_cloud(folder / f"a{suffix}").attributes[name].tolist() == [0, 1, 2]


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".csv", ".las"])
@pytest.mark.parametrize("names", [["x"], ["my time", "my_time"], [" "]])
def test_a_name_that_is_taken_is_refused(folder: Path, suffix: str, names: list[str]) -> None:
    with pytest.raises(InputError, match="taken"):
        write(folder / f"b{suffix}", Cloud(np.eye(3), np.ones(3, bool), {name: np.ones(3) for name in names}))
    assert not (folder / f"b{suffix}").exists()


@pytest.mark.parametrize("suffix", [suffix for suffix, known in formats().items() if known.writes])
def test_points_that_are_not_finite_are_left_out(folder: Path, suffix: str) -> None:
    write(folder / f"a{suffix}", [[1, 2, 3], [np.nan, 0, 0], [4, 5, 6]])
    np.testing.assert_allclose(read(folder / f"a{suffix}"), [[1, 2, 3], [4, 5, 6]], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", EXACT)
def test_clouds_of_several_chunks_are_exact_and_report_progress(folder: Path, suffix: str) -> None:
    points = np.random.default_rng(0).normal(size=(100_000, 3)) + np.array([4e5, 5e6, 0])
    done: list[tuple[int, int]] = []
    write(folder / f"a{suffix}", points, progress=lambda *bar: done.append(bar))
    assert done == sorted(done)
    assert done[-1][0] == done[-1][1]
    done.clear()
    np.testing.assert_array_equal(read(folder / f"a{suffix}", progress=lambda *bar: done.append(bar)), points)
    size = (folder / f"a{suffix}").stat().st_size
    assert done == sorted(done)
    assert {total for _, total in done} == {size}

"""Clouds as columns: what readers accept, and which names and types writers store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphreg.clouds import as_cloud
from graphreg.errors import FileError, InputError
from graphreg.files import read_cloud, write
from graphreg.files.attribute_columns import (
    attribute_columns,
    cloud_from_columns,
    cloud_from_points,
    omitted_attributes,
    scalar_columns,
)
from graphreg.files.input_file import InputFile

POINTS = np.arange(12.0).reshape(4, 3)
XYZ = dict(zip("xyz", POINTS.T, strict=True))


@pytest.fixture
def file(tmp_path: Path) -> InputFile:
    path = tmp_path / "scan"
    path.write_bytes(b"-")
    with InputFile(path) as opened:
        return opened


def test_columns_other_than_coordinates_are_attributes(file: InputFile) -> None:
    times = np.arange(4, dtype=">i4")
    cloud = cloud_from_columns(file, {"time": times, **XYZ})
    assert np.array_equal(cloud.points, POINTS)
    assert cloud.attributes["time"].tolist() == [0, 1, 2, 3]
    assert cloud.attributes["time"].dtype.isnative
    assert not np.shares_memory(cloud.attributes["time"], times)


def test_rows_that_are_not_finite_are_dropped_with_their_attributes(file: InputFile) -> None:
    points = POINTS.copy()
    points[1, 2] = np.nan
    cloud = cloud_from_points(file, points, {"time": np.arange(4)})
    assert cloud.kept.tolist() == [True, False, True, True]
    assert cloud.attributes["time"].tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"x": POINTS[:, 0], "y": POINTS[:, 1]}, "scan: has no z coordinate, only x, y"),
        ({}, "has no x coordinate, only nothing"),
        (XYZ | {"y": POINTS}, "its y is not one real number per point"),
        (XYZ | {"y": np.array(list("abcd"))}, "its y is not one real number per point"),
        ({axis: np.empty(0) for axis in "xyz"}, "has no points"),
        ({axis: np.full(3, np.nan) for axis in "xyz"}, "none of its 3 points is finite"),
        ({axis: np.full(3, 1e200) for axis in "xyz"}, "too large to square"),
    ],
)
def test_columns_that_are_no_cloud_are_refused(file: InputFile, columns: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(FileError, match=message):
        cloud_from_columns(file, columns)


def test_numeric_attributes_are_stored_in_little_endian_types() -> None:
    attributes = {
        "flag": np.array([True, False, True, True]),
        "my colour": np.zeros((4, 3), ">u2"),
        "half": np.zeros(4, np.float16),
        "long": np.zeros(4, np.longdouble),
        "label": np.array(list("abcd")),
    }
    cloud = as_cloud(POINTS, attributes=attributes)
    columns = attribute_columns(cloud)
    assert {name: (values.dtype.str, values.shape) for name, values in columns.items()} == {
        "flag": ("|u1", (4, 1)),
        "my_colour": ("<u2", (4, 3)),
        "half": ("<f4", (4, 1)),
        "long": ("<f8", (4, 1)),
    }
    assert list(scalar_columns(cloud)) == ["flag", "my_colour_0", "my_colour_1", "my_colour_2", "half", "long"]
    assert omitted_attributes(cloud, columns) == omitted_attributes(cloud, scalar_columns(cloud)) == ("label",)


@pytest.mark.parametrize("names", [["x"], [" "], ["a b", "a_b"]])
def test_names_that_are_taken_are_refused(names: list[str]) -> None:
    with pytest.raises(InputError, match="that name is taken"):
        attribute_columns(as_cloud(POINTS, attributes={name: np.zeros(4) for name in names}))


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".csv", ".las", ".npz"])
def test_names_of_any_characters_are_written(tmp_path: Path, suffix: str) -> None:
    names = ["=1+1", "@a", "\ud800x", "a\0b", "c\nd", "é"]
    pytest.importorskip("laspy")
    cloud = as_cloud(POINTS, attributes={name: np.arange(4) for name in names})
    assert write(tmp_path / f"a{suffix}", cloud) == ()
    assert len(read_cloud(tmp_path / f"a{suffix}").attributes) >= len(names)
    if suffix == ".csv":
        assert (tmp_path / "a.csv").read_text().startswith("x,y,z,_=1+1,_@a,_x,a_b,c_d,é\n")

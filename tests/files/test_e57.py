"""E57 files with several scans, poses and invalid points."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphreg import FileError, MissingExtraError
from graphreg.clouds import as_cloud
from graphreg.files import list_scans, read_cloud, split_scan, write

pye57: Any = pytest.importorskip("pye57")

POINTS = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)


def cartesian(points: Any) -> dict[str, Any]:
    return {f"cartesian{axis}": np.array(points[:, i], float) for i, axis in enumerate("XYZ")}


def test_scans_are_transformed_to_the_common_frame(tmp_path: Path) -> None:
    path = tmp_path / "a.e57"
    with pye57.E57(str(path), "w") as file:
        file.write_scan_raw(
            cartesian(POINTS)
            | {
                "intensity": np.arange(50.0),
                "colorRed": np.arange(50),
                "colorGreen": np.arange(50),
                "colorBlue": np.arange(50),
            }
        )
        half = np.sqrt(0.5)
        rotation, translation = np.array([half, 0, 0, half]), np.array([4e5, 5e6, 7])
        file.write_scan_raw(cartesian(POINTS) | {"intensity": np.ones(50)}, rotation=rotation, translation=translation)
    cloud = read_cloud(path)
    transformed = np.stack([-POINTS[:, 1], POINTS[:, 0], POINTS[:, 2]], axis=1) + translation
    np.testing.assert_allclose(cloud.points, np.concatenate([POINTS, transformed]), rtol=0, atol=1e-8)
    assert list(cloud.attributes) == ["intensity"]
    assert cloud.attributes["intensity"].dtype == np.float32
    assert cloud.attributes["intensity"].tolist() == [*range(50), *[1] * 50]


def test_invalid_points_are_dropped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.e57"
    with pye57.E57(str(path), "w") as file:
        states = np.arange(50) % 3
        rows = {"rowIndex": np.arange(50), "columnIndex": np.arange(50)}
        file.write_scan_raw(cartesian(POINTS) | rows | {"cartesianInvalidState": states})
    cloud = read_cloud(path)
    assert cloud.kept.tolist() == (states == 0).tolist()
    np.testing.assert_array_equal(cloud.points, POINTS[states == 0])
    assert cloud.attributes["rowIndex"].tolist() == np.flatnonzero(states == 0).tolist()


def test_spherical_coordinates_are_converted(tmp_path: Path) -> None:
    libe57 = pye57.libe57
    path = tmp_path / "a.e57"
    values = {
        "sphericalRange": [2.0, 2.0],
        "sphericalAzimuth": [0.0, np.pi / 2],
        "sphericalElevation": [0.0, np.pi / 6],
    }
    with pye57.E57(str(path), "w") as file:
        scan, prototype = libe57.StructureNode(file.image_file), libe57.StructureNode(file.image_file)
        buffers, arrays = libe57.VectorSourceDestBuffer(), []
        for name, column in values.items():
            prototype.set(name, libe57.FloatNode(file.image_file, 0.0, libe57.E57_DOUBLE))
            arrays.append(np.array(column))
            buffers.append(libe57.SourceDestBuffer(file.image_file, name, arrays[-1], 2, True, True))
        points = libe57.CompressedVectorNode(file.image_file, prototype, libe57.VectorNode(file.image_file, True))
        scan.set("points", points)
        file.data3d.append(scan)
        writer = points.writer(buffers)
        writer.write(2)
        writer.close()
    np.testing.assert_allclose(read_cloud(path).points, [[2, 0, 0], [0, np.sqrt(3), 1]], atol=1e-12)


def test_a_file_without_scans_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.e57"
    pye57.E57(str(path), "w").close()
    with pytest.raises(FileError, match="has no points"):
        read_cloud(path)


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (0, 1, "does not begin with an E57 header"),
        (16, 2048, "declares 2048 bytes"),
        (16, 2047, "damaged E57 header"),
        (24, 2**63, "XML section beyond its end"),
        (32, 2**64 - 1, "XML section beyond its end"),
        (40, 0, "damaged E57 header"),
        (1200, 99, "checksum"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, offset: int, value: int, message: str) -> None:
    path = tmp_path / "a.e57"
    write(path, POINTS)
    data = bytearray(path.read_bytes())
    struct.pack_into("<Q", data, offset, value)
    path.write_bytes(data)
    with pytest.raises(FileError, match=message):
        read_cloud(path)


def test_a_missing_extra_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.e57"
    write(path, POINTS)
    monkeypatch.setitem(sys.modules, "pye57", None)
    with pytest.raises(MissingExtraError, match=r"reading E57 files needs .* 'graphreg\[e57\]'"):
        read_cloud(path)
    with pytest.raises(MissingExtraError, match="writing E57"):
        write(tmp_path / "b.e57", POINTS)
    assert [file.name for file in tmp_path.iterdir()] == ["a.e57"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.e57"
    with pye57.E57(str(path), "w") as file:
        file.write_scan_raw(cartesian(POINTS), name="hall")
        file.write_scan_raw(cartesian(POINTS[:20]), name="roof/east", translation=np.array([4e5, 5e6, 7]))
        file.write_scan_raw(cartesian(POINTS[:30]), name="twice")
        file.write_scan_raw(cartesian(POINTS[:40]), name="twice")
    return path


def test_scans_are_listed_with_their_poses(site: Path) -> None:
    scans = list_scans(site)
    assert [(scan.number, scan.name, scan.points) for scan in scans] == [
        (1, "hall", 50),
        (2, "roof/east", 20),
        (3, "twice", 30),
        (4, "twice", 40),
    ]
    assert np.array(scans[1].pose)[:3, 3].tolist() == [4e5, 5e6, 7]
    assert list_scans(site.with_suffix(".ply")) == []


@pytest.mark.parametrize(("scan", "count"), [("1", 50), ("hall", 50), ("2", 20), ("roof/east", 20), ("4", 40)])
def test_one_scan_is_read_by_number_or_name(site: Path, scan: str, count: int) -> None:
    cloud = read_cloud(f"{site}#{scan}")
    assert len(cloud) == count
    offset = [4e5, 5e6, 7] if count == 20 else [0, 0, 0]
    np.testing.assert_allclose(cloud.points, POINTS[:count] + offset, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("scan", "message"),
    [
        ("5", "has no scan '5'; its scans are 1 'hall', 2 'roof/east', 3 'twice', 4 'twice'"),
        ("0", "has no scan '0'"),
        ("cellar", "has no scan 'cellar'"),
        ("twice", "has 2 scans called 'twice'; choose one by its number"),
    ],
)
def test_a_scan_that_is_not_there_is_refused(site: Path, scan: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read_cloud(f"{site}#{scan}")


def test_a_file_may_be_called_like_a_scan(site: Path) -> None:
    other = site.with_name("site.e57#1.e57")
    site.rename(other)
    assert split_scan(other) == (other, None)
    assert len(read_cloud(other)) == 140


@settings(max_examples=15, deadline=None)
@given(data=st.data(), count=st.integers(1, 30))
def test_attributes_with_a_field_are_kept(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int
) -> None:
    numbers = st.sampled_from(["f4", "f8", "u2"]).flatmap(lambda dtype: hnp.arrays(np.dtype(dtype), count))
    integers = st.sampled_from(["u1", "u2", "i4", "u4"]).flatmap(lambda dtype: hnp.arrays(np.dtype(dtype), count))
    attributes = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "intensity": numbers,
                "gps_time": numbers,
                "red": integers,
                "rowIndex": integers,
                "returnCount": integers,
            },
        )
    )
    path = tmp_path_factory.mktemp("fields") / "a.e57"
    lost = write(path, as_cloud(np.ones((count, 3)), attributes=attributes | {"score": np.zeros(count)}))
    assert lost == ("score",)
    again = read_cloud(path).attributes
    names = {"gps_time": "timeStamp", "red": "colorRed"}
    assert set(again) == {names.get(name, name) for name in attributes}
    for name, values in attributes.items():
        np.testing.assert_array_equal(again[names.get(name, name)], values)


def test_integers_that_are_too_large_for_their_field_are_left_out(tmp_path: Path) -> None:
    attributes = {
        "intensity": np.array([2**53 + 1, 0]),
        "rowIndex": np.array([-(2**63), 0]),
        "columnIndex": np.array([2**64 - 1, 0], np.uint64),
        "red": np.array([[1, 2], [3, 4]]),
        "green": np.array([0.5, 1.0]),
    }
    lost = write(tmp_path / "a.e57", as_cloud(np.ones((2, 3)), attributes=attributes))
    assert lost == tuple(attributes)

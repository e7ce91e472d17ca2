"""Headers of LAS files: what is written of a file that was read says what the file said."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreg import FileError
from graphreg.clouds import as_cloud
from graphreg.files import read_cloud, write
from graphreg.files.las_header import LasHeader, LasRecord, common_header
from graphreg.poses import pose, transform_cloud

laspy: Any = pytest.importorskip("laspy")

UTM = b'PROJCS["ETRS89 / UTM zone 32N",GEOGCS["ETRS89"]]\0'
POINTS = np.random.default_rng(0).uniform(0, 100, (400, 3)).round(3) + np.array([500_000, 5_700_000, 50])
VERSIONS = {0: "1.2", 1: "1.1", 2: "1.2", 3: "1.3", 4: "1.3", **dict.fromkeys(range(5, 11), "1.4")}
TYPES = ["u1", "i2", "f4", "f8", "3f4", "2u2", "scaled", "7u1"]
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=15)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("las_headers")


def las_data(kind: int = 7, scale: float = 0.001, crs: bytes = UTM) -> Any:
    header = laspy.LasHeader(point_format=kind, version=VERSIONS[kind])
    header.offsets, header.scales = [500_000, 5_700_000, 0], [scale] * 3
    if crs:
        header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "WKT", crs))
        header.global_encoding.wkt = True
    las = laspy.LasData(header)
    las.x, las.y, las.z = POINTS.T
    las.intensity = np.arange(len(POINTS))
    las.classification = np.arange(len(POINTS)) % 20
    return las


def save(path: Path, **options: Any) -> Path:
    las_data(**options).write(str(path))
    return path


RECORDS = st.builds(LasRecord, WORDS, st.integers(0, 65535), WORDS, st.binary(max_size=300), st.booleans())


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from(sorted(VERSIONS)),
    suffix=st.sampled_from([".las", ".laz"]),
    records=st.lists(RECORDS, max_size=4),
    scale=st.sampled_from([0.01, 0.001, 0.00025, 1e-5]),
    dimensions=st.dictionaries(WORDS.filter(lambda name: ":" not in name), st.sampled_from(TYPES), max_size=3),
    identifier=WORDS,
    day=st.integers(1, 365),
)
def test_files_keep_header_records_and_dimensions(
    folder: Path,
    kind: int,
    suffix: str,
    records: list[LasRecord],
    scale: float,
    dimensions: dict[str, str],
    identifier: str,
    day: int,
) -> None:
    """What another program wrote is the same after reading and writing, and takes no more bytes."""
    las = las_data(kind, scale)
    header = las.header
    header.system_identifier, header.file_source_id = identifier, day
    header.creation_date = header.creation_date.replace(year=2020, month=1, day=1 + day % 28)
    generator = np.random.default_rng(day)
    standard = {name.lower() for name in las.point_format.dimension_names}
    dimensions = {name: type for name, type in dimensions.items() if name.lower() not in {"x", "y", "z", *standard}}
    for name, type in dimensions.items():
        scaled = {"scales": [0.01], "offsets": [5.0]} if type == "scaled" else {}
        las.add_extra_dim(laspy.ExtraBytesParams(name, "i2" if scaled else type, "some text", **scaled))
        las[name] = generator.integers(0, 100, las[name].shape)
    if header.version.minor < 4:
        records = [replace(record, extended=False) for record in records]
    header.vlrs.extend(laspy.VLR(r.user, r.number, r.description, r.data) for r in records if not r.extended)
    extended = [laspy.VLR(r.user, r.number, r.description, r.data) for r in records if r.extended]
    if extended:
        las.evlrs = laspy.vlrs.vlrlist.VLRList(extended)
    path, again = folder / f"a{suffix}", folder / f"b{suffix}"
    las.write(str(path))

    cloud = read_cloud(path)
    assert write(again, cloud) == ()
    assert again.stat().st_size <= path.stat().st_size
    assert read_cloud(again).header == cloud.header
    before, after = laspy.read(path), laspy.read(again)
    assert list(after.point_format.dimension_names) == list(before.point_format.dimension_names)
    for name in before.point_format.dimension_names:
        np.testing.assert_array_equal(np.array(after[name]), np.array(before[name]), err_msg=name)
    for name in ("version", "creation_date", "system_identifier", "generating_software", "file_source_id", "uuid"):
        assert getattr(after.header, name) == getattr(before.header, name), name
    assert after.header.global_encoding.value == before.header.global_encoding.value
    np.testing.assert_array_equal(after.header.number_of_points_by_return, before.header.number_of_points_by_return)
    kept = [r for r in cloud.header.records if r.user != "LASF_Projection"]
    assert kept == [r for r in records if not r.extended] + [r for r in records if r.extended]


def test_a_transformed_cloud_keeps_its_scale(tmp_path: Path) -> None:
    cloud = read_cloud(save(tmp_path / "a.las"))
    angle = np.radians(30)
    rotation = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    for translation in ([0.5, 0, 0], [1e9, 0, 0]):
        about = POINTS.mean(axis=0)
        moved = transform_cloud(pose(rotation, about - rotation @ about + translation), cloud)
        write(tmp_path / "b.las", moved)
        again = read_cloud(tmp_path / "b.las")
        assert again.header.scale == cloud.header.scale
        assert np.abs(again.points - moved.points).max() <= 0.0005 + 1e-6
        assert again.header.records == cloud.header.records
        # The offset is another one where 32 bits do not reach.
        assert (again.header.offset == cloud.header.offset) == (translation[0] < 1e6)


@pytest.mark.parametrize("decimals", [0, 1, 2, 3, 4])
def test_without_a_header_the_scale_is_that_of_the_decimals(tmp_path: Path, decimals: int) -> None:
    write(tmp_path / "a.laz", POINTS.round(decimals))
    cloud = read_cloud(tmp_path / "a.laz")
    assert cloud.header.scale == (10.0 ** -min(max(decimals, 2), 3),) * 3
    np.testing.assert_allclose(cloud.points, POINTS.round(decimals), rtol=0, atol=2e-9)


def geotiff(keys: list[tuple[int, int, int, int]], text: str = "") -> LasHeader:
    numbers = [1, 1, 0, len(keys), *(number for key in keys for number in key)]
    directory = struct.pack(f"<{len(numbers)}H", *numbers)
    records = (("LASF_Projection", 34735, directory), ("LASF_Projection", 34737, text.encode() + b"\0"))
    return LasHeader("1.2", 0, (1, 1, 1), (0, 0, 0), records=tuple(LasRecord(u, n, "", d) for u, n, d in records))


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (geotiff([(1024, 0, 1, 1), (3072, 0, 1, 25832)]), "EPSG:25832"),
        (geotiff([(3072, 0, 1, 25832), (3073, 34737, 4, 2)], "x|UTM|"), "EPSG:25832 UTM"),
        (geotiff([(3072, 0, 1, 32767), (1026, 34737, 60000, 0)], "my own|"), "my own"),
        (geotiff([(1024, 0, 1, 1)]), "unnamed"),
        (geotiff([]), None),
    ],
)
def test_names_of_geotiff_systems(header: LasHeader, name: str | None) -> None:
    assert header.crs == name


def test_names_of_wkt_systems(tmp_path: Path) -> None:
    assert read_cloud(save(tmp_path / "a.las")).header.crs == "ETRS89 / UTM zone 32N"
    assert read_cloud(save(tmp_path / "a.las", crs=b"something else")).header.crs == "unnamed"
    assert read_cloud(save(tmp_path / "a.las", crs=b"")).header.crs is None


def test_a_coordinate_reference_system_is_replaced_with_its_bit(tmp_path: Path) -> None:
    own = read_cloud(save(tmp_path / "a.las")).header
    none = own.with_crs_of(None)
    assert none.crs is None
    assert none.global_encoding == 0
    assert none.with_crs_of(own) == own


def test_what_differs_between_merged_headers_is_named(tmp_path: Path) -> None:
    fine = read_cloud(save(tmp_path / "a.las")).header
    coarse = read_cloud(save(tmp_path / "a.las", scale=0.01, kind=6, crs=UTM.replace(b"32N", b"33N"))).header
    assert common_header([fine, fine]) == (fine, ())
    header, differing = common_header([coarse, fine])
    assert set(differing) == {"point_format", "scale", "coordinate reference system"}
    assert header == replace(coarse, scale=fine.scale)


def test_indices_and_waveforms_are_left_out_and_named(tmp_path: Path) -> None:
    las = las_data()
    las.header.vlrs.append(laspy.VLR("copc", 1, "", bytes(160)))
    las.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("LASF_Spec", 65535, "", bytes(50))])
    las.header.global_encoding.waveform_data_packets_internal = True
    las.write(str(tmp_path / "a.las"))
    cloud = read_cloud(tmp_path / "a.las")
    assert cloud.header.left_out == ("COPC index", "waveforms")
    write(tmp_path / "b.las", cloud)
    assert not laspy.read(tmp_path / "b.las").header.global_encoding.waveform_data_packets_internal
    assert read_cloud(tmp_path / "b.las").header.left_out == ()


@pytest.mark.parametrize(
    ("offset", "form", "value", "message"),
    [
        (235, "Q", 2**63, "more than fit"),
        (243, "I", 2**32 - 1, "more than fit"),
        (243, "I", 2, "more than fit|damaged"),
        (-60 - 100 + 20, "Q", 101, "damaged variable-length record"),
        (-60 - 100 + 20, "Q", 2**64 - 1, "damaged variable-length record"),
    ],
)
def test_damaged_extended_records_are_refused(tmp_path: Path, offset: int, form: str, value: int, message: str) -> None:
    las = las_data()
    las.evlrs = laspy.vlrs.vlrlist.VLRList([laspy.VLR("me", 7, "", bytes(100))])
    las.write(str(tmp_path / "a.las"))
    data = bytearray((tmp_path / "a.las").read_bytes())
    struct.pack_into("<" + form, data, offset % len(data), value)
    (tmp_path / "a.las").write_bytes(data)
    with pytest.raises(FileError, match=message):
        read_cloud(tmp_path / "a.las")


def test_an_attribute_of_another_type_gets_a_dimension_of_its_own(tmp_path: Path) -> None:
    las = las_data()
    las.add_extra_dim(laspy.ExtraBytesParams("score", "u1"))
    las.write(str(tmp_path / "a.las"))
    cloud = read_cloud(tmp_path / "a.las")
    scores = np.linspace(0, 1, len(cloud))
    changed = replace(as_cloud(cloud.points, attributes={**cloud.attributes, "score": scores}), header=cloud.header)
    assert write(tmp_path / "b.las", changed) == ()
    np.testing.assert_array_equal(read_cloud(tmp_path / "b.las").attributes["score"], scores)


def test_names_with_a_colon_are_written_with_an_underscore(tmp_path: Path) -> None:
    """laspy reads them, but cannot write them."""
    las = las_data()
    las.add_extra_dim(laspy.ExtraBytesParams("a_b", "f4"))
    las["a_b"] = np.arange(len(POINTS))
    las.write(str(tmp_path / "a.las"))
    data = (tmp_path / "a.las").read_bytes()
    (tmp_path / "a.las").write_bytes(data.replace(b"a_b\0", b"a:b\0"))
    cloud = read_cloud(tmp_path / "a.las")
    assert write(tmp_path / "b.las", cloud) == ()
    assert "a_b" in read_cloud(tmp_path / "b.las").attributes

"""LAS headers through all commands that write clouds: kept, or said to be lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.commands import CommandLine

import graphreg
from graphreg.clouds import Floats
from graphreg.files import read_cloud
from graphreg.poses import inverse, pose, rotation_from_vector, transform

laspy: Any = pytest.importorskip("laspy")

ORIGIN = np.array([500_000.0, 5_700_000.0, 50.0])


def save(name: str, points: Floats, zone: str = "32N", point_format: int = 7) -> None:
    header = laspy.LasHeader(point_format=point_format, version="1.4")
    header.offsets, header.scales = ORIGIN, [0.0001] * 3
    wkt = f'PROJCS["ETRS89 / UTM zone {zone}",GEOGCS["ETRS89"]]'
    header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "", wkt.encode()))
    header.vlrs.append(laspy.VLR("office", 7, "", b"order 12"))
    header.global_encoding.wkt = True
    las = laspy.LasData(header)
    las.x, las.y, las.z = (points + ORIGIN).T
    las.classification = np.arange(len(points)) % 20
    las.write(name)


@pytest.fixture
def scans(run: CommandLine, hare: Floats, T_target_source: Floats) -> CommandLine:
    save("target.las", hare)
    save("source.las", transform(inverse(T_target_source), hare), zone="33N", point_format=6)
    return run


def moved_by(name: str, vector: list[float], angle: float = 0.0) -> str:
    """A transform about the middle of the scans."""
    rotation = rotation_from_vector(np.radians([angle, 0, 0]))
    graphreg.write_poses(name, pose(rotation, ORIGIN - rotation @ ORIGIN + vector))
    return name


@pytest.mark.parametrize("command", [("convert",), ("clean",), ("apply", "T.txt")])
@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_headers_are_kept(scans: CommandLine, command: tuple[str, ...], suffix: str) -> None:
    moved_by("T.txt", [0.01, 0, 0])
    done = scans(*command, "target.las", f"out{suffix}")
    assert done.status == 0, done.err
    cloud = read_cloud(f"out{suffix}")
    assert cloud.header == read_cloud("target.las").header
    assert cloud.attributes["classification"].max() == 19


@pytest.mark.parametrize(
    ("vector", "angle", "note"),
    [
        ([0, 0, 0], 0, ""),
        ([0.03, 0.04, 0], 0, "system ETRS89 / UTM zone 32N kept; the transform moves points by up to 0.05\n"),
        ([900, 0, 0], 0, "ETRS89 / UTM zone 32N, no longer holds: the transform moves points by up to 900\n"),
        ([0, 0, 0], 90, " and tilts the vertical by 90 degrees\n"),
    ],
)
def test_transforms_of_georeferenced_scans_are_pointed_out(
    scans: CommandLine, vector: list[float], angle: float, note: str
) -> None:
    done = scans("apply", moved_by("T.txt", vector, angle), "target.las", "out.laz")
    assert done.status == 0
    assert done.err.endswith(note)
    assert bool(done.err) == bool(note)


def test_what_another_format_cannot_hold_is_listed(scans: CommandLine) -> None:
    done = scans("convert", "target.las", "out.ply", "--json")
    lost = ["coordinate reference system ETRS89 / UTM zone 32N", "1 variable-length records"]
    assert json.loads(done.out)["left_out"] == lost
    assert done.err == f"out.ply: left out: {', '.join(lost)}\n"


def test_info_shows_the_header_and_all_digits(scans: CommandLine) -> None:
    out = scans("info", "target.las").out
    for line in (
        "version     1.4, point format 7",
        "scale       0.0001  0.0001  0.0001",
        "offset      500000  5700000  50",
        "CRS         ETRS89 / UTM zone 32N",
    ):
        assert f"  {line}\n" in f"{out}\n"
    low = read_cloud("target.las").points.min(axis=0)
    assert f"  minimum     {low[0]:.4f}  {low[1]:.4f}  {low[2]:.7g}\n" in out
    assert json.loads(scans("info", "target.las", "--json").out)["header"]["crs"] == "ETRS89 / UTM zone 32N"


def test_an_aligned_scan_has_the_coordinate_reference_system_of_its_target(scans: CommandLine) -> None:
    done = scans("register", "source.las", "target.las", "--save-aligned", "out.laz", "--quiet")
    assert done.status == 0, done.err
    source, target, aligned = (read_cloud(name) for name in ("source.las", "target.las", "out.laz"))
    assert aligned.header == source.header.with_crs_of(target.header)
    assert aligned.header.crs == "ETRS89 / UTM zone 32N"
    np.testing.assert_allclose(aligned.points, target.points, rtol=0, atol=1e-3)


def test_merged_scans_have_the_header_of_the_first(scans: CommandLine) -> None:
    done = scans("multiway", "target.las", "source.las", "--merged", "all.laz")
    assert done.status == 0, done.err
    merged, first = read_cloud("all.laz"), read_cloud("target.las")
    assert merged.header.crs == first.header.crs
    assert merged.header.scale == first.header.scale
    assert {*read_cloud("source.las").attributes, "scan"} <= set(merged.attributes)
    assert "all.laz: attributes not in all scans, or of another shape: red, green, blue" in done.err
    assert "not the same in all scans, as in target.las: point_format, coordinate reference system" in done.err
    assert Path("all.laz").stat().st_size < 2 * Path("target.las").stat().st_size

"""LAS and LAZ as other programs write them."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg import FileError, MissingExtraError
from graphreg.files import read_cloud, write

laspy: Any = pytest.importorskip("laspy")

POINTS = np.random.default_rng(0).uniform(0, 100, (500, 3)).round(3) + np.array([32_500_000, 5_700_000, 50])


def save(path: Path, kind: int, version: str) -> Path:
    header = laspy.LasHeader(point_format=kind, version=version)
    header.offsets, header.scales = [32_500_000, 5_700_000, 0], [0.001] * 3
    header.add_extra_dim(laspy.ExtraBytesParams("score", np.float32))
    las = laspy.LasData(header)
    las.x, las.y, las.z = POINTS.T
    las.intensity = np.arange(500)
    las.classification = np.arange(500) % 5
    las["score"] = np.arange(500) / 8
    las.write(str(path))
    return path


@pytest.mark.parametrize("suffix", ["las", "laz"])
@pytest.mark.parametrize(
    ("kind", "version"),
    [
        (0, "1.2"),
        (1, "1.1"),
        (2, "1.2"),
        (3, "1.3"),
        (4, "1.4"),
        (6, "1.4"),
        (7, "1.4"),
        (8, "1.4"),
        (10, "1.4"),
    ],
)
def test_every_point_format(tmp_path: Path, suffix: str, kind: int, version: str) -> None:
    cloud = read_cloud(save(tmp_path / f"a.{suffix}", kind, version))
    np.testing.assert_allclose(cloud.points, POINTS, rtol=0, atol=1e-8)
    assert cloud.attributes["intensity"].tolist() == list(range(500))
    assert cloud.attributes["intensity"].dtype == np.uint16
    assert cloud.attributes["classification"].tolist() == [i % 5 for i in range(500)]
    assert cloud.attributes["score"].dtype == np.float32
    assert cloud.attributes["score"].tolist() == [i / 8 for i in range(500)]


def test_a_large_compressed_file_is_read_in_chunks(tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(120_000, 3))
    done: list[tuple[int, int]] = []
    write(tmp_path / "a.laz", points)
    cloud = read_cloud(tmp_path / "a.laz", progress=lambda *bar: done.append(bar))
    np.testing.assert_allclose(cloud.points, points, rtol=0, atol=1e-8)
    assert done[-1][0] == done[-1][1] == (tmp_path / "a.laz").stat().st_size


@pytest.mark.parametrize(
    ("offset", "form", "value", "message"),
    [
        (0, "4s", b"LASX", "does not begin with a LAS header"),
        (25, "B", 9, "damaged LAS header"),
        (94, "H", 100, "damaged LAS header"),
        (96, "I", 2**32 - 1, "damaged LAS header"),
        (100, "I", 2**32 - 1, "variable-length records"),
        (131, "d", 0.0, "a scale or an offset"),
        (155, "d", float("nan"), "a scale or an offset"),
        (247, "Q", 0, "has no points"),
        (247, "Q", 501, "declares 501 points but ends after 500"),
        (247, "Q", 10**12, "declares 1000000000000 points but ends after 500"),
        (247, "Q", 2**64 - 1, "but ends after 500"),
        (105, "H", 0, "damaged"),
    ],
)
def test_false_headers_are_refused(tmp_path: Path, offset: int, form: str, value: Any, message: str) -> None:
    path = save(tmp_path / "a.las", 6, "1.4")
    data = bytearray(path.read_bytes())
    struct.pack_into("<" + form, data, offset, value)
    path.write_bytes(data)
    with pytest.raises(FileError, match=message):
        read_cloud(path)


def test_a_missing_extra_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "a.las", 6, "1.4")
    monkeypatch.setitem(sys.modules, "laspy", None)
    with pytest.raises(MissingExtraError, match=r"reading LAS and LAZ files needs .* 'graphreg\[las\]'"):
        read_cloud(path)
    with pytest.raises(MissingExtraError, match="writing LAS"):
        write(tmp_path / "b.las", POINTS)
    assert [file.name for file in tmp_path.iterdir()] == ["a.las"]

"""The real scans of GRAPHREG_DATA: all points are read, and truncated files refused."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest

from graphreg import FileError
from graphreg.files import read_cloud, write

DATA = os.environ.get("GRAPHREG_DATA")
SCANS = sorted(file for kind in ("ply", "bin") for file in Path(DATA).rglob(f"*.{kind}")) if DATA else []
FOLDERS = {folder: list(scans) for folder, scans in itertools.groupby(SCANS, lambda scan: scan.parent)}

pytestmark = pytest.mark.skipif(not SCANS, reason="the environment variable GRAPHREG_DATA names no folder of scans")


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_points_are_there(folder: Path) -> None:
    for path in FOLDERS[folder]:
        cloud = read_cloud(path)
        content = path.read_bytes()
        message = re.search(rb"element vertex (\d+)", content[:5000])
        assert len(cloud.kept) == (int(message[1]) if message else len(content) // 16), path
        assert cloud.dropped == 0, path
        assert 0 < np.ptp(cloud.points, axis=0).max() < 1000, path


def test_a_scan_truncated_to_half_its_size_is_refused(tmp_path: Path) -> None:
    for path in [scan for scan in SCANS if scan.suffix == ".ply"][::4]:
        content = path.read_bytes()
        (tmp_path / "half.ply").write_bytes(content[: len(content) // 2])
        with pytest.raises(FileError, match=r"declares \d+ .* but ends after \d+"):
            read_cloud(tmp_path / "half.ply")


@pytest.mark.slow
@pytest.mark.parametrize("path", SCANS[::9], ids=lambda path: path.name)
def test_a_scan_is_converted_to_other_formats_exactly(path: Path, tmp_path: Path) -> None:
    cloud = read_cloud(path)
    for suffix in ("ply", "pcd", "npz", "csv"):
        write(tmp_path / f"a.{suffix}", cloud)
        again = read_cloud(tmp_path / f"a.{suffix}")
        np.testing.assert_array_equal(again.points, cloud.points)
        assert set(again.attributes) == set(cloud.attributes)

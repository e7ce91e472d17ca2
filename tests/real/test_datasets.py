"""The loaders on real scans: the poses that they return must align the scans."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from graphreg import voxel_downsample
from graphreg.datasets import eth_tls, kitti, stanford, threedmatch
from graphreg.poses import inverse, transform

# Lines of the published files. Stanford 3D Scanning Repository: bun.conf, dragonStandRight.conf.
CONF = {
    "stanford_bunny": """\
camera -0.0172 -0.0936 -0.734 -0.0461723 0.970603 -0.235889 0.0124573
bmesh bun000.ply 0 0 0 0 0 0 1
bmesh bun045.ply -0.0520211 -0.000383981 -0.0109223 0.00548449 -0.294635 -0.0038555 0.955586
""",
    "stanford_dragon": """\
camera 0 -0.1 -0.7 0 1 0 0
mesh dragonStandRight_cybcyl -0.00046848506 -0.00023447722 -0.0010381211 0.00067289395 0.9999609 -0.00025617116 \
0.0088155176
bmesh dragonStandRight_0.ply -0.00042573013 -3.6194921e-05 -0.00096614892 0.00068114395 -0.00029109037 -0.00073466112 \
0.99999946
bmesh dragonStandRight_24.ply -0.00087644532 -2.7567148e-07 -0.0010457705 -0.00046636924 -0.20917222 0.00091034989 \
0.97787827
""",
}
# 3DMatch: a record of 7-scenes-redkitchen-evaluation/gt.log.
LOG = """\
0\t 4\t 60\t
 9.79957209e-01\t -8.09359517e-02\t  1.81876614e-01\t -8.65004597e-02\t
 9.80194727e-02\t  9.91351448e-01\t -8.69879436e-02\t -4.58251665e-01\t
-1.73272374e-01\t  1.03077496e-01\t  9.79441054e-01\t  5.07580899e-01\t
 0.00000000e+00\t  0.00000000e+00\t  0.00000000e+00\t  1.00000000e+00\t
"""


@pytest.fixture(scope="module")
def truths(scans: Path) -> dict[str, np.ndarray]:
    entries = json.loads((scans / "pairs.json").read_text(encoding="utf-8"))
    return {entry["name"]: np.array(entry["T_target_source"]) for entry in entries}


def linked(scans: Path, into: Path) -> Path:
    """A folder with links to the same scans, to write files of ground truth beside them."""
    into.mkdir()
    for path in scans.glob("*.ply"):
        (into / path.name).symlink_to(path.resolve())
    return into


def assert_aligned(T_target_source: np.ndarray, source: np.ndarray, target: np.ndarray, voxel: float) -> None:
    """T_target_source aligns the source with the target; its inverse and the identity do not."""
    moving, tree = voxel_downsample(source, voxel)[::5], cKDTree(voxel_downsample(target, voxel))
    candidates = (T_target_source, inverse(T_target_source), np.eye(4))
    distances = [np.median(tree.query(transform(candidate, moving))[0]) for candidate in candidates]
    assert distances[0] < 0.5 * min(distances[1:])


@pytest.mark.parametrize("number", [1, 5, 9])
def test_kitti_frames_are_aligned_with_the_first(scans: Path, truths: dict[str, np.ndarray], number: int) -> None:
    frames = kitti.scans(scans / "kitti_03")
    assert len(frames) == 10
    T_target_source = inverse(frames[0].pose) @ frames[number].pose
    np.testing.assert_allclose(T_target_source, truths[f"kitti03_{number}_to_0"], atol=1e-8)
    assert_aligned(T_target_source, frames[number].read(), frames[0].read(), 0.5)


def test_kitti_as_published_gives_the_same_poses(scans: Path, tmp_path: Path) -> None:
    """Poses of the camera, computed with KITTI's own calibration, are converted to those of the Velodyne."""
    plain = kitti.scans(scans / "kitti_03")
    T_camera_velodyne = np.loadtxt(scans / "kitti_03" / "Tr_cam_velo.txt")
    sequence = tmp_path / "sequences" / "03"
    (sequence / "velodyne").mkdir(parents=True)
    for frame in plain:
        (sequence / "velodyne" / frame.path.name).symlink_to(frame.path.resolve())
    (sequence / "calib.txt").write_text("Tr: " + " ".join(map(repr, T_camera_velodyne[:3].ravel().tolist())))
    (tmp_path / "poses").mkdir()
    cameras = [(T_camera_velodyne @ frame.pose @ inverse(T_camera_velodyne))[:3].ravel() for frame in plain]
    np.savetxt(tmp_path / "poses" / "03.txt", cameras)
    for frame, same in zip(kitti.scans(tmp_path), plain, strict=True):
        np.testing.assert_allclose(frame.pose, same.pose, atol=1e-7)  # Tr is a rotation to eight digits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "pair"), [("stanford_bunny", "bunny_045_to_000"), ("stanford_dragon", "dragon_24_to_0")]
)
def test_stanford_quaternions_are_conjugate(
    scans: Path, truths: dict[str, np.ndarray], tmp_path: Path, folder: str, pair: str
) -> None:
    here = linked(scans / folder, tmp_path / folder)
    (here / "lines.conf").write_text(CONF[folder])
    target, source = stanford.scans(here)
    T_target_source = inverse(target.pose) @ source.pose
    np.testing.assert_allclose(T_target_source, truths[pair], atol=1e-11)
    assert_aligned(T_target_source, source.read(), target.read(), 0.001)


def test_3dmatch_maps_the_second_fragment_to_the_first(
    scans: Path, truths: dict[str, np.ndarray], tmp_path: Path
) -> None:
    here = linked(scans / "3dmatch_teaser", tmp_path / "redkitchen")
    (here / "gt.log").write_text(LOG)
    (pair,) = threedmatch.pairs(tmp_path)
    assert (pair.source.name, pair.target.name) == ("cloud_bin_4.ply", "cloud_bin_0.ply")
    np.testing.assert_allclose(pair.T_target_source, truths["3dmatch_redkitchen_4_to_0"], atol=1e-7)
    assert_aligned(pair.T_target_source, *pair.read(), 0.05)


@pytest.mark.slow
def test_eth_scans_with_a_ground_truth(scans: Path, truths: dict[str, np.ndarray], tmp_path: Path) -> None:
    here = linked(scans / "eth_facade", tmp_path / "facade")
    (here / "groundtruth").mkdir()
    for source, target in ((3, 2), (4, 3), (5, 4)):
        truth = truths[f"eth_facade_{source}_to_{target}"]
        np.savetxt(here / "groundtruth" / f"s{source}-s{target}.tfm", truth)
    for pair in eth_tls.pairs(here):
        assert_aligned(pair.T_target_source, *pair.read(), 0.2)

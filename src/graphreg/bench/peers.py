"""Registration by other libraries, chained as their documentation suggests.

Lengths are multiples of a voxel size that the caller has to know; all use as many threads as there are cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.poses import pose
from graphreg.threads import thread_count

# KISS-Matcher is tuned for metres: clouds are scaled so that its voxels have this size.
KISS_VOXEL = 0.3


@dataclass(frozen=True)
class Peer:
    """A method of another library.

    Attributes
    ----------
    modules : tuple of str
        Modules that it needs.
    run : callable
        (source, target, voxel, kind) -> T_target_source; local methods also take ``start=``, an initial transform.
    summary : str
        One line for readers.
    """

    modules: tuple[str, ...]
    run: Callable[..., Any]
    summary: str


def gicp(source: Floats, target: Floats, voxel: float, kind: str, start: Floats | None = None) -> Any:
    """Run small_gicp from the initial pose, or from a transform near the true one."""
    import small_gicp

    threads = thread_count(None)
    target_cloud, tree = small_gicp.preprocess_points(target, downsampling_resolution=voxel, num_threads=threads)
    source_cloud, _ = small_gicp.preprocess_points(source, downsampling_resolution=voxel, num_threads=threads)
    return small_gicp.align(
        target_cloud,
        source_cloud,
        tree,
        init_T_target_source=np.eye(4) if start is None else start,
        registration_type="GICP",
        max_correspondence_distance=(20 if start is None else 5) * voxel,
        num_threads=threads,
    ).T_target_source


def kiss_gicp(source: Floats, target: Floats, voxel: float, kind: str) -> Any:
    """Run KISS-Matcher from any pose, then small_gicp."""
    import kiss_matcher

    scale = KISS_VOXEL / (voxel * (3 if kind == "object" else 2))
    centre = target.mean(axis=0)
    scaled = [np.ascontiguousarray((points - centre) * scale, np.float32) for points in (source, target)]
    found = kiss_matcher.KISSMatcher(kiss_matcher.KISSMatcherConfig(KISS_VOXEL)).estimate(*scaled)
    rotation = np.asarray(found.rotation)
    translation = np.asarray(found.translation).ravel() / scale + centre - rotation @ centre
    return gicp(source, target, voxel, kind, pose(rotation, translation))


def open3d_icp(
    source: Floats, target: Floats, voxel: float, kind: str, start: Floats | None = None, matching: str | None = None
) -> Any:
    """Run Open3D's point-to-plane ICP from the initial pose, from `start`, or from feature matching.

    Parameters
    ----------
    source, target : (N, 3) array
        Clouds.
    voxel : float
        Voxel size.
    kind : str
        Kind of the scans; not used.
    start : (4, 4) array, optional
        Initial transform.
    matching : {"fgr", "ransac"}, optional
        Method that estimates the initial transform from FPFH features.
    """
    import open3d

    registration = open3d.pipelines.registration
    around = open3d.geometry.KDTreeSearchParamHybrid
    clouds = []
    for points in (source, target):
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points)).voxel_down_sample(voxel)
        cloud.estimate_normals(around(4 * voxel, 30))
        clouds.append(cloud)
    if matching is not None:
        start = _matched(clouds, voxel, matching)
    return registration.registration_icp(
        *clouds,
        (20 if start is None else 3) * voxel,
        np.eye(4) if start is None else start,
        registration.TransformationEstimationPointToPlane(),
        registration.ICPConvergenceCriteria(1e-7, 1e-7, 60),
    ).transformation


def _matched(clouds: list[Any], voxel: float, matching: str) -> Any:
    import open3d

    registration = open3d.pipelines.registration
    around = open3d.geometry.KDTreeSearchParamHybrid
    coarse, features = [], []
    for cloud in clouds:
        thinned = cloud.voxel_down_sample(3 * voxel)
        thinned.estimate_normals(around(6 * voxel, 30))
        coarse.append(thinned)
        features.append(registration.compute_fpfh_feature(thinned, around(15 * voxel, 100)))
    if matching == "fgr":
        option = registration.FastGlobalRegistrationOption(maximum_correspondence_distance=1.5 * voxel)
        return registration.registration_fgr_based_on_feature_matching(*coarse, *features, option).transformation
    return registration.registration_ransac_based_on_feature_matching(
        *coarse,
        *features,
        True,
        4.5 * voxel,
        registration.TransformationEstimationPointToPoint(False),
        3,
        [
            registration.CorrespondenceCheckerBasedOnEdgeLength(0.9),
            registration.CorrespondenceCheckerBasedOnDistance(4.5 * voxel),
        ],
        registration.RANSACConvergenceCriteria(400_000, 0.9999),
    ).transformation


PEERS = {
    "gicp": Peer(("small_gicp",), gicp, "small_gicp from the initial pose (local)"),
    "kiss+gicp": Peer(("kiss_matcher", "small_gicp"), kiss_gicp, "KISS-Matcher, then small_gicp"),
    "open3d-icp": Peer(("open3d",), open3d_icp, "Open3D's point-to-plane ICP from the initial pose (local)"),
    "fgr+icp": Peer(
        ("open3d",), partial(open3d_icp, matching="fgr"), "Open3D's FPFH, fast global registration, point-to-plane ICP"
    ),
    "ransac+icp": Peer(
        ("open3d",), partial(open3d_icp, matching="ransac"), "Open3D's FPFH, RANSAC, point-to-plane ICP"
    ),
}
# Local methods, by their names in tables without other ICP variants.
LOCAL = {"icp": PEERS["open3d-icp"], "gicp": PEERS["gicp"]}
# Distributions that modules come from.
PACKAGES = {
    "small_gicp": ("small_gicp",),
    "kiss_matcher": ("kiss-matcher",),
    "open3d": ("open3d", "open3d-cpu"),
    "kiss_icp": ("kiss-icp",),
}


def installed(peers: dict[str, Peer]) -> dict[str, Peer]:
    """Return the peers whose modules can be imported; they are imported now, outside of any measured time."""
    return {name: peer for name, peer in peers.items() if all(map(can_be_imported, peer.modules))}


def versions(names: Iterable[str]) -> dict[str, str]:
    """Return {module: version} of the modules that the peers of these names need."""
    return versions_of_modules(*(module for name in names if name in PEERS for module in PEERS[name].modules))


def versions_of_modules(*modules: str) -> dict[str, str]:
    """Return {module: version of its distribution}."""
    return {module: _version(module) for module in modules}


def describe_peers(peers: dict[str, Peer], measured: set[str]) -> list[str]:
    """Return a line on the peers that were measured, and one on those that were not."""
    present = [f"{name} is {peer.summary}" for name, peer in peers.items() if name in measured]
    absent = [f"{name} ({' and '.join(peer.modules)})" for name, peer in peers.items() if name not in measured]
    lines = []
    if present:
        lines.append("; ".join(present))
    if absent:
        lines.append(f"not measured, as not installed or not selected: {', '.join(absent)}")
    return lines


@cache
def can_be_imported(module: str) -> bool:
    """Return whether a module can be imported; it is imported now, outside of any measured time."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _version(module: str) -> str:
    for package in PACKAGES.get(module, (module,)):
        try:
            return version(package)
        except PackageNotFoundError:
            continue
    return "unknown"

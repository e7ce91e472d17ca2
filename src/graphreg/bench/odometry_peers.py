"""LiDAR odometry by other libraries, frame by frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphreg.bench.peers import can_be_imported, versions_of_modules
from graphreg.clouds import Floats
from graphreg.multiscan.deskewing import sensor_poses
from graphreg.threads import thread_count

# As in small_gicp's own odometry examples: metres, metres, frames.
GICP_VOXEL, GICP_MAP_VOXEL, GICP_HORIZON = 0.25, 1.0, 100

Follow = Callable[[Floats, Floats | None], tuple[Floats, bool]]
"""A frame in, and the times of its points if it has motion distortion; out the pose of the sensor with respect to the
first frame, at the middle of the times, and whether it was registered."""


@dataclass(frozen=True)
class OdometryPeer:
    """Odometry of another library.

    Attributes
    ----------
    module : str
        Module that it needs.
    start : callable
        Returns a function that takes frames one by one.
    summary : str
        One line for readers.
    """

    module: str
    start: Callable[[], Follow]
    summary: str

    @property
    def is_installed(self) -> bool:
        """Whether its module can be imported; it is imported now, outside of any measured time."""
        return can_be_imported(self.module)


def kiss_icp() -> Follow:
    """Start KISS-ICP with its default settings. It deskews frames with times."""
    from kiss_icp.config import KISSConfig
    from kiss_icp.kiss_icp import KissICP

    config = KISSConfig()
    config.data.deskew = True
    config.mapping.voxel_size = config.data.max_range / 100
    odometry = KissICP(config)

    def follow(points: Floats, times: Floats | None) -> tuple[Floats, bool]:
        odometry.register_frame(points, np.empty(0) if times is None else times)
        pose = np.array(odometry.last_pose)
        # Its poses are those at the end of a frame.
        return pose if times is None else pose @ sensor_poses(odometry.last_delta, np.array([-0.5]))[0], True

    return follow


def gicp_pairs() -> Follow:
    """Start small_gicp on the previous frame, from a constant velocity."""
    import small_gicp

    threads = thread_count(None)
    previous: list[Any] = []
    T_first_frame, step = np.eye(4), np.eye(4)

    def follow(points: Floats, _: Floats | None) -> tuple[Floats, bool]:
        nonlocal T_first_frame, step
        cloud, tree = small_gicp.preprocess_points(points, downsampling_resolution=GICP_VOXEL, num_threads=threads)
        if previous:
            target, target_tree = previous
            found = small_gicp.align(target, cloud, target_tree, init_T_target_source=step, num_threads=threads)
            step = np.asarray(found.T_target_source)
            T_first_frame = T_first_frame @ step
        previous[:] = cloud, tree
        return T_first_frame, True

    return follow


def gicp_map() -> Follow:
    """Start small_gicp on its map of Gaussian voxels, from a constant velocity."""
    import small_gicp

    threads = thread_count(None)
    voxel_map = small_gicp.GaussianVoxelMap(GICP_MAP_VOXEL)
    voxel_map.set_lru(horizon=GICP_HORIZON, clear_cycle=10)
    T_first_frame, step, empty = np.eye(4), np.eye(4), True

    def follow(points: Floats, _: Floats | None) -> tuple[Floats, bool]:
        nonlocal T_first_frame, step, empty
        cloud, _ = small_gicp.preprocess_points(points, downsampling_resolution=GICP_VOXEL, num_threads=threads)
        if not empty:
            guess = T_first_frame @ step
            found = small_gicp.align(voxel_map, cloud, init_T_target_source=guess, num_threads=threads)
            # Its poses are not exactly rigid: with the transpose in place of the inverse, rounding would accumulate.
            step = np.linalg.inv(T_first_frame) @ found.T_target_source
            T_first_frame = np.asarray(found.T_target_source)
        empty = False
        voxel_map.insert(cloud, T_first_frame)
        return T_first_frame, True

    return follow


ODOMETRY_PEERS = {
    "kiss-icp": OdometryPeer("kiss_icp", kiss_icp, "KISS-ICP with its default settings; it deskews frames with times"),
    "gicp, map": OdometryPeer("small_gicp", gicp_map, "small_gicp on its map of Gaussian voxels"),
    "gicp, pairs": OdometryPeer("small_gicp", gicp_pairs, "small_gicp on the previous frame"),
}


def odometry_versions(names: Iterable[str]) -> dict[str, str]:
    """Return {module: version} of the peers of these names."""
    return versions_of_modules(*(ODOMETRY_PEERS[name].module for name in names if name in ODOMETRY_PEERS))

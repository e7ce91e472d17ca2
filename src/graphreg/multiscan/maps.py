"""Maps of LiDAR odometry: the local map that frames are registered to, and the global map of all keyframes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.poses import inverse, transform
from graphreg.registration import prepare_sample
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class MapParameters:
    """Constants of the maps. All are chosen."""

    # Keyframes that the local map consists of.
    keyframes: int = 3
    # A frame becomes a keyframe when its overlap with the local map falls below this share of the largest overlap
    # that a frame has had with this map.
    overlap_ratio: float = 0.9
    # Frames that the global map collects before it is downsampled.
    frames_at_once: int = 20


MAPS = MapParameters()


@dataclass(frozen=True, eq=False)
class PosedCloud:
    """A cloud and its pose: x_first = P x."""

    cloud: PreprocessedCloud
    pose: Floats


class LocalMap:
    """The last few keyframes as one cloud, in the frame of the newest.

    It is renewed as the sensor moves on, not while it stands still: errors accumulate from map to map, not from frame
    to frame.

    Parameters
    ----------
    seed : int, default 0
        Seed of the sampling of points.
    parameters : MapParameters, default MAPS

    Attributes
    ----------
    posed : PosedCloud or None
        The map; None before the first keyframe.
    """

    def __init__(self, seed: int = 0, parameters: MapParameters = MAPS) -> None:
        self.posed: PosedCloud | None = None
        self._seed, self._parameters = seed, parameters
        self._keyframes: list[PosedCloud] = []
        self._largest_overlap = 0.0

    def needs(self, overlap: float | None) -> bool:
        """Whether a frame should become a keyframe.

        Parameters
        ----------
        overlap : float or None
            Share of the frame that overlaps the map; None for a frame that was not registered to it.
        """
        if overlap is None or overlap < self._parameters.overlap_ratio * self._largest_overlap:
            self._largest_overlap = 0.0
            return True
        self._largest_overlap = max(self._largest_overlap, overlap)
        return False

    def restart(self, keyframe: PosedCloud) -> None:
        """Forget all keyframes but this one."""
        self._keyframes = [keyframe]

    def add(self, keyframe: PosedCloud) -> None:
        """Add a keyframe, drop the oldest, and build the map from those that are left."""
        self._keyframes = [*self._keyframes, keyframe][-self._parameters.keyframes :]
        if len(self._keyframes) == 1:
            self.posed = keyframe
            return
        parts = [transform(inverse(keyframe.pose) @ each.pose, each.cloud.points) for each in self._keyframes]
        self.posed = PosedCloud(prepare_sample(np.concatenate(parts), seed=self._seed), keyframe.pose)


class GlobalMap:
    """Points of many frames, downsampled to one for each voxel.

    The voxel size is that of the first frame.

    Parameters
    ----------
    parameters : MapParameters, default MAPS
    """

    def __init__(self, parameters: MapParameters = MAPS) -> None:
        self._parameters = parameters
        self._voxel = 0.0
        self._parts: list[Floats] = []

    def add(self, points: Floats, voxel: float) -> None:
        """Add the points of a frame.

        Parameters
        ----------
        points : (N, 3) ndarray
            In the frame of the map.
        voxel : float
            Voxel size that the frame was registered with.
        """
        self._voxel = self._voxel or voxel
        self._parts.append(points)
        if len(self._parts) > self._parameters.frames_at_once:
            self._parts = [self.points()]

    def points(self) -> Floats:
        """The map, (M, 3)."""
        if not self._parts:
            return np.empty((0, 3))
        return voxel_downsample(np.concatenate(self._parts), self._voxel)

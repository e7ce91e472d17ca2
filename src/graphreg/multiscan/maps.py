"""Maps of LiDAR odometry: the local map that frames are registered to, and the global map of all keyframes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.multiscan.deskewing import deskewed
from graphreg.multiscan.tracking import FrameVoxels, SurfelTracker, TrackedFrame, displacement
from graphreg.poses import inverse, transform
from graphreg.registration import prepare_sample
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class MapParameters:
    """Constants of the maps. All are chosen."""

    # Keyframes that the local map consists of.
    keyframes: int = 3
    # A frame becomes a keyframe when its points have moved by this many voxels since the last one, on average.
    distance: float = 8.0
    # Frames that the global map collects before it is downsampled.
    frames_at_once: int = 20


MAPS = MapParameters()


class LazyCloud:
    """The points of a frame; what registration needs is computed when it is asked for, and kept.

    Parameters
    ----------
    points : (N, 3) ndarray
    seed : int
        Seed of the sampling of points.
    times : (N,) ndarray, optional
        When each point was measured, from -1/2 to 1/2; see `graphreg.multiscan.deskewing.frame_times`.

    Attributes
    ----------
    points : (N, 3) ndarray
        A copy, so that the caller's array can be released.
    velocity : (4, 4) ndarray
        The transform from the previous frame by which the points are deskewed.
    """

    def __init__(self, points: Floats, seed: int, times: Floats | None = None) -> None:
        self.points, self.velocity = points.copy(), np.eye(4)
        self._measured, self._times, self._seed = self.points, times, seed
        self._preprocessed: PreprocessedCloud | None = None
        self._voxels: tuple[SurfelTracker, FrameVoxels] | None = None

    @property
    def is_distorted(self) -> bool:
        """Whether the points were measured one after another."""
        return self._times is not None

    def deskew(self, T_previous_frame: Floats, threads: int = 1) -> None:
        """Correct the points for this transform from the previous frame, if their times are known."""
        if self._times is not None and not np.array_equal(T_previous_frame, self.velocity):
            self.points = deskewed(self._measured, self._times, T_previous_frame, threads)
            self.velocity = T_previous_frame
            self._preprocessed = self._voxels = None

    @property
    def preprocessed(self) -> PreprocessedCloud:
        """For `register`."""
        if self._preprocessed is None:
            self._preprocessed = prepare_sample(self.points, seed=self._seed)
        return self._preprocessed

    def voxels(self, tracker: SurfelTracker) -> FrameVoxels:
        """For a tracker."""
        if self._voxels is None or self._voxels[0] is not tracker:
            self._voxels = tracker, tracker.voxels_of(self.points, self._times)
        return self._voxels[1]

    def tracked(self, tracker: SurfelTracker, predicted: Floats, threads: int = 1) -> TrackedFrame:
        """Track the frame; points with times are deskewed by the velocity that is estimated with the pose.

        Parameters
        ----------
        tracker : SurfelTracker
        predicted : (4, 4) ndarray
        threads : int, default 1

        Returns
        -------
        TrackedFrame
            Where the frame is not tracked, its points are as they were.
        """
        if not self.is_distorted:
            return tracker.track(self.voxels(tracker), predicted)
        velocity_before = self.velocity
        start, velocity = tracker.track_sweep(self.voxels(tracker), predicted, velocity_before)
        self.deskew(velocity, threads)
        found = tracker.track(self.voxels(tracker), predicted, start)
        if not found.success:
            self.deskew(velocity_before, threads)
        return found


@dataclass(frozen=True, eq=False)
class PosedCloud:
    """A cloud and its pose: x_first = P x."""

    cloud: LazyCloud
    pose: Floats


class LocalMap:
    """The last few keyframes as one cloud, in the frame of the newest; built when it is asked for.

    It is renewed as the sensor moves on, not while it stands still.

    Parameters
    ----------
    seed : int, default 0
        Seed of the sampling of points.
    parameters : MapParameters, default MAPS
    """

    def __init__(self, seed: int = 0, parameters: MapParameters = MAPS) -> None:
        self._seed, self._parameters = seed, parameters
        self._keyframes: list[PosedCloud] = []
        self._posed: PosedCloud | None = None

    @property
    def posed(self) -> PosedCloud | None:
        """The map; None before the first keyframe."""
        if self._posed is None and self._keyframes:
            newest = self._keyframes[-1]
            parts = [transform(inverse(newest.pose) @ each.pose, each.cloud.points) for each in self._keyframes]
            whole = newest.cloud if len(parts) == 1 else LazyCloud(np.concatenate(parts), self._seed)
            self._posed = PosedCloud(whole, newest.pose)
        return self._posed

    def restart(self, keyframe: PosedCloud) -> None:
        """Forget all keyframes but this one."""
        self._keyframes, self._posed = [keyframe], None

    def needs(self, frame: PosedCloud, voxel: float) -> bool:
        """Whether a frame should become a keyframe: there is none, or the last one is far.

        Parameters
        ----------
        frame : PosedCloud
        voxel : float
            Voxel size, the unit of the distance.
        """
        if not self._keyframes:
            return True
        moved = displacement(frame.cloud.points, inverse(self._keyframes[-1].pose) @ frame.pose)
        return moved > self._parameters.distance * voxel

    def add(self, keyframe: PosedCloud) -> None:
        """Add a keyframe, and drop the oldest."""
        self._keyframes, self._posed = [*self._keyframes, keyframe][-self._parameters.keyframes :], None


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

"""What all methods of the comparison share: thinned clouds about a common origin, a start, and a history."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Iteration, MethodSettings, Outcome
from graphreg.poses import nearest_rotation, pose, transform
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class BaselineSettings(MethodSettings):
    """The setting that every method has.

    voxel  side of the cells that both clouds are thinned with, in the unit of the data; by default a two-hundredth of
           the longer cloud (CPD and ECM: a hundredth). 0: all points take part
    """

    voxel: float | None = None


class BaselineRun:
    """A registration under way.

    source, target  (N, 3), (M, 3): thinned out, the source moved to where it starts, both relative to the target's
                    centroid
    voxel           the spacing of both
    threads         how many may be used
    motion          where the source stands now, in the frame of `source` and `target`
    """

    def __init__(
        self,
        source: Floats,
        target: Floats,
        voxel: float | None,
        init: Floats | None,
        threads: int,
        callback: Callback | None,
        cells: int = 200,
    ) -> None:
        """Starts at `init`, or where it is None with the centroids aligned.

        cells  where `voxel` is None, so many of them make up the longer cloud
        """
        self._began = time.perf_counter()
        longest = float(max(np.ptp(cloud, axis=0).max() for cloud in (source, target)))
        if not longest > 0:
            raise InputError("source, target: all points coincide")
        self.voxel = longest / cells if voxel is None else voxel
        if self.voxel == 0:
            # Where most points are there twice, nothing is known of their spacing.
            self.voxel = max(_spacing(cloud, threads) for cloud in (source, target)) or longest / cells
        else:
            source, target = (voxel_downsample(cloud, self.voxel, threads) for cloud in (source, target))
        self._thin = source, target
        self._origin = self._thin[1].mean(axis=0)
        self._start = pose(np.eye(3), self._origin - self._thin[0].mean(axis=0)) if init is None else init
        self._callback = callback
        self._history: list[Iteration] = []
        self._prepared = self._described = time.perf_counter()
        self.threads = threads
        self.source = np.ascontiguousarray(transform(self._start, self._thin[0]) - self._origin)
        self.target = np.ascontiguousarray(self._thin[1] - self._origin)
        self.motion = np.eye(4)

    def described(self) -> None:
        """Features are made; from now on it registers."""
        self._described = time.perf_counter()

    def step(self, motion: Floats, energy: float) -> bool:
        """Move the source there, put it into the history and tell the caller, who may answer that it is enough."""
        self.motion = motion
        now = Iteration(len(self._history) + 1, self._in_users_frame(motion), float(energy))
        self._history.append(now)
        return self._callback is not None and bool(self._callback(now))

    def outcome(self) -> Outcome:
        """What was found: where the source stands now."""
        ended = time.perf_counter()
        return Outcome(
            transformation=self._in_users_frame(self.motion),
            history=tuple(self._history),
            timings={
                "thin": self._prepared - self._began,
                "describe": self._described - self._prepared,
                "register": ended - self._described,
            },
            voxel=self.voxel,
            source=self._thin[0],
            target=self._thin[1],
        )

    def _in_users_frame(self, motion: Floats) -> Floats:
        rotation = nearest_rotation(motion[:3, :3])
        return pose(rotation, self._origin + motion[:3, 3] - rotation @ self._origin) @ self._start


def _spacing(points: Floats, threads: int) -> float:
    """The median distance of a point to the nearest other one."""
    _, squared = _core.Tree(points, threads).nearest(points, 2, threads)
    return float(np.sqrt(np.median(squared[:, 1])))

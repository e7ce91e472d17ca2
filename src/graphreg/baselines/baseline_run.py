"""What all baselines share: the voxel setting, and the state of a run from downsampled clouds to its outcome."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, common_extent
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Iteration, MethodSettings, Outcome, Scale, scale_limits
from graphreg.poses import (
    fit_rigid_transform,
    fit_similarity,
    nearest_rotation,
    pose,
    scale_of,
    split_similarity,
    transform,
)
from graphreg.voxels import voxel_downsample

VOXELS = 200
"""Voxels along the longest extent of the clouds, where no voxel size is set (chosen)."""
LEAST_POINTS = 4
"""Points that a rigid transform is estimated from, at least: one more than it needs."""


@dataclass(frozen=True)
class BaselineSettings(MethodSettings):
    """The settings that all baselines share.

    Parameters
    ----------
    voxel : float, optional
        Voxel size that both clouds are downsampled with, in the unit of the data; 0: no downsampling. By default 1/200
        of the longest extent of the clouds (CPD and ECM: 1/100).
    features : bool, default False
        Whether points with alike invariants of the graph attract each other more; in FGR and TEASER++ whether graph
        descriptors take the place of FPFH.
    """

    voxel: float | None = None
    features: bool = False

    def __post_init__(self) -> None:
        self._require_flag("features")
        if self.voxel is not None:
            self._require("a length from 0 on", lambda value: 0 <= value < np.inf, "voxel")


class BaselineRun:
    """A registration in progress: downsampled clouds, current estimate, history and timings.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray
        The clouds, in the caller's frames.
    voxel : float or None
        As in `BaselineSettings`.
    init : (4, 4) ndarray or None
        Initial transform; None: the translation that aligns the centroids.
    threads : int
        Number of threads.
    callback : callable or None
        Called with each recorded iteration.
    scale : bool or pair of float, default False
        Whether a scale is estimated, or its smallest and largest value. `init` may then be a similarity; without it,
        the source is scaled to the target's spread.
    voxels : int, default 200
        Voxels along the longest extent of the clouds, where `voxel` is None.
    least : int, default 4
        Points that each cloud must have after downsampling.

    Attributes
    ----------
    source, target : (N, 3) and (M, 3) ndarray
        The downsampled clouds in the frame of the run: the source after the initial transform, and the origin at the
        target's centroid.
    estimate : (4, 4) ndarray
        The current transform from `source` to `target`; the identity at first.
    voxel : float
        The voxel size; without downsampling the median distance between nearest neighbours.
    threads : int
    """

    def __init__(
        self,
        source: Floats,
        target: Floats,
        voxel: float | None,
        init: Floats | None,
        threads: int,
        callback: Callback | None,
        voxels: int = VOXELS,
        least: int = LEAST_POINTS,
        scale: Scale = False,
    ) -> None:
        self._began = time.perf_counter()
        self._limits = scale_limits(scale)
        self._scale = 1.0
        if self._limits is not None:
            self._scale, init = _initial_scale(source, target, init, self._limits)
            source = source * self._scale
        extent = common_extent(source, target)
        self.voxel = extent / voxels if voxel is None else voxel
        if self.voxel == 0:
            # Where most points are duplicates, the median spacing is zero and says nothing.
            self.voxel = max(_median_spacing(cloud, threads) for cloud in (source, target)) or extent / voxels
        else:
            source, target = (voxel_downsample(cloud, self.voxel, threads) for cloud in (source, target))
        for name, cloud in (("source", source), ("target", target)):
            count = len(cloud) if len(cloud) < least else len(_core.unique_points(np.ascontiguousarray(cloud)))
            if count < least:
                raise InputError(
                    f"{name}: has {count} distinct points in voxels of {self.voxel:g}, but at least {least} are needed"
                )
        self._downsampled = source, target
        self._origin = target.mean(axis=0)
        self._init = pose(np.eye(3), self._origin - source.mean(axis=0)) if init is None else init
        self._callback = callback
        self._history: list[Iteration] = []
        self._preprocessed = self._described = time.perf_counter()
        self.threads = threads
        self.source = np.ascontiguousarray(transform(self._init, source) - self._origin)
        self.target = np.ascontiguousarray(target - self._origin)
        self.estimate = np.eye(4)

    def finish_features(self) -> None:
        """Mark the end of feature computation: time from here on is booked as registration."""
        self._described = time.perf_counter()

    def fit(self, source: Floats, target: Floats, weights: Floats | None = None, scale: float = 1.0) -> Floats:
        """Align corresponding points: by a rigid transform, or by a similarity where a scale is estimated.

        Parameters
        ----------
        source, target : (N, 3) ndarray
        weights : (N,) ndarray, optional
        scale : float, default 1
            That `source` has been scaled by since the start.

        Returns
        -------
        (4, 4) ndarray
        """
        if self._limits is None:
            return fit_rigid_transform(source, target, weights)
        low, high = self.scale_limits
        return fit_similarity(source, target, weights, (low / scale, high / scale))

    @property
    def scale_limits(self) -> tuple[float, float]:
        """Smallest and largest scale from the source of the run, which may be scaled already, to its target."""
        low, high = self._limits or (1.0, 1.0)
        return low / self._scale, high / self._scale

    @property
    def has_scale(self) -> bool:
        """Whether a scale is estimated."""
        return self._limits is not None

    def record(self, estimate: Floats, energy: float) -> bool:
        """Record an iteration: store the estimate, append it to the history and call the callback.

        Parameters
        ----------
        estimate : (4, 4) ndarray
            The transform from `source` to `target` after this iteration.
        energy : float
            The objective of the method.

        Returns
        -------
        bool
            Whether the callback asks to stop.
        """
        self.estimate = estimate
        iteration = Iteration(len(self._history) + 1, self._in_input_frame(estimate), float(energy))
        self._history.append(iteration)
        return self._callback is not None and bool(self._callback(iteration))

    def outcome(self) -> Outcome:
        """Return the outcome with the current estimate, in the caller's frames.

        Returns
        -------
        Outcome
        """
        ended = time.perf_counter()
        return Outcome(
            transformation=self._in_input_frame(self.estimate),
            history=tuple(self._history),
            timings={
                "preprocess": self._preprocessed - self._began,
                "describe": self._described - self._preprocessed,
                "register": ended - self._described,
            },
            voxel=self.voxel,
            source=self._downsampled[0] if self._limits is None else self._downsampled[0] / self._scale,
            target=self._downsampled[1],
        )

    def _in_input_frame(self, estimate: Floats) -> Floats:
        rotation = nearest_rotation(estimate[:3, :3])
        if self._limits is not None:
            rotation *= scale_of(estimate)
        found = pose(rotation, self._origin + estimate[:3, 3] - rotation @ self._origin) @ self._init
        return found if self._limits is None else found @ np.diag([self._scale] * 3 + [1.0])


def _initial_scale(
    source: Floats, target: Floats, init: Floats | None, limits: tuple[float, float]
) -> tuple[float, Floats | None]:
    """The scale of the source at the start, and the rigid transform after it: of `init`, or of the clouds' spreads."""
    if init is not None:
        scale, rigid = split_similarity(init)
        return float(np.clip(scale, *limits)), rigid
    spreads = [float(np.sqrt(cloud.var(axis=0).sum())) for cloud in (source, target)]
    return float(np.clip(spreads[1] / spreads[0] if min(spreads) > 0 else 1.0, *limits)), None


def _median_spacing(points: Floats, threads: int) -> float:
    """Median distance between nearest neighbours."""
    _, squared = _core.Tree(points, threads).nearest(points, 2, threads)
    return float(np.sqrt(np.median(squared[:, 1])))

"""Localisation: the pose of a moving sensor at each frame, in the coordinates of a prior map.

1. Track the frame on the surfels of the map, from the constant-velocity prediction: no descriptors, no search.
2. If that fails, register it to the previous frame, and track it from the pose that follows.
3. If that fails as well, or nothing is known of the pose, locate the frame in the whole map, from any pose.
4. If all fail, the frame keeps the predicted pose, without success; the next one is located from any pose.

A frame is a success only if the surfels of the map say so, wherever its pose comes from.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.argument_checks import check_callable, check_integer
from graphreg.clouds import Floats, as_rows
from graphreg.engine.coincident_points import without_coincident
from graphreg.engine.part_pipeline import part_poses
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import Progress, check_progress, counted
from graphreg.multiscan.deskewing import check_times, frame_times
from graphreg.multiscan.frames import chosen_frames, frame_cloud, frame_name, frame_stamp, with_clouds
from graphreg.multiscan.maps import LazyCloud
from graphreg.multiscan.tracking import TRACKING, SurfelTracker, TrackedFrame, displacement, frame_voxel
from graphreg.multiscan.trajectory import FrameResult, Trajectory
from graphreg.poses import inverse, pose
from graphreg.registration import register
from graphreg.threads import thread_count

PREVIOUS, MAP = "previous frame", "map"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalisationParameters:
    """Constants of localisation; chosen.

    Attributes
    ----------
    places : int
        Places of the map that a frame is tracked at, of those that a search proposes.
    rounds : int
        From the pose of a place a frame is tracked so many times, each from the pose before: the search is coarse.
    least_explained : float
        The map explains at least this share of a frame that is located: its overlap times the share of inliers. Of many
        places searched, some fit by half.
    runner_up : float
        A pose is ambiguous where the map explains this share as much of the frame at another one, tracked or not.
    same_size : float
        Until a frame is localised, the surfels of the map are made anew for one whose voxel size differs by more than
        this factor.
    """

    places: int = 12
    rounds: int = 3
    least_explained: float = 0.7
    runner_up: float = 0.85
    same_size: float = 1.5


LOCALISATION = LocalisationParameters()


class Localisation:
    """Localisation in a prior map, for frames that arrive one by one.

    Parameters
    ----------
    prior_map : (M, 3) array_like, path or PreprocessedCloud
        Points of the map, anything that holds points, the name of a file, or what `prepare` returned.
    threads : int, optional
        Number of threads, by default all cores. The result does not depend on it.
    seed : int, default 0
        Seed of the random sampling. The same seed gives the same bits.

    Raises
    ------
    InputError
        If an argument cannot be used.

    See Also
    --------
    graphreg.localise : The same for a folder or an iterable of frames.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("room", 20, points=8000)
    >>> found = graphreg.Localisation(pair.target).add(pair.source)
    >>> found.success, bool(np.allclose(found.pose, pair.T_target_source, atol=0.02))
    (True, True)
    """

    def __init__(self, prior_map: Any, *, threads: int | None = None, seed: int = 0) -> None:
        self._threads, self._seed = thread_count(threads), check_integer("seed", seed)
        scene = prior_map if isinstance(prior_map, PreprocessedCloud) else _preprocessed_map(prior_map)
        self._scene = scene.whole_cloud()
        # Coordinates of surfels are relative to the middle of the map.
        self._points = self._scene.points
        self._T_map_local = pose(np.eye(3), self._points.mean(axis=0))
        self._points = self._points - self._T_map_local[:3, 3]
        # The surfels of the map, the frame's voxel size that they were made for; was any frame localised with them?
        self._tracker: SurfelTracker | None = None
        self._frame_voxel, self._localised_before = 0.0, False
        self._count = 0
        self._pose, self._lost = np.eye(4), True
        self._velocity: Floats | None = None
        self._previous: LazyCloud | None = None

    def add(self, frame: Any, times: Any = None) -> FrameResult:
        """Estimate the pose of the sensor at the next frame.

        Parameters
        ----------
        frame : array_like or path
            An (N, 3) array, anything else that `register` takes, or the name of a file.
        times : (N,) array_like, "fields" or "guess", optional
            When each point was measured, as in `Odometry.add`. By default the points are used as they are.

        Returns
        -------
        FrameResult
            `pose` is in the coordinates of the map. For a frame that is empty, unreadable or not localised, `success`
            is False, `reason` says why and `pose` is the prediction.

        Raises
        ------
        InputError
            If `times` has a wrong type or value.
        """
        check_times(times)
        began = time.perf_counter()
        number, self._count = self._count, self._count + 1
        predicted = self._pose if self._velocity is None else self._pose @ self._velocity
        scan, points = None, 0
        try:
            cloud = frame_cloud(frame)
            began, points = time.perf_counter(), len(cloud)
            scan = LazyCloud(cloud.points, self._seed, frame_times(times, cloud))
            if self._velocity is not None:
                scan.deskew(self._velocity, self._threads)
            step = self._localised(scan, predicted)
        except (InputError, OSError) as problem:
            step = FrameResult(predicted, False, 0.0, f"not localised: {problem}")
        self._velocity = None
        if step.success and scan is not None and not self._lost:
            self._velocity = scan.velocity if scan.is_distorted else inverse(self._pose) @ step.pose
        self._pose, self._lost, self._previous = step.pose, not step.success, scan
        self._localised_before |= step.success
        return replace(
            step, number=number, name=frame_name(frame, number), points=points, seconds=time.perf_counter() - began
        )

    def _localised(self, scan: LazyCloud, predicted: Floats) -> FrameResult:
        tracker = self._tracker_of(scan)
        if not self._lost and self._velocity is not None:
            found = self._tracked(tracker, scan, predicted)
            if found.success:
                return self._result(found, MAP, False)
        if not self._lost and self._previous is not None:
            result = register(
                scan.preprocessed, self._previous.preprocessed, init=self._velocity, seed=self._seed,
                threads=self._threads,
            )  # fmt: skip
            if result.success:
                found = self._tracked(tracker, scan, self._pose @ result.transformation)
                if found.success:
                    return self._result(found, PREVIOUS, self._velocity is None)
        return self._located(tracker, scan, predicted)

    def _tracker_of(self, scan: LazyCloud) -> SurfelTracker:
        """The surfels of the map, whose size follows from the first frame that is localised."""
        size = frame_voxel(scan.points)
        others = max(size, self._frame_voxel) > LOCALISATION.same_size * min(size, self._frame_voxel)
        if self._tracker is None or (not self._localised_before and others):
            self._tracker, self._frame_voxel = SurfelTracker(scan.points, self._threads, self._points), size
        return self._tracker

    def _located(self, tracker: SurfelTracker, scan: LazyCloud, predicted: Floats) -> FrameResult:
        """The frame in the whole map, from any pose: tracked at the best of the places searched, if no other fits."""
        best: TrackedFrame | None = None
        for wide in (False, True):
            poses = part_poses(scan.preprocessed, self._scene, LOCALISATION.places, wide, self._threads)
            found = [self._tracked_at_place(tracker, scan, T) for T in poses]
            found.sort(key=lambda each: -each.explained)
            best = found[0] if found and (best is None or found[0].explained > best.explained) else best
            tracked = [each for each in found if each.success]
            if not tracked or tracked[0].explained < LOCALISATION.least_explained:
                continue
            first, frame = tracked[0], scan.voxels(tracker).means
            others = [
                each.explained
                for each in found
                if each.explained > LOCALISATION.runner_up * first.explained
                and displacement(frame, inverse(first.pose) @ each.pose) > TRACKING.reach * tracker.voxel
            ]
            if not others:
                return self._result(first, MAP, True)
            reason = f"ambiguous: the frame fits elsewhere, too; {first.reason}"
            confidence = first.explained / (first.explained + max(others))
            return FrameResult(predicted, False, confidence, reason, first.overlap, MAP, True)
        if best is None:
            return FrameResult(predicted, False, 0.0, "not located: no pose was found", 0.0, MAP, True)
        reason = best.reason
        if best.success:
            reason = reason.replace("tracked:", "not located: the map explains too little of the frame;", 1)
        confidence = min(best.confidence, 1 - TRACKING.success)
        return FrameResult(predicted, False, confidence, reason, best.overlap, MAP, True, degenerate=best.degenerate)

    def _tracked_at_place(self, tracker: SurfelTracker, scan: LazyCloud, start: Floats) -> TrackedFrame:
        """The frame on the surfels of the map, from the coarse pose of a place."""
        found = self._tracked(tracker, scan, start)
        for _ in range(LOCALISATION.rounds - 1):
            if found.success:
                break
            found = self._tracked(tracker, scan, found.pose)
        return found

    def _tracked(self, tracker: SurfelTracker, scan: LazyCloud, start: Floats) -> TrackedFrame:
        """The frame on the surfels of the map, from a pose in the coordinates of the map."""
        found = scan.tracked(tracker, inverse(self._T_map_local) @ start, self._threads)
        return replace(found, pose=self._T_map_local @ found.pose)

    def _result(self, found: TrackedFrame, target: str, global_search: bool) -> FrameResult:
        assert self._tracker is not None
        return FrameResult(
            found.pose, True, found.confidence, found.reason, found.overlap, target, global_search,
            voxel=self._tracker.voxel,
        )  # fmt: skip


def localise(
    frames: Any,
    prior_map: Any,
    *,
    every: int = 1,
    limit: int | None = None,
    times: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    callback: Callable[[FrameResult], bool | None] | None = None,
    progress: bool | Progress | None = None,
) -> Trajectory:
    """Estimate the trajectory of a moving sensor in a prior map: its pose at each frame, in the coordinates of the map.

    The first frame is located from any pose, the others are tracked. A frame that is lost, or somewhere else, is
    located again.

    Parameters
    ----------
    frames : path or iterable
        A folder or a bag (see `graphreg.sequence`), or an iterable of clouds or file names, taken one by one.
    prior_map : (M, 3) array_like, path or PreprocessedCloud
        Points of the map, anything that holds points, the name of a file, or what `prepare` returned.
    every : int, default 1
        Use only every n-th frame.
    limit : int, optional
        Use at most this many of them.
    times : {"fields", "guess"}, optional
        Deskew the frames, as in `sequence`.
    threads : int, optional
        Number of threads, by default all cores. The result does not depend on it.
    seed : int, default 0
        Seed of the random sampling. The same seed gives the same bits.
    callback : callable, optional
        Called with the `FrameResult` of each frame; returning True stops there.
    progress : bool, callable or bar of tqdm, optional
        As in `sequence`.

    Returns
    -------
    Trajectory
        Poses x_map = P x_frame. A frame that is not localised keeps the pose that a constant velocity predicts, and its
        `FrameResult` says so.

    Raises
    ------
    InputError
        If an argument cannot be used.

    See Also
    --------
    graphreg.Localisation : The same for frames that arrive one by one.
    graphreg.sequence : Odometry, which makes a map.
    graphreg.locate : One cloud in a large one.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> first = (scan.points for scan in synthetic.sequence("street", 6, 1.0, points=8000))
    >>> prior_map = graphreg.sequence(first, keep_map=True).map
    >>> second = [scan.points for scan in synthetic.sequence("street", 3, 1.0, viewpoint=0.5, points=8000, seed=1)]
    >>> graphreg.localise(second, prior_map).poses[:, 0, 3].round(1)
    array([0.5, 1.5, 2.5])
    """
    check_callable("callback", callback)
    check_progress(progress)
    chosen, known = chosen_frames(frames, every, limit, times)
    localisation = Localisation(prior_map, threads=threads, seed=seed)
    steps: list[FrameResult] = []
    for number, frame, cloud in counted(with_clouds(chosen, frames), progress, "localising frames", known):
        found = localisation.add(cloud, times)
        step = replace(found, number=number, name=frame_name(frame, number), stamp=frame_stamp(frame))
        steps.append(step)
        _log.debug("frame %s: %s (%.3f s)", step.name, step.reason, step.seconds)
        if callback is not None and callback(step):
            break
    return Trajectory(tuple(steps))


def _preprocessed_map(prior_map: Any) -> PreprocessedCloud:
    """The points of a map, all of them."""
    rows = as_rows(prior_map, "prior_map", EngineSettings().required_points)
    return preprocess(without_coincident(rows).rows, "prior_map")

"""LiDAR odometry: the pose of a moving sensor at each frame, with respect to the first frame.

1. Track the frame on the map of surfels, from the constant-velocity prediction, then from the last pose: no
   descriptors, no search.
2. If that fails, register it to the local map of the last keyframes, from the same prediction; then to the previous
   frame. The map of surfels has to confirm the pose.
3. If that fails as well, to both by global search, from any pose.
4. If all fail, track it on the map of surfels from every pose that these registrations ended in: of a sparse frame, a
   registration may be right and yet not sure, while the surfels of many frames are. One pose near the prediction must
   fit very well, and no other.
5. If that fails, too, the frame keeps the predicted pose and is marked as not registered; later frames may continue
   from it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np

from graphreg.argument_checks import check_callable, check_choice, check_flag, check_integer
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import Progress, check_progress, counted
from graphreg.files.input_file import as_path
from graphreg.files.map_tiles import TiledMap
from graphreg.multiscan.deskewing import DESKEWING, check_times, frame_times
from graphreg.multiscan.frames import chosen_frames, frame_cloud, frame_name, frame_stamp, with_clouds
from graphreg.multiscan.loop_closure import LoopCloser, corrected_poses
from graphreg.multiscan.maps import GlobalMap, LazyCloud, LocalMap, PosedCloud
from graphreg.multiscan.tracking import TRACKING, SurfelTracker, TrackedFrame, displacement
from graphreg.multiscan.trajectory import FrameResult, Loop, Trajectory
from graphreg.poses import inverse, transform
from graphreg.registration import register
from graphreg.threads import thread_count

MODES = ("map", "pairs")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class OdometryParameters:
    """Constants of odometry, of frames that no registration succeeds for; chosen.

    Attributes
    ----------
    least_explained : float
        The map of surfels explains at least this share of such a frame: its overlap times the share of inliers.
    reach : float
        Its pose is at most this far from the prediction, in voxels; about what moves the points from one keyframe to
        the next. Farther away, another place may look like this one.
    runner_up : float
        A pose is ambiguous where the map explains this share as much of the frame at another one, tracked or not.
    """

    least_explained: float = 0.7
    reach: float = 8.0
    runner_up: float = 0.85


ODOMETRY = OdometryParameters()


class Odometry:
    """LiDAR odometry for frames that arrive one by one.

    It keeps a few frames in memory, however long the trajectory.

    Parameters
    ----------
    mode : {"map", "pairs"}, default "map"
        "map": register each frame to a local map from the constant-velocity prediction, with a global search where
        that fails. "pairs": register each frame to the previous one by global search, as in the paper.
    threads : int, optional
        Number of threads, by default all cores. The result does not depend on it.
    seed : int, default 0
        Seed of the random sampling. The same seed gives the same bits.
    loops : bool, default False
        Whether loops are looked for, by which `corrected` corrects the poses. Then a sample of the points of each
        keyframe is kept as well. Not in mode "pairs", which has no keyframes.

    See Also
    --------
    graphreg.sequence : The same for a folder or an iterable of frames.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> odometry = graphreg.Odometry()
    >>> for scan in synthetic.sequence("street", 3, 1.0, points=8000):
    ...     step = odometry.add(scan.points)
    >>> step.success, step.target
    (True, 'map')
    >>> step.pose[:3, 3].round()  # two metres ahead of the first frame
    array([2., 0., 0.])
    """

    def __init__(self, *, mode: str = MODES[0], threads: int | None = None, seed: int = 0, loops: bool = False) -> None:
        check_choice("mode", mode, MODES)
        if check_flag("loops", loops) and mode != MODES[0]:
            raise InputError(f"loops: can be found in mode {MODES[0]!r} only, got mode {mode!r}")
        self._pairs, self._threads, self._seed = mode == "pairs", thread_count(threads), check_integer("seed", seed)
        self._count = 0
        # Pose and relative transform of the last frame, which predict the next pose; is the pose a prediction itself?
        self._pose, self._lost = np.eye(4), False
        self._velocity: Floats | None = None
        # Targets: the map of surfels, the local map, and the last usable frame; is the pose of that one a prediction?
        self._tracker: SurfelTracker | None = None
        self._map = LocalMap(self._seed)
        self._previous: PosedCloud | None = None
        self._previous_predicted = False
        # Keyframes and loops; are all frames since the last keyframe registered?
        self._loops = LoopCloser(self._seed, self._threads) if loops else None
        self._lost_since_keyframe = False

    def add(self, frame: Any, times: Any = None) -> FrameResult:
        """Estimate the pose of the sensor at the next frame.

        Parameters
        ----------
        frame : array_like or path
            An (N, 3) array, anything else that `register` takes, or the name of a file.
        times : (N,) array_like, "fields" or "guess", optional
            When each point was measured, in any unit: the frame is deskewed, and its pose is that at the middle of
            these times. "fields": the attribute t, time, timestamp or offset_time of the frame. "guess": from the
            azimuth, for a rotating scanner whose points are in the order of measurement. By default the points are used
            as they are.

        Returns
        -------
        FrameResult
            For a frame that is empty, unreadable or cannot be registered, `success` is False, `reason` says why and
            `pose` is the prediction.

        Raises
        ------
        InputError
            If `times` has a wrong type or value.
        """
        check_times(times)
        began = time.perf_counter()
        number, self._count = self._count, self._count + 1
        predicted = self._pose if self._velocity is None else self._pose @ self._velocity
        points, keyframe = 0, False
        try:
            cloud = frame_cloud(frame)
            began, points = time.perf_counter(), len(cloud)
            scan = LazyCloud(cloud.points, self._seed, frame_times(times, cloud))
            if self._velocity is not None:
                scan.deskew(self._velocity, self._threads)
            step = self._tracked(scan, predicted) or self._registered(scan, predicted)
        except (InputError, OSError) as problem:
            step = FrameResult(predicted, False, 0.0, f"not registered: {problem}")
        else:
            keyframe = self._add_to_maps(PosedCloud(scan, step.pose), step)
            self._previous, self._previous_predicted = PosedCloud(scan, step.pose), not step.success
            if self._loops is not None and keyframe and self._tracker is not None:
                self._loops.add(number, scan.points, step.pose, self._tracker.voxel, self._lost_since_keyframe)
        self._lost_since_keyframe = not keyframe and (self._lost_since_keyframe or not step.success)
        if step.success and step.target and not self._lost:
            measured = scan.is_distorted and self._tracker is not None
            self._velocity = scan.velocity if measured else inverse(self._pose) @ step.pose
        self._pose, self._lost = step.pose, not step.success
        return replace(
            step, keyframe=keyframe, number=number, name=frame_name(frame, number), points=points,
            seconds=time.perf_counter() - began,
        )  # fmt: skip

    @property
    def newest(self) -> Floats:
        """Points of the last usable frame, (N, 3), in the frame of the first."""
        if self._previous is None:
            return np.empty((0, 3))
        return transform(self._previous.pose, self._previous.cloud.points)

    def corrected(
        self, steps: Sequence[FrameResult], *, keep_map: bool = False, map_folder: str | os.PathLike[str] | None = None
    ) -> Trajectory:
        """The trajectory so far, corrected by the loops that were found.

        Parameters
        ----------
        steps : sequence of FrameResult
            What `add` returned for each frame from the first on.
        keep_map : bool, default False
            Also build the global map, of the keyframes.
        map_folder : path, optional
            Write the global map here, as tiles.

        Returns
        -------
        Trajectory

        Raises
        ------
        InputError
            If loops were not looked for, the number of steps is not that of the frames added, or the folder holds
            anything but tiles.
        """
        global_map, tiles = _maps(keep_map, map_folder)
        if self._loops is None:
            raise InputError("loops: expected loops=True where the odometry was made")
        if len(steps) != self._count:
            raise InputError(f"steps: expected one for each of {self._count} frames, got {len(steps)}")
        closer = self._loops
        if not closer.keyframes:
            return Trajectory(tuple(steps), _finished(global_map, tiles), ())
        keyframes = [each.frame for each in closer.keyframes]
        keyframe_poses, used = closer.poses()
        centres = np.array([each.centre for each in closer.keyframes])
        poses = corrected_poses(np.array([step.pose for step in steps]), keyframes, keyframe_poses, centres)
        loops = tuple(
            Loop(
                steps[keyframes[edge.source]].number, steps[keyframes[edge.target]].number, edge.transformation,
                edge.confidence, edge.overlap,
            )
            for edge in compress(closer.edges, used)
        )  # fmt: skip
        for each in (global_map, tiles):
            if each is not None:
                for keyframe, keyframe_pose in zip(closer.keyframes, keyframe_poses, strict=True):
                    each.add(transform(keyframe_pose, keyframe.cloud), steps[keyframe.frame].voxel)
        return Trajectory(
            tuple(replace(step, pose=own) for step, own in zip(steps, poses, strict=True)),
            _finished(global_map, tiles),
            loops,
        )

    def _tracked(self, scan: LazyCloud, predicted: Floats) -> FrameResult | None:
        """The frame on the map of surfels; None where it is not tracked, or the prediction is a guess."""
        if self._tracker is None or self._velocity is None or self._lost:
            return None
        found = scan.tracked(self._tracker, predicted, self._threads)
        if not found.success:
            # After a jolt the sensor is nearer to its last pose than to where the jolt would take it.
            found = scan.tracked(self._tracker, self._pose, self._threads)
        if not found.success:
            return None
        return FrameResult(
            found.pose, True, found.confidence, found.reason, found.overlap, "map", voxel=self._tracker.voxel
        )

    def _registered(self, scan: LazyCloud, predicted: Floats) -> FrameResult:
        """The first attempt that succeeds; else the predicted pose, with the verdict of the most confident attempt.

        A pose near the prediction that the map of surfels contradicts may be a local minimum: it is compared with what
        the search finds.
        """
        best: FrameResult | None = None
        # Without a known velocity the predicted pose is a guess, and a wrong pose near it may fit.
        guessed = self._pairs or self._velocity is None or self._lost
        unsure: list[Floats] = []
        for global_search in (True, False) if guessed else (False, True):
            for name, target in self._targets().items():
                init = None if global_search else inverse(target.pose) @ predicted
                result = register(
                    scan.preprocessed, target.cloud.preprocessed, init=init, seed=self._seed, threads=self._threads
                )
                step = FrameResult(
                    target.pose @ result.transformation if result.success else predicted,
                    result.success,
                    result.confidence,
                    result.reason,
                    result.overlap,
                    name,
                    global_search,
                    degenerate=bool(result.degenerate_directions),
                    voxel=result.settings["voxel"],
                )
                if step.success:
                    step, confirmed = self._aligned_to_surfels(scan, step)
                    if confirmed or (global_search and _is_better(step, best)):
                        return step
                else:
                    others = [each.transformation for each in result.alternatives]
                    unsure += [target.pose @ T for T in (result.transformation, *others)]
                if _is_better(step, best):
                    best = step
        if best is not None:
            return best if best.success else self._sure_of_one(scan, predicted, unsure) or best
        # The first frame. Registered to itself: a cloud without a surface fails here, and leaves its role to the next.
        cloud = scan.preprocessed
        result = register(cloud, cloud, init=np.eye(4), seed=self._seed, threads=self._threads)
        reason = "first frame: its pose is the reference of the others"
        return FrameResult(predicted, True, 1.0, reason, voxel=result.settings["voxel"])

    def _sure_of_one(self, scan: LazyCloud, predicted: Floats, poses: Sequence[Floats]) -> FrameResult | None:
        """The frame at the one of these poses that the map of surfels is sure of; None where it is of none or several.

        It asks more than of a frame that is tracked from a prediction, as these poses are not sure.
        """
        tracker = self._tracker
        # The map of one frame cannot be sure.
        if tracker is None or self._velocity is None:
            return None
        frame = scan.voxels(tracker)

        def apart(here: Floats, there: Floats) -> float:
            return displacement(scan.points, inverse(here) @ there) / tracker.voxel

        found = [tracker.track(frame, each) for each in poses]
        near = sorted(
            (each for each in found if apart(predicted, each.pose) <= ODOMETRY.reach), key=lambda each: -each.explained
        )
        first = next((each for each in near if _is_sure(each)), None)
        if first is None:
            return None
        least = ODOMETRY.runner_up * first.explained
        if any(each.explained > least and apart(first.pose, each.pose) > TRACKING.reach for each in near):
            return None
        return FrameResult(
            first.pose, True, first.confidence, first.reason, first.overlap, "map", True, voxel=tracker.voxel
        )

    def _aligned_to_surfels(self, scan: LazyCloud, step: FrameResult) -> tuple[FrameResult, bool]:
        """The same frame with the pose that the map of surfels determines more precisely, and whether it does."""
        if self._tracker is None:
            return step, True
        if scan.is_distorted and self._velocity is None and self._previous is not None:
            # Now the first frame can be deskewed as well.
            for _ in range(DESKEWING.rounds):
                velocity = inverse(self._pose) @ step.pose
                scan.deskew(velocity, self._threads)
                self._previous.cloud.deskew(velocity, self._threads)
                tracker = self._new_tracker(self._previous)
                found = tracker.track(scan.voxels(tracker), step.pose)
                if found.success:
                    step = replace(step, pose=found.pose)
        found = scan.tracked(self._tracker, step.pose, self._threads)
        return replace(step, pose=found.pose) if found.success else step, found.success

    def _targets(self) -> dict[str, PosedCloud]:
        """The local map and the previous frame, or one of them where they are the same."""
        local_map, previous = self._map.posed, self._previous
        if local_map is not None and previous is not None and local_map.cloud is previous.cloud:
            previous = None
        named = (("map", local_map), ("previous frame", previous))
        return {name: target for name, target in named if target is not None}

    def _add_to_maps(self, posed: PosedCloud, step: FrameResult) -> bool:
        """Add a registered frame to the map of surfels and, if it is a keyframe, to the local map."""
        if self._pairs or not step.success:
            return False
        restarted = step.target == "previous frame" and self._previous_predicted and self._previous is not None
        if restarted and self._previous is not None:
            # The pose of the previous frame with respect to the maps is unknown.
            self._map.restart(self._previous)
            self._new_tracker(self._previous)
        if self._tracker is None:
            tracker = self._new_tracker(posed)
        else:
            tracker = self._tracker
            tracker.insert(posed.cloud.voxels(tracker), posed.pose)
        keyframe = restarted or self._map.needs(posed, tracker.voxel)
        if keyframe:
            self._map.add(posed)
        return keyframe

    def _new_tracker(self, posed: PosedCloud) -> SurfelTracker:
        """A new map of surfels, of one frame."""
        self._tracker = SurfelTracker(posed.cloud.points, self._threads)
        self._tracker.insert(posed.cloud.voxels(self._tracker), posed.pose)
        return self._tracker


def _is_sure(found: TrackedFrame) -> bool:
    """Whether a tracked pose is right although what led to it is not sure."""
    return (
        found.success
        and found.confidence >= TRACKING.sure
        and found.support >= TRACKING.least_support
        and found.explained >= ODOMETRY.least_explained
    )


def sequence(
    frames: Any,
    *,
    every: int = 1,
    limit: int | None = None,
    mode: str = MODES[0],
    keep_map: bool = False,
    map_folder: str | os.PathLike[str] | None = None,
    times: str | None = None,
    loops: bool = False,
    threads: int | None = None,
    seed: int = 0,
    callback: Callable[[FrameResult], bool | None] | None = None,
    progress: bool | Progress | None = None,
) -> Trajectory:
    """Estimate the trajectory of a moving sensor: its pose at each frame, with respect to the first.

    Parameters
    ----------
    frames : path or iterable
        A folder (see `graphreg.files.folders.frame_files`), a ROS bag, one topic of it as "street.bag#/points", or an
        iterable of clouds or file names. Frames are taken one by one, and only a few are kept in memory.
    every : int, default 1
        Use only every n-th frame.
    limit : int, optional
        Use at most this many of them.
    mode : {"map", "pairs"}, default "map"
        "map": register each frame to a local map from the constant-velocity prediction, with a global search where
        that fails. "pairs": register each frame to the previous one by global search, as in the paper.
    keep_map : bool, default False
        Also build the global map. Its size grows with the trajectory.
    map_folder : path, optional
        Write the global map here while it grows, as tiles: a PLY file for each cube of 256 voxels that has points,
        named by its numbers. Memory does not grow. The folder can be read, and localised in, like a file.
    times : {"fields", "guess"}, optional
        Deskew the frames: by the attribute t, time, timestamp or offset_time of each, or by the azimuth of their
        points, for a rotating scanner. Poses are those at the middle of a frame. By default frames are used as they
        are. Where times are arrays, see `Odometry.add`.
    loops : bool, default False
        Look for loops: frames at places where the sensor has been before. They correct all poses and the map. A sample
        of the points of each keyframe is kept in memory. Not in mode "pairs".
    threads : int, optional
        Number of threads, by default all cores. The result does not depend on it.
    seed : int, default 0
        Seed of the random sampling. The same seed gives the same bits.
    callback : callable, optional
        Called with the `FrameResult` of each frame; returning True stops there.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done, total) after each frame; the total is 0 where it is
        not known.

    Returns
    -------
    Trajectory
        A frame that is empty, unreadable or cannot be registered keeps the pose that a constant velocity predicts, and
        its `FrameResult` says so.

    Raises
    ------
    InputError
        If an argument cannot be used.

    See Also
    --------
    graphreg.Odometry : The same for frames that arrive one by one.
    graphreg.multiway : Scans in any order.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> frames = (scan.points for scan in synthetic.sequence("street", 4, 1.0, points=8000))
    >>> trajectory = graphreg.sequence(frames, every=2)
    >>> trajectory.success, trajectory.poses.shape
    (True, (2, 4, 4))
    >>> [step.number for step in trajectory.steps]
    [0, 2]
    """
    check_flag("keep_map", keep_map)
    check_callable("callback", callback)
    check_progress(progress)
    chosen, known = chosen_frames(frames, every, limit, times)
    odometry = Odometry(mode=mode, threads=threads, seed=seed, loops=loops)
    # With loops the map is built at the end, of corrected keyframes.
    global_map, tiles = _maps(keep_map and not loops, None if loops else map_folder)
    steps: list[FrameResult] = []
    for number, frame, cloud in counted(with_clouds(chosen, frames), progress, "registering frames", known):
        found = odometry.add(cloud, times)
        step = replace(found, number=number, name=frame_name(frame, number), stamp=frame_stamp(frame))
        steps.append(step)
        _log.debug("frame %s: %s (%.3f s)", step.name, step.reason, step.seconds)
        if step.success and (step.keyframe or mode == "pairs"):
            for each in (global_map, tiles):
                if each is not None:
                    each.add(odometry.newest, step.voxel)
        if callback is not None and callback(step):
            break
    if loops:
        return odometry.corrected(steps, keep_map=keep_map, map_folder=map_folder)
    return Trajectory(tuple(steps), _finished(global_map, tiles))


def _is_better(step: FrameResult, best: FrameResult | None) -> bool:
    return best is None or (step.success, step.confidence) > (best.success, best.confidence)


def _maps(keep_map: bool, map_folder: str | os.PathLike[str] | None) -> tuple[GlobalMap | None, TiledMap | None]:
    """The global map in memory and that of tiles, where they are wanted."""
    tiles = None if map_folder is None else TiledMap(as_path(map_folder, "map_folder"))
    return GlobalMap() if keep_map else None, tiles


def _finished(global_map: GlobalMap | None, tiles: TiledMap | None) -> Floats | None:
    """The points of the global map, after the tiles are all written."""
    if tiles is not None:
        tiles.close()
    return None if global_map is None else global_map.points()

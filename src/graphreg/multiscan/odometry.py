"""sequence(): frames of a moving sensor in, its poses out, with a verdict on each frame.

A frame is first laid on a local map, from where it would be if the sensor went on as before. Where that fails, it is
laid on the frame before it; where that fails as well, the full search looks for it, on the map and on the frame before.
A frame that none of these can place keeps the pose that was guessed, and is marked; the next ones may go on from it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.files import read_cloud
from graphreg.files.folders import frame_files
from graphreg.poses import inverse, transform
from graphreg.registration import prepare, register
from graphreg.threads import thread_count
from graphreg.voxels import voxel_downsample

MODES = ("map", "pairs")
# The local map is made of the frames of so many places.
PLACES = 3
# It is renewed with a frame that lies on it by less than this share of what another one did before.
WORN = 0.9
# Points of the whole map are gathered from so many frames before they are thinned out.
AT_ONCE = 20

Place = tuple[PreprocessedCloud, Floats]
"""A cloud, and where it is: x_first = pose x."""


@dataclass(frozen=True, eq=False)
class FrameResult:
    """What became of a frame.

    pose        (4, 4): x_first = pose x_frame
    success, confidence, reason  the verdict: bool, 0 to 1, a sentence; without success the pose is a guess
    overlap     share of the frame that lies on what it was laid on
    target      what that was: "map" or "previous frame"; "" for the first frame, and where it was laid on nothing
    searched    whether it took the full search
    keyframe      whether the local map was renewed with it
    voxel       side of the cells that it was seen in; NaN where it was not
    number      of the frame, as it came: with every=2 they are 0, 2, 4, ...
    name        of its file, or its number
    points      how many it has
    seconds     that it took, without reading it
    """

    pose: Floats
    success: bool
    confidence: float
    reason: str
    overlap: float = 0.0
    target: str = ""
    global_search: bool = False
    keyframe: bool = False
    voxel: float = float("nan")
    number: int = 0
    name: str = ""
    points: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What `sequence` found.

    steps  one for each frame
    map    (N, 3), what the frames show, in the frame of the first; None where it was not asked for
    """

    steps: tuple[FrameResult, ...]
    map: Floats | None = None

    @property
    def poses(self) -> Floats:
        """(N, 4, 4): x_first = pose x_frame."""
        return np.array([step.pose for step in self.steps]).reshape(-1, 4, 4)

    @property
    def success(self) -> bool:
        """Whether there were frames, and every one was registered."""
        return bool(self.steps) and all(step.success for step in self.steps)


class Odometry:
    """`sequence` for frames that come one by one: `add` each, and it says where the sensor was.

    mode, threads, seed  as there

    It holds a few frames, however long the way.
    """

    def __init__(self, *, mode: str = MODES[0], threads: int | None = None, seed: int = 0) -> None:
        if mode not in MODES:
            raise InputError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        self._pairs, self._threads, self._seed = mode == "pairs", thread_count(threads), _whole("seed", seed, 0)
        self._count = 0
        self._pose, self._velocity, self._lost = np.eye(4), np.eye(4), False
        # What a frame can be laid on: the local map, and the last frame that was one; is that one where it was guessed?
        self._map: Place | None = None
        self._before: Place | None = None
        self._adrift = False
        self._places: list[Place] = []
        self._best = 0.0

    def add(self, frame: Any) -> FrameResult:
        """Where the sensor was at this frame: an (N, 3) array, anything else that holds points, or the name of a file.

        What cannot be registered, an empty frame for instance, gets a step that says why.
        """
        began = time.perf_counter()
        number, self._count = self._count, self._count + 1
        guess = self._pose @ self._velocity
        points, keyframe = 0, False
        try:
            cloud = _cloud_of(frame)
            began, points = time.perf_counter(), len(cloud)
            held = prepare(cloud, seed=self._seed)
            step = self._placed(held, guess)
        except (InputError, OSError) as problem:
            step = FrameResult(guess, False, 0.0, f"not registered: {problem}")
        else:
            keyframe = self._takes_in(step)
            if keyframe:
                self._take_in((held, step.pose), step.target)
            self._before, self._adrift = (held, step.pose), not step.success
        if step.success and step.target and not self._lost:
            self._velocity = inverse(self._pose) @ step.pose
        self._pose, self._lost = step.pose, not step.success
        return replace(
            step, keyframe=keyframe, number=number, name=_name_of(frame, number), points=points,
            seconds=time.perf_counter() - began,
        )  # fmt: skip

    @property
    def newest(self) -> Floats:
        """(N, 3): points of the last frame that was one, in the frame of the first."""
        if self._before is None:
            return np.empty((0, 3))
        cloud, at = self._before
        return transform(at, cloud.points)

    def _placed(self, frame: PreprocessedCloud, guess: Floats) -> FrameResult:
        """By the first way that succeeds; where none does, the guess, with the verdict of the way that came closest."""
        targets = {"map": self._map, "previous frame": self._before}
        if self._map is not None and self._before is not None and self._map[0] is self._before[0]:
            del targets["previous frame"]
        failed = None
        for searched in (True, False) if self._pairs else (False, True):
            for name, place in targets.items():
                if place is None:
                    continue
                cloud, at = place
                init = None if searched else inverse(at) @ guess
                result = register(frame, cloud, init=init, seed=self._seed, threads=self._threads)
                told = result.confidence, result.reason, result.overlap, name, searched
                voxel = result.settings["voxel"]
                if result.success:
                    return FrameResult(at @ result.transformation, True, *told, voxel=voxel)
                if failed is None or result.confidence > failed.confidence:
                    failed = FrameResult(guess, False, *told, voxel=voxel)
        if failed is not None:
            return failed
        # What has no surface to be laid on itself by is no frame, and would leave nothing for the others.
        result = register(frame, frame, init=np.eye(4), seed=self._seed, threads=self._threads)
        return FrameResult(guess, True, 1.0, "first frame: the others are laid on it", voxel=result.settings["voxel"])

    def _takes_in(self, step: FrameResult) -> bool:
        """Whether to renew the local map with this frame: it is the first, or the map shows too little of it."""
        if self._pairs or not step.success:
            return False
        worn = step.target != "map" or step.overlap < WORN * self._best
        self._best = 0.0 if worn else max(self._best, step.overlap)
        return worn

    def _take_in(self, place: Place, target: str) -> None:
        if target == "previous frame" and self._adrift and self._before is not None:
            self._places = [self._before]  # how the map lies to it, nobody knows
        self._places = [*self._places, place][-PLACES:]
        at = place[1]
        if len(self._places) > 1:
            parts = [transform(inverse(at) @ there, cloud.points) for cloud, there in self._places]
            self._map = prepare(np.concatenate(parts), seed=self._seed), at
        else:
            self._map = place


def sequence(
    frames: Any,
    *,
    every: int = 1,
    limit: int | None = None,
    mode: str = MODES[0],
    keep_map: bool = False,
    threads: int | None = None,
    seed: int = 0,
    callback: Callable[[FrameResult], bool | None] | None = None,
) -> Trajectory:
    """Find the pose of a moving sensor at each frame, with respect to the first.

    frames    a folder (see `frame_files`), or anything to iterate over that gives clouds or names of files; frames
              are asked for one by one, and only a few are held
    every     only every n-th
    limit     at most so many of these
    mode      "map": lay each frame on a local map, from where it would be if the sensor went on as before; the full
              search where that fails. "pairs": lay each on the one before, by the full search, as the paper does
    keep_map  also give what all frames show together; its size grows with the way
    threads   how many, by default all; the result is the same for any number
    seed      of what is drawn at random
    callback  called with each `FrameResult`; returning True stops there

    A frame that is empty, unreadable or cannot be registered keeps the pose that the motion before it suggests, and its
    step says so.
    """
    _whole("every", every)
    end = None if limit is None else (_whole("limit", limit) - 1) * every + 1
    odometry = Odometry(mode=mode, threads=threads, seed=seed)
    whole = WholeMap() if keep_map else None
    steps: list[FrameResult] = []
    for number, frame in islice(enumerate(_frames(frames)), 0, end, every):
        step = replace(odometry.add(frame), number=number, name=_name_of(frame, number))
        steps.append(step)
        if whole is not None and step.success and (step.keyframe or mode == "pairs"):
            whole.add(odometry.newest, step.voxel)
        if callback is not None and callback(step):
            break
    return Trajectory(tuple(steps), None if whole is None else whole.points())


class WholeMap:
    """What all frames show together, in cells of the size that the first frame was seen in: one point each."""

    def __init__(self) -> None:
        self._voxel = 0.0
        self._parts: list[Floats] = []

    def add(self, points: Floats, voxel: float) -> None:
        """voxel: side of the cells that a frame was seen in."""
        self._voxel = self._voxel or voxel
        self._parts.append(points)
        if len(self._parts) > AT_ONCE:
            self._parts = [self.points()]

    def points(self) -> Floats:
        if not self._parts:
            return np.empty((0, 3))
        return voxel_downsample(np.concatenate(self._parts), self._voxel)


def relative_transforms(poses: Floats) -> list[Floats]:
    """The motions between neighbouring frames: step k maps frame k + 1 onto frame k."""
    return [inverse(here) @ there for here, there in pairwise(poses)]


def _frames(frames: Any) -> Iterator[Any]:
    if isinstance(frames, (str, os.PathLike)):
        return iter(frame_files(frames))
    if isinstance(frames, np.ndarray) and frames.ndim < 3:
        raise InputError(f"frames: expected one cloud after the other, got an array of shape {frames.shape}")
    try:
        return iter(frames)
    except TypeError as problem:
        raise InputError(f"frames: expected a folder or clouds to go through, got {type(frames).__name__}") from problem


def _cloud_of(frame: Any) -> Cloud:
    least = EngineSettings.k + 1
    if isinstance(frame, (str, os.PathLike)):
        return as_cloud(read_cloud(frame), str(frame), least)
    return as_cloud(frame, "frame", least)


def _name_of(frame: Any, number: int) -> str:
    return Path(frame).name if isinstance(frame, (str, os.PathLike)) else str(number)


def _whole(name: str, value: Any, least: int = 1) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}: expected a whole number from {least} on, got {value!r}")
    return int(value)

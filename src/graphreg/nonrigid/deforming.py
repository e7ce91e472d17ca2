"""deform(): two clouds of something that changes its shape in, where each point goes and a verdict out."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

import graphreg._core as _core
from graphreg.argument_checks import check_choice, check_iterable, check_positive
from graphreg.clouds import Cloud, Floats, as_cloud, common_extent, extent
from graphreg.engine.coincident_points import coincident_points
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import Progress, check_progress, counted, progress_bar
from graphreg.nonrigid.deformation import Deformation
from graphreg.nonrigid.deformation_graph import DeformationGraph, Motion
from graphreg.nonrigid.deformation_verdict import Evidence, gather_evidence, judge_deformation
from graphreg.nonrigid.drift import deform_by_drift
from graphreg.nonrigid.elastic import deform_elastic
from graphreg.nonrigid.local_correspondences import Correspondences, supported_correspondences
from graphreg.nonrigid.relaxation import Relaxation
from graphreg.nonrigid.symmetries import approximate_symmetries
from graphreg.nonrigid.warps import Frame, GaussianWarp, GraphWarp, Warp, motion_of
from graphreg.nonrigid.working_cloud import WORKING, WorkingCloud, without_isolated, working_cloud
from graphreg.poses import as_pose, pose
from graphreg.registration import prepare_sample, register, require_seed
from graphreg.threads import thread_count

METHODS = ("elastic", "cpd")
# Stages of a call, for its progress.
STAGES = 5
# Points of source and target that are worked on, at most; neighbours that tell the strain; other poses of the rigid
# registration that are tried where it is in doubt. All chosen.
SOURCE_POINTS, TARGET_POINTS, STRAIN_NEIGHBOURS, OTHER_STARTS = 4000, 8000, 10, 3


def deform(
    source: Any,
    target: Any,
    *,
    method: Literal["elastic", "cpd"] = "elastic",
    init: Any = None,
    stiffness: float = 1.0,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Deformation:
    """Estimate how the source deforms to become the target, from any initial pose.

    The rigid transform is estimated first, by `register`. Parts of either cloud may have no counterpart in the other:
    points of the source without one are carried along by their neighbours.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) array_like
        Points, or anything that holds points. Rows with NaN or infinity are left out.
    method : {"elastic", "cpd"}, default "elastic"
        "elastic": an elastic body on the graph of the source, drawn by the paper's forces and by surfaces; keeps
        distances along the surface, so that it bends rather than stretches. "cpd": coherent point drift, a smooth
        displacement of space (Myronenko, Song 2010).
    init : (4, 4) array_like or Deformation, optional
        Rigid transform to begin with, or the deformation of the same source to an earlier frame ("elastic"). After a
        rigid transform, a symmetry of the body (left for right) is tried as well, and may fit better.
    stiffness : float, default 1
        Factor of the stiffness: below 1 for bodies that stretch, above 1 for articulated ones and noisy scans.
    seed : int, default 0
        Seed of all random sampling: the same seed gives the same bits.
    threads : int, optional
        Number of threads, by default all; the result does not depend on it.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done, total) after each stage of the call.

    Returns
    -------
    Deformation
        Where it fails, `success` is False; that is no exception.

    Raises
    ------
    InputError
        If an argument cannot be used; it says which one, what it contained and what was expected.

    See Also
    --------
    deform_sequence : many frames, each from the last.
    register : rigid registration.

    Examples
    --------
    >>> import numpy as np
    >>> import graphreg
    >>> from graphreg.datasets import deformed_bodies
    >>> pair = deformed_bodies.deformed_pair("hare turning its head", points=500)
    >>> found = graphreg.deform(pair.source, pair.target)
    >>> error = np.linalg.norm(found.points - pair.truth, axis=1)
    >>> bool(np.median(error) < 0.004)
    True
    """
    return deform_with_evidence(
        source, target, method=method, init=init, stiffness=stiffness, seed=seed, threads=threads, progress=progress
    )[0]


def deform_with_evidence(
    source: Any,
    target: Any,
    *,
    method: str = "elastic",
    init: Any = None,
    stiffness: float = 1.0,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> tuple[Deformation, Evidence]:
    """Do what `deform` does, and also return what the verdict follows from."""
    with progress_bar(progress, "deforming") as show:
        return _deform(source, target, method, init, stiffness, seed, threads, show)


def _deform(
    source: Any,
    target: Any,
    method: str,
    init: Any,
    stiffness: float,
    seed: int,
    threads: int | None,
    show: Progress | None,
) -> tuple[Deformation, Evidence]:
    began = time.perf_counter()
    chosen = check_choice("method", method, METHODS)
    check_positive("stiffness", stiffness)
    require_seed(seed)
    workers = thread_count(threads)
    clouds = as_cloud(source, "source", WORKING.least), as_cloud(target, "target", WORKING.least)
    if isinstance(init, Deformation) and chosen != "elastic":
        raise InputError('init: a Deformation to begin with is for method="elastic", expected a 4x4 matrix')
    given = None if init is None or isinstance(init, Deformation) else as_pose(init)
    clock = _Clock(began, show)
    pair = _prepare(*clouds, seed, workers)
    clock.lap("preprocess")
    starts = _rigid_starts(pair, init, given, seed, workers)
    clock.lap("register")
    correspondences = supported_correspondences(pair.source, pair.target, workers)
    clock.lap("match")
    warp, history, margin = _run(pair, correspondences, starts, init, chosen, stiffness, workers)
    clock.lap("deform")
    points = warp.apply(clouds[0].points)
    evidence, strain = _judge(pair, warp, correspondences, workers)
    evidence = replace(evidence, margin=margin)
    success, confidence, reason = judge_deformation(evidence)
    nearest = _core.Tree(pair.source.points, workers).nearest(pair.local(clouds[0].points), 1, workers)[0][:, 0]
    clock.lap("judge")
    found = Deformation(
        points=clouds[0].restore(points, np.nan),
        success=success,
        confidence=confidence,
        reason=reason,
        strain=clouds[0].restore(strain[nearest], np.nan),
        overlap=evidence.overlap,
        explained=evidence.explained,
        inlier_rmse=evidence.inlier_rmse * pair.frame.unit,
        transformation=pair.to_callers_frame(starts[0]),
        history=tuple(replace(stage, scale=stage.scale * pair.frame.unit) for stage in history),
        timings=clock.total(),
        method=chosen,
        settings={"stiffness": float(stiffness)},
        seed=int(seed),
        dropped=(clouds[0].dropped, clouds[1].dropped),
        warp=warp,
    )
    return found, evidence


def deform_sequence(
    frames: Iterable[Any],
    *,
    stiffness: float = 1.0,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> Iterator[Deformation]:
    """Deform the first frame of a sequence to each later one, each time from the deformation before.

    Parameters
    ----------
    frames : iterable of (N, 3) array_like
        At least two; the first is the source of all deformations.
    stiffness, seed, threads
        As for `deform`.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar. A function is called as progress(done, total) after each frame; the total is 0 where it is
        not known.

    Returns
    -------
    iterator of Deformation
        One for each frame after the first, computed when it is asked for. Their `strain` is that since the first frame.
        After a frame that fails, the next begins with the last one that succeeded.

    Raises
    ------
    InputError
        If an argument cannot be used, or there are fewer than two frames.

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import deformed_bodies
    >>> frames = deformed_bodies.deformed_frames("hare turning its head", 3, points=300)
    >>> [round(float(found.strain.mean()), 1) for found in graphreg.deform_sequence(frames)]
    [0.0, 0.0]
    """
    check_progress(progress)
    each = check_iterable("frames", frames, "several clouds")
    first = next(each, None)
    if first is None:
        raise InputError("frames: expected at least two, got none")
    source = as_cloud(first, "frames[0]", WORKING.least)

    def found() -> Iterator[Deformation]:
        last: Deformation | None = None
        number = 0
        total = len(frames) - 1 if isinstance(frames, Sized) else 0
        for number, frame in enumerate(counted(each, progress, "deforming frames", total), 1):
            cloud = as_cloud(frame, f"frames[{number}]", WORKING.least)
            result = deform(source, cloud, init=last, stiffness=stiffness, seed=seed, threads=threads)
            if not result.success and last is not None:
                # Something changed faster than can be followed: search again, from any pose.
                fresh = deform(source, cloud, stiffness=stiffness, seed=seed, threads=threads)
                result = fresh if fresh.confidence > result.confidence else result
            last = result if result.success else last
            yield result
        if not number:
            raise InputError("frames: expected at least two, got one")

    return found()


class _Clock:
    """Seconds of the stages of a call."""

    def __init__(self, began: float, show: Progress | None) -> None:
        self._began = self._last = began
        self._seconds: dict[str, float] = {}
        self._show = show

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self._seconds[stage] = now - self._last
        self._last = now
        if self._show is not None:
            self._show(len(self._seconds), STAGES)

    def total(self) -> dict[str, float]:
        return {**self._seconds, "total": time.perf_counter() - self._began}


@dataclass(frozen=True, eq=False)
class _Pair:
    """Both clouds as they are worked on, in extents of the source."""

    preprocessed: tuple[PreprocessedCloud, PreprocessedCloud]
    frame: Frame
    source: WorkingCloud
    target: WorkingCloud

    def local(self, points: Floats) -> Floats:
        return np.ascontiguousarray((points - self.frame.source) / self.frame.unit)

    def to_local_frame(self, T: Floats) -> Floats:
        shift = T[:3, :3] @ self.frame.source + T[:3, 3] - self.frame.target
        return pose(T[:3, :3], shift / self.frame.unit)

    def to_callers_frame(self, T: Floats) -> Floats:
        return pose(T[:3, :3], T[:3, 3] * self.frame.unit + self.frame.target - T[:3, :3] @ self.frame.source)


def _prepare(source: Cloud, target: Cloud, seed: int, threads: int) -> _Pair:
    common_extent(source.points, target.points)
    prepared = []
    for name, cloud in (("source", source), ("target", target)):
        prepared.append(replace(prepare_sample(cloud, seed=seed), name=name))
    origins = [np.median(cloud.points, axis=0) for cloud in (source, target)]
    local = [
        without_isolated(_distinct(cloud.points, threads) - origin, name, threads)
        for cloud, origin, name in zip((source, target), origins, ("source", "target"), strict=True)
    ]
    unit = extent(local[0])
    if not unit > 0:
        raise InputError("source: all points coincide")
    x, y = (
        working_cloud(np.ascontiguousarray(points / unit), count, threads)
        for points, count in zip(local, (SOURCE_POINTS, TARGET_POINTS), strict=True)
    )
    return _Pair((prepared[0], prepared[1]), Frame(origins[0], origins[1], unit), x, y)


def _distinct(points: Floats, threads: int) -> Floats:
    """The points that are in no coincident cluster."""
    coincident = coincident_points(points, threads)
    return np.ascontiguousarray(points if coincident is None else points[~coincident])


def _rigid_starts(pair: _Pair, init: Any, given: Floats | None, seed: int, threads: int) -> tuple[Floats, ...]:
    """Rigid transforms to begin with, in the frame of the pair; the best of the engine first."""
    if isinstance(init, Deformation):
        return (pair.to_local_frame(init.transformation),)
    if given is not None:
        return (pair.to_local_frame(given),)
    result = register(*pair.preprocessed, seed=seed, threads=threads)
    others = () if result.success else result.alternatives[:OTHER_STARTS]
    return tuple(map(pair.to_local_frame, (result.transformation, *(other.transformation for other in others))))


def _run(
    pair: _Pair,
    correspondences: Correspondences,
    starts: tuple[Floats, ...],
    init: Any,
    method: str,
    stiffness: float,
    threads: int,
) -> tuple[Warp, tuple[Relaxation, ...], float]:
    """The map, how it came about, and its margin before the map that a symmetry of the body leads to."""
    if method == "cpd":
        poses = [starts[0], *(starts[0] @ T for T in approximate_symmetries(pair.source.points, threads))]
        drifts = [deform_by_drift(pair.source, pair.target, T, stiffness, threads) for T in poses]
        objectives = [drift.objective for drift in drifts]
        best, *others = np.argsort(objectives)
        drift, T = drifts[best], poses[best]
        margin = objectives[others[0]] - objectives[best] if others else np.inf
        return GaussianWarp(pair.frame, T, drift.centres, drift.coefficients, drift.width), drift.history, margin

    def before(graph: DeformationGraph) -> Motion:
        return motion_of(init.warp, graph, pair.frame)

    outcome = deform_elastic(
        pair.source,
        pair.target,
        correspondences,
        starts,
        before if isinstance(init, Deformation) else None,
        stiffness,
        threads,
    )
    return GraphWarp(pair.frame, outcome.graph, outcome.motion), outcome.history, outcome.margin


def _judge(pair: _Pair, warp: Warp, correspondences: Correspondences, threads: int) -> tuple[Evidence, Floats]:
    """The evidence, and the strain of the working points."""
    frame = pair.frame

    def moved(points: Floats) -> Floats:
        return np.ascontiguousarray((warp.apply(points * frame.unit + frame.source) - frame.target) / frame.unit)

    x, spacing = pair.source, max(pair.source.spacing, pair.target.spacing)
    after = moved(x.points)
    ahead = moved(x.points + 0.1 * spacing * x.normals) - after
    normals = ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-300)
    k = min(STRAIN_NEIGHBOURS, len(x) - 1)
    near = _core.Tree(x.points, threads).graph(k, threads)
    before_length = np.linalg.norm(x.points[near] - x.points[:, None], axis=2)
    after_length = np.linalg.norm(after[near] - after[:, None], axis=2)
    ratio = np.divide(after_length, before_length, out=np.ones_like(after_length), where=before_length > 0)
    strain = np.sqrt(((ratio - 1) ** 2).mean(axis=1))
    ends = moved(correspondences.source)
    return gather_evidence(after, normals, pair.target, spacing, ends, correspondences, strain, threads), strain

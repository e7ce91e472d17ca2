"""Our own method on one page: from two clouds to the rigid transform between them, from any initial pose.

preprocess  sample points; X84 removes outliers by the graph response (Def. 1, Sec. III-C)
describe    coarse and fine surfels, descriptors of the coarse ones, mutual correspondences
search      compatible correspondences propose poses; the best few are refined and ranked by overlap
refine      symmetric point-to-plane on fine surfels and all points
judge       evidence, observability, confidence
retry       clouds of very uneven density that fail are searched again on uniformly subsampled points
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import mutual_correspondences
from graphreg.engine.hypotheses import refine_initial_pose, search_poses
from graphreg.engine.outcome import EngineOutcome, PoseEstimate
from graphreg.engine.preprocessing import PreprocessedCloud, map_pair, preprocess
from graphreg.engine.pyramid import build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.refinement import refine_finely
from graphreg.engine.settings import EngineSettings
from graphreg.engine.verdict import VERDICT, Verdict, judge
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Iteration
from graphreg.poses import inverse, nearest_rotation, pose


@dataclass(frozen=True)
class RetryParameters:
    """Constants of the retry on uniformly subsampled clouds; chosen.

    Attributes
    ----------
    density_contrast : float
        Least contrast of one of the clouds: below it a retry would find the same again.
    whole_overlap : float
        Overlap from which on no other pose is looked for.
    """

    density_contrast: float = 4.0
    whole_overlap: float = 0.9


RETRY = RetryParameters()


def register_graphreg(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> EngineOutcome:
    """Register the source to the target from any initial pose; with `init`, only refine that pose."""
    clock = _StageClock()
    estimate = _estimate(source, target, settings, init, seed, threads, callback, clock)
    verdict = _judge(estimate, settings, init, threads, clock)
    if init is None and not verdict.success and verdict.evidence.overlap < RETRY.whole_overlap:
        retried = _retry_subsampled(estimate, source, target, settings, seed, threads, callback, clock)
        if retried is not None:
            second = _judge(retried, settings, init, threads, clock)
            if second.confidence > verdict.confidence:
                estimate, verdict = retried, second
    return EngineOutcome(**{**estimate.__dict__, "timings": clock.seconds}, verdict=verdict)


def _estimate(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    init: Floats | None,
    seed: int,
    threads: int,
    callback: Callback | None,
    clock: _StageClock,
) -> PoseEstimate:
    """One pass through the stages, without verdict and retry."""
    clouds = _preprocessed(source, target, settings, settings.points, seed, threads)
    initial = np.eye(4) if init is None else init
    if settings.dof is not None:
        clouds = _in_target_axes(*clouds, initial)
    clock.lap("preprocess")

    shared = isinstance(source, PreprocessedCloud) and isinstance(target, PreprocessedCloud)
    x, y = build_pyramids(*clouds, settings.voxel, settings.k, settings.alpha, threads, shared)
    correspondences = mutual_correspondences(x.descriptors, y.descriptors, threads)
    clock.lap("describe")

    free = settings.free
    pivot = y.T_local_cloud[:3, 3] / y.coarse_voxel  # the origin of the target's frame
    dof = _core.DegreesOfFreedom(free, pivot)
    if init is None:
        candidates = search_poses(x.coarse, y.coarse, correspondences, dof, all(free), threads)
    else:
        candidates = refine_initial_pose(x.coarse, y.coarse, to_pyramid_frames(initial, x, y), dof, threads)
    clock.lap("search")

    history: list[Iteration] = []

    def in_callers_frame(T: Floats) -> Floats:
        correction = to_cloud_frames(T, x, y) @ inverse(initial)
        # Along axes that are not free it translates by rounding only.
        correction[:3, 3] *= free[3:]
        return correction @ initial

    def report(T: Floats) -> bool:
        """Record an iteration; True if the callback stops the registration."""
        iteration = Iteration(len(history) + 1, in_callers_frame(T), -float(candidates.scores[0]))
        history.append(iteration)
        return callback is not None and bool(callback(iteration))

    T = candidates.poses[0]
    if not report(T):
        refined = refine_finely(x, y, T, free, pivot, settings.voxel is not None, threads)
        T = pose(nearest_rotation(refined[:3, :3]), refined[:3, 3])
        report(T)
    clock.lap("refine")

    return PoseEstimate(
        transformation=in_callers_frame(T),
        history=tuple(history),
        timings=clock.seconds,
        voxel=y.fine_voxel,
        source=_points(source),
        target=_points(target),
        pyramids=(x, y),
        correspondences=correspondences,
        hypotheses=candidates.proposed,
        runner_up=in_callers_frame(candidates.poses[1]) if len(candidates.poses) > 1 else None,
        scores=tuple(float(score) for score in candidates.scores[:2]),
    )


def _judge(
    estimate: PoseEstimate, settings: EngineSettings, init: Floats | None, threads: int, clock: _StageClock
) -> Verdict:
    scores = estimate.scores
    alone = 0.0 if init is None else VERDICT.unknown_ratio
    ratio = scores[1] / max(scores[0], 1e-9) if len(scores) > 1 else alone
    verdict = judge(
        *estimate.pyramids, estimate.transformation, estimate.correspondences, ratio, settings.free, threads
    )
    clock.lap("judge")
    return verdict


def _retry_subsampled(
    first: PoseEstimate,
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    seed: int,
    threads: int,
    callback: Callback | None,
    clock: _StageClock,
) -> PoseEstimate | None:
    """Search on one point a coarse voxel, then refine the pose found on all points.

    Around a scanner most points are close to it, and voxels that suit these are too small for what distinguishes one
    part of the scene from another. None where a retry would find the same again, where the transform is constrained,
    and where a callback has stopped the registration.
    """
    stopped = len(first.history) < 2
    if stopped or settings.dof is not None:
        return None
    if max(pyramid.density_contrast for pyramid in first.pyramids) < RETRY.density_contrast:
        return None
    voxel = first.pyramids[0].coarse_voxel
    clouds = _preprocessed(source, target, settings, None, seed, threads)
    even_source, even_target = (cloud.subsample(voxel, threads) for cloud in clouds)
    if min(len(even_source), len(even_target)) < settings.required_points:
        return None
    try:
        even = _estimate(even_source, even_target, replace(settings, voxel=None), None, seed, threads, callback, clock)
    except InputError:  # no surface stands out among so few points
        return None
    refined = _estimate(source, target, settings, even.transformation, seed, threads, callback, clock)
    history = first.history + even.history + refined.history
    return replace(
        even,
        transformation=refined.transformation,
        history=tuple(replace(iteration, number=number) for number, iteration in enumerate(history, 1)),
        voxel=refined.voxel,
        source=refined.source,
        target=refined.target,
    )


class _StageClock:
    """Seconds of each stage, added up over all passes: together they never exceed the time that has passed."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, stage: str) -> None:
        """Book the time since the last lap on a stage."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def _preprocessed(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    max_points: int | None,
    seed: int,
    threads: int,
) -> tuple[PreprocessedCloud, PreprocessedCloud]:
    """Both clouds with at most `max_points` points each; those that are preprocessed already stay as they are."""
    weights = settings.weights or (None, None)

    def sample(number: int, _: int) -> PreprocessedCloud:
        cloud, name = (source, target)[number], ("source", "target")[number]
        if isinstance(cloud, PreprocessedCloud):
            return replace(cloud, name=name)
        return preprocess(cloud, name, weights[number], max_points, seed)

    return map_pair(sample, (0, 1), threads)


def _in_target_axes(
    source: PreprocessedCloud, target: PreprocessedCloud, initial: Floats
) -> tuple[PreprocessedCloud, PreprocessedCloud]:
    """Both clouds in frames whose axes are the target's: the degrees of freedom are along these."""
    T_local_target = pose(np.eye(3), target.T_local_cloud[:3, :3].T @ target.T_local_cloud[:3, 3])
    return source.in_frame(T_local_target @ initial), target.in_frame(T_local_target)


def _points(cloud: Floats | PreprocessedCloud) -> Floats:
    return cloud.points if isinstance(cloud, PreprocessedCloud) else cloud

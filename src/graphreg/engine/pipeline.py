"""Our own method on one page: from two clouds to the rigid transform between them, from any initial pose.

preprocess  sample points; X84 removes outliers by the graph response (Def. 1, Sec. III-C)
describe    coarse and fine surfels, oriented normals, descriptors, mutual correspondences
search      compatible correspondences propose poses; the best few are refined and ranked by the evidence for them
refine      symmetric point-to-plane on fine surfels and all points; on the triangles of a mesh
judge       evidence, observability, confidence
retry       where the evidence is weak, or the scene may repeat itself: all proposals are refined; where it is weak,
            upright scenes are aligned by their plans, normals are reversed, and clouds of very uneven density are
            searched on uniformly subsampled points
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.ambiguity import compare_similar_poses
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.evidence import Evidence, PairEvidence
from graphreg.engine.hypotheses import refine_initial_pose, search_poses
from graphreg.engine.outcome import EngineOutcome, PoseEstimate
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.pyramid import build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.refinement import FineRefinement, refine_on_mesh
from graphreg.engine.robust_refinement import refine_with_loss
from graphreg.engine.verdict import VERDICT, Verdict, compare_with_others, judge
from graphreg.errors import InputError
from graphreg.method_interface import Iteration
from graphreg.poses import inverse, nearest_rotation, pose


@dataclass(frozen=True)
class RetryParameters:
    """Constants of the retries; chosen.

    Attributes
    ----------
    whole_overlap : float
        Overlap from which on no other pose is looked for.
    density_contrast : float
        Least contrast of one of the clouds for a search on subsampled points: below it that would find the same again.
    repeated_overlap, repeated_share : float
        A scene may repeat itself where the overlap is larger, and the inliers are a smaller share of the
        correspondences that could be.
    """

    whole_overlap: float = 0.9
    density_contrast: float = 4.0
    repeated_overlap: float = 0.25
    repeated_share: float = 0.4


RETRY = RetryParameters()
_log = logging.getLogger(__name__)


def register_graphreg(arguments: EngineRun, retry: bool = True, known: EngineOutcome | None = None) -> EngineOutcome:
    """Register the source to the target from any initial pose; with `init`, only refine that pose.

    Without `retry`, the first estimate is the outcome. With `known`, such an outcome of the same run, only retries are
    left to make.
    """
    run = _TimedRun(**vars(arguments), clock=_StageClock())
    if known is None:
        first: PoseEstimate = _estimate(run, _describe(run))
        verdict = _judge(run, first)
    else:
        first, verdict = known, known.verdict
        run.clock.seconds.update(known.timings)
    estimate = first
    if run.init is not None or _stopped(first) or not retry:
        return _outcome(run, estimate, verdict)
    if verdict.success and _may_repeat(verdict.evidence):
        # Other poses may fit as well: only a thorough search finds them all.
        estimate = _estimate(run, first.evidence, thorough=True, before=first.history)
        return _outcome(run, estimate, _judge(run, estimate))
    for again in (_retry_thoroughly, _retry_with_reversed_normals, _retry_subsampled):
        if _stopped(estimate) or verdict.success:
            break
        retried = again(run, first, verdict)
        if retried is None:
            continue
        second = _judge(run, retried)
        if (second.success, second.probability) > (verdict.success, verdict.probability):
            estimate, verdict = retried, second
    return _outcome(run, estimate, verdict)


def _outcome(run: _TimedRun, estimate: PoseEstimate, verdict: Verdict) -> EngineOutcome:
    return EngineOutcome(**{**estimate.__dict__, "timings": run.clock.seconds, "verdict": verdict})


def _stopped(estimate: PoseEstimate) -> bool:
    """Whether the callback has stopped the registration."""
    return len(estimate.history) < 2


def _may_repeat(evidence: Evidence) -> bool:
    """Whether fewer correspondences are inliers than the overlap would let expect: they may belong to other poses."""
    possible = evidence.overlap * evidence.correspondences
    return evidence.overlap > RETRY.repeated_overlap and evidence.inliers < RETRY.repeated_share * possible


@dataclass(frozen=True, kw_only=True)
class _TimedRun(EngineRun):
    """A registration, and the time that its stages take."""

    clock: _StageClock

    @property
    def initial(self) -> Floats:
        return np.eye(4) if self.init is None else self.init


def _describe(run: _TimedRun) -> PairEvidence:
    """Everything that does not depend on the pose."""
    settings, threads = run.settings, run.threads
    clouds = run.preprocessed(settings.points)
    if settings.dof is not None:
        clouds = _in_target_axes(*clouds, run.initial)
    run.clock.lap("preprocess")
    shared = isinstance(run.source, PreprocessedCloud) and isinstance(run.target, PreprocessedCloud)
    x, y = build_pyramids(*clouds, settings.voxel, settings.k, settings.alpha, threads, shared)
    evidence = PairEvidence(x, y, threads)
    if run.init is not None and not evidence.faces(to_pyramid_frames(run.init, x, y), threads):
        evidence = PairEvidence(x.with_reversed_normals(threads), y, threads)
    run.clock.lap("describe")
    return evidence


def _estimate(
    run: _TimedRun,
    evidence: PairEvidence,
    thorough: bool = False,
    before: tuple[Iteration, ...] = (),
    weak: bool = False,
) -> PoseEstimate:
    """Search and refine; `before` is the history of earlier passes, `weak` the evidence that they found."""
    x, y = evidence.source, evidence.target
    free = run.settings.free
    pivot = y.T_local_cloud[:3, 3] / y.coarse_voxel  # the origin of the target's frame
    dof = _core.DegreesOfFreedom(free, pivot)
    refine = FineRefinement(x, y, free, pivot, run.settings.voxel is not None)
    if run.init is None:
        candidates = search_poses(evidence, dof, all(free), thorough, weak and all(free), run.threads)
        poses, evaluation = compare_similar_poses(
            evidence, candidates.poses, candidates.evaluation, refine, run.threads
        )
        candidates = replace(candidates, poses=poses, evaluation=evaluation)
    else:
        candidates = refine_initial_pose(evidence, to_pyramid_frames(run.init, x, y), dof, run.threads)
    run.clock.lap("search")

    history = list(before)

    def in_callers_frame(T: Floats) -> Floats:
        correction = to_cloud_frames(T, x, y) @ inverse(run.initial)
        # Along axes that are not free it translates by rounding only.
        correction[:3, 3] *= free[3:]
        return correction @ run.initial

    def report(T: Floats) -> bool:
        """Record an iteration; True if the callback stops the registration."""
        iteration = Iteration(len(history) + 1, in_callers_frame(T), -float(candidates.evaluation.overlaps[0]))
        history.append(iteration)
        return run.callback is not None and bool(run.callback(iteration))

    T = candidates.poses[0]
    if not report(T):
        refined = refine(T, run.threads)
        if run.settings.loss is not None:
            refined = refine_with_loss(refined, x, y, refine.voxel, run.settings.loss, run.threads)
        if all(free):
            refined = refine_on_mesh(refined, x, y, run.threads)
        T = pose(nearest_rotation(refined[:3, :3]), refined[:3, 3])
        report(T)
    run.clock.lap("refine")

    source, target = run.points
    return PoseEstimate(
        transformation=in_callers_frame(T),
        history=tuple(history),
        timings=run.clock.seconds,
        voxel=y.fine_voxel,
        source=source,
        target=target,
        evidence=evidence,
        hypotheses=candidates.proposed,
        candidates=tuple(in_callers_frame(candidate) for candidate in candidates.poses),
        evaluation=candidates.evaluation,
    )


def _judge(run: _TimedRun, estimate: PoseEstimate) -> Verdict:
    alone = VERDICT.most_margin if run.init is None else VERDICT.unknown_margin
    others = compare_with_others(estimate.evaluation, estimate.candidates, alone)
    verdict = judge(estimate.evidence, estimate.transformation, others, run.settings.free, run.threads)
    run.clock.lap("judge")
    return verdict


def _retry_thoroughly(run: _TimedRun, first: PoseEstimate, verdict: Verdict) -> PoseEstimate | None:
    """Refine all proposals, not only the best; None where all of the source overlaps the target."""
    if verdict.evidence.overlap >= RETRY.whole_overlap:
        return None
    return _estimate(run, first.evidence, thorough=True, before=first.history, weak=True)


def _retry_with_reversed_normals(run: _TimedRun, first: PoseEstimate, verdict: Verdict) -> PoseEstimate | None:
    """Search with the source's normals reversed: a cloud does not always say which side of it was seen.

    None where all of the source overlaps the target, and the surfaces do not constrain its pose.
    """
    degenerate = verdict.observability is not None and verdict.observability.degenerate_directions
    if degenerate and verdict.evidence.overlap >= RETRY.whole_overlap:
        return None
    x, y = first.pyramids
    evidence = PairEvidence(x.with_reversed_normals(run.threads), y, run.threads)
    run.clock.lap("describe")
    return _estimate(run, evidence, thorough=True, before=first.history, weak=True)


def _retry_subsampled(run: _TimedRun, first: PoseEstimate, verdict: Verdict) -> PoseEstimate | None:
    """Search on one point a coarse voxel, then refine the pose found on all points.

    Around a scanner most points are close to it, and voxels that suit these are too small for what distinguishes one
    part of the scene from another. None where a retry would find the same again, where all of the source overlaps the
    target, and where the transform is constrained.
    """
    if run.settings.dof is not None or verdict.evidence.overlap >= RETRY.whole_overlap:
        return None
    if max(pyramid.density_contrast for pyramid in first.pyramids) < RETRY.density_contrast:
        return None
    voxel = first.pyramids[0].coarse_voxel
    source, target = (cloud.subsample(voxel, run.threads) for cloud in run.preprocessed(None))
    if min(len(source), len(target)) < run.settings.required_points:
        return None
    even_run = replace(run, source=source, target=target, settings=replace(run.settings, voxel=None))
    try:
        even = _estimate(even_run, _describe(even_run), thorough=True, before=first.history)
    except InputError:  # no surface stands out among so few points
        return None
    given = replace(run, init=even.transformation)
    refined = _estimate(given, _describe(given), before=even.history)
    return replace(
        even,
        transformation=refined.transformation,
        history=refined.history,
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
        _log.debug("%s: %.3f s", stage, now - self._last)
        self._last = now


def _in_target_axes(
    source: PreprocessedCloud, target: PreprocessedCloud, initial: Floats
) -> tuple[PreprocessedCloud, PreprocessedCloud]:
    """Both clouds in frames whose axes are the target's: the degrees of freedom are along these."""
    T_local_target = pose(np.eye(3), target.T_local_cloud[:3, :3].T @ target.T_local_cloud[:3, 3])
    return source.in_frame(T_local_target @ initial), target.in_frame(T_local_target)

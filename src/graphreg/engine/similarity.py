"""Registration with an unknown scale, on one page.

vote      pairs of correspondences at a ladder of voxel sizes vote for scales (`scale_votes`)
search    those at which more correspondences agree on a pose than at others are searched for poses; one is left, or
          two (`scale_hypotheses`)
register  the source, scaled, is registered to the target as any other
refine    symmetric point-to-plane with seven unknowns (`similarity_refinement`)
judge     the verdict on the scaled source, and whether the surfaces determine the scale (`scale_observability`)
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from graphreg.clouds import Floats
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.evidence import PairEvidence
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.pyramid import SurfelPyramid, to_cloud_frames, to_pyramid_frames
from graphreg.engine.scale_hypotheses import propose_scales
from graphreg.engine.scale_observability import judge_scale
from graphreg.engine.settings import EngineSettings
from graphreg.engine.similarity_refinement import refine_similarity
from graphreg.engine.unequal_sizes import register_or_locate
from graphreg.engine.verdict import VERDICT, compare_with_others, judge
from graphreg.method_interface import Callback, Iteration, scale_limits
from graphreg.poses import nearest_rotation, pose, scale_of, split_similarity


@dataclass(frozen=True)
class SimilarityParameters:
    """Constants of registration with a scale; chosen.

    Attributes
    ----------
    margin : float
        Scales at which the search finds a pose whose score is no further below that of the best are registered too:
        to find one that fits as well, or better.
    largest_correction : float
        Refinement changes the scale by no more, in log scale: else it has gone astray.
    negligible : float
        The pose is judged again if refinement moves the points by more than this on average, in coarse voxels.
    """

    margin: float = 2.0
    largest_correction: float = 0.15
    negligible: float = 0.2


SIMILARITY = SimilarityParameters()


def register_any_scale(
    source: Floats | PreprocessedCloud,
    target: Floats | PreprocessedCloud,
    settings: EngineSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> EngineOutcome:
    """Register the source to the target, with `settings.scale` by a similarity; `init` may then be one too."""
    limits = scale_limits(settings.scale)
    if limits is None:
        return register_or_locate(EngineRun(source, target, settings, init, seed, threads, callback))
    run = _ScaledRun(source, target, settings, None, seed, threads, callback, limits=limits)
    began = time.perf_counter()
    if init is not None:
        scale, rigid = split_similarity(init)
        return _similarity(run, run.register_at(float(np.clip(scale, *limits)), rigid), 0.0)
    clouds = run.preprocessed(settings.points)
    proposed = propose_scales(*clouds, settings, limits, threads)
    likely = [each.scale for each in proposed if each.score >= proposed[0].score - SIMILARITY.margin]
    # What is computed from the target alone is computed once.
    quick_run = run if settings.weights is not None else replace(run, target=clouds[1])
    tried: list[_Registered] = []
    for scale in likely:
        tried.append(quick_run.register_at(scale, before=tried[-1].history if tried else (), quick=True))
        if tried[-1].stopped:
            return tried[-1].outcome()
    found = _completed(run, tried)
    voting = time.perf_counter() - began - sum(found.rigid.timings.values())
    outcome = _similarity(run, found, voting)
    successful = sum(each.rigid.verdict.success for each in tried)
    return _ambiguous(outcome, successful) if successful > 1 else outcome


def _completed(run: _ScaledRun, tried: list[_Registered]) -> _Registered:
    """The most probable of registrations at several scales, with retries of the others too while none is a success."""
    history, completed = tried[-1].history, list[_Registered]()
    for each in sorted(tried, key=lambda each: -each.rigid.verdict.probability):
        completed.append(run.register_at(each.scale, before=history, known=each.rigid))
        history = completed[-1].history
        if completed[-1].stopped or completed[-1].rigid.verdict.success:
            break
    best = max(completed, key=lambda each: (each.rigid.verdict.success, each.rigid.verdict.probability))
    return replace(best, history=history)


@dataclass(frozen=True, kw_only=True)
class _ScaledRun(EngineRun):
    """A registration, and the smallest and largest scale."""

    limits: tuple[float, float]

    def register_at(
        self,
        scale: float,
        init: Floats | None = None,
        before: tuple[Iteration, ...] = (),
        quick: bool = False,
        known: EngineOutcome | None = None,
    ) -> _Registered:
        """Register the source, scaled, rigidly.

        `quick`: without retries; `known`: such a registration at this scale; `before`: the history so far.
        """
        repeated = 0 if known is None else len(known.history)
        offset = len(before) - repeated

        def report(iteration: Iteration) -> bool:
            return self.callback is not None and bool(self.callback(_of_source(iteration, scale, offset)))

        cloud, settings = self.source, replace(self.settings, scale=False)
        scaled = cloud.scaled(scale) if isinstance(cloud, PreprocessedCloud) else cloud * scale
        run = EngineRun(scaled, self.target, settings, init, self.seed, self.threads, report)
        rigid = register_graphreg(run, retry=False) if quick else register_or_locate(run, known)
        history = (*before, *(_of_source(iteration, scale, offset) for iteration in rigid.history[repeated:]))
        return _Registered(scale, rigid, history, self.points, init is None)


@dataclass(frozen=True, eq=False)
class _Registered:
    """The rigid registration of the scaled source, and the history in the source's own unit."""

    scale: float
    rigid: EngineOutcome
    history: tuple[Iteration, ...]
    points: tuple[Floats, Floats]
    searched: bool

    @property
    def stopped(self) -> bool:
        """Whether the callback has stopped it."""
        return len(self.rigid.history) < 2

    def outcome(self) -> EngineOutcome:
        """Return the outcome in the source's own unit."""
        scaling = _scaling(self.scale)
        return replace(
            self.rigid,
            transformation=self.rigid.transformation @ scaling,
            history=self.history,
            candidates=tuple(candidate @ scaling for candidate in self.rigid.candidates),
            source=self.points[0],
            target=self.points[1],
        )


def _similarity(run: _ScaledRun, found: _Registered, voting: float) -> EngineOutcome:
    """Refine pose and scale together, and judge both; `voting`: seconds that it took to find the scale."""
    rigid, outcome = found.rigid, found.outcome()
    timings = {"vote": voting, **rigid.timings}
    if found.stopped:
        return replace(outcome, timings=timings)
    began = time.perf_counter()
    correction, between = _refined(run, rigid, found.scale)
    x, y = rigid.pyramids[0].scaled(correction), rigid.pyramids[1]
    T = to_cloud_frames(between, x, y)
    refined = time.perf_counter()
    verdict = rigid.verdict
    if _has_moved(to_pyramid_frames(rigid.transformation, *rigid.pyramids), between, correction, x):
        alone = VERDICT.most_margin if found.searched else VERDICT.unknown_margin
        others = compare_with_others(rigid.evaluation, rigid.candidates, alone)
        verdict = judge(PairEvidence(x, y, run.threads), T, others, threads=run.threads)
    verdict = judge_scale(verdict, x, y, between, run.threads)
    last = Iteration(len(found.history) + 1, T @ _scaling(found.scale * correction), rigid.history[-1].energy)
    if run.callback is not None:
        run.callback(last)
    timings["refine"] += refined - began
    timings["judge"] += time.perf_counter() - refined
    history = (*found.history, last)
    return replace(outcome, transformation=last.transformation, history=history, timings=timings, verdict=verdict)


def _refined(run: _ScaledRun, outcome: EngineOutcome, scale: float) -> tuple[float, Floats]:
    """The correction of the scale, and the rigid transform between the corrected pyramids."""
    x, y = outcome.pyramids
    at_scale = to_pyramid_frames(outcome.transformation, x, y)
    refined = refine_similarity(at_scale, x, y, run.threads)
    correction = float(np.clip(scale_of(refined), *np.array(run.limits) / scale))
    if abs(np.log(correction)) > SIMILARITY.largest_correction:
        return 1.0, at_scale
    return correction, pose(nearest_rotation(refined[:3, :3]), refined[:3, 3])


def _has_moved(before: Floats, after: Floats, correction: float, x: SurfelPyramid) -> bool:
    """Whether refinement has moved the coarse surfels by more than is negligible; `x` is scaled already."""
    offset = x.coarse.points @ (after[:3, :3] - before[:3, :3] / correction).T + after[:3, 3] - before[:3, 3]
    return bool(np.linalg.norm(offset, axis=1).mean() > SIMILARITY.negligible)


def _scaling(scale: float) -> Floats:
    return np.diag([scale] * 3 + [1.0])


def _of_source(iteration: Iteration, scale: float, before: int) -> Iteration:
    """An iteration of the scaled source as one of the source itself, after so many others."""
    transformation = iteration.transformation @ _scaling(scale)
    return replace(iteration, number=before + iteration.number, transformation=transformation)


def _ambiguous(outcome: EngineOutcome, count: int) -> EngineOutcome:
    """An outcome that is no success, because several scales were successful."""
    verdict = outcome.verdict
    if not verdict.success:
        return outcome
    confidence = min(verdict.confidence, VERDICT.ambiguous_share * verdict.probability)
    reason = f"ambiguous: {count} scales fit; {verdict.reason.partition(': ')[2]}"
    return replace(outcome, verdict=replace(verdict, success=False, confidence=confidence, reason=reason))

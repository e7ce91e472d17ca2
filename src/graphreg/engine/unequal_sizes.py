"""Clouds of very different sizes: where the search for a pose fails, the smaller one is located in the larger.

A search at one resolution for both coarsens the larger cloud until nothing of the smaller one is left to distinguish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphreg.clouds import Floats
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.part_pipeline import LocatedPart, locate_part
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.errors import InputError
from graphreg.method_interface import Iteration
from graphreg.poses import inverse


@dataclass(frozen=True)
class UnequalSizesParameters:
    """Constants of the choice between the two searches; chosen.

    Attributes
    ----------
    surfel_ratio : float
        Clouds are of very different sizes where one has so many times as many surfels, and the other
    few_surfels : int
        fewer than this: with more, nothing was lost by coarsening.
    most_floating : float
        A pose at which a larger share of surfels float in front of the other cloud's surfaces is refused.
    """

    surfel_ratio: float = 4.0
    few_surfels: int = 500
    most_floating: float = 0.1


UNEQUAL_SIZES = UnequalSizesParameters()


def register_or_locate(run: EngineRun, known: EngineOutcome | None = None) -> EngineOutcome:
    """Register the source to the target; where that fails and one is much smaller, locate it in the other.

    `known`: the outcome without retries, where there is one already.
    """
    outcome, settings = register_graphreg(run, known=known), run.settings
    stopped = len(outcome.history) < 2
    chosen = (settings.dof, settings.voxel, settings.weights) != (None, None, None)
    if run.init is not None or stopped or chosen or outcome.verdict.success or not _sizes_differ(outcome):
        return outcome
    swapped = len(outcome.pyramids[0].coarse) > len(outcome.pyramids[1].coarse)
    small, large = (run.target, run.source) if swapped else (run.source, run.target)
    part, scene = _preprocessed(small, settings.points, run.seed), _preprocessed(large, None, run.seed).whole_cloud()
    try:
        found, timings = locate_part(part, scene, 1, settings, run.seed, run.threads)
    except InputError:  # no surface stands out at the resolution of the part
        return outcome
    seconds = {**outcome.timings, "search": outcome.timings["search"] + sum(timings.values())}
    if not found or not found[0].verdict.success or found[0].symmetry:
        return replace(outcome, timings=seconds)
    registered = _as_registration(outcome, found[0], swapped, run)
    refused = registered.verdict.evidence.floating > UNEQUAL_SIZES.most_floating
    return replace(outcome if refused else registered, timings=seconds)


def _sizes_differ(outcome: EngineOutcome) -> bool:
    fewer, more = sorted(len(pyramid.coarse) for pyramid in outcome.pyramids)
    return more > UNEQUAL_SIZES.surfel_ratio * fewer and fewer < UNEQUAL_SIZES.few_surfels


def _preprocessed(cloud: Floats | PreprocessedCloud, max_points: int | None, seed: int) -> PreprocessedCloud:
    return cloud if isinstance(cloud, PreprocessedCloud) else preprocess(cloud, "points", None, max_points, seed)


def _as_registration(outcome: EngineOutcome, located: LocatedPart, swapped: bool, run: EngineRun) -> EngineOutcome:
    """The located pose as the result: the covariance is that of both clouds, the verdict that of the part."""
    T = inverse(located.outcome.transformation) if swapped else located.outcome.transformation
    at_pose = register_graphreg(replace(run, init=T, seed=0, callback=None))
    verdict = replace(
        at_pose.verdict,
        success=True,
        confidence=located.verdict.confidence,
        probability=located.verdict.probability,
        reason=located.verdict.reason.replace("located", "registered", 1),
    )
    last = Iteration(len(outcome.history) + 1, T, -located.scores[0])
    return replace(at_pose, transformation=T, verdict=verdict, history=(*outcome.history, last))

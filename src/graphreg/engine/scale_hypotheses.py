"""Scale hypotheses: scales that votes propose, ranked by what they explain beside what chance would.

Scaled small enough, a source fits anywhere, and at coarser voxels it has fewer surfels and correspondences. So scales
are not compared by how many pairs of correspondences vote for them, but first by the share of the correspondences that
agree on one pose, and the best of these by the score of a search for poses, which counts as evidence only what is more
similar than by chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.evidence import PairEvidence
from graphreg.engine.hypotheses import SEARCH, search_poses
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids
from graphreg.engine.scale_votes import SCALE_VOTES, LadderStep, Maximum, ScaleLadder, largest_maxima, votes_of
from graphreg.engine.settings import EngineSettings
from graphreg.engine.similarity_refinement import OrientedPoints, similarity_equations
from graphreg.poses import scale_of, transform


@dataclass(frozen=True)
class ScaleHypothesesParameters:
    """Constants of scale hypotheses; all chosen.

    Attributes
    ----------
    steps : int
        Steps of the ladder to either side of the relation of the clouds' sizes.
    usual_correspondences : float
        Added to the number of correspondences before a share of them is taken: of few, many agree by chance.
    clear_excess, clear_share, clear_ratio : float
        A scale is clear, and no other is looked for, if its votes exceed those of wrong correspondences by so many
        standard deviations, such a share of the correspondences agrees on one pose, and both are so many times those of
        any other scale.
    usual_score : float
        If no pose has such a score, scales are looked for with the source's normals reversed as well.
    searched, searched_share : int, float
        Scales for which poses are searched, with no smaller a share than this of the largest one.
    most : int
        Scales that are returned at most.
    distinct : float
        They differ by at least so much, in log scale.
    kernel_widths : tuple of float
        Of the robust kernel in the steps of refinement on coarse surfels, in voxels.
    largest_change : float
        This refinement changes the scale by no more, in log scale: else it has gone astray.
    """

    steps: int = 5
    usual_correspondences: float = 40.0
    clear_excess: float = 6.0
    clear_share: float = 0.2
    clear_ratio: float = 2.0
    usual_score: float = 17.0
    searched: int = 4
    searched_share: float = 0.6
    most: int = 2
    distinct: float = 0.1
    kernel_widths: tuple[float, ...] = (2.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.8)
    largest_change: float = 0.3


SCALE_HYPOTHESES = ScaleHypothesesParameters()


@dataclass(frozen=True)
class ScaleHypothesis:
    """A scale of the source.

    Attributes
    ----------
    scale : float
    score : float
        Of the best pose that a search at this scale finds; infinite where no other scale was looked for.
    """

    scale: float
    score: float = float("inf")


def propose_scales(
    source: PreprocessedCloud,
    target: PreprocessedCloud,
    settings: EngineSettings,
    limits: tuple[float, float],
    threads: int = 1,
) -> list[ScaleHypothesis]:
    """Return the most probable scales, best first; at least one.

    Parameters
    ----------
    source, target : PreprocessedCloud
    settings : EngineSettings
    limits : pair of float
        Smallest and largest scale.
    threads : int, default 1
    """
    rough = float(np.clip(target.voxel_sizes.coarse / source.voxel_sizes.coarse, *limits))
    x, y = build_pyramids(source.scaled(rough), target, None, settings.k, settings.alpha, threads)
    low, high = (float(each) for each in np.log(np.maximum(limits, np.finfo(float).tiny)) - np.log(rough))
    searched: list[_Searched] = []
    for is_reversed in (False, True):
        # A cloud does not always say which side of it was seen, and a part of it less often.
        if is_reversed and max((each.score for each in searched), default=0.0) >= SCALE_HYPOTHESES.usual_score:
            break
        found = _supported_scales(x.with_reversed_normals(threads) if is_reversed else x, y, (low, high), threads)
        if found and _is_clear(found):
            return [ScaleHypothesis(rough * float(np.exp(found[0].log_scale)))]
        least = SCALE_HYPOTHESES.searched_share * max((each.share for each in found), default=0.0)
        searched += [each.search(threads) for each in found[: SCALE_HYPOTHESES.searched] if each.share >= least]
    searched.sort(key=lambda each: -each.score)
    proposed: list[ScaleHypothesis] = []
    for best in searched[: SCALE_HYPOTHESES.most]:
        scale = rough * float(np.exp(np.clip(best.refined(threads), low, high)))
        if all(abs(np.log(scale / other.scale)) > SCALE_HYPOTHESES.distinct for other in proposed):
            proposed.append(ScaleHypothesis(scale, best.score))
    return proposed or [ScaleHypothesis(rough)]


def _supported_scales(
    x: SurfelPyramid, y: SurfelPyramid, limits: tuple[float, float], threads: int
) -> list[_Supported]:
    """The scales that votes propose, those first at which the largest share of correspondences agrees on a pose."""
    (low, high), length = limits, float(np.log(SCALE_VOTES.ladder))
    ladder, steps = ScaleLadder(x, y, threads), dict[int, LadderStep]()
    votes, maxima = np.empty(0), list[Maximum]()
    for level in range(SCALE_HYPOTHESES.steps + 1):
        for number in (level, -level) if level else (0,):
            offset = number * length
            if low - length <= offset <= high + length and (step := ladder.step(number)) is not None:
                steps[number] = step
                more = offset + votes_of(step, threads)
                votes = np.append(votes, more[(more >= low) & (more <= high)])
        maxima = largest_maxima(votes)
        # Not at the end of what the levels so far have covered: the next one may add as many votes.
        if _stands_out(maxima) and abs(maxima[0].log_scale) <= (level + 0.5) * length:
            found = [_supported(steps, each.log_scale, threads) for each in maxima[:2]]
            if _is_clear(found):
                return found
    return sorted((_supported(steps, each.log_scale, threads) for each in maxima), key=lambda each: -each.share)


@dataclass(frozen=True, eq=False)
class _Supported:
    """A scale at a step of the ladder, and the share of the correspondences that agree on one pose."""

    step: LadderStep
    log_scale: float
    within: float
    share: float

    def search(self, threads: int) -> _Searched:
        """The best pose at this scale."""
        source = self.step.source.scaled(float(np.exp(self.within)))
        found = search_poses(PairEvidence(source, self.step.target, threads), _all_free(), threads=threads)
        return _Searched(source, self.step.target, self.log_scale, found.poses[0], float(found.evaluation.scores[0]))


@dataclass(frozen=True, eq=False)
class _Searched:
    """The best pose at a scale."""

    source: SurfelPyramid
    target: SurfelPyramid
    log_scale: float
    T: Floats
    score: float

    def refined(self, threads: int) -> float:
        """The log scale, after refinement with the pose."""
        x, y = OrientedPoints.of_surfels(self.source.coarse), OrientedPoints.of_surfels(self.target.coarse)
        T = self.T
        for width in SCALE_HYPOTHESES.kernel_widths:
            centre = transform(T, x.points).mean(axis=0)
            equations = similarity_equations(x, y, T, width, centre, threads)
            if not equations.weight > 0:
                break
            T = equations.step(centre) @ T
        change = float(np.log(scale_of(T)))
        return self.log_scale + (change if abs(change) <= SCALE_HYPOTHESES.largest_change else 0.0)


def _all_free() -> _core.DegreesOfFreedom:
    return _core.DegreesOfFreedom([True] * 6, [0.0] * 3)


def _stands_out(maxima: list[Maximum]) -> bool:
    if not maxima or maxima[0].excess < SCALE_HYPOTHESES.clear_excess:
        return False
    return len(maxima) == 1 or maxima[0].excess > SCALE_HYPOTHESES.clear_ratio * maxima[1].excess


def _is_clear(found: list[_Supported]) -> bool:
    if found[0].share < SCALE_HYPOTHESES.clear_share:
        return False
    return len(found) == 1 or found[0].share > SCALE_HYPOTHESES.clear_ratio * found[1].share


def _supported(steps: dict[int, LadderStep], log_scale: float, threads: int) -> _Supported:
    """How many correspondences agree on one pose at a scale, at the step nearest to it."""
    length = np.log(SCALE_VOTES.ladder)
    number = min(steps, key=lambda each: abs(each * length - log_scale))
    step, within = steps[number], float(log_scale - number * length)
    (i, j), x, y = step.correspondences, step.source.coarse, step.target.coarse
    every = -(-len(i) // SEARCH.max_correspondences) or 1
    i, j = i[::every], j[::every]
    support = _core.hypotheses(
        x.points[i] * np.exp(within), x.normals[i], y.points[j], y.normals[j], SEARCH.tolerance, 1, _all_free(), threads
    )[1]
    share = float(support.max(initial=0)) / (len(i) + SCALE_HYPOTHESES.usual_correspondences)
    return _Supported(step, log_scale, within, share)

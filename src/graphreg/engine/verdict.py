"""The verdict: success, confidence and reason, from the evidence for a pose and its observability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.ambiguity import details_determine
from graphreg.engine.evidence import EVIDENCE, Evidence, PairEvidence, PoseEvaluation
from graphreg.engine.hypotheses import SEARCH, are_different, refine_initial_pose, search_poses
from graphreg.engine.observability import Observability, observability_of
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids, to_cloud_frames, to_pyramid_frames
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import Outcome
from graphreg.metrics import angular_error
from graphreg.poses import split_similarity, transform


@dataclass(frozen=True)
class VerdictParameters:
    """Constants of the verdict.

    Attributes
    ----------
    logit : tuple of float
        Logit of the probability that the pose is right: constant, then the factors of `verdict_features`. Fitted on
        the runs of `graphreg bench confidence`, which prints the fit beside the constants in use, and cross-validates
        it over objects and scenes.
    success : float
        Confidence from which on a registration is a success; chosen high, as a false success costs far more than a
        missed one.
    ambiguous_share : float
        Confidence of a degenerate pose, as a share of its probability: those along its degenerate directions are as
        probable. Also of several places of a part and of several scales. Chosen below what the same command fits.
    most_ambiguous : float
        The same of an ambiguous pose is at most this: of two poses that fit equally well, one is right; chosen.
    max_alternatives : int
        So many of the poses that fit equally well are compared with it, the most similar ones; chosen.
    probable : float
        A pose that is not determined is called so if it is more probable than this; else it is not registered; chosen.
    least_variety : float
        Added to the variety before its logarithm is taken; chosen.
    most_margin : float
        Margins above this say no more; chosen.
    unknown_margin : float
        Margin where only one pose was refined: another one may fit as well; chosen.
    few_inliers : int
        For the reason: inliers that are few; chosen.
    better_score : float
        For the reason: a pose whose score is higher by this fits better; chosen.
    """

    logit: tuple[float, ...] = (-12.4, 1.2, 4.3, 1.2, -4.6, -4.0, 0.8, 0.45, -2.8)
    success: float = 0.8
    ambiguous_share: float = 0.1
    most_ambiguous: float = 0.5
    max_alternatives: int = 3
    probable: float = 0.4
    least_variety: float = 0.01
    most_margin: float = 2.0
    unknown_margin: float = 0.0
    few_inliers: int = 15
    better_score: float = 0.5


VERDICT = VerdictParameters()
# Quantiles of residuals that a verdict has: every 5 %.
RESIDUAL_QUANTILES = 21


@dataclass(frozen=True)
class OtherPoses:
    """How the other poses that were found compare with a pose.

    Attributes
    ----------
    margin : float
        Score of the pose above that of the best other pose.
    similarities : tuple of float
        How well each of them fits beside it: 1, equally well.
    poses : tuple of (4, 4) ndarray
        They themselves, between the clouds.
    """

    margin: float
    similarities: tuple[float, ...] = ()
    poses: tuple[Floats, ...] = ()

    def equal(self) -> list[Floats]:
        """Return those that fit equally well, the most similar first."""
        order = sorted(range(len(self.similarities)), key=lambda number: -self.similarities[number])
        return [self.poses[n] for n in order if self.similarities[n] >= EVIDENCE.ambiguous_similarity]


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a registration worked.

    Attributes
    ----------
    success : bool
    confidence : float
        Probability that the pose is right and determined.
    probability : float
        Probability that the pose is right as far as it is determined.
    reason : str
        One sentence.
    evidence : Evidence
    observability : Observability or None
        None where the surfaces do not overlap.
    overlap_distance : float
        Surfels of the source that are nearer to the target overlap it; unit of the data.
    residual_quantiles : tuple of float
        Quantiles of their distances to the target's surface, in steps of 5 %, from the smallest to the largest.
    alternatives : tuple of Evidence
        Of a pose that is not degenerate: the evidence for poses that fit equally well, each as if it were the only one.
    """

    success: bool
    confidence: float
    probability: float
    reason: str
    evidence: Evidence
    observability: Observability | None
    overlap_distance: float = float("nan")
    residual_quantiles: tuple[float, ...] = ()
    alternatives: tuple[Evidence, ...] = ()


def judge(
    pair: PairEvidence,
    T_target_source: Floats,
    others: OtherPoses,
    free: tuple[bool, ...] = (True,) * 6,
    threads: int = 1,
) -> Verdict:
    """Judge a pose.

    Parameters
    ----------
    pair : PairEvidence
        Of the two clouds.
    T_target_source : (4, 4) ndarray
        Between the clouds.
    others : OtherPoses
        The other poses that were found.
    free : tuple of six bool
        Degrees of freedom of the transform.
    threads : int, default 1
    """
    source, target = pair.source, pair.target
    T = to_pyramid_frames(T_target_source, source, target)
    similarity = max(others.similarities, default=0.0)
    evidence, overlapping = pair.gather(T, min(others.margin, VERDICT.most_margin), similarity, threads)
    if not evidence.overlap:
        return Verdict(False, 0.0, 0.0, "not registered: the clouds do not overlap", evidence, None)
    observability = observability_of(source, target, T, overlapping, free, threads)
    if observability is None:
        return Verdict(False, 0.0, 0.0, "not registered: no normals agree where the clouds overlap", evidence, None)
    probability = probability_of(evidence)
    if observability.degenerate_directions and details_determine(pair, T, free, threads):
        observability = replace(observability, degenerate_directions=())
    degenerate = bool(observability.degenerate_directions)
    similar = others.equal()
    equal = 1 + len(similar)
    alternatives = tuple(
        pair.gather(to_pyramid_frames(each, source, target), VERDICT.most_margin, threads=threads)[0]
        for each in ([] if degenerate else similar[: VERDICT.max_alternatives])
    )
    confidence = confidence_of(probability, degenerate, [probability_of(each) for each in alternatives])
    success = confidence >= VERDICT.success
    if success:
        finding = "registered"
    elif degenerate and probability >= VERDICT.probable:
        finding = f"not determined: unconstrained {', '.join(observability.degenerate_directions)}"
    elif equal > 1 and evidence.inliers >= VERDICT.few_inliers:
        # No more poses than these are compared.
        count = f"at least {equal}" if equal == SEARCH.max_candidates else f"{equal}"
        finding = f"ambiguous: {count} poses fit equally well"
    else:
        finding = "not registered"
    reason = _sentence(finding, evidence)
    distance, residuals = pair.overlap_residuals(T, threads)
    quantiles = tuple(np.quantile(residuals, np.linspace(0, 1, RESIDUAL_QUANTILES)).tolist())
    return Verdict(success, confidence, probability, reason, evidence, observability, distance, quantiles, alternatives)


def judge_outcome(outcome: Outcome, threads: int = 1, similar: bool = False) -> Verdict:
    """Judge the pose that another method found, beside the poses that our own search finds on its points.

    Of a similarity, judge the pose of the scaled source.
    """
    defaults = EngineSettings()
    scale, T_target_source = split_similarity(outcome.transformation) if similar else (1.0, outcome.transformation)
    points = outcome.source * scale if similar else outcome.source
    source = preprocess(points, "source", max_points=defaults.points)
    target = preprocess(outcome.target, "target", max_points=defaults.points)
    x, y = build_pyramids(source, target, k=defaults.k, alpha=defaults.alpha, threads=threads)
    pair = PairEvidence(x, y, threads)
    dof = _core.DegreesOfFreedom([True] * 6, [0.0] * 3)
    candidates = search_poses(pair, dof, threads=threads)
    T = to_pyramid_frames(T_target_source, x, y)
    different = [candidate for candidate in candidates.poses if are_different(candidate, T, x.coarse)]
    evaluation = pair.evaluate(np.array([T, *different]), threads)
    poses = [to_cloud_frames(each, x, y) for each in different]
    others = compare_with_others(evaluation, [T_target_source, *poses], VERDICT.most_margin)
    verdict = judge(pair, T_target_source, others, threads=threads)
    if verdict.success or verdict.observability is None:
        return verdict
    # Degenerate directions and equal poses are those of a pose that is right; first of all it has to be.
    refined = refine_initial_pose(pair, T, dof, threads).poses[0]
    better = [candidate for candidate in (refined, *candidates.poses[:1]) if are_different(candidate, T, x.coarse)]
    scores = pair.evaluate(np.array([T, *better]), threads).scores
    best = int(np.argmax(scores))
    if scores[best] - scores[0] < VERDICT.better_score:
        return verdict
    found = to_cloud_frames(better[best - 1], x, y)
    rotation = angular_error(T_target_source, found)
    centre = points.mean(axis=0)[None]
    distance = float(np.linalg.norm(transform(T_target_source, centre) - transform(found, centre)))
    finding = f"misaligned: a pose that differs by {rotation:.3g}° and {distance:.2g} fits better"
    return replace(verdict, reason=_sentence(finding, verdict.evidence))


def compare_with_others(evaluation: PoseEvaluation, poses: Sequence[Floats], margin_alone: float) -> OtherPoses:
    """Return how the first of several poses, between the clouds, compares with the others; the margin, if alone."""
    if len(evaluation.scores) == 1:
        return OtherPoses(margin_alone)
    first, *scores = evaluation.scores
    similarities = tuple(float(each) for each in evaluation.similarities()[1:])
    return OtherPoses(float(first - max(scores)), similarities, tuple(poses[1:]))


def verdict_features(evidence: Evidence) -> dict[str, float]:
    """Return what the probability of a pose depends on."""
    return {
        "log(1 + nearest inliers)": float(np.log1p(evidence.nearest_inliers)),
        "tightness": evidence.tightness,
        "log(1 + spread)": float(np.log1p(evidence.spread)),
        "log(floating in clutter)": float(np.log(evidence.floating_in_clutter)),
        "seen through^1/2": float(np.sqrt(evidence.seen_through)),
        "log(variety)": float(np.log(evidence.variety + VERDICT.least_variety)),
        "margin": float(np.clip(evidence.margin, -VERDICT.most_margin, VERDICT.most_margin)),
        "similarity": min(evidence.similarity, 1.0),
    }


def probability_of(evidence: Evidence) -> float:
    """Return the probability that a pose with this evidence is right."""
    logit = float(np.dot(VERDICT.logit, (1.0, *verdict_features(evidence).values())))
    return float(1 / (1 + np.exp(-logit)))


def confidence_of(probability: float, degenerate: bool, alternatives: Sequence[float]) -> float:
    """Return the probability that a pose is right and determined.

    Where other poses fit equally well, that it is right, and the most probable of them is not: on a cube all are as
    convincing as the first, but beside a right pose with little evidence one that fits as well is often unconvincing.

    Parameters
    ----------
    probability : float
        That the pose is right as far as it is determined.
    degenerate : bool
        Whether it is free to move in some direction.
    alternatives : sequence of float
        The probability of each pose that fits equally well, by its own evidence.
    """
    if degenerate:
        return VERDICT.ambiguous_share * probability
    if alternatives:
        return probability * min(VERDICT.most_ambiguous, 1 - max(alternatives))
    return probability


def _sentence(finding: str, evidence: Evidence) -> str:
    separator = "; " if ":" in finding else ": "
    few = "" if evidence.inliers >= VERDICT.few_inliers else "only "
    return (
        f"{finding}{separator}overlap {100 * evidence.overlap:.0f} %, {few}{evidence.inliers} of "
        f"{evidence.correspondences} correspondences are inliers"
    )

"""The verdict: success, confidence and reason, from the evidence for a pose and its observability."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import Correspondences, mutual_correspondences
from graphreg.engine.evidence import Evidence, gather_evidence
from graphreg.engine.hypotheses import SEARCH, are_distinct, score_poses, search_poses
from graphreg.engine.observability import Observability, observability_of
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids, to_pyramid_frames
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import Outcome


@dataclass(frozen=True)
class VerdictParameters:
    """Constants of the verdict.

    Attributes
    ----------
    logit : tuple of float
        Logit of the probability that the pose is right: constant, then factors of log(1 + inlier correspondences),
        of the runner-up's score over that of the pose, and of the overlap. Fitted; `graphreg bench confidence` prints
        the fit, and cross-validates it over objects and scenes.
    success : float
        Confidence from which on a registration is a success; chosen.
    most_if_degenerate : float
        Largest confidence of a pose that is not determined; chosen.
    unknown_ratio : float
        Score ratio of the runner-up where only one pose was refined; chosen.
    close_ratio, few_inliers : float, int
        For the reason: a score ratio that makes a pose ambiguous, and inliers that are few; chosen.
    """

    logit: tuple[float, float, float, float] = (-6.4, 2.2, -4.2, 5.6)
    success: float = 0.75
    most_if_degenerate: float = 0.4
    unknown_ratio: float = 0.5
    close_ratio: float = 0.85
    few_inliers: int = 15


VERDICT = VerdictParameters()


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a registration worked.

    Attributes
    ----------
    success : bool
    confidence : float
        Probability that the pose is right.
    reason : str
        One sentence.
    evidence : Evidence
    observability : Observability or None
        None where the surfaces do not overlap.
    """

    success: bool
    confidence: float
    reason: str
    evidence: Evidence
    observability: Observability | None


def judge(
    source: SurfelPyramid,
    target: SurfelPyramid,
    T_target_source: Floats,
    correspondences: Correspondences,
    score_ratio: float,
    free: tuple[bool, ...] = (True,) * 6,
    threads: int = 1,
) -> Verdict:
    """Judge a pose.

    Parameters
    ----------
    source, target : SurfelPyramid
    T_target_source : (4, 4) ndarray
        Between the clouds.
    correspondences : pair of index arrays
        Putative correspondences between the coarse surfels.
    score_ratio : float
        Score of the runner-up over that of the pose.
    free : tuple of six bool
        Degrees of freedom of the transform.
    threads : int, default 1
    """
    T = to_pyramid_frames(T_target_source, source, target)
    evidence, overlapping = gather_evidence(source, target, T, correspondences, threads)
    if not evidence.overlap:
        return Verdict(False, 0.0, "not registered: the clouds do not overlap", evidence, None)
    observability = observability_of(source, target, T, overlapping, free, threads)
    if observability is None:
        return Verdict(False, 0.0, "not registered: no normals agree where the clouds overlap", evidence, None)
    probability = probability_of(evidence, score_ratio)
    degenerate = bool(observability.degenerate_directions)
    confidence = min(probability, VERDICT.most_if_degenerate) if degenerate else probability
    success = confidence >= VERDICT.success
    if success:
        finding = "registered"
    elif degenerate and probability >= VERDICT.most_if_degenerate:
        finding = f"not determined: unconstrained {', '.join(observability.degenerate_directions)}"
    elif score_ratio > VERDICT.close_ratio and evidence.inliers >= VERDICT.few_inliers:
        finding = "ambiguous: another pose fits almost as well"
    else:
        finding = "not registered"
    reason = _sentence(finding, evidence)
    return Verdict(success, confidence, reason, evidence, observability)


def judge_outcome(outcome: Outcome, threads: int = 1) -> Verdict:
    """Judge the pose that another method found, beside the poses that our own search finds on its points."""
    defaults = EngineSettings()
    source = preprocess(outcome.source, "source", max_points=defaults.points)
    target = preprocess(outcome.target, "target", max_points=defaults.points)
    x, y = build_pyramids(source, target, k=defaults.k, alpha=defaults.alpha, threads=threads)
    correspondences = mutual_correspondences(x.descriptors, y.descriptors, threads)
    dof = _core.DegreesOfFreedom([True] * 6, [0.0] * 3)
    candidates = search_poses(x.coarse, y.coarse, correspondences, dof, threads=threads)
    T = to_pyramid_frames(outcome.transformation, x, y)
    score = float(score_poses(T[None], x.coarse, y.coarse, SEARCH.reach, threads)[0])
    others = [
        other
        for candidate, other in zip(candidates.poses, candidates.scores, strict=True)
        if are_distinct(candidate, T, x.coarse)
    ]
    ratio = float(max(others, default=0.0)) / max(score, 1e-9)
    return judge(x, y, outcome.transformation, correspondences, ratio, threads=threads)


def probability_of(evidence: Evidence, score_ratio: float) -> float:
    """Return the probability that a pose with this evidence is right."""
    known = (1.0, np.log1p(evidence.inliers), score_ratio, evidence.overlap)
    # A pose with next to no score makes the ratio arbitrarily large.
    return float(1 / (1 + np.exp(-np.maximum(np.dot(VERDICT.logit, known), -700))))


def _sentence(finding: str, evidence: Evidence) -> str:
    separator = "; " if ":" in finding else ": "
    few = "" if evidence.inliers >= VERDICT.few_inliers else "only "
    return (
        f"{finding}{separator}overlap {100 * evidence.overlap:.0f} %, {few}{evidence.inliers} of "
        f"{evidence.correspondences} correspondences are inliers"
    )

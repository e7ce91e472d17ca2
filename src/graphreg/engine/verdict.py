"""Did it work? What two clouds say when one is laid on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.engine.descriptors import Correspondences
from graphreg.engine.hypotheses import LAST_REACH, are_distinct, find_candidates, inlier_correspondences
from graphreg.engine.outcome import EngineOutcome
from graphreg.engine.preprocessing import SurfelPyramid, build_pyramids, preprocess, to_pyramid_frames
from graphreg.engine.settings import EngineSettings
from graphreg.method_interface import Outcome
from graphreg.poses import inverse, transform

# Fine pieces nearer than so many cells lie on each other; their normals agree within this angle.
NEAR = 1.5
AGREEING = np.cos(np.radians(20))
# Of directions drawn at random, so many agree: a plane's normal has no sign.
BY_CHANCE = 1 - AGREEING
# The logit of being right: constant, log(1 + places that meet), score of the runner-up over that of the best, overlap.
LOGIT = (-6.4, 2.2, -4.2, 5.6)
# Confidence that is enough for a success; and the most that is left where the pose is not determined.
ENOUGH, MOST_IF_UNDETERMINED = 0.75, 0.4
# For the reason: a runner-up this close, and so few places that meet.
CLOSE, FEW = 0.85, 15
# Directions are free where the surfaces hold them by less than this share; noise in normals feigns some hold.
LOOSE, LOOSE_BY_NOISE = 0.005, 6.0
LAST_SCALE = 0.5
# A pose is less certain than if each piece of surface had an error of its own, and much less so where noise is as wide
# as the cells: the variance is larger by 10^(a + b s), where points lie s coarse cells off their planes, and at least
# by c. Found on pairs of made scans with noise from 0 to 1.4 % of their size.
INFLATION = (-0.5, 8.0, 3.0)


@dataclass(frozen=True)
class Evidence:
    """What speaks for a pose.

    overlap       share of the source that has the target within reach
    inlier_rmse   of these, the root-mean-square distance to the target's surface, in the unit of the data
    agreement     of these, the share whose normals agree as well, less what agrees by chance: 0 to 1
    alike         how many pairs of places look alike
    meeting       how many of these meet
    """

    overlap: float
    inlier_rmse: float
    agreement: float
    alike: int
    meeting: int


def gather_evidence(
    source: SurfelPyramid, target: SurfelPyramid, motion: Floats, pairs: Correspondences, threads: int = 1
) -> tuple[Evidence, Mask]:
    """The evidence for a motion between views, and which fine pieces of the source lie on the target."""
    moved = transform(_in_fine_cells(motion, target), source.fine.points)
    index = target.fine.grid.nearest(moved, NEAR, threads)
    gap = moved - target.fine.points[index]
    near = index >= 0
    overlap = float(near.mean())
    turned = source.fine.normals[near] @ motion[:3, :3].T
    facing = target.fine.normals[index[near]]
    off = np.einsum("ij,ij->i", gap[near], facing)
    cosine = np.abs(np.einsum("ij,ij->i", turned, facing))
    agreement = float(np.clip(((cosine >= AGREEING).mean() - BY_CHANCE) / (1 - BY_CHANCE), 0, 1)) if overlap else 0.0
    rmse = float(np.sqrt((off**2).mean())) * target.fine_cell if overlap else float("nan")
    met = len(inlier_correspondences(source.coarse, target.coarse, motion, pairs))
    return Evidence(overlap, rmse, agreement, len(pairs[0]), met), near


@dataclass(frozen=True, eq=False)
class Observability:
    """How firmly the surfaces hold the pose.

    centre        (3,), the middle of what lies on each other, in the target's frame
    covariance    (6, 6) of the pose: turns about the x, y, z axes through the centre (radians), then shifts along them
                  (unit of the data), both after the motion, in the target's frame
    undetermined  what the source could do without leaving the surface, in words
    """

    centre: Floats
    covariance: Floats
    undetermined: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Verdict:
    """success, confidence and reason, what they stand on, and how well the pose is determined."""

    success: bool
    confidence: float
    reason: str
    evidence: Evidence
    hold: Observability | None


def judge(outcome: Outcome, threads: int = 1) -> Verdict:
    """Judge what a method found, on the views that it used or on those of its points."""
    if isinstance(outcome, EngineOutcome):
        views, pairs, scores = outcome.pyramids, outcome.matches, outcome.scores
        motion = to_pyramid_frames(outcome.transformation, *views)
    else:
        usual = EngineSettings()
        source = preprocess(outcome.source, "source", most=usual.points)
        target = preprocess(outcome.target, "target", most=usual.points)
        views = build_pyramids(source, target, k=usual.k, alpha=usual.alpha, threads=threads)
        motion = to_pyramid_frames(outcome.transformation, *views)
        pairs, scores = _searched(*views, motion, threads)
    free, unseen_rivalry = (outcome.free, outcome.rivalry) if isinstance(outcome, EngineOutcome) else ((True,) * 6, 0.5)
    evidence, laid = gather_evidence(*views, motion, pairs, threads)
    if not evidence.overlap:
        return Verdict(False, 0.0, "not registered: no part of the source lies on the target", evidence, None)
    hold = observability_at(*views, motion, laid, free, threads)
    if hold is None:
        return Verdict(False, 0.0, "not registered: where the clouds meet, no surfaces face each other", evidence, None)
    rivalry = scores[1] / max(scores[0], 1e-9) if len(scores) > 1 else unseen_rivalry
    believed = confidence_from(evidence, rivalry)
    confidence = min(believed, MOST_IF_UNDETERMINED) if hold.undetermined else believed
    success = confidence >= ENOUGH
    few = "" if evidence.meeting >= FEW else "only "
    seen = (
        f"{evidence.overlap:.0%} of the source lies on the target, and {few}{evidence.meeting} of {evidence.alike} "
        "places that look alike meet"
    )
    if success:
        reason = f"registered: {seen}"
    elif hold.undetermined and believed >= MOST_IF_UNDETERMINED:
        reason = f"not determined: the source can {' and '.join(hold.undetermined)} on the target; {seen}"
    elif rivalry > CLOSE and evidence.meeting >= FEW:
        reason = f"not sure: another pose fits almost as well; {seen}"
    else:
        reason = f"not registered: {seen}"
    return Verdict(success, confidence, reason, evidence, hold)


def _searched(
    source: SurfelPyramid, target: SurfelPyramid, motion: Floats, threads: int
) -> tuple[Correspondences, tuple[float, ...]]:
    """For a method that saw one pose only: what looks alike, the score of its pose, and that of the best other one."""
    freedom = _core.DegreesOfFreedom([True] * 6, [0.0] * 3)
    found = find_candidates(
        source.coarse, target.coarse, (source.descriptors, target.descriptors), freedom, threads=threads
    )
    here = source.coarse
    own = float(target.coarse.grid.score(motion[None], here.points, here.normals, LAST_REACH, threads)[0])
    others = [score for pose, score in zip(found.poses, found.scores, strict=True) if are_distinct(pose, motion, here)]
    return found.matches, (own, float(max(others, default=0.0)))


def confidence_from(evidence: Evidence, rivalry: float) -> float:
    """The probability that a pose with this evidence is right, 0 to 1."""
    known = (1.0, np.log1p(evidence.meeting), rivalry, evidence.overlap)
    # Next to no score of its own makes a pose's rival as large as you please.
    return float(1 / (1 + np.exp(-np.maximum(np.dot(LOGIT, known), -700))))


def observability_at(
    source: SurfelPyramid, target: SurfelPyramid, motion: Floats, laid: Mask, free: tuple[bool, ...], threads: int = 1
) -> Observability | None:
    """What the normal equations at the pose say: which small motions would part the surfaces, and which would not.

    free  which of the turns about and shifts along x, y, z the motion may make

    None where no pieces of the surfaces face each other.
    """
    cell = target.fine_cell
    close = _in_fine_cells(motion, target)
    information, _, weight, squared = target.fine.grid.equations(
        close, source.fine.points, source.fine.normals, source.fine.importance, LAST_SCALE, threads
    )
    if not weight > 0:
        return None
    on_it = transform(close, source.fine.points[laid])
    centre = on_it.mean(axis=0)
    radius = float(np.sqrt(((on_it - centre) ** 2).sum(axis=1).mean())) or 1.0
    # From turns about the origin to turns about the centre.
    about = np.eye(6)
    about[3:, :3] = [[0, -centre[2], centre[1]], [centre[2], 0, -centre[0]], [-centre[1], centre[0], 0]]
    # Into the target's own axes. What the motion may not do, it is held in.
    back = inverse(target.home)
    turn = np.kron(np.eye(2), back[:3, :3]) @ about.T
    information = np.where(np.outer(free, free), turn @ information @ turn.T, 0.0)
    scale = np.repeat([1 / radius, 1.0], 3)
    relative = information * np.outer(scale, scale) / weight + np.diag(1.0 - np.array(free))
    residual = float(np.sqrt(squared / weight))
    undetermined = _undetermined(relative, LOOSE + LOOSE_BY_NOISE * residual**4)
    unit = np.repeat([1.0, cell], 3)
    floor = np.trace(information) * np.where(free, 1e-12, 1.0)
    spread = np.linalg.inv(information + np.diag(floor)) * (squared / np.count_nonzero(laid))
    covariance = np.where(np.outer(free, free), spread * np.outer(unit, unit) * _inflation(source, target), 0.0)
    return Observability(transform(back, centre[None] * cell)[0], covariance, undetermined)


def _inflation(source: SurfelPyramid, target: SurfelPyramid) -> float:
    off = float(np.median(np.concatenate([source.coarse.spread, target.coarse.spread])))
    constant, slope, least = INFLATION
    # Beyond half a cell there is no surface, and nothing was measured.
    return float(max(10 ** (constant + slope * min(off, 0.5)), least))


def _undetermined(relative: Floats, limit: float) -> tuple[str, ...]:
    values, vectors = np.linalg.eigh(relative)
    if values[0] >= limit:
        return ()
    found = []
    for verb, part in (("turn about", slice(0, 3)), ("slide along", slice(3, 6))):
        lengths, axes = np.linalg.eigh(relative[part, part])
        free = [axis for length, axis in zip(lengths, axes.T, strict=True) if length < limit]
        if len(free) == 3:
            found.append(f"{verb} any axis")
        else:
            found += [f"{verb} {_axis(axis)}" for axis in free]
    return tuple(found) or (f"turn about {_axis(vectors[:3, 0])} off its middle",)


def _axis(direction: Floats) -> str:
    length = float(np.linalg.norm(direction)) or 1.0
    signed = direction / length * (1 if direction[np.argmax(np.abs(direction))] > 0 else -1)
    return f"({', '.join(f'{entry:.2f}' for entry in signed + 0.0)})"


def _in_fine_cells(motion: Floats, target: SurfelPyramid) -> Floats:
    fine: Floats = motion.copy()
    fine[:3, 3] *= target.cell / target.fine_cell
    return fine

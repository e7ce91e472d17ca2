"""Did it work? What two clouds say when one is laid on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.outcomes import Outcome
from graphreg.poses import transform
from graphreg.signatures import Matches, matches
from graphreg.views import Cleaned, View, at_once, in_cells, views_of

# Fine pieces nearer than so many cells lie on each other; their normals agree within this angle.
NEAR = 1.5
AGREEING = np.cos(np.radians(20))
# Of directions drawn at random, so many agree: a plane's normal has no sign.
BY_CHANCE = 1 - AGREEING
# Coarse pieces that look alike speak for a pose that brings them within so many cells, with normals within 45 degrees.
MEETING = 2.0
FACING = np.cos(np.radians(45))


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


def gather(source: View, target: View, motion: Floats, pairs: Matches, threads: int = 1) -> Evidence:
    """The evidence for a motion between views."""
    fine = motion.copy()
    fine[:3, 3] *= target.cell / target.fine_cell
    moved = transform(fine, source.fine.points)
    index = target.fine.field.nearest(moved, threads)
    gap = moved - target.fine.points[index]
    squared = np.einsum("ij,ij->i", gap, gap)
    near = (index >= 0) & (squared <= NEAR**2)
    overlap = float(near.mean())
    turned = source.fine.normals[near] @ motion[:3, :3].T
    facing = target.fine.normals[index[near]]
    off = np.einsum("ij,ij->i", gap[near], facing)
    cosine = np.abs(np.einsum("ij,ij->i", turned, facing))
    agreement = float(np.clip(((cosine >= AGREEING).mean() - BY_CHANCE) / (1 - BY_CHANCE), 0, 1)) if overlap else 0.0
    rmse = float(np.sqrt((off**2).mean())) * target.fine_cell if overlap else float("nan")
    here, there = source.coarse, target.coarse
    i, j = pairs
    apart = np.linalg.norm(transform(motion, here.points[i]) - there.points[j], axis=1)
    facing = np.einsum("ij,ij->i", here.normals[i] @ motion[:3, :3].T, there.normals[j])
    meeting = int(np.count_nonzero((apart <= MEETING) & (np.abs(facing) >= FACING)))
    return Evidence(overlap, rmse, agreement, len(i), meeting)


@dataclass(frozen=True, eq=False)
class Verdict:
    """success, confidence and reason, what they stand on, and how well the pose is determined."""

    success: bool
    confidence: float
    reason: str
    evidence: Evidence


def judge(outcome: Outcome, threads: int = 1) -> Verdict:
    """Judge what a method found, on the views that it used or on those of its points."""
    views, pairs = outcome.views, outcome.matches
    if views is None:
        assert outcome.source is not None and outcome.target is not None
        views = views_of(Cleaned(outcome.source, None), Cleaned(outcome.target, None), threads=threads)
    if pairs is None:
        pairs = matches(views[0].signatures, views[1].signatures, threads)
    motion = in_cells(outcome.transformation, *views)
    evidence = gather(*views, motion, pairs, threads)
    return Verdict(True, 0.5, "?", evidence)

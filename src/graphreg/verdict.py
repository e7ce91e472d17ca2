"""Did it work? What the two clouds say when one is laid on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg import _core
from graphreg.clouds import Floats
from graphreg.graphs import neighbour_graph
from graphreg.invariants import planes_of
from graphreg.poses import transform

# Points nearer than so many voxels lie on each other; their normals agree within this angle.
NEAR = 1.5
AGREEING = np.cos(np.radians(20))
# Of directions drawn at random, so many agree: a plane's normal has no sign.
BY_CHANCE = 1 - AGREEING
LEAST_OVERLAP = 0.2
LEAST_AGREEMENT = 0.5


@dataclass(frozen=True)
class Verdict:
    """How well two clouds lie on each other.

    overlap      share of the source that has the target within reach
    inlier_rmse  of these, the root-mean-square distance to the nearest target point, in the unit of the data
    agreement    of these, the share whose normals agree as well, less what agrees by chance: 0 to 1
    success      whether both are enough to speak of a registration
    confidence   0 to 1: agreement, less where the overlap is small
    reason       a sentence for people
    """

    overlap: float
    inlier_rmse: float
    agreement: float
    success: bool
    confidence: float
    reason: str


def judge(source: Floats, target: Floats, motion: Floats, voxel: float, threads: int = 1) -> Verdict:
    """Judge a motion on clouds that were thinned out to one point a voxel."""
    tree = _core.Tree(target, threads)
    index, squared = tree.nearest(np.ascontiguousarray(transform(motion, source)), 1, threads)
    distance = np.sqrt(squared[:, 0])
    near = distance <= NEAR * voxel
    overlap = float(near.mean())
    if not near.any():
        return Verdict(0.0, float("nan"), 0.0, False, 0.0, "not registered: no point of the source lies on the target")
    turned = _normals(source, threads)[near] @ motion[:3, :3].T
    cosine = np.abs(np.einsum("ij,ij->i", turned, _normals(target, threads)[index[near, 0]]))
    agreement = float(np.clip(((cosine >= AGREEING).mean() - BY_CHANCE) / (1 - BY_CHANCE), 0, 1))
    success = overlap >= LEAST_OVERLAP and agreement >= LEAST_AGREEMENT
    confidence = agreement * min(1.0, overlap / LEAST_OVERLAP)
    on_it = f"{overlap:.0%} of the source lies on the target, and the normals of {agreement:.0%} of that agree"
    if success:
        reason = f"registered: {on_it}"
    elif overlap < LEAST_OVERLAP:
        reason = f"not registered: only {on_it}"
    else:
        reason = f"not registered: the surfaces cross each other; {on_it}"
    return Verdict(overlap, float(np.sqrt(squared[near, 0].mean())), agreement, success, confidence, reason)


def _normals(points: Floats, threads: int) -> Floats:
    return planes_of(neighbour_graph(points, threads=threads))[0]

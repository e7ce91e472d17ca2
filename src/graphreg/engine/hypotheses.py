"""Pose hypotheses: poses that many correspondences support, refined and ranked by the evidence for them.

Lengths are in coarse voxels.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, extent
from graphreg.engine.evidence import PairEvidence, PoseEvaluation
from graphreg.engine.pose_sets import box_corners, distinct_poses
from graphreg.engine.surfels import Surfels
from graphreg.engine.upright_poses import upright_poses
from graphreg.features.edge_descriptors import Correspondences
from graphreg.paper.forces import ForceLaw, Particles, pair_forces
from graphreg.poses import fit_rigid_transform, pose


@dataclass(frozen=True)
class SearchParameters:
    """Constants of the search; all chosen. Lengths in coarse voxels.

    Attributes
    ----------
    tolerance : float
        Two correspondences are compatible if their lengths in source and target differ by less.
    max_correspondences, max_proposals, max_refined : int
        Correspondences that propose poses, poses proposed, poses refined; a thorough search refines all.
    thorough_proposals : int
        Poses that a thorough search proposes beside these.
    refined_margin, min_refined : float, int
        Proposals whose score is this far below the best are not refined, except for so many.
    max_candidates : int
        Refined poses that are returned.
    refined_surfels : int
        Surfels of the source that poses are refined with; all of them count for the score.
    weak_support : int
        A best proposal with less support may agree by chance: soft-Coulomb proposals are added.
    wide_kernel, narrow_kernel : tuple of float
        Widths of the robust kernel in the steps of refinement: from far off, and from so near that a wide kernel
        could lead astray.
    initial_kernel : tuple of float
        The same from an initial pose of the caller's.
    same_pose, distinct_pose : float
        Poses that move no corner of the source farther apart are one proposal, and one result.
    identical : float
        Poses whose corners are closer than this are evaluated once.
    converged : float
        Refinement of one pose from several initial ones ends with corners closer than this.
    particles, steps, softening : int, int, pair of float
        Soft-Coulomb proposals: particles of each cloud, steps, first and last softening as a share of the size.
    """

    tolerance: float = 1.5
    max_correspondences: int = 1024
    max_proposals: int = 64
    max_refined: int = 16
    thorough_proposals: int = 256
    refined_margin: float = 8.0
    min_refined: int = 8
    max_candidates: int = 12
    refined_surfels: int = 1_000
    weak_support: int = 8
    wide_kernel: tuple[float, ...] = (2.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.7)
    narrow_kernel: tuple[float, ...] = (0.8, 0.7, 0.7)
    initial_kernel: tuple[float, ...] = (3.0,) * 6 + (2.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.7)
    same_pose: float = 2.0
    distinct_pose: float = 4.0
    identical: float = 0.15
    converged: float = 0.75
    particles: int = 256
    steps: int = 20
    softening: tuple[float, float] = (0.3, 0.02)


SEARCH = SearchParameters()


@dataclass(frozen=True, eq=False)
class PoseCandidates:
    """Refined poses, best first, each distinct from those before it.

    Attributes
    ----------
    poses : (P, 4, 4) ndarray
        Translations in coarse voxels.
    evaluation : PoseEvaluation
        The evidence for each.
    proposed : int
        Number of hypotheses.
    """

    poses: Floats
    evaluation: PoseEvaluation
    proposed: int


def search_poses(
    evidence: PairEvidence,
    dof: _core.DegreesOfFreedom,
    unconstrained: bool = True,
    thorough: bool = False,
    upright: bool = False,
    threads: int = 1,
) -> PoseCandidates:
    """Search for poses of the source on the target from any initial pose.

    Parameters
    ----------
    evidence : PairEvidence
        Of the two clouds.
    dof : DegreesOfFreedom
        Of the transform.
    unconstrained : bool, default True
        Whether the transform has all six degrees of freedom.
    thorough : bool, default False
        Whether to refine all proposals and not only the best, and to propose more, from correspondences that are not
        mutual.
    upright : bool, default False
        Whether to propose poses of upright scenes as well.
    threads : int, default 1
    """
    source, target = evidence.source.coarse, evidence.target.coarse
    corners = box_corners(source.points)

    def best(proposals: Floats, most: int) -> Floats:
        scores = evidence.evaluate(proposals, threads, proposed=True).scores
        ranked = np.argsort(-scores, kind="stable")
        promising = np.count_nonzero(scores >= scores.max() - SEARCH.refined_margin)
        ranked = ranked[: max(promising, SEARCH.min_refined)]
        return proposals[ranked][distinct_poses(proposals[ranked], corners, SEARCH.same_pose, most)]

    proposals = propose_poses(source, target, evidence.correspondences, dof, unconstrained, threads=threads)
    proposed = len(proposals)
    if thorough:
        correspondences = evidence.distinctive_correspondences(SEARCH.max_correspondences)
        most = SEARCH.thorough_proposals
        more = propose_poses(source, target, correspondences, dof, unconstrained, most, threads)
        proposed += len(more)
        chosen = np.concatenate([proposals, best(more, SEARCH.max_proposals)])
    else:
        chosen = best(proposals, SEARCH.max_refined)
    if upright and len(standing := upright_poses(source, target)):
        proposed += len(standing)
        chosen = np.concatenate([chosen, best(standing, SEARCH.max_proposals)])
    refined = np.concatenate(
        [
            refine_poses(chosen, _subset(source, SEARCH.refined_surfels), target, kernel, dof, threads)
            for kernel in (SEARCH.wide_kernel, SEARCH.narrow_kernel)
        ]
    )
    # Many have converged to the same pose.
    refined = refined[distinct_poses(refined, corners, SEARCH.identical, len(refined))]
    return _ranked(evidence, refined, proposed, threads)


def refine_initial_pose(
    evidence: PairEvidence, initial: Floats, dof: _core.DegreesOfFreedom, threads: int = 1
) -> PoseCandidates:
    """Refine one pose, with a kernel that starts wide, instead of searching."""
    source, target = evidence.source.coarse, evidence.target.coarse
    poses = refine_poses(initial[None], source, target, SEARCH.initial_kernel, dof, threads)
    return _ranked(evidence, poses, 1, threads)


def _ranked(evidence: PairEvidence, poses: Floats, proposed: int, threads: int) -> PoseCandidates:
    evaluation = evidence.evaluate(poses, threads)
    order = np.argsort(-evaluation.scores, kind="stable")
    corners = box_corners(evidence.source.coarse.points)
    kept = order[distinct_poses(poses[order], corners, SEARCH.distinct_pose, SEARCH.max_candidates)]
    evaluation = evidence.add_support(poses[kept], evaluation.select(kept), threads)
    best = np.argsort(-evaluation.scores, kind="stable")
    return PoseCandidates(poses[kept][best], evaluation.select(best), proposed)


def propose_poses(
    source: Surfels,
    target: Surfels,
    correspondences: Correspondences,
    dof: _core.DegreesOfFreedom,
    unconstrained: bool,
    most: int = SEARCH.max_proposals,
    threads: int = 1,
) -> Floats:
    """Return (P, 4, 4) hypotheses: poses that compatible correspondences support.

    Where their support is weak, soft-Coulomb proposals are added, or the identity where the transform is constrained.
    """
    i, j = correspondences
    step = -(-len(i) // SEARCH.max_correspondences) or 1
    i, j = i[::step], j[::step]
    poses, support = _core.hypotheses(
        source.points[i],
        source.normals[i],
        target.points[j],
        target.normals[j],
        SEARCH.tolerance,
        most,
        dof,
        threads,
    )
    if support.max(initial=0) < SEARCH.weak_support:
        more = coulomb_proposals(source, target, threads) if unconstrained else np.eye(4)[None]
        poses = np.concatenate([poses, more])
    return poses


def refine_poses(
    poses: Floats,
    source: Surfels,
    target: Surfels,
    kernel: tuple[float, ...],
    dof: _core.DegreesOfFreedom,
    threads: int = 1,
) -> Floats:
    """Refine poses by point-to-plane steps between surfels, one a kernel width."""
    return target.grid.refine(poses, source.points, source.normals, source.importance, np.array(kernel), dof, threads)


def coulomb_proposals(source: Surfels, target: Surfels, threads: int = 1) -> Floats:
    """Return (24, 4, 4): minima of the paper's potential, from each of the 24 rotations of a cube.

    For clouds with few distinctive surfels. The softened Coulomb law (Eq. 13) acts between all particles; its quadratic
    bound gives each particle a resting point, and a weighted Procrustes fit moves the body. The softening falls from
    a third of the clouds' size to little, as the temperature does in annealing.
    """
    x, y = (surfels.points[:: -(-len(surfels) // SEARCH.particles)] for surfels in (source, target))
    size = max(extent(x), extent(y))
    field = Particles(y, np.ones(len(y)), np.empty((len(y), 0)))
    poses = np.array([pose(rotation, y.mean(axis=0) - rotation @ x.mean(axis=0)) for rotation in cube_rotations()])
    for softening in np.geomspace(*SEARCH.softening, SEARCH.steps) * size:
        # All rotations in one call: the particles of a body do not act on each other.
        bodies = x @ poses[:, :3, :3].transpose(0, 2, 1) + poses[:, None, :3, 3]
        points = bodies.reshape(-1, 3)
        particles = Particles(points, np.ones(len(points)), np.empty((len(points), 0)))
        forces = pair_forces(particles, field, ForceLaw.INVERSE_SQUARE, float(softening), threads)
        means, weights = forces.weighted_means(points).reshape(bodies.shape), forces.weights.reshape(len(poses), -1)
        poses = fit_rigid_transform(bodies, means, weights) @ poses
    return poses


def cube_rotations() -> list[Floats]:
    """Return the 24 rotations of the octahedral group."""
    signed = (
        np.diag(signs) @ np.eye(3)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    )
    return [rotation for rotation in signed if np.linalg.det(rotation) > 0]


def are_different(a: Floats, b: Floats, source: Surfels) -> bool:
    """Return whether two refined poses differ by more than refinement may."""
    return len(distinct_poses(np.array([a, b]), box_corners(source.points), SEARCH.converged, 2)) == 2


def _subset(surfels: Surfels, count: int) -> Surfels:
    """Evenly spaced surfels, about `count`; without their graph, which refinement does not use."""
    rows = slice(None, None, -(-len(surfels) // count))
    return Surfels(
        np.ascontiguousarray(surfels.points[rows]),
        np.ascontiguousarray(surfels.normals[rows]),
        surfels.weights[rows],
        None if surfels.importance is None else np.ascontiguousarray(surfels.importance[rows]),
        surfels.roughness[rows],
        surfels.neighbours[rows],
    )

"""Pose graph optimisation: the poses on which the edges agree, and the edges that contradict the others.

`optimise` minimises the sum of squared errors (see `pose_graph`) over the edges that are right. Which those are is
identified during the optimisation by graduated non-convexity with the kernel of Geman and McClure,

    rho(r^2) = r^2 / (1 + r^2 / w)

The width w is large at first, so that all edges count, and shrinks to the threshold of an outlier. Each width is a
non-linear least-squares problem on SE(3), solved by Levenberg-Marquardt with sparse normal equations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.multiscan.pose_graph import (
    POSE_GRAPH,
    Groups,
    PoseGraphParameters,
    connected_groups,
    error_transforms,
    inverses,
    loop_support,
    residuals,
    rotation_vectors,
    spanning_tree_poses,
    squared_errors,
    subgraph,
)
from graphreg.poses import PoseGraph, as_poses, cross_matrices


@dataclass(frozen=True, eq=False)
class OptimisedGraph:
    """Result of `optimise`.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
        The first pose of each group is unchanged.
    used : (E,) ndarray of bool
        Inlier edges; the others contradict them.
    squared_errors : (E,) ndarray
        r^2 of each edge, used or not.
    groups : tuple of tuple of int
        Numbers of the poses that used edges connect, the largest group first.
    """

    poses: Floats
    used: Mask
    squared_errors: Floats
    groups: Groups


def optimise(graph: PoseGraph, parameters: PoseGraphParameters = POSE_GRAPH) -> OptimisedGraph:
    """Optimise a pose graph robustly.

    A wrong edge can be recognised only if it is part of a loop, and which edge of a loop is wrong only by another loop.

    Parameters
    ----------
    graph : PoseGraph
        Its poses are the initial estimate.
    parameters : PoseGraphParameters, default POSE_GRAPH

    Returns
    -------
    OptimisedGraph

    Raises
    ------
    InputError
        If arrays of the graph do not fit together, hold values that are not finite, or an edge joins a pose to itself.

    Examples
    --------
    Three poses in a row, and an edge from the first to the last that contradicts two others:

    >>> import numpy as np
    >>> from graphreg.multiscan.pose_graph_optimisation import optimise
    >>> from graphreg.poses import PoseGraph, pose
    >>> ahead = [pose(np.eye(3), [step, 0, 0]) for step in (1, 1, 1, 1, 5)]
    >>> pairs = np.array([(1, 0), (2, 1), (1, 0), (2, 1), (2, 0)])
    >>> graph = PoseGraph(np.tile(np.eye(4), (3, 1, 1)), pairs, np.array(ahead), np.tile(100 * np.eye(6), (5, 1, 1)))
    >>> result = optimise(graph)
    >>> result.poses[:, 0, 3].round(6)
    array([0., 1., 2.])
    >>> result.used
    array([ True,  True,  True,  True, False])
    """
    _require_valid(graph)
    count = len(graph.poses)
    groups = connected_groups(graph.pairs, count)
    if not len(graph.pairs):
        return OptimisedGraph(graph.poses, np.ones(0, bool), np.zeros(0), groups)
    fixed = _first_of_each(groups)
    threshold = parameters.outlier_threshold
    # Two initialisations. From the poses of the graph with a wide kernel all edges count at first, which suits drift
    # that has accumulated. From a spanning tree of edges that short loops confirm, with the narrow kernel, only what
    # fits those counts, which suits edges that are grossly wrong. The lower truncated cost wins.
    widest = max(threshold, 2 * float(squared_errors(graph).max()))
    solutions = []
    for initial, width in (
        (graph.poses, widest),
        (spanning_tree_poses(graph, loop_support(graph, parameters)), threshold),
    ):
        poses = _graduated_non_convexity(replace(graph, poses=initial), fixed, width, parameters)
        errors = squared_errors(replace(graph, poses=poses))
        solutions.append((float(np.minimum(errors, threshold).sum()), poses, errors <= threshold))
    _, poses, used = min(solutions, key=lambda solution: solution[0])
    inliers = subgraph(replace(graph, poses=poses), used)
    groups = connected_groups(inliers.pairs, count)
    poses = least_squares_poses(inliers, parameters)
    errors = squared_errors(replace(graph, poses=poses))
    return OptimisedGraph(_with_first_poses_of(graph.poses, poses, groups), used, errors, groups)


def least_squares_poses(graph: PoseGraph, parameters: PoseGraphParameters = POSE_GRAPH) -> Floats:
    """Poses that minimise the sum of squared errors over all edges, without a robust kernel.

    Parameters
    ----------
    graph : PoseGraph
        Its poses are the initial estimate.
    parameters : PoseGraphParameters, default POSE_GRAPH

    Returns
    -------
    (N, 4, 4) ndarray
        The first pose of each group is unchanged.
    """
    fixed = _first_of_each(connected_groups(graph.pairs, len(graph.poses)))
    return _levenberg_marquardt(graph, fixed, np.inf, parameters.max_iterations, parameters)


def jacobians(graph: PoseGraph) -> tuple[Floats, Floats]:
    """Derivatives of the residuals with respect to the poses of source and target, by the chart of `retract`.

    Parameters
    ----------
    graph : PoseGraph

    Returns
    -------
    of_source, of_target : (E, 6, 6) ndarray
    """
    errors, transforms = error_transforms(graph), graph.transforms
    rotation = errors[:, :3, :3]
    inner = _inverse_right_jacobian(rotation_vectors(rotation))
    of_source, of_target = np.zeros((2, len(errors), 6, 6))
    of_source[:, :3, :3] = inner @ transforms[:, :3, :3]
    of_source[:, 3:, :3] = rotation @ cross_matrices(transforms[:, :3, 3]) @ transforms[:, :3, :3]
    of_source[:, 3:, 3:] = rotation @ transforms[:, :3, :3]
    of_target[:, :3, :3] = -inner.transpose(0, 2, 1)
    of_target[:, 3:, :3] = cross_matrices(errors[:, :3, 3])
    of_target[:, 3:, 3:] = -np.eye(3)
    return of_source, of_target


def retract(poses: Floats, steps: Floats) -> Floats:
    """Move poses by small steps in their own frames: R becomes R exp(w), t becomes t + R v.

    Parameters
    ----------
    poses : (N, 4, 4) ndarray
    steps : (N, 6) ndarray
        Rotation vector w (radians) and translation v of each pose.

    Returns
    -------
    (N, 4, 4) ndarray
    """
    from scipy.spatial.transform import Rotation

    moved: Floats = poses.copy()
    moved[:, :3, 3] += np.einsum("nij,nj->ni", poses[:, :3, :3], steps[:, 3:])
    moved[:, :3, :3] = poses[:, :3, :3] @ Rotation.from_rotvec(steps[:, :3]).as_matrix()
    return moved


def _graduated_non_convexity(graph: PoseGraph, fixed: Mask, width: float, parameters: PoseGraphParameters) -> Floats:
    """Poses after minimisation with kernels from this width down to the outlier threshold."""
    threshold = parameters.outlier_threshold
    while width > threshold:
        poses = _levenberg_marquardt(graph, fixed, width, parameters.iterations_per_width, parameters)
        graph = replace(graph, poses=poses)
        width = max(width / parameters.kernel_shrinkage, threshold)
    return _levenberg_marquardt(graph, fixed, threshold, parameters.max_iterations, parameters)


def _levenberg_marquardt(
    graph: PoseGraph, fixed: Mask, width: float, iterations: int, parameters: PoseGraphParameters
) -> Floats:
    """Minimise the sum of rho(r^2) with a kernel of this width over the poses that are not fixed."""
    from scipy.sparse.linalg import splu

    tolerance = parameters.tolerance if np.isinf(width) else parameters.robust_tolerance
    poses, damping = graph.poses, parameters.initial_damping
    errors = squared_errors(graph)
    cost = float((errors / (1 + errors / width)).sum())
    for _ in range(iterations):
        # Weights of iteratively reweighted least squares: the derivative of rho.
        hessian, gradient = _normal_equations(replace(graph, poses=poses), fixed, (1 + errors / width) ** -2)
        diagonal = hessian.diagonal()
        if not diagonal.any() or cost <= parameters.rounding * len(errors):
            break
        before = cost
        while damping < parameters.max_damping:
            damped = hessian.copy()
            damped.setdiag(diagonal * (1 + damping) + parameters.regularisation * diagonal.max())
            steps = np.zeros((len(poses), 6))
            steps[~fixed] = -splu(damped.tocsc(), permc_spec="MMD_AT_PLUS_A").solve(gradient).reshape(-1, 6)
            trial = replace(graph, poses=retract(poses, steps))
            trial_errors = squared_errors(trial)
            trial_cost = float((trial_errors / (1 + trial_errors / width)).sum())
            if trial_cost < cost:
                poses, errors, cost = trial.poses, trial_errors, trial_cost
                damping = max(damping / parameters.damping_factor, parameters.min_damping)
                break
            damping *= parameters.damping_factor
        if not before - cost > tolerance * before:
            break
    return poses


def _normal_equations(graph: PoseGraph, fixed: Mask, weights: Floats) -> tuple[Any, Floats]:
    """Sparse Gauss-Newton matrix J^T W J and gradient J^T W r over the poses that are not fixed."""
    from scipy.sparse import coo_array

    derivatives = jacobians(graph)
    errors = residuals(graph)
    information = graph.information * weights[:, None, None]
    block_of = np.cumsum(~fixed) - 1
    count = int(np.count_nonzero(~fixed))
    gradient = np.zeros((count, 6))
    rows, columns, blocks = [], [], []
    for a, first in enumerate(derivatives):
        weighted = first.transpose(0, 2, 1) @ information
        ends = graph.pairs[:, a]
        np.add.at(gradient, block_of[ends[~fixed[ends]]], np.einsum("eij,ej->ei", weighted, errors)[~fixed[ends]])
        for b, second in enumerate(derivatives):
            others = graph.pairs[:, b]
            both = ~fixed[ends] & ~fixed[others]
            rows.append(block_of[ends[both]])
            columns.append(block_of[others[both]])
            blocks.append((weighted @ second)[both])
    row, column, block = np.concatenate(rows), np.concatenate(columns), np.concatenate(blocks)
    within = np.arange(6)
    indices = (6 * row[:, None, None] + within[:, None], 6 * column[:, None, None] + within)
    positions = [np.broadcast_to(index, block.shape).ravel() for index in indices]
    hessian = coo_array((block.ravel(), positions), shape=(6 * count, 6 * count)).tocsr()
    return hessian, gradient.ravel()


def _inverse_right_jacobian(vectors: Floats) -> Floats:
    """Derivative of the rotation vector of R exp(w) with respect to a small w; vectors (N, 3) are those of R."""
    angle = np.linalg.norm(vectors, axis=1)
    half = angle / 2
    near = angle < 1e-4
    safe = np.where(near, 1.0, half)
    factor = np.where(near, 1 / 12 + angle**2 / 720, (1 - safe / np.tan(safe)) / (4 * safe**2))
    cross = cross_matrices(vectors)
    jacobian: Floats = np.eye(3) + cross / 2 + factor[:, None, None] * (cross @ cross)
    return jacobian


def _require_valid(graph: PoseGraph) -> None:
    """Refuse a bad graph once, before it is optimised."""
    count, edges, ends = len(as_poses(graph.poses)), len(graph.pairs), np.asarray(graph.pairs)
    for name, shape in (("pairs", (edges, 2)), ("transforms", (edges, 4, 4)), ("information", (edges, 6, 6))):
        if edges and np.shape(getattr(graph, name)) != shape:
            raise InputError(f"{name}: expected shape {shape}, got {np.shape(getattr(graph, name))}")
    if not edges:
        return
    if ends.dtype.kind not in "iu" or ends.min() < 0 or ends.max() >= count:
        raise InputError(f"pairs: expected numbers of poses from 0 to {count - 1}, got {ends.min()} to {ends.max()}")
    if (same := ends[:, 0] == ends[:, 1]).any():
        edge = int(np.flatnonzero(same)[0])
        raise InputError(f"pairs[{edge}]: joins pose {ends[edge, 0]} to itself")
    as_poses(graph.transforms, "transforms")
    if not np.isfinite(graph.information).all():
        raise InputError("information: expected finite numbers")


def _first_of_each(groups: Groups) -> Mask:
    """(N,) of bool: the first pose of each group, which fixes its frame."""
    fixed = np.zeros(sum(map(len, groups)), bool)
    fixed[[group[0] for group in groups]] = True
    return fixed


def _with_first_poses_of(reference: Floats, poses: Floats, groups: Groups) -> Floats:
    """Poses with each group transformed as a whole, so that its first pose is that of the reference."""
    result: Floats = poses.copy()
    for group in groups:
        rows = list(group)
        correction = reference[group[0]] @ inverses(poses[group[0]][None])[0]
        result[rows] = correction @ poses[rows]
        result[group[0]] = reference[group[0]]
    return result

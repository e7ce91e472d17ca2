"""Pose graph optimisation: the poses on which the edges agree, and the edges that contradict the others.

`optimise` minimises the sum of squared errors (see `pose_graph`) over the edges that are right. Which those are is
identified during the optimisation by graduated non-convexity with the kernel of Geman and McClure,

    rho(r^2) = r^2 / (1 + r^2 / w)

The width w is large at first, so that all edges count, and shrinks to the threshold of an outlier. Each width is a
non-linear least-squares problem on SE(3), solved by Levenberg-Marquardt with sparse normal equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.multiscan.pose_graph import (
    POSE_GRAPH,
    Groups,
    PoseGraphParameters,
    anchors,
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

ALL_DOF = (True,) * 6


@dataclass(frozen=True, eq=False)
class OptimisedGraph:
    """Result of `optimise`.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
        Fixed poses, and the first of each group without one, are unchanged.
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


def optimise(
    graph: PoseGraph,
    parameters: PoseGraphParameters = POSE_GRAPH,
    *,
    fixed: Mask | None = None,
    dof: Sequence[bool] = ALL_DOF,
    certain: Mask | None = None,
    trust: Floats | None = None,
) -> OptimisedGraph:
    """Optimise a pose graph robustly.

    A wrong edge can be recognised only if it is part of a loop, and which edge of a loop is wrong only by another loop.

    Parameters
    ----------
    graph : PoseGraph
        Its poses are the initial estimate.
    parameters : PoseGraphParameters, default POSE_GRAPH
    fixed : (N,) ndarray of bool, optional
        Poses that are known and stay. By default the first of each group.
    dof : sequence of six bool, default all
        Rotations about and translations along the axes of its own frame by which a pose may change.
    certain : (E,) ndarray of bool, optional
        Edges that are right, within their covariance, and are never rejected. By default none.
    trust : (E,) ndarray, optional
        What it costs to reject each edge, as a multiple of the threshold of an outlier; by default 1.

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
    free = free_steps(anchors(groups, fixed), dof)
    if certain is None:
        certain = np.zeros(len(graph.pairs), bool)
    threshold = np.where(certain, np.inf, parameters.outlier_threshold * (1.0 if trust is None else trust))
    # Three initialisations. From the poses of the graph with a wide kernel all edges count at first, which suits drift
    # that has accumulated. With the narrow kernel only what fits counts, which suits edges that are grossly wrong: from
    # the poses of the graph, and from a spanning tree of edges that short loops confirm. The lowest truncated cost
    # wins.
    widest = max(parameters.outlier_threshold, 2 * float(squared_errors(graph).max()))
    confirmed = np.where(certain, np.inf, loop_support(graph, parameters))
    solutions = []
    for initial, wider in (
        (graph.poses, widest / parameters.outlier_threshold),
        (graph.poses, 1.0),
        (spanning_tree_poses(graph, confirmed, fixed), 1.0),
    ):
        poses = _graduated_non_convexity(replace(graph, poses=initial), free, threshold, wider, parameters)
        errors = squared_errors(replace(graph, poses=poses))
        solutions.append((float(np.minimum(errors, threshold).sum()), poses, errors <= threshold))
    _, poses, used = min(solutions, key=lambda solution: solution[0])
    inliers = subgraph(replace(graph, poses=poses), used)
    groups = connected_groups(inliers.pairs, count)
    known = anchors(groups, fixed)
    poses = least_squares_poses(inliers, parameters, free_steps(known, dof))
    errors = squared_errors(replace(graph, poses=poses))
    return OptimisedGraph(_with_known_poses_of(graph.poses, poses, groups, known), used, errors, groups)


def free_steps(fixed: Mask, dof: Sequence[bool] = ALL_DOF) -> Mask:
    """By what each pose may change, (N, 6) of bool: rotations about and translations along its own axes."""
    return np.asarray(~fixed[:, None] & np.asarray(dof))


def least_squares_poses(
    graph: PoseGraph, parameters: PoseGraphParameters = POSE_GRAPH, free: Mask | None = None
) -> Floats:
    """Poses that minimise the sum of squared errors over all edges, without a robust kernel.

    Parameters
    ----------
    graph : PoseGraph
        Its poses are the initial estimate.
    parameters : PoseGraphParameters, default POSE_GRAPH
    free : (N, 6) ndarray of bool, optional
        By what each pose may change, see `free_steps`. By default all poses by everything, but the first of each group.

    Returns
    -------
    (N, 4, 4) ndarray
    """
    if free is None:
        free = free_steps(anchors(connected_groups(graph.pairs, len(graph.poses))))
    no_kernel = np.full(len(graph.pairs), np.inf)
    return _levenberg_marquardt(graph, free, no_kernel, parameters.max_iterations, parameters)


def step_covariances(
    graph: PoseGraph, free: Mask, pairs: Sequence[tuple[int, int]] = (), parameters: PoseGraphParameters = POSE_GRAPH
) -> tuple[Floats, Floats]:
    """Covariances of the steps that `retract` takes, at poses that minimise the squared errors: (J^T I J)^-1.

    Parameters
    ----------
    graph : PoseGraph
        At those poses.
    free : (N, 6) ndarray of bool
        By what each pose may change.
    pairs : sequence of (int, int), default ()
        Poses whose covariance with each other is wanted as well.
    parameters : PoseGraphParameters, default POSE_GRAPH

    Returns
    -------
    own : (N, 6, 6) ndarray
        Zero where a pose is not free; infinite or very large where nothing determines it.
    between : (len(pairs), 6, 6) ndarray
    """
    from scipy.sparse.linalg import splu

    own, between = np.zeros((len(free), 6, 6)), np.zeros((len(pairs), 6, 6))
    hessian, _ = _normal_equations(graph, free, np.ones(len(graph.pairs)))
    diagonal = hessian.diagonal()
    if not diagonal.any():
        return own, between
    # Lengths and angles may differ by many orders of magnitude: the equations are scaled to a unit diagonal.
    scale = 1 / np.sqrt(np.maximum(diagonal, parameters.regularisation * diagonal.max()))
    hessian = hessian.multiply(scale[:, None]).multiply(scale).tocsc()
    hessian.setdiag(hessian.diagonal() + parameters.regularisation)
    factors = splu(hessian.tocsc(), permc_spec="MMD_AT_PLUS_A")
    rows = np.where(free.ravel(), np.cumsum(free.ravel()) - 1, -1).reshape(-1, 6)
    partners: dict[int, list[tuple[int, int]]] = {}
    for number, (first, second) in enumerate(pairs):
        partners.setdefault(second, []).append((number, first))
    for node in np.flatnonzero(free.any(axis=1)).tolist():
        mine = rows[node][free[node]]
        units = np.zeros((len(scale), len(mine)))
        units[mine, np.arange(len(mine))] = scale[mine]
        columns = factors.solve(units) * scale[:, None]
        own[np.ix_([node], free[node], free[node])] = columns[mine]
        for number, other in partners.get(node, ()):
            between[np.ix_([number], free[other], free[node])] = columns[rows[other][free[other]]]
    return own, between


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


def _graduated_non_convexity(
    graph: PoseGraph, free: Mask, threshold: Floats, wider: float, parameters: PoseGraphParameters
) -> Floats:
    """Poses after minimisation with kernels from so many times wider than the outlier threshold down to it."""
    while wider > 1:
        poses = _levenberg_marquardt(graph, free, wider * threshold, parameters.iterations_per_width, parameters)
        graph = replace(graph, poses=poses)
        wider = max(wider / parameters.kernel_shrinkage, 1.0)
    return _levenberg_marquardt(graph, free, threshold, parameters.max_iterations, parameters)


def _levenberg_marquardt(
    graph: PoseGraph, free: Mask, width: Floats, iterations: int, parameters: PoseGraphParameters
) -> Floats:
    """Minimise the sum of rho(r^2), with a kernel of this width for each edge, over what the poses may change by."""
    from scipy.sparse.linalg import splu

    tolerance = parameters.tolerance if np.isinf(width).all() else parameters.robust_tolerance
    poses, damping = graph.poses, parameters.initial_damping
    errors = squared_errors(graph)
    cost = float((errors / (1 + errors / width)).sum())
    for _ in range(iterations):
        # Weights of iteratively reweighted least squares: the derivative of rho.
        hessian, gradient = _normal_equations(replace(graph, poses=poses), free, (1 + errors / width) ** -2)
        diagonal = hessian.diagonal()
        if not diagonal.any() or cost <= parameters.rounding * len(errors):
            break
        before = cost
        while damping < parameters.max_damping:
            damped = hessian.copy()
            damped.setdiag(diagonal * (1 + damping) + parameters.regularisation * diagonal.max())
            steps = np.zeros((len(poses), 6))
            steps[free] = -splu(damped.tocsc(), permc_spec="MMD_AT_PLUS_A").solve(gradient)
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


def _normal_equations(graph: PoseGraph, free: Mask, weights: Floats) -> tuple[Any, Floats]:
    """Sparse Gauss-Newton matrix J^T W J and gradient J^T W r over what the poses may change by."""
    from scipy.sparse import coo_array

    derivatives = jacobians(graph)
    errors = residuals(graph)
    information = graph.information * weights[:, None, None]
    unknown = np.where(free.ravel(), np.cumsum(free.ravel()) - 1, -1).reshape(-1, 6)
    count = int(np.count_nonzero(free))
    gradient = np.zeros((len(free), 6))
    rows, columns, blocks = [], [], []
    for a, first in enumerate(derivatives):
        weighted = first.transpose(0, 2, 1) @ information
        ends = graph.pairs[:, a]
        np.add.at(gradient, ends, np.einsum("eij,ej->ei", weighted, errors))
        for b, second in enumerate(derivatives):
            block = weighted @ second
            row = np.broadcast_to(unknown[ends][:, :, None], block.shape)
            column = np.broadcast_to(unknown[graph.pairs[:, b]][:, None, :], block.shape)
            wanted = (row >= 0) & (column >= 0)
            rows.append(row[wanted])
            columns.append(column[wanted])
            blocks.append(block[wanted])
    positions = np.concatenate(rows), np.concatenate(columns)
    hessian = coo_array((np.concatenate(blocks), positions), shape=(count, count)).tocsr()
    return hessian, gradient[free]


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


def _with_known_poses_of(reference: Floats, poses: Floats, groups: Groups, known: Mask) -> Floats:
    """Poses with each group transformed as a whole, so that its first known pose is that of the reference."""
    result: Floats = poses.copy()
    for group in groups:
        rows = list(group)
        anchor = next(node for node in group if known[node])
        correction = reference[anchor] @ inverses(poses[anchor][None])[0]
        result[rows] = correction @ poses[rows]
        result[anchor] = reference[anchor]
    result[known] = reference[known]
    return result

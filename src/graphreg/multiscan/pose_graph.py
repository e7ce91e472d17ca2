"""Poses from motions between pairs: a graph whose nodes are scans and whose edges are motions that were found.

An edge says x_t = Z x_s. For poses x_world = P x it is off by

    D = P_t^-1 P_s Z^-1,      r = (log of its turn, its shift),      r^2 = r^T I r

with the edge's information I, the inverse of its covariance. `optimise` looks for the poses with the least sum of r^2
over the edges that are right. Which those are is found on the way, by a kernel that lets go of what does not fit
(Geman and McClure), first wide, so that all edges pull, then as narrow as chance allows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.errors import InputError
from graphreg.poses import PoseGraph, as_poses, cross_matrices

Indices = NDArray[np.intp]

# r^2 of an edge that is right is larger only once in a thousand times: chi-squared with six degrees of freedom.
LIMIT = 22.458
# The kernel's width shrinks by this factor, with so many steps at each width.
NARROWER, STEPS_EACH = 4.0, 2
# Levenberg and Marquardt: steps at most; the share of the sum that a step must gain, while edges are told apart and at
# the end; a sum for each edge that is nothing but rounding; damping, first and at most.
MOST_STEPS, WORTH_IT, WORTH_IT_LAST, NOTHING = 100, 1e-4, 1e-12, 1e-16
DAMPING, MOST_DAMPING = 1e-6, 1e4


@dataclass(frozen=True, eq=False)
class Optimised:
    """What `optimise` found.

    poses    (N, 4, 4); the first of each group is where it was
    used     (E,) bool: the edges that fit; the others are wrong
    squared  (E,): r^2 of each edge, of those that are not used too
    groups   the numbers of poses that edges in use connect, largest group first
    """

    poses: Floats
    used: Mask
    squared: Floats
    groups: tuple[tuple[int, ...], ...]


def optimise(graph: PoseGraph) -> Optimised:
    """The poses that the edges agree on, and which edges do not agree.

    A wrong edge can only be told by a loop that it is part of, and which of its edges is the wrong one only by another
    loop.
    """
    _check(graph)
    if not len(graph.pairs):
        return Optimised(graph.poses, np.ones(0, bool), np.zeros(0), groups_of(graph))
    held = _first_of_each(groups_of(graph))
    found = []
    # All edges pull at first, which suits drift that has added up; or those that agree in small loops lay out the poses
    # and only what fits them pulls, which suits edges that are far off.
    widest = max(LIMIT, 2 * float(squared_errors(graph).max()))
    for start, width in ((graph.poses, widest), (spanning_poses(graph, agreement(graph)), LIMIT)):
        poses = start
        while width > LIMIT:
            poses = _descend(replace(graph, poses=poses), held, width, STEPS_EACH)
            width = max(width / NARROWER, LIMIT)
        poses = _descend(replace(graph, poses=poses), held, LIMIT, MOST_STEPS)
        errors = squared_errors(replace(graph, poses=poses))
        found.append((float(np.minimum(errors, LIMIT).sum()), poses, errors <= LIMIT))
    _, poses, used = min(found, key=lambda each: each[0])
    inner = _only(replace(graph, poses=poses), used)
    groups = groups_of(inner)
    poses = settle(inner)
    moved = replace(graph, poses=poses)
    return Optimised(_where_they_were(poses, graph.poses, groups), used, squared_errors(moved), groups)


def settle(graph: PoseGraph) -> Floats:
    """The poses near those of the graph that all of its edges agree on, none of them wrong.

    The first of each group stays where it is.
    """
    return _descend(graph, _first_of_each(groups_of(graph)), np.inf, MOST_STEPS)


def spanning_poses(graph: PoseGraph, trust: Floats) -> Floats:
    """Poses composed along the edges of a tree in each group, which takes the edges of most trust (E,).

    The first of each group stays where it was.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    count = len(graph.poses)
    poses: Floats = graph.poses.copy()
    if not len(graph.pairs):
        return poses
    # By rank, so that no two are alike and none is zero; of two edges between the same poses the better one counts.
    rank = np.empty(len(trust))
    rank[np.argsort(-np.asarray(trust), kind="stable")] = np.arange(1, len(trust) + 1)
    edge_of: dict[tuple[int, int], int] = {}
    for edge in np.argsort(rank):
        edge_of.setdefault(_unordered(graph.pairs[edge]), int(edge))
    chosen = np.array(list(edge_of.values()))
    # Older versions of scipy want small integers.
    source, target = graph.pairs[chosen].T.astype(np.int32)
    tree = minimum_spanning_tree(coo_array((rank[chosen], (source, target)), shape=(count, count)).tocsr())
    for group in groups_of(graph):
        order, parents = breadth_first_order(tree, group[0], directed=False)
        for node in order[1:]:
            parent = int(parents[node])
            edge = edge_of[_unordered((node, parent))]
            motion = graph.transforms[edge]
            forward = graph.pairs[edge, 0] == node  # the motion takes this node to its parent
            poses[node] = poses[parent] @ (motion if forward else _inverses(motion[None])[0])
    return poses


def agreement(graph: PoseGraph) -> Floats:
    """(E,): how many other edges bear each one out, in loops of three or by joining the same poses."""
    between: dict[int, dict[int, list[int]]] = {node: {} for node in range(len(graph.poses))}
    for edge, (source, target) in enumerate(graph.pairs.tolist()):
        between[source].setdefault(target, []).append(edge)
        between[target].setdefault(source, []).append(edge)
    loops = [  # each edge, and a way round it of one or two others
        (edge, way)
        for edge, (source, target) in enumerate(graph.pairs.tolist())
        for way in (
            *((other,) for other in between[source][target] if other != edge),
            *(
                (first, second)
                for middle in between[source].keys() & between[target].keys()
                for first in between[source][middle]
                for second in between[middle][target]
            ),
        )
    ]
    if not loops:
        return np.zeros(len(graph.pairs))
    backward = _inverses(graph.transforms)
    rows = np.array([edge for edge, _ in loops])
    at = graph.pairs[rows, 0]
    round_it = np.tile(np.eye(4), (len(loops), 1, 1))
    for step in range(2):
        edges = np.array([way[step] if step < len(way) else -1 for _, way in loops])
        forward = graph.pairs[edges, 0] == at
        motion = np.where(forward[:, None, None], graph.transforms[edges], backward[edges])
        taken = edges >= 0
        round_it[taken] = motion[taken] @ round_it[taken]
        at = np.where(taken, np.where(forward, graph.pairs[edges, 1], graph.pairs[edges, 0]), at)
    off = round_it @ backward[rows]
    errors = np.concatenate([_logs(off[:, :3, :3]), off[:, :3, 3]], axis=1)
    squared = np.einsum("ei,eij,ej->e", errors, graph.information[rows], errors)
    # The other edges are as uncertain as this one, about.
    return np.bincount(rows[squared <= 3 * LIMIT], minlength=len(graph.pairs)).astype(np.float64)


def rivals(graph: PoseGraph, used: Mask) -> Indices:
    """(N,): of the edges that are not in use, how many agree with each other on one other place for each pose."""
    refused = _only(graph, ~used)
    most = np.zeros(len(graph.poses), np.intp)
    for node in np.unique(refused.pairs):
        own = _only(refused, (refused.pairs == node).any(axis=1))
        for (source, target), motion in zip(own.pairs.tolist(), own.transforms, strict=True):
            poses = graph.poses.copy()
            poses[node] = poses[target] @ motion if source == node else poses[source] @ _inverses(motion[None])[0]
            # The others are as uncertain as this one, about.
            agree = squared_errors(replace(own, poses=poses)) <= 3 * LIMIT
            most[node] = max(most[node], np.count_nonzero(agree))
    return most


def groups_of(graph: PoseGraph) -> tuple[tuple[int, ...], ...]:
    """The numbers of poses that edges connect, the largest group first; of groups alike, that with the first pose."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(graph.poses)
    source, target = np.asarray(graph.pairs, np.int32).reshape(-1, 2).T
    joined = coo_array((np.ones(len(source)), (source, target)), shape=(count, count))
    labels = connected_components(joined, directed=False)[1]
    groups = [tuple(np.flatnonzero(labels == label).tolist()) for label in range(labels.max() + 1)]
    return tuple(sorted(groups, key=lambda group: (-len(group), group[0])))


def squared_errors(graph: PoseGraph) -> Floats:
    """r^2 of each edge: by how much it is off, in its own measure."""
    errors = residuals(graph)
    return np.asarray(np.einsum("ei,eij,ej->e", errors, graph.information, errors))


def residuals(graph: PoseGraph) -> Floats:
    """(E, 6): the turn and the shift by which each edge is off."""
    off = _gaps(graph)
    return np.concatenate([_logs(off[:, :3, :3]), off[:, :3, 3]], axis=1)


def derivatives(graph: PoseGraph) -> tuple[Floats, Floats]:
    """(E, 6, 6) twice: how residuals change with small motions, in its own frame, of the source and of the target.

    A pose moves as `moved` has it: its turn R becomes R exp(w), its shift t becomes t + R v.
    """
    off, motions = _gaps(graph), graph.transforms
    turn = off[:, :3, :3]
    inner = _inverse_right_jacobian(_logs(turn))
    of_source, of_target = np.zeros((2, len(off), 6, 6))
    of_source[:, :3, :3] = inner @ motions[:, :3, :3]
    of_source[:, 3:, :3] = turn @ cross_matrices(motions[:, :3, 3]) @ motions[:, :3, :3]
    of_source[:, 3:, 3:] = turn @ motions[:, :3, :3]
    of_target[:, :3, :3] = -inner.transpose(0, 2, 1)
    of_target[:, 3:, :3] = cross_matrices(off[:, :3, 3])
    of_target[:, 3:, 3:] = -np.eye(3)
    return of_source, of_target


def moved(poses: Floats, steps: Floats) -> Floats:
    """Poses after small motions (N, 6), turns then shifts, each in the pose's own frame."""
    from scipy.spatial.transform import Rotation

    there: Floats = poses.copy()
    there[:, :3, 3] += np.einsum("nij,nj->ni", poses[:, :3, :3], steps[:, 3:])
    there[:, :3, :3] = poses[:, :3, :3] @ Rotation.from_rotvec(steps[:, :3]).as_matrix()
    return there


def _descend(graph: PoseGraph, held: Mask, width: float, most: int) -> Floats:
    """Steps of Levenberg and Marquardt down the sum of r^2 / (1 + r^2 / width); held poses stay."""
    from scipy.sparse.linalg import splu

    poses, damping = graph.poses, DAMPING
    errors = squared_errors(graph)
    cost = float((errors / (1 + errors / width)).sum())
    for _ in range(most):
        equations, slope = _normal_equations(replace(graph, poses=poses), held, (1 + errors / width) ** -2)
        diagonal = equations.diagonal()
        if not diagonal.any() or cost <= NOTHING * len(errors):
            break
        before = cost
        while damping < MOST_DAMPING:
            damped = equations.copy()
            damped.setdiag(diagonal * (1 + damping) + 1e-15 * diagonal.max())
            steps = np.zeros((len(poses), 6))
            steps[~held] = -splu(damped.tocsc(), permc_spec="MMD_AT_PLUS_A").solve(slope).reshape(-1, 6)
            trial = replace(graph, poses=moved(poses, steps))
            tried = squared_errors(trial)
            reached = float((tried / (1 + tried / width)).sum())
            if reached < cost:
                poses, errors, cost, damping = trial.poses, tried, reached, max(damping / 10, 1e-12)
                break
            damping *= 10
        if not before - cost > (WORTH_IT_LAST if np.isinf(width) else WORTH_IT) * before:
            break
    return poses


def _normal_equations(graph: PoseGraph, held: Mask, weights: Floats) -> tuple[Any, Floats]:
    """The sparse matrix and the right side, over the poses that may move."""
    from scipy.sparse import coo_array

    jacobians = derivatives(graph)
    errors = residuals(graph)
    information = graph.information * weights[:, None, None]
    place = np.cumsum(~held) - 1
    free = int(np.count_nonzero(~held))
    slope = np.zeros((free, 6))
    rows, columns, blocks = [], [], []
    for a, first in enumerate(jacobians):
        pulled = first.transpose(0, 2, 1) @ information
        ends = graph.pairs[:, a]
        np.add.at(slope, place[ends[~held[ends]]], np.einsum("eij,ej->ei", pulled, errors)[~held[ends]])
        for b, second in enumerate(jacobians):
            others = graph.pairs[:, b]
            both = ~held[ends] & ~held[others]
            rows.append(place[ends[both]])
            columns.append(place[others[both]])
            blocks.append((pulled @ second)[both])
    row, column, block = np.concatenate(rows), np.concatenate(columns), np.concatenate(blocks)
    inside = np.arange(6)
    at = (6 * row[:, None, None] + inside[:, None], 6 * column[:, None, None] + inside)
    where = [np.broadcast_to(index, block.shape).ravel() for index in at]
    equations = coo_array((block.ravel(), where), shape=(6 * free, 6 * free)).tocsr()
    return equations, slope.ravel()


def _check(graph: PoseGraph) -> None:
    """Bad graphs are refused here, once, and not in each of the many that a descent makes."""
    count, edges, ends = len(as_poses(graph.poses)), len(graph.pairs), np.asarray(graph.pairs)
    for name, shape in (("pairs", (edges, 2)), ("transforms", (edges, 4, 4)), ("information", (edges, 6, 6))):
        if edges and np.shape(getattr(graph, name)) != shape:
            raise InputError(f"{name}: expected shape {shape}, got {np.shape(getattr(graph, name))}")
    if not edges:
        return
    if ends.dtype.kind not in "iu" or ends.min() < 0 or ends.max() >= count:
        raise InputError(f"pairs: expected numbers of poses from 0 to {count - 1}, got {ends.min()} to {ends.max()}")
    if (alike := ends[:, 0] == ends[:, 1]).any():
        edge = int(np.flatnonzero(alike)[0])
        raise InputError(f"pairs[{edge}]: joins pose {ends[edge, 0]} to itself")
    as_poses(graph.transforms, "transforms")
    if not np.isfinite(graph.information).all():
        raise InputError("information: expected finite numbers")


def _gaps(graph: PoseGraph) -> Floats:
    """D of each edge."""
    source, target = graph.pairs.T
    return np.asarray(_inverses(graph.poses[target]) @ graph.poses[source] @ _inverses(graph.transforms))


def _only(graph: PoseGraph, chosen: Mask) -> PoseGraph:
    return PoseGraph(graph.poses, graph.pairs[chosen], graph.transforms[chosen], graph.information[chosen])


def _first_of_each(groups: tuple[tuple[int, ...], ...]) -> Mask:
    held = np.zeros(sum(map(len, groups)), bool)
    held[[group[0] for group in groups]] = True
    return held


def _where_they_were(poses: Floats, before: Floats, groups: tuple[tuple[int, ...], ...]) -> Floats:
    """Each group moved as a whole, so that its first pose is where it was before."""
    result: Floats = poses.copy()
    for group in groups:
        rows = list(group)
        back = before[group[0]] @ _inverses(poses[group[0]][None])[0]
        result[rows] = back @ poses[rows]
        result[group[0]] = before[group[0]]
    return result


def _unordered(pair: Any) -> tuple[int, int]:
    first, second = sorted(map(int, pair))
    return first, second


def _inverses(motions: Floats) -> Floats:
    result = np.zeros_like(motions)
    result[:, :3, :3] = motions[:, :3, :3].transpose(0, 2, 1)
    result[:, :3, 3] = -np.einsum("nji,nj->ni", motions[:, :3, :3], motions[:, :3, 3])
    result[:, 3, 3] = 1
    return result


def _logs(turns: Floats) -> Floats:
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(turns).as_rotvec())


def _inverse_right_jacobian(vectors: Floats) -> Floats:
    """How the logarithm v of a turn changes when the turn is followed by a small one in its own frame."""
    angle = np.linalg.norm(vectors, axis=1)
    half = angle / 2
    near = angle < 1e-4
    safe = np.where(near, 1.0, half)
    factor = np.where(near, 1 / 12 + angle**2 / 720, (1 - safe / np.tan(safe)) / (4 * safe**2))
    cross = cross_matrices(vectors)
    jacobian: Floats = np.eye(3) + cross / 2 + factor[:, None, None] * (cross @ cross)
    return jacobian

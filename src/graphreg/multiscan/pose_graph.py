"""Questions that a pose graph answers without moving a pose: errors of edges, groups, spanning trees, loops.

The nodes of a `PoseGraph` are scans, its edges are relative transforms from registrations. An edge measures
x_t = Z x_s. With poses x_world = P x its error is

    D = P_t^-1 P_s Z^-1,      r = (rotation vector of D, translation of D),      r^2 = r^T I r

where I is the information matrix of the edge, the inverse of its covariance. `pose_graph_optimisation` minimises the
sum of r^2 over the edges that are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats, Mask
from graphreg.poses import PoseGraph

Groups = tuple[tuple[int, ...], ...]
"""Numbers of the poses of each connected component, the largest first."""


@dataclass(frozen=True)
class PoseGraphParameters:
    """Constants of pose graph optimisation; r^2 is the squared error of an edge by its information matrix."""

    # r^2 above which an edge is an outlier. Derived: chi-squared with six degrees of freedom exceeds it with
    # probability 0.001.
    outlier_threshold: float = 22.458
    # The threshold on the error of a loop of three edges, and on that of an edge against the pose that another one
    # proposes, is this multiple of `outlier_threshold`. Derived: the other edges are about as uncertain as this one.
    edges_in_loop: float = 3.0
    # Graduated non-convexity: factor by which the width of the robust kernel shrinks, and iterations at each width.
    # Chosen.
    kernel_shrinkage: float = 4.0
    iterations_per_width: int = 2
    # Levenberg-Marquardt: iterations at most. Chosen.
    max_iterations: int = 100
    # Relative decrease of the cost below which it stops, with a robust kernel and without one. Chosen.
    robust_tolerance: float = 1e-4
    tolerance: float = 1e-12
    # Cost per edge that is rounding only. Chosen.
    rounding: float = 1e-16
    # Damping at the start, its bounds, and the factor by which it changes after each step. Chosen.
    initial_damping: float = 1e-6
    min_damping: float = 1e-12
    max_damping: float = 1e4
    damping_factor: float = 10.0
    # Added to the diagonal, as a share of its largest entry, so that unconstrained directions stay solvable. Chosen.
    regularisation: float = 1e-15


POSE_GRAPH = PoseGraphParameters()


def squared_errors(graph: PoseGraph) -> Floats:
    """Squared error r^2 = r^T I r of each edge.

    Parameters
    ----------
    graph : PoseGraph

    Returns
    -------
    (E,) ndarray
    """
    errors = residuals(graph)
    return np.asarray(np.einsum("ei,eij,ej->e", errors, graph.information, errors))


def residuals(graph: PoseGraph) -> Floats:
    """Residual r of each edge: the rotation vector (radians) and the translation of D.

    Parameters
    ----------
    graph : PoseGraph

    Returns
    -------
    (E, 6) ndarray
    """
    return twists(error_transforms(graph))


def error_transforms(graph: PoseGraph) -> Floats:
    """D = P_t^-1 P_s Z^-1 of each edge, (E, 4, 4)."""
    source, target = graph.pairs.T
    return np.asarray(inverses(graph.poses[target]) @ graph.poses[source] @ inverses(graph.transforms))


def connected_groups(pairs: NDArray[np.integer] | Sequence[tuple[int, int]], count: int) -> Groups:
    """Connected components of a graph.

    Parameters
    ----------
    pairs : (E, 2) array of int
        The two ends of each edge.
    count : int
        Number of nodes.

    Returns
    -------
    tuple of tuple of int
        Nodes of each component in ascending order. The largest component comes first; of several with the same size,
        the one with the lowest node.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    # Older versions of scipy take 32-bit indices only.
    source, target = np.asarray(pairs, np.int32).reshape(-1, 2).T
    adjacency = coo_array((np.ones(len(source)), (source, target)), shape=(count, count))
    labels = connected_components(adjacency, directed=False)[1]
    groups = [tuple(np.flatnonzero(labels == label).tolist()) for label in range(labels.max() + 1)]
    return tuple(sorted(groups, key=lambda group: (-len(group), group[0])))


def spanning_tree_poses(graph: PoseGraph, trust: Floats, fixed: Mask | None = None) -> Floats:
    """Poses composed along the spanning tree of each group that has the most trusted edges.

    Parameters
    ----------
    graph : PoseGraph
    trust : (E,) ndarray
        The higher, the sooner an edge becomes part of the tree.
    fixed : (N,) ndarray of bool, optional
        Poses that are known.

    Returns
    -------
    (N, 4, 4) ndarray
        Fixed poses are those of the graph; so is the first pose of a group that has none.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

    count = len(graph.poses)
    poses: Floats = graph.poses.copy()
    if not len(graph.pairs):
        return poses
    # Costs are ranks, so that no two are equal and none is zero. Of several edges between two poses the best counts.
    rank = np.empty(len(trust))
    rank[np.argsort(-np.asarray(trust), kind="stable")] = np.arange(1, len(trust) + 1)
    edge_between: dict[tuple[int, int], int] = {}
    for edge in np.argsort(rank):
        edge_between.setdefault(_unordered(graph.pairs[edge]), int(edge))
    best = np.array(list(edge_between.values()))
    source, target = graph.pairs[best].T.astype(np.int32)
    tree = minimum_spanning_tree(coo_array((rank[best], (source, target)), shape=(count, count)).tocsr())
    known = anchors(connected_groups(graph.pairs, count), fixed)
    for group in connected_groups(graph.pairs, count):
        root = next(node for node in group if known[node])
        order, parents = breadth_first_order(tree, root, directed=False)
        for node in order[1:]:
            if known[node]:
                continue
            parent = int(parents[node])
            edge = edge_between[_unordered((node, parent))]
            T_target_source = graph.transforms[edge]
            node_is_source = graph.pairs[edge, 0] == node
            poses[node] = poses[parent] @ (T_target_source if node_is_source else inverses(T_target_source[None])[0])
    return poses


def loop_support(graph: PoseGraph, parameters: PoseGraphParameters = POSE_GRAPH) -> Floats:
    """Number of short loops that confirm each edge.

    A loop consists of the edge and one other between the same poses, or two others through a third pose. It confirms
    the edge if the others, composed, give the same relative transform within their uncertainty.

    Parameters
    ----------
    graph : PoseGraph
        Its poses are not used.
    parameters : PoseGraphParameters, default POSE_GRAPH

    Returns
    -------
    (E,) ndarray
    """
    loops = _short_loops(graph)
    if not loops:
        return np.zeros(len(graph.pairs))
    backward = inverses(graph.transforms)
    closing = np.array([edge for edge, _ in loops])
    node = graph.pairs[closing, 0]
    composed = np.tile(np.eye(4), (len(loops), 1, 1))
    for step in range(2):
        edges = np.array([path[step] if step < len(path) else -1 for _, path in loops])
        forward = graph.pairs[edges, 0] == node
        transforms = np.where(forward[:, None, None], graph.transforms[edges], backward[edges])
        taken = edges >= 0
        composed[taken] = transforms[taken] @ composed[taken]
        node = np.where(taken, np.where(forward, graph.pairs[edges, 1], graph.pairs[edges, 0]), node)
    errors = twists(composed @ backward[closing])
    squared = np.einsum("ei,eij,ej->e", errors, graph.information[closing], errors)
    confirmed = squared <= parameters.edges_in_loop * parameters.outlier_threshold
    return np.bincount(closing[confirmed], minlength=len(graph.pairs)).astype(np.float64)


def alternative_support(graph: PoseGraph, used: Mask, parameters: PoseGraphParameters = POSE_GRAPH) -> NDArray[np.intp]:
    """Number of rejected edges that agree with each other on another pose of each node.

    Parameters
    ----------
    graph : PoseGraph
        With optimised poses.
    used : (E,) ndarray of bool
        Edges that are not rejected.
    parameters : PoseGraphParameters, default POSE_GRAPH

    Returns
    -------
    (N,) ndarray of int
        For the alternative pose with the most agreeing edges; 0 for a node without rejected edges.
    """
    rejected = subgraph(graph, ~used)
    most = np.zeros(len(graph.poses), np.intp)
    for node in np.unique(rejected.pairs):
        own = subgraph(rejected, (rejected.pairs == node).any(axis=1))
        for (source, target), transform in zip(own.pairs.tolist(), own.transforms, strict=True):
            poses = graph.poses.copy()
            poses[node] = poses[target] @ transform if source == node else poses[source] @ inverses(transform[None])[0]
            limit = parameters.edges_in_loop * parameters.outlier_threshold
            agreeing = squared_errors(replace(own, poses=poses)) <= limit
            most[node] = max(most[node], np.count_nonzero(agreeing))
    return most


def anchors(groups: Groups, fixed: Mask | None = None) -> Mask:
    """Poses that fix the frame of each group, (N,) of bool: those that are fixed, else its first."""
    chosen = np.zeros(sum(map(len, groups)), bool) if fixed is None else fixed.copy()
    for group in groups:
        if not chosen[list(group)].any():
            chosen[group[0]] = True
    return chosen


def subgraph(graph: PoseGraph, chosen: Mask) -> PoseGraph:
    """All poses of a graph with some of its edges, `chosen` (E,) of bool."""
    return PoseGraph(graph.poses, graph.pairs[chosen], graph.transforms[chosen], graph.information[chosen])


def inverses(transforms: Floats) -> Floats:
    """Inverse of each rigid transform, (N, 4, 4)."""
    result = np.zeros_like(transforms)
    result[:, :3, :3] = transforms[:, :3, :3].transpose(0, 2, 1)
    result[:, :3, 3] = -np.einsum("nji,nj->ni", transforms[:, :3, :3], transforms[:, :3, 3])
    result[:, 3, 3] = 1
    return result


def twists(transforms: Floats) -> Floats:
    """Rotation vector (radians) and translation of each rigid transform, (N, 6)."""
    return np.concatenate([rotation_vectors(transforms[:, :3, :3]), transforms[:, :3, 3]], axis=1)


def rotation_vectors(rotations: Floats) -> Floats:
    """Logarithm of each rotation matrix, (N, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(rotations).as_rotvec())


def _short_loops(graph: PoseGraph) -> list[tuple[int, tuple[int, ...]]]:
    """Each edge with every path of one or two other edges from its source to its target."""
    between: dict[int, dict[int, list[int]]] = {node: {} for node in range(len(graph.poses))}
    for edge, (source, target) in enumerate(graph.pairs.tolist()):
        between[source].setdefault(target, []).append(edge)
        between[target].setdefault(source, []).append(edge)
    return [
        (edge, path)
        for edge, (source, target) in enumerate(graph.pairs.tolist())
        for path in (
            *((other,) for other in between[source][target] if other != edge),
            *(
                (first, second)
                for middle in between[source].keys() & between[target].keys()
                for first in between[source][middle]
                for second in between[middle][target]
            ),
        )
    ]


def _unordered(pair: NDArray[np.integer] | tuple[int, int]) -> tuple[int, int]:
    first, second = sorted(map(int, pair))
    return first, second

"""The deformation graph: nodes on a cloud that move and rotate, and carry the points around them.

Sumner, Schmid, Pauly: Embedded deformation for shape manipulation. ACM TOG 26(3), 2007. A node g_j is moved to q_j and
rotated by R_j, and a point x goes to

    p(x) = sum_j w_j(x) (q_j + R_j (x - g_j)),    sum_j w_j(x) = 1,

with the nodes that are nearest along the graph of the cloud, and not across a gap: fingers that touch do not carry each
other. Where all nodes move by one rigid transform, every point does, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.poses import nearest_rotation

Indices = NDArray[np.intp]

# Rows of graph distances that are computed together, so that memory grows with the points alone.
DIJKSTRA_ENTRIES = 4_000_000


@dataclass(frozen=True)
class GraphParameters:
    """Constants of the deformation graph; all chosen.

    Attributes
    ----------
    carriers : int
        Nodes that carry a point.
    node_neighbours : int
        Neighbours of a node.
    cloud_neighbours : int
        Neighbours in the graph of the cloud, along which distances are measured.
    longest_edge : float
        Edges of the cloud's graph that are this times as long as its median edge are left out.
    reach : float
        Graph distance within which nodes are looked for, in node spacings.
    least_outward : float
        Normals have an outward side where the share that points away from the centroid exceeds the rest by this.
    facing : float
        Cosine of the angle between an edge through the body and the normals at its ends, at least.
    thickest : float
        Longest edge through the body, in node spacings.
    through_neighbours : int
        Nearest nodes that edges through the body may lead to.
    """

    carriers: int = 4
    node_neighbours: int = 6
    cloud_neighbours: int = 8
    longest_edge: float = 4.0
    reach: float = 3.0
    least_outward: float = 0.2
    facing: float = 0.3
    thickest: float = 2.5
    through_neighbours: int = 12


GRAPH = GraphParameters()


@dataclass(frozen=True, eq=False)
class DeformationGraph:
    """Nodes of a cloud, the edges between them, and the nodes that carry each point.

    Attributes
    ----------
    nodes : (K, 3) ndarray
        g_j, a subset of the points.
    edges : (E, 2) ndarray of int
        Pairs (j, k) of neighbouring nodes, in both directions.
    spacing : float
        Distance between neighbouring nodes.
    points : (N, 3) ndarray
        x_i.
    carriers : (N, C) ndarray of int
        The nodes that carry each point.
    weights : (N, C) ndarray
        w_ij; rows sum to 1.
    """

    nodes: Floats
    edges: Indices
    spacing: float
    points: Floats
    carriers: Indices
    weights: Floats


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions q (K, 3) and rotations R (K, 3, 3) of the nodes."""

    positions: Floats
    rotations: Floats


def node_spacing(points: Floats, count: int, threads: int) -> float:
    """The voxel size at which a cloud has about `count` voxels with points.

    Parameters
    ----------
    points : (N, 3) ndarray
    count : int
    threads : int

    Returns
    -------
    float
    """
    low = points.min(axis=0)
    size = float(np.ptp(points, axis=0).max()) / 4
    for _ in range(24):
        _, starts, _ = _core.group_by_voxel(np.ascontiguousarray(points - low), size, threads)
        if len(starts) - 1 >= count:
            break
        size *= 0.85
    return size


def build_graph(points: Floats, normals: Floats, spacing: float, threads: int) -> DeformationGraph:
    """Build the deformation graph of a cloud.

    Parameters
    ----------
    points : (N, 3) ndarray
        Without outliers.
    normals : (N, 3) ndarray
        Their signs agree along the surface. On a closed body nodes are also connected through its interior.
    spacing : float
        Distance between nodes, about.
    threads : int

    Returns
    -------
    DeformationGraph
    """
    rows = _sample_nodes(points, spacing, threads)
    distances = _cloud_graph(points, threads)
    near, far = _nearest_nodes(distances, rows, len(points), spacing)
    nodes = points[rows]
    # Points that no node reaches along the graph are carried by those nearest in space.
    tree = _core.Tree(nodes, threads)
    count = min(GRAPH.carriers + 1, len(nodes))
    straight, squared = tree.nearest(points, count, threads)
    unreached = ~np.isfinite(far[:, 0])
    near[unreached, :count], far[unreached, :count] = straight[unreached], np.sqrt(squared[unreached])
    far[unreached, count:] = np.inf
    carriers, weights = _carrier_weights(near, far)
    edges = _node_edges(near[rows], far[rows], nodes, threads)
    through = _edges_through(nodes, normals[rows], spacing, threads)
    edges = np.unique(np.vstack([edges, through, through[:, ::-1]]), axis=0)
    return DeformationGraph(nodes, edges, spacing, points, carriers, weights)


def _edges_through(nodes: Floats, normals: Floats, spacing: float, threads: int) -> Indices:
    """Edges through the interior of a body, between nodes whose outward normals face away from each other."""
    radial = nodes - nodes.mean(axis=0)
    outward = np.sign(np.einsum("ij,ij->i", radial, normals))
    if abs(outward.mean()) < GRAPH.least_outward:
        return np.empty((0, 2), np.intp)
    normals = normals * np.sign(outward.mean())
    k = min(GRAPH.through_neighbours + 1, len(nodes))
    near, squared = _core.Tree(nodes, threads).nearest(nodes, k, threads)
    first = np.repeat(np.arange(len(nodes)), k - 1)
    second = near[:, 1:].ravel().astype(np.intp)
    run = nodes[second] - nodes[first]
    length = np.sqrt(squared[:, 1:].ravel())
    away = np.einsum("ij,ij->i", run, normals[first]) < -GRAPH.facing * length
    away &= np.einsum("ij,ij->i", run, normals[second]) > GRAPH.facing * length
    away &= length < GRAPH.thickest * spacing
    return np.column_stack([first[away], second[away]])


def _sample_nodes(points: Floats, spacing: float, threads: int) -> Indices:
    """The point of each voxel that is nearest to the mean of the points in it."""
    order, starts, _ = _core.group_by_voxel(np.ascontiguousarray(points - points.min(axis=0)), spacing, threads)
    means = _core.voxel_means(points, order, starts, threads)
    voxel = np.repeat(np.arange(len(means)), np.diff(starts))
    away = ((points[order] - means[voxel]) ** 2).sum(axis=1)
    best = np.lexsort((order, away, voxel))
    return np.sort(order[best[starts[:-1]]]).astype(np.intp)


def _cloud_graph(points: Floats, threads: int) -> Any:
    """The k-nearest-neighbour graph of a cloud with its edge lengths, without the longest edges."""
    from scipy.sparse import csr_array

    k = min(GRAPH.cloud_neighbours, len(points) - 1)
    neighbours = _core.Tree(points, threads).graph(k, threads)
    lengths = np.linalg.norm(points[neighbours] - points[:, None], axis=2)
    kept = lengths <= GRAPH.longest_edge * np.median(lengths)
    first = np.repeat(np.arange(len(points)), k).reshape(-1, k)[kept]
    # An edge of no length would be no edge of a sparse graph.
    values = np.maximum(lengths[kept], 1e-12)
    graph = csr_array((values, (first, neighbours[kept])), shape=(len(points), len(points)))
    return graph.maximum(graph.T)


def _nearest_nodes(graph: Any, rows: Indices, count: int, spacing: float) -> tuple[Indices, Floats]:
    """The nearest nodes of each point along the graph, nearest first, and their distances."""
    from scipy.sparse.csgraph import dijkstra

    kept = max(GRAPH.carriers, GRAPH.node_neighbours) + 1
    near = np.zeros((count, kept), np.intp)
    far = np.full((count, kept), np.inf)
    step = max(1, DIJKSTRA_ENTRIES // count)
    for begin in range(0, len(rows), step):
        block = dijkstra(graph, directed=False, indices=rows[begin : begin + step], limit=GRAPH.reach * spacing).T
        of = np.broadcast_to(np.arange(begin, begin + block.shape[1]), block.shape)
        if block.shape[1] > kept:
            best = np.argpartition(block, kept - 1, axis=1)[:, :kept]
            block, of = np.take_along_axis(block, best, 1), np.take_along_axis(of, best, 1)
        both, numbers = np.hstack([far, block]), np.hstack([near, of])
        best = np.argsort(both, axis=1, kind="stable")[:, :kept]
        far, near = np.take_along_axis(both, best, 1), np.take_along_axis(numbers, best, 1)
    return near, far


def _carrier_weights(near: Indices, far: Floats) -> tuple[Indices, Floats]:
    """Weights (1 - d / d_max)^2 of the nearest nodes; d_max is the distance of the first that does not carry."""
    count = GRAPH.carriers
    reached = np.isfinite(far)
    last = np.where(reached, far, -1.0)[:, : count + 1].max(axis=1)
    limit = np.where(reached[:, : count + 1].all(axis=1), last, 1.3 * last)
    limit = np.maximum(limit, 1e-12)[:, None]
    weights = np.where(reached[:, :count], np.maximum(1 - far[:, :count] / limit, 0) ** 2, 0.0)
    weights[:, 0] = np.maximum(weights[:, 0], 1e-6)
    carriers = np.where(reached[:, :count], near[:, :count], near[:, :1])
    return carriers, weights / weights.sum(axis=1, keepdims=True)


def _node_edges(near: Indices, far: Floats, nodes: Floats, threads: int) -> Indices:
    """Neighbours of the nodes along the graph, in both directions; separate parts are joined at their nearest nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = len(nodes)
    first = np.repeat(np.arange(count), near.shape[1]).reshape(near.shape)
    kept = np.isfinite(far) & (near != first)
    pairs = np.column_stack([first[kept], near[kept]])
    if count > 1:
        tree = _core.Tree(nodes, threads)
        some, _ = tree.nearest(nodes, min(3, count), threads)
        lonely = np.flatnonzero(np.bincount(pairs.ravel(), minlength=count) < 4)
        extra = [np.column_stack([lonely, some[lonely, c]]) for c in range(1, some.shape[1])]
        pairs = np.vstack([pairs, *extra])
        while True:
            graph = coo_array((np.ones(len(pairs)), pairs.T), shape=(count, count))
            parts, label = connected_components(graph, directed=False)
            if parts == 1:
                break
            small = np.flatnonzero(label == np.argmin(np.bincount(label)))
            others = np.flatnonzero(label != label[small[0]])
            k = min(3, len(others))
            nearest, squared = _core.Tree(np.ascontiguousarray(nodes[others]), threads).nearest(
                np.ascontiguousarray(nodes[small]), k, threads
            )
            best = np.argsort(squared[:, 0], kind="stable")[:3]
            joined = [np.column_stack([small[best], others[nearest[best, c]]]) for c in range(k)]
            pairs = np.vstack([pairs, *joined])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.unique(np.vstack([pairs, pairs[:, ::-1]]), axis=0)


def moved_rigidly(graph: DeformationGraph, transformation: Floats) -> Motion:
    """The motion of all nodes by one rigid transform."""
    R, t = transformation[:3, :3], transformation[:3, 3]
    return Motion(graph.nodes @ R.T + t, np.repeat(R[None], len(graph.nodes), axis=0))


def carried(graph: DeformationGraph, motion: Motion) -> Floats:
    """The positions p (N, 3) of the graph's points."""
    return carried_points(graph, motion, graph.points, graph.carriers, graph.weights)


def carried_points(
    graph: DeformationGraph, motion: Motion, points: Floats, carriers: Indices, weights: Floats
) -> Floats:
    """The positions of points (M, 3) that nodes (M, C) carry with weights (M, C)."""
    result = np.zeros_like(points)
    for c in range(carriers.shape[1]):
        node = carriers[:, c]
        offset = np.einsum("nij,nj->ni", motion.rotations[node], points - graph.nodes[node])
        result += weights[:, c, None] * (motion.positions[node] + offset)
    return result


def embedding(graph: DeformationGraph, points: Floats, threads: int, near: int = 3) -> tuple[Indices, Floats]:
    """Nodes and weights that carry any points: those of the nearest points of the graph, by inverse distance.

    Parameters
    ----------
    graph : DeformationGraph
    points : (M, 3) ndarray
    threads : int
    near : int, default 3
        Points of the graph that are averaged.

    Returns
    -------
    carriers : (M, C) ndarray of int
    weights : (M, C) ndarray
    """
    k = min(near, len(graph.points))
    nearest, squared = _core.Tree(graph.points, threads).nearest(np.ascontiguousarray(points), k, threads)
    share = 1 / (np.sqrt(squared) + 1e-9 * graph.spacing)
    share /= share.sum(axis=1, keepdims=True)
    carriers = graph.carriers[nearest].reshape(len(points), -1)
    weights = (graph.weights[nearest] * share[:, :, None]).reshape(len(points), -1)
    return carriers, weights


def refined(coarse: DeformationGraph, motion: Motion, fine: DeformationGraph, threads: int) -> Motion:
    """The motion of the nodes of a finer graph, from that of a coarser one."""
    carriers, weights = embedding(coarse, fine.nodes, threads)
    positions = carried_points(coarse, motion, fine.nodes, carriers, weights)
    blended = np.einsum("nc,ncij->nij", weights, motion.rotations[carriers])
    return Motion(positions, nearest_rotation(blended))

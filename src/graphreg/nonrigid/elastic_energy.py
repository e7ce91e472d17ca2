"""The elastic energy of a deformation graph, and damped implicit steps that lower it with the attraction.

With the edges (j, k) of the graph, g the nodes at rest, q and R their positions and rotations, h the node spacing,

    E_elastic = 1/|E| sum_jk ( |R_j (g_k - g_j) - (q_k - q_j)|^2 + beta h^2 |R_j - R_k|^2 ) / h^2

is the mean squared strain (as rigid as possible: Sorkine, Alexa 2007), plus bending. It is zero for rigid motions only.
An attraction (`graphreg.nonrigid.attraction`) is bounded from above by a quadratic sum_i (p_i - y_i)^T M_i (p_i - y_i)
at the current positions. A step solves

    (J^T J + mu D) d = -J^T r

for the displacements and rotations of all nodes by a sparse factorisation. It is taken where it lowers the energy, and
else shortened: the energy never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.nonrigid.deformation_graph import DeformationGraph, Motion
from graphreg.poses import cross_matrices

BENDING = 0.3
"""beta: stiffness of bending relative to stretching (chosen)."""


def elastic_energy(graph: DeformationGraph, motion: Motion) -> float:
    """Return E_elastic, the mean squared strain with bending."""
    if not len(graph.edges):
        return 0.0
    stretch, bend = edge_energies(graph, motion)
    return float((stretch + BENDING * bend).mean())


def edge_energies(graph: DeformationGraph, motion: Motion) -> tuple[Floats, Floats]:
    """Squared strain and squared difference of the rotations (E,) of each edge."""
    j, k = graph.edges.T
    rotated = np.einsum("nij,nj->ni", motion.rotations[j], graph.nodes[k] - graph.nodes[j])
    stretch = ((rotated - motion.positions[k] + motion.positions[j]) ** 2).sum(axis=1) / graph.spacing**2
    bend = ((motion.rotations[j] - motion.rotations[k]) ** 2).sum(axis=(1, 2))
    return np.asarray(stretch), np.asarray(bend)


@dataclass(frozen=True, eq=False)
class Bound:
    """A quadratic bound of the attraction: sum_i (p_i - y_i)^T M_i (p_i - y_i), with the resting points y_i.

    Attributes
    ----------
    metrics : (N, 3, 3) ndarray
        M_i, symmetric and positive semidefinite; zero for particles that nothing attracts.
    pulls : (N, 3) ndarray
        M_i y_i.
    """

    metrics: Floats
    pulls: Floats


class StepSolver:
    """Damped Gauss-Newton steps of the nodes of one graph; the sparsity pattern is computed once."""

    def __init__(self, graph: DeformationGraph) -> None:
        from scipy.sparse import csr_array

        self.graph = graph
        count, carriers = graph.carriers.shape
        of_points = np.stack(
            [np.repeat(graph.carriers, carriers, axis=1), np.tile(graph.carriers, (1, carriers))], axis=-1
        ).reshape(-1, 2)
        j, k = graph.edges.T
        of_edges = np.concatenate([np.stack(pair, axis=1) for pair in ((j, j), (j, k), (k, j), (k, k))])
        nodes = len(graph.nodes)
        keys = np.concatenate([of_points, of_edges]) @ np.array([nodes, 1])
        unique, block = np.unique(keys, return_inverse=True)
        self._rows, self._columns = unique // nodes, unique % nodes
        self._starts = np.searchsorted(self._rows, np.arange(nodes + 1))
        total = len(of_points)
        size = (len(unique), total)
        self._gather_points = csr_array((np.ones(total), (block[:total], np.arange(total))), shape=size)
        size = (len(unique), len(of_edges))
        self._gather_edges = csr_array((np.ones(len(of_edges)), (block[total:], np.arange(len(of_edges)))), shape=size)
        self._diagonal = np.searchsorted(unique, np.arange(nodes) * (nodes + 1))
        rows = np.arange(count * carriers)
        self._points_to_nodes = csr_array(
            (np.ones(len(rows)), (graph.carriers.ravel(), rows)), shape=(nodes, len(rows))
        )

    def equations(self, motion: Motion, positions: Floats, bound: Bound, stiffness: float) -> tuple[Floats, Floats]:
        """Blocks of J^T J (B, 6, 6) and J^T r (K, 6) of the bound and of stiffness times the elastic energy."""
        graph = self.graph
        nodes = len(graph.nodes)
        # d p_i = w_ij (dq_j + omega_j x a_ij), a_ij = R_j (x_i - g_j)
        arms = np.einsum(
            "ncij,ncj->nci", motion.rotations[graph.carriers], graph.points[:, None] - graph.nodes[graph.carriers]
        )
        weights = graph.weights[:, :, None, None]
        cross = cross_matrices(arms.reshape(-1, 3)).reshape(*arms.shape, 3)
        jacobian = np.concatenate([np.broadcast_to(np.eye(3), cross.shape), -cross], axis=3) * weights
        pulled = np.matmul(bound.metrics[:, None], jacobian)  # (N, C, 3, 6)
        count, carriers = graph.carriers.shape
        left = np.ascontiguousarray(jacobian.transpose(0, 1, 3, 2)).reshape(count, carriers * 6, 3)
        right = pulled.transpose(0, 2, 1, 3).reshape(count, 3, carriers * 6)
        products = np.matmul(left, right).reshape(count, carriers, 6, carriers, 6).transpose(0, 1, 3, 2, 4)
        blocks = self._gather_points @ products.reshape(-1, 36)
        residual = np.einsum("nij,nj->ni", bound.metrics, positions) - bound.pulls
        gradient = self._points_to_nodes @ np.einsum("ncij,ni->ncj", jacobian, residual).reshape(-1, 6)
        if len(graph.edges):
            edge_blocks, edge_gradient = _edge_equations(graph, motion)
            blocks += stiffness * (self._gather_edges @ edge_blocks)
            for side in (0, 1):
                for column in range(6):
                    gradient[:, column] += stiffness * np.bincount(
                        graph.edges[:, side], edge_gradient[side][:, column], nodes
                    )
        return blocks.reshape(-1, 6, 6), gradient

    def step(self, blocks: Floats, gradient: Floats, damping: float) -> Floats:
        """The step (K, 6) that solves the damped equations: displacements and rotation vectors of the nodes."""
        from scipy.sparse import bsr_array
        from scipy.sparse.linalg import splu

        nodes = len(self.graph.nodes)
        damped = blocks.copy()
        # Damping in the units of displacements; a rotation by one radian moves its surroundings by a node spacing.
        scale = np.array([1.0] * 3 + [self.graph.spacing**2] * 3)
        damped[self._diagonal[:, None], np.arange(6), np.arange(6)] += damping * scale
        matrix = bsr_array((damped, self._columns, self._starts), shape=(6 * nodes, 6 * nodes)).tocsc()
        options: dict[str, Any] = {"SymmetricMode": True}
        factor = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        return np.asarray(factor.solve(-gradient.ravel()).reshape(-1, 6))


def moved_by(motion: Motion, step: Floats) -> Motion:
    """The motion after a step (K, 6): displacements and rotation vectors of the nodes."""
    return Motion(motion.positions + step[:, :3], rotations_from_vectors(step[:, 3:]) @ motion.rotations)


def _edge_equations(graph: DeformationGraph, motion: Motion) -> tuple[Floats, tuple[Floats, Floats]]:
    """Blocks (4 E, 36) of the pairs jj, jk, kj, kk of all edges, and gradients (E, 6) of j and k."""
    j, k = graph.edges.T
    count = len(j)
    weight = 1 / (count * graph.spacing**2)
    arm = np.einsum("nij,nj->ni", motion.rotations[j], graph.nodes[k] - graph.nodes[j])
    residual = arm - motion.positions[k] + motion.positions[j]
    eye = np.broadcast_to(np.eye(3), (count, 3, 3))
    first = np.concatenate([eye, -cross_matrices(arm)], axis=2)
    second = np.concatenate([-eye, np.zeros((count, 3, 3))], axis=2)
    blocks = np.stack([np.matmul(a.transpose(0, 2, 1), b) for a in (first, second) for b in (first, second)]) * weight
    gradients = [np.einsum("nij,ni->nj", side, residual) * weight for side in (first, second)]
    # Bending: |R_j - R_k|^2 = |omega_j x u - omega_k x v + u - v|^2 over the columns u, v of R_j and R_k.
    bending = BENDING / count
    mixed = motion.rotations[j] @ motion.rotations[k].transpose(0, 2, 1)
    trace = np.einsum("nii->n", mixed)
    between = -(trace[:, None, None] * np.eye(3) - mixed.transpose(0, 2, 1))
    turn = np.column_stack(
        [mixed[:, 1, 2] - mixed[:, 2, 1], mixed[:, 2, 0] - mixed[:, 0, 2], mixed[:, 0, 1] - mixed[:, 1, 0]]
    )
    blocks[0, :, 3:, 3:] += 2 * bending * np.eye(3)
    blocks[3, :, 3:, 3:] += 2 * bending * np.eye(3)
    blocks[1, :, 3:, 3:] += bending * between
    blocks[2, :, 3:, 3:] += bending * between.transpose(0, 2, 1)
    gradients[0][:, 3:] -= bending * turn
    gradients[1][:, 3:] += bending * turn
    return blocks.reshape(-1, 36), (gradients[0], gradients[1])


def rotations_from_vectors(vectors: Floats) -> Floats:
    """Rotations (N, 3, 3) about the directions of vectors (N, 3) by their lengths (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=1)
    cross = cross_matrices(vectors)
    first = np.sinc(angle / np.pi)[:, None, None]
    second = (0.5 * np.sinc(angle / (2 * np.pi)) ** 2)[:, None, None]
    return np.asarray(np.eye(3) + first * cross + second * (cross @ cross))

"""The elastic energy: zero for rigid motions alone, and steps whose equations are its derivatives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.nonrigid.test_deformation_graph import GRAPH
from tests.support.strategies import random_transform, seeds

from graphreg.nonrigid.deformation_graph import Motion, carried, moved_rigidly
from graphreg.nonrigid.elastic_energy import Bound, StepSolver, elastic_energy, moved_by, rotations_from_vectors
from graphreg.poses import rotation_from_vector, transform


def random_motion(seed: int, size: float) -> Motion:
    rng = np.random.default_rng(seed)
    count = len(GRAPH.nodes)
    turns = rotations_from_vectors(rng.normal(size=(count, 3)) * size)
    return Motion(GRAPH.nodes + rng.normal(size=(count, 3)) * size, turns)


@given(seeds)
def test_rigid_motions_cost_nothing_and_others_do(seed: int) -> None:
    T = random_transform(seed, 5.0)
    assert elastic_energy(GRAPH, moved_rigidly(GRAPH, T)) < 1e-24
    motion = random_motion(seed, 0.1)
    energy = elastic_energy(GRAPH, motion)
    assert energy > 1e-3
    moved = Motion(transform(T, motion.positions), T[:3, :3] @ motion.rotations)
    assert np.isclose(elastic_energy(GRAPH, moved), energy, rtol=1e-9)


@given(seeds)
def test_rotations_from_vectors(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(4, 3)) * [[1e-9], [0.1], [1], [4]]
    assert np.allclose(rotations_from_vectors(vectors), [rotation_from_vector(v) for v in vectors], atol=1e-14)


def test_the_equations_are_the_derivatives_of_the_energy() -> None:
    """Differences of the energy along random directions, at a random motion and bound."""
    rng = np.random.default_rng(5)
    motion, count = random_motion(5, 0.05), len(GRAPH.points)
    root = rng.normal(size=(count, 3, 3))
    bound = Bound(root @ root.transpose(0, 2, 1) / count, rng.normal(size=(count, 3)) / count)
    stiffness = 0.7

    def energy(change: np.ndarray) -> float:
        there = Motion(motion.positions + change[:, :3], rotations_from_vectors(change[:, 3:]) @ motion.rotations)
        p = carried(GRAPH, there)
        quadratic = np.einsum("ni,nij,nj->", p, bound.metrics, p) - 2 * (bound.pulls * p).sum()
        return float(quadratic + stiffness * elastic_energy(GRAPH, there))

    _, gradient = StepSolver(GRAPH).equations(motion, carried(GRAPH, motion), bound, stiffness)
    for _ in range(5):
        direction = rng.normal(size=(len(GRAPH.nodes), 6))
        slope = (energy(1e-5 * direction) - energy(-1e-5 * direction)) / 2e-5
        assert np.isclose(slope, 2 * (gradient * direction).sum(), rtol=1e-6, atol=1e-8)


@given(seeds)
def test_a_step_towards_a_rigid_motion_arrives(seed: int) -> None:
    """All points are drawn to where a small rigid motion takes them: one step leaves only the second order."""
    T = random_transform(seed, 0.01)
    T[:3, :3] = rotation_from_vector(np.random.default_rng(seed).normal(size=3) * 1e-3)
    target = transform(T, GRAPH.points)
    metrics = np.repeat(np.eye(3)[None] / len(target), len(target), axis=0)
    rest = moved_rigidly(GRAPH, np.eye(4))
    solver = StepSolver(GRAPH)
    blocks, gradient = solver.equations(rest, GRAPH.points, Bound(metrics, target / len(target)), 1.0)
    moved = carried(GRAPH, moved_by(rest, solver.step(blocks, gradient, 1e-12)))
    assert np.abs(moved - target).max() < 1e-4

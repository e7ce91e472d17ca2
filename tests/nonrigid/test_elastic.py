"""The elastic method: the energy never rises, and points without a counterpart are carried along."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.nonrigid.test_attraction import SOURCE as PARTICLES
from tests.nonrigid.test_attraction import SURFACE
from tests.support.deforming_bodies import bent, bumpy_body
from tests.support.strategies import random_transform, seeds

from graphreg.nonrigid.deformation_graph import build_graph, carried, moved_rigidly, node_spacing
from graphreg.nonrigid.elastic import deform_elastic, relax, rotated_normals, total_energy
from graphreg.nonrigid.elastic_energy import StepSolver
from graphreg.nonrigid.local_correspondences import NO_CORRESPONDENCES
from graphreg.nonrigid.working_cloud import working_cloud

SOLVER = StepSolver(build_graph(PARTICLES.points, PARTICLES.normals, node_spacing(PARTICLES.points, 30, 1), 1))


@settings(max_examples=5)
@given(seeds)
def test_the_energy_never_rises(seed: int) -> None:
    """From any pose, near or far, and for any stiffness: a law."""
    rng = np.random.default_rng(seed)
    T = random_transform(seed, 0.3)
    if seed % 2:
        T[:3, :3] = np.eye(3)
    stiffness = 10 ** rng.uniform(-3, 2)
    motion, energies = relax(SOLVER, moved_rigidly(SOLVER.graph, T), PARTICLES.normals, SURFACE, stiffness, 4)
    assert all(after < before for before, after in itertools.pairwise(energies))
    assert total_energy(SOLVER.graph, motion, PARTICLES.normals, SURFACE, stiffness) == energies[-1]


def test_normals_rotate_with_the_body() -> None:
    T = random_transform(4, 1.0)
    rotated = rotated_normals(SOLVER.graph, moved_rigidly(SOLVER.graph, T), PARTICLES.normals)
    assert np.allclose(rotated, PARTICLES.normals @ T[:3, :3].T)


@pytest.mark.slow
def test_a_bent_body_with_a_hole_in_the_target() -> None:
    """Without correspondences of any pose, from a close one; the unseen end follows the seen part."""
    body, other = bumpy_body(700) / 2, bumpy_body(700, 1) / 2
    target = bent(2 * other, 0.5) / 2
    seen = target[other[:, 0] < 0.3]
    found = deform_elastic(working_cloud(body, 700, 1), working_cloud(seen, 700, 1), NO_CORRESPONDENCES, (np.eye(4),))
    moved, truth = carried(found.graph, found.motion), bent(2 * found.graph.points, 0.5) / 2
    before, after = (np.linalg.norm(points - truth, axis=1) for points in (found.graph.points, moved))
    seen_part = found.graph.points[:, 0] < 0.25
    assert np.median(after[seen_part]) < np.median(before[seen_part]) / 3
    assert after[~seen_part].mean() < before[~seen_part].mean()
    for stage in found.history:
        assert all(b <= a for a, b in zip(stage.energies, stage.energies[1:], strict=False))

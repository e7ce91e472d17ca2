"""Approximate symmetries: those of simple bodies, and motions after them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.deforming_bodies import bumpy_body
from tests.support.strategies import random_transform

import graphreg
from graphreg.datasets.deformed_bodies import deformed_pair
from graphreg.nonrigid.deformation_graph import build_graph, carried, moved_rigidly, node_spacing
from graphreg.nonrigid.deforming import METHODS
from graphreg.nonrigid.symmetries import after_symmetry, approximate_symmetries
from graphreg.nonrigid.working_cloud import working_cloud
from graphreg.poses import transform


def test_symmetries_follow_the_body() -> None:
    box = np.random.default_rng(0).uniform([-0.5, -0.3, -0.15], [0.5, 0.3, 0.15], (2000, 3))
    T = random_transform(3, 1.0)
    found = approximate_symmetries(transform(T, box))
    assert len(found) == 3
    for symmetry in found:
        assert np.allclose(symmetry @ symmetry, np.eye(4), atol=1e-12)
        back = np.linalg.inv(T) @ symmetry @ T
        # About an axis of the box, to the accuracy of the principal axes of 2,000 points.
        assert np.allclose(np.abs(np.diag(back)[:3]), 1, atol=0.02)
    assert not approximate_symmetries(bumpy_body(1000) / 2)


def test_a_rigid_motion_after_a_symmetry_is_rigid() -> None:
    cloud = working_cloud(bumpy_body(500) / 2, 500, 1)
    graph = build_graph(cloud.points, cloud.normals, node_spacing(cloud.points, 30, 1), 1)
    T, symmetry = random_transform(5, 1.0), np.diag([-1.0, -1.0, 1.0, 1.0])
    moved = after_symmetry(graph, moved_rigidly(graph, T), symmetry)
    assert np.allclose(carried(graph, moved), transform(T @ symmetry, graph.points), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_left_arm_is_not_taken_for_the_right_one(method: str) -> None:
    """Also where the rigid transform to begin with exchanges them: the right one has less energy."""
    pair = deformed_pair("figure walking", points=800, turned=False)
    extent = np.linalg.norm(np.ptp(pair.source, axis=0))
    symmetry = approximate_symmetries(pair.source / extent)[0]
    symmetry[:3, 3] *= extent
    found = graphreg.deform(pair.source, pair.target, method=method, init=symmetry)  # type: ignore[arg-type]
    assert np.quantile(np.linalg.norm(found.points - pair.truth, axis=1), 0.9) < 0.05 * extent

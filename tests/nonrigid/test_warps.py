"""Maps of space: stored and restored, and followed by the nodes of a graph."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.nonrigid.test_deformation_graph import BODY, GRAPH
from tests.nonrigid.test_elastic_energy import random_motion
from tests.support.strategies import random_transform

from graphreg.nonrigid.deformation_graph import moved_rigidly
from graphreg.nonrigid.warps import Frame, GaussianWarp, GraphWarp, Warp, motion_after, motion_of, warp_from_dict
from graphreg.poses import transform

FRAME = Frame(np.array([1.0, 2, 3]), np.array([-5.0, 0, 1]), 4.0)
COEFFICIENTS = np.random.default_rng(0).normal(size=(5, 3)) * 0.01
WARPS: tuple[Warp, ...] = (
    GraphWarp(FRAME, GRAPH, random_motion(3, 0.02)),
    GaussianWarp(FRAME, random_transform(1, 1.0), BODY[:5], COEFFICIENTS, 0.7),
)
POINTS = BODY[::7] * FRAME.unit + FRAME.source


@pytest.mark.parametrize("warp", WARPS)
def test_round_trip(warp: Warp) -> None:
    again = warp_from_dict(json.loads(json.dumps(warp.to_dict())))
    assert np.array_equal(again.apply(POINTS), warp.apply(POINTS))
    broken = {**warp.to_dict(), "frame": {"source": [0, 0], "target": [0, 0, 0], "unit": 1}}
    with pytest.raises(ValueError, match="shape"):
        warp_from_dict(broken)


def test_indices_of_missing_nodes_are_refused() -> None:
    values = WARPS[0].to_dict()
    values["carriers"][0][0] = 10**6
    with pytest.raises(ValueError, match="nodes"):
        warp_from_dict(values)


def test_a_graph_follows_a_rigid_map() -> None:
    T = random_transform(2, 1.0)
    motion = motion_of(GraphWarp(FRAME, GRAPH, moved_rigidly(GRAPH, T)), GRAPH, FRAME)
    assert np.allclose(motion.positions, transform(T, GRAPH.nodes))
    assert np.allclose(motion.rotations, T[:3, :3])


def test_a_motion_and_then_a_rigid_map() -> None:
    motion, T = random_motion(5, 0.02), random_transform(2, 1.0)
    frame = Frame(np.zeros(3), np.zeros(3), 1.0)
    moved = motion_after(GaussianWarp(frame, T, BODY[:1], np.zeros((1, 3)), 1.0), motion, GRAPH.spacing)
    assert np.allclose(moved.positions, transform(T, motion.positions))
    assert np.allclose(moved.rotations, T[:3, :3] @ motion.rotations)

"""Pose graphs around a circle, whose true poses are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphreg.clouds import Floats
from graphreg.metrics import angular_error, translation_error
from graphreg.multiscan.pose_graph import spanning_tree_poses
from graphreg.multiscan.pose_graph_optimisation import retract
from graphreg.poses import PoseGraph, inverse
from tests.support.strategies import random_transform

# Standard deviations of an edge: radians, and the unit of the data.
SIGMA = np.repeat([1e-3, 1e-2], 3)


def ring(count: int, seed: int = 0, noise: float = 0.0, reach: int = 2) -> tuple[PoseGraph, Floats]:
    """A graph of poses around a circle, each joined to the next `reach` ones, and the true poses.

    Edges have `noise` times the standard deviations that their information states. The poses of the graph are composed
    along its edges; the first is exact.
    """
    rng = np.random.default_rng(seed)
    truth = np.stack([random_transform(seed + n, 0) for n in range(count)])
    angle = 2 * np.pi * np.arange(count) / count
    truth[:, :3, 3] = count * np.stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=count)], axis=1)
    targets, steps = np.repeat(np.arange(count), reach), np.tile(np.arange(1, reach + 1), count)
    pairs = np.stack([(targets + steps) % count, targets], axis=1)
    exact = np.stack([inverse(truth[t]) @ truth[s] for s, t in pairs])
    errors = retract(np.tile(np.eye(4), (len(pairs), 1, 1)), noise * SIGMA * rng.normal(size=(len(pairs), 6)))
    information = np.tile(np.diag(SIGMA**-2), (len(pairs), 1, 1))
    graph = PoseGraph(truth, pairs, errors @ exact, information)
    return replace(graph, poses=spanning_tree_poses(graph, np.arange(len(pairs), 0, -1.0))), truth


def largest_errors(poses: Floats, truth: Floats) -> tuple[float, float]:
    """The largest rotation error, in degrees, and the largest translation error."""
    both = list(zip(poses, truth, strict=True))
    return max(angular_error(a, b) for a, b in both), max(translation_error(a, b) for a, b in both)

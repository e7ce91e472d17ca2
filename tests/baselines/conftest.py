"""Clouds that the tests of several baselines use."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg
from graphreg.datasets import synthetic
from graphreg.poses import inverse, pose, rotation_from_vector, transform


@pytest.fixture(scope="package")
def body() -> np.ndarray:
    """A scan of the hare with a spacing of 0.003, about its centroid."""
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, 0.003)
    return points - points.mean(axis=0)


@pytest.fixture(scope="package")
def coarse_body() -> np.ndarray:
    """A scan of the hare with a spacing of 0.004, about its centroid."""
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, 0.004)
    return points - points.mean(axis=0)


@pytest.fixture(scope="package")
def partial_overlap(body: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The body without its right fifth, the body without its left fifth, and a small transform between them.

    They share three quarters of either.
    """
    low, high = np.quantile(body[:, 0], [0.2, 0.8])
    truth = pose(rotation_from_vector(np.radians([1.0, 1.0, -1.0])), [0.001, 0.001, 0.0])
    return transform(inverse(truth), body[body[:, 0] < high]), body[body[:, 0] > low], truth

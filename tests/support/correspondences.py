"""Synthetic correspondences with outliers, for the methods that register correspondences."""

from __future__ import annotations

import numpy as np

from graphreg.baselines.baseline_run import BaselineRun
from graphreg.poses import transform
from tests.support.strategies import Floats, random_cloud, random_transform


def random_correspondences(outliers: float, noise: float, seed: int) -> tuple[Floats, Floats, Floats]:
    """A thousand points x, their correspondences y, and the transform between them; a share of y are outliers."""
    rng = np.random.default_rng(seed)
    x = random_cloud("blob", 1000, seed)
    truth = random_transform(seed + 1, 1.0)
    y = transform(truth, x) + noise * rng.uniform(-1, 1, x.shape)
    wrong = rng.permutation(1000)[: int(outliers * 1000)]
    y[wrong] = rng.normal(size=(len(wrong), 3)) * 3
    return x, y, truth


def run_with_voxel(x: Floats, y: Floats) -> tuple[BaselineRun, Floats]:
    """A run with a voxel size of 0.02 that starts at the identity, and the origin of its frame."""
    run = BaselineRun(x, y, 0.02, np.eye(4), 2, None)
    return run, run.outcome().target.mean(axis=0)

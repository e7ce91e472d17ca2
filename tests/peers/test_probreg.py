"""GMM against probreg: the same mixtures, start and optimiser."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

import graphreg
from graphreg.baselines.gmm import CONSTANTS, GmmSettings, L2Distance, register_gmm
from graphreg.baselines.mixtures import joint_spread
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose

pytest.importorskip("probreg", reason="probreg is not installed: see CONTRIBUTING.md")
from probreg import cost_functions, gauss_transform
from transforms3d import quaternions

# Coarse: probreg's sums over pairs are loops in Python.
VOXELS = 12
SCALE = 0.2


@pytest.fixture(autouse=True)
def sums_over_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """probreg sums Gaussians pair by pair, or, for all but tiny widths, by a series with an error of 1e-4, with which
    its optimiser does not converge."""
    pairs = partial(gauss_transform.GaussTransform, sw_h=np.inf)
    monkeypatch.setattr(gauss_transform, "GaussTransform", pairs)


def their_cost(at: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """probreg's objective and its gradient by (quaternion, translation).

    Its own gradient by the quaternion is wrong in two of 36 elements (0.3.8: the last diagonal element by y and by z),
    so that its optimiser ends before the minimum. Here it is computed from probreg's gradient by the points, which is
    half of the true one, and from finite differences of its rotation matrix.
    """
    width = np.sqrt(2) * SCALE  # theirs is the width of the product of both Gaussians
    density = (2 * np.pi * width**2) ** 1.5  # theirs is normalised to a density
    rotation = quaternions.quat2mat
    value, half = cost_functions.compute_l2_dist(
        x @ rotation(at[:4]).T + at[4:], np.full(len(x), density / len(x)), y, np.full(len(y), 1 / len(y)), width
    )
    step = 1e-6
    derivatives = [(rotation(at[:4] + step * e) - rotation(at[:4] - step * e)) / (2 * step) for e in np.eye(4)]
    by_quaternion = [float((2 * half.T @ x * derivative).sum()) for derivative in derivatives]
    return value, np.concatenate([by_quaternion, 2 * half.sum(axis=0)])


def test_gmm(scans: Path) -> None:
    for entry in json.loads((scans / "pairs.json").read_text()):
        if entry["kind"] != "object":
            continue
        source, target = (graphreg.read(scans / entry[end]) for end in ("source", "target"))
        voxel = float(max(np.ptp(cloud, axis=0).max() for cloud in (source, target))) / VOXELS
        found = register_gmm(source, target, GmmSettings(voxel=voxel, scales=(SCALE,)))
        centroids = found.source.mean(axis=0), found.target.mean(axis=0)
        unit = joint_spread(found.source, found.target)
        x, y = (found.source - centroids[0]) / unit, (found.target - centroids[1]) / unit
        start = np.array([1.0, 0, 0, 0, 0, 0, 0])
        for at in (np.array([0.9, 0.2, -0.3, 0.1, 0.2, -0.1, 0.3]), start):
            first, gradient = their_cost(at, x, y)
            ours, our_gradient = L2Distance(x, y, SCALE, 2)(at)
            assert ours == pytest.approx(first, rel=1e-6)
            np.testing.assert_allclose(our_gradient, gradient, atol=1e-5 * np.abs(gradient).max())
        theirs = optimize.minimize(
            lambda at, x=x, y=y, first=first: tuple(part / abs(first) for part in their_cost(at, x, y)),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=CONSTANTS.bounds,
            options={"maxiter": 100, "ftol": CONSTANTS.rounding, "gtol": 0.0},
        )
        found_there = cost_functions.RigidCostFunction().to_transformation(theirs.x)
        expected = pose(found_there.rot, unit * found_there.t + centroids[1] - found_there.rot @ centroids[0])
        assert angular_error(found.transformation, expected) < 0.05
        assert rmsd(found.transformation, expected, found.source) < 0.1 * voxel

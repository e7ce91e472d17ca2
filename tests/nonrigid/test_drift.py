"""Coherent point drift: the objective never rises, and a smooth displacement is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from tests.support.deforming_bodies import bent, bumpy_body

from graphreg.nonrigid.drift import deform_by_drift
from graphreg.nonrigid.warps import gaussians
from graphreg.nonrigid.working_cloud import working_cloud


@pytest.mark.slow
def test_a_bent_body() -> None:
    source = working_cloud(bumpy_body(800) / 2, 800, 1)
    target = working_cloud(bent(bumpy_body(800, 1), 0.4) / 2, 800, 1)
    found = deform_by_drift(source, target, np.eye(4))
    moved = source.points + gaussians(source.points, found.centres, found.width) @ found.coefficients
    truth = bent(2 * source.points, 0.4) / 2
    assert np.linalg.norm(moved - truth, axis=1).mean() < np.linalg.norm(source.points - truth, axis=1).mean()
    near = cKDTree(target.points)
    assert near.query(moved)[0].mean() < near.query(source.points)[0].mean()
    # Expectation maximisation; the sums are in single precision.
    energies = np.array(found.history[0].energies)
    assert (np.diff(energies) <= 1e-4 * np.abs(energies[:-1])).all()

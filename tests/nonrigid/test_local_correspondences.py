"""Correspondences with local support are mostly right, also where a body bends."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from tests.support.deforming_bodies import bent, bumpy_body

from graphreg.nonrigid.local_correspondences import supported_correspondences
from graphreg.registration import prepare_sample


def test_most_supported_correspondences_of_a_bent_body_are_right() -> None:
    source, other = bumpy_body(3000), bumpy_body(3000, 1)
    found = supported_correspondences(prepare_sample(source), prepare_sample(bent(other, 0.8)), 1)
    assert 20 < len(found) <= found.tried
    assert (found.charges > 0).all()
    assert (found.charges <= 1).all()
    nearest = cKDTree(source).query(found.source)[1]
    error = np.linalg.norm(bent(source, 0.8)[nearest] - found.target, axis=1)
    assert np.mean(error < 0.15) > 0.5

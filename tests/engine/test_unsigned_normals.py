"""Scores and refinement do not depend on the signs of normals; distinct poses differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.strategies import small_scan

from graphreg.engine.preprocessing import preprocess
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.engine.unsigned_normals import refine_unsigned, unsigned_scores
from graphreg.poses import pose, rotation_from_vector


@pytest.fixture(scope="module")
def surfels() -> Surfels:
    cloud = preprocess(small_scan("casting"), "scene")
    return fit_surfels(cloud.local_points, cloud.voxel_sizes.coarse)


def with_random_signs(surfels: Surfels) -> Surfels:
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(surfels))
    return replace(surfels, normals=surfels.normals * signs[:, None])


def nearby(angle: float, shift: float) -> np.ndarray:
    return pose(rotation_from_vector([angle, 0, angle]), [shift, -shift, shift])[None]


def test_the_identity_scores_best_and_far_poses_nothing(surfels: Surfels) -> None:
    poses = np.concatenate([np.eye(4)[None], nearby(0.05, 0.3), nearby(0.0, 1e3)])
    scores = unsigned_scores(poses, surfels, surfels, 1.0)
    plane = np.linalg.norm(surfels.normals, axis=1) > 0
    assert scores[0] == pytest.approx(plane.mean())
    assert scores[0] > scores[1] > scores[2] == 0
    assert unsigned_scores(np.empty((0, 4, 4)), surfels, surfels, 1.0).shape == (0,)


def test_signs_do_not_matter(surfels: Surfels) -> None:
    mixed = with_random_signs(surfels)
    poses = nearby(0.05, 0.3)
    assert np.allclose(unsigned_scores(poses, mixed, surfels, 1.0), unsigned_scores(poses, surfels, surfels, 1.0))
    kernel = (2.0, 1.5, 1.0, 0.7, 0.7)
    refined = refine_unsigned(poses, mixed, surfels, kernel, 2.0)
    assert np.allclose(refined, refine_unsigned(poses, surfels, surfels, kernel, 2.0))
    assert np.allclose(refined[0], np.eye(4), atol=0.05)
    assert refine_unsigned(np.empty((0, 4, 4)), mixed, surfels, kernel, 2.0).shape == (0, 4, 4)

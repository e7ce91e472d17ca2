"""Distance from the local surface of a cloud: exact for planes; the uncertainty of a pose as sampled poses show it."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg import InputError
from graphreg.comparison.cloud_distance import LOCAL_SURFACE, PoseUncertainty, cloud_distances
from graphreg.poses import pose, rotation_from_vector, transform

T = pose(rotation_from_vector([0.7, -0.2, 1.5]), [4e5, -5e6, 100])


def plane(seed: int, height: float, count: int = 400) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return np.c_[rng.uniform(0, 1, (count, 2)), np.full(count, height)]


@pytest.mark.parametrize("height", [-0.3, 0.3])
def test_planes_are_their_distance_apart_in_every_frame(height: float) -> None:
    normals = np.tile(T[:3, 2], (400, 1))
    moved = transform(T, plane(0, height)), transform(T, plane(1, 0.0))
    distances, level = cloud_distances(*moved, normals, None, 1)
    # Rounding of coordinates of 5e6.
    np.testing.assert_allclose(distances, height, atol=1e-6)
    assert level.max() < 1e-6
    unsigned, _ = cloud_distances(*moved, None, None, 1)
    np.testing.assert_allclose(unsigned, abs(height), atol=1e-6)


def test_the_level_follows_from_the_roughness_and_the_number_of_points() -> None:
    rng = np.random.default_rng(2)
    rough = [
        plane(seed, 0.0, 4000) + rng.normal(0, sigma, (4000, 1)) * [0, 0, 1] for seed, sigma in ((0, 3e-3), (1, 4e-3))
    ]
    _, level = cloud_distances(rough[0], rough[1], None, None, 1)
    expected = LOCAL_SURFACE.quantile * 5e-3 / np.sqrt(LOCAL_SURFACE.neighbours)
    assert np.isclose(np.sqrt((level**2).mean()), expected, rtol=0.05)


def test_the_uncertainty_of_a_pose_is_the_spread_of_points_along_normals() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6)) * 1e-4
    uncertainty = PoseUncertainty(root @ root.T, np.array([1.0, 2, 3]))
    points, normals = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    draws = rng.normal(size=(4000, 6)) @ root.T
    moves = np.cross(draws[:, None, :3], points - uncertainty.centre) + draws[:, None, 3:]
    spread = np.einsum("dni,ni->dn", moves, normals).std(axis=0)
    # The standard deviation of 4,000 draws is known to 1.1 %.
    np.testing.assert_allclose(uncertainty.along(points, normals), spread, rtol=0.05)


def test_fewer_points_than_a_plane_has_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="cloud: has 3 points, but at least 4 are needed"):
        cloud_distances(plane(0, 0.0)[:3], plane(1, 0.0), None, None, 1)
    with pytest.raises(InputError, match="reference: has 2 points"):
        cloud_distances(plane(0, 0.0), plane(1, 0.0)[:2], None, None, 1)

"""Samples of surfaces are on them, and as dense everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets.test_convex_scenes import PARTS

from graphreg.datasets.convex_scenes import box, cylinder, ellipsoid
from graphreg.datasets.surface_sampling import sample_surface

AREAS = {
    "box": 2 * (2 * 2.5 + 2 * 1.5 + 2.5 * 1.5),
    "cylinder": 2 * np.pi * 0.6 * np.sqrt(8.25) + 2 * np.pi * 0.6**2,
    "gable": 2 * 2.5 + 2 * 2.5 * np.hypot(1, 1.2) + 2 * 1.2,
}


@pytest.mark.parametrize("name", PARTS)
def test_samples_lie_on_the_surface_with_outward_normals(name: str) -> None:
    part = PARTS[name]
    points, normals = sample_surface([part], 300, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
    assert part.contains(points - 1e-5 * normals).mean() > 0.999
    assert not part.contains(points + 1e-5 * normals).any()


@pytest.mark.parametrize("name", AREAS)
def test_the_number_of_samples_is_the_area_times_the_density(name: str) -> None:
    count = len(sample_surface([PARTS[name]], 1000, np.random.default_rng(1))[0])
    assert abs(count - 1000 * AREAS[name]) < 5 * np.sqrt(1000 * AREAS[name])


def test_an_ellipsoid_is_sampled_uniformly_by_area() -> None:
    """Archimedes: on a spheroid squeezed along z, the area beyond half the axis is known in closed form."""
    points, _ = sample_surface([ellipsoid([0, 0, 0], [1, 1, 0.5])], 3000, np.random.default_rng(2))
    z = np.linspace(-0.5, 0.5, 20_001)
    radius = np.sqrt(np.maximum(1 - (z / 0.5) ** 2, 0))
    element = np.hypot(np.diff(z), np.diff(radius)) * (radius[1:] + radius[:-1]) / 2
    middle = np.abs(z[1:] + z[:-1]) / 2
    expected = element[middle > 0.25].sum() / element.sum()
    assert abs((np.abs(points[:, 2]) > 0.25).mean() - expected) < 5 * np.sqrt(0.25 / len(points))


def test_what_lies_within_another_part_is_no_surface() -> None:
    parts = [
        box([0, 0, 0], [2, 1, 1]),
        box([1, -0.5, 0.2], [3, 0.5, 0.8]),
        cylinder([0.5, 0.5, -1], [0.5, 0.5, 2], 0.3),
    ]
    points, _ = sample_surface(parts, 2000, np.random.default_rng(3))
    assert not any(part.contains(points).any() for part in parts)
    alone = sum(len(sample_surface([part], 2000, np.random.default_rng(3))[0]) for part in parts)
    assert 0.6 * alone < len(points) < 0.9 * alone


def test_only_what_is_wanted_is_kept() -> None:
    points, normals = sample_surface(
        [PARTS["box"]], 200, np.random.default_rng(4), lambda points, normals: normals[:, 2] > 0
    )
    assert len(points)
    assert (normals[:, 2] > 0).all()

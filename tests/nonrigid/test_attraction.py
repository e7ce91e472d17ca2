"""Attractions: bounds that touch the energy, and are nowhere below it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from tests.support.deforming_bodies import bumpy_body
from tests.support.strategies import seeds

import graphreg._core as _core
from graphreg.nonrigid.attraction import Attraction, CoulombAttraction, SumOfAttractions, SurfaceAttraction
from graphreg.nonrigid.elastic_energy import Bound
from graphreg.nonrigid.working_cloud import working_cloud

SOURCE, TARGET = working_cloud(bumpy_body(300), 300, 1), working_cloud(bumpy_body(400, 1), 400, 1)
SURFACE = SurfaceAttraction(
    TARGET.facing_surface(SOURCE.points, SOURCE.normals, 0.05, 1), _core.Tree(TARGET.points, 1), 0.1, 1
)


def coulomb(seed: int) -> CoulombAttraction:
    rng = np.random.default_rng(seed)
    charges = rng.uniform(0.3, 1, 50)
    return CoulombAttraction(rng.integers(0, len(SOURCE), 50), TARGET.points[:50], charges, rng.uniform(0.05, 0.5))


def quadratic(bound: Bound, positions: np.ndarray) -> float:
    return float(np.einsum("ni,nij,nj->", positions, bound.metrics, positions) - 2 * (bound.pulls * positions).sum())


def check_tangent(attraction: Attraction, seed: int) -> None:
    """The gradient of the bound is that of the energy."""
    rng = np.random.default_rng(seed)
    here, direction = SOURCE.points + 0.01 * rng.normal(size=SOURCE.points.shape), rng.normal(size=SOURCE.points.shape)
    bound = attraction.bound(here, SOURCE.normals)
    step = 1e-7
    ahead, behind = here + step * direction, here - step * direction
    slope = (attraction.energy(ahead, SOURCE.normals) - attraction.energy(behind, SOURCE.normals)) / (2 * step)
    expected = (quadratic(bound, ahead) - quadratic(bound, behind)) / (2 * step)
    assert np.isclose(slope, expected, rtol=1e-3, atol=1e-5)


@given(seeds)
def test_the_coulomb_bound_touches_the_energy_and_is_nowhere_below(seed: int) -> None:
    attraction, rng = coulomb(seed), np.random.default_rng(seed)
    check_tangent(attraction, seed)
    bound = attraction.bound(SOURCE.points, SOURCE.normals)
    energy = attraction.energy(SOURCE.points, SOURCE.normals)
    for size in (0.01, 0.1, 1.0):
        there = SOURCE.points + size * rng.normal(size=SOURCE.points.shape)
        above = energy + quadratic(bound, there) - quadratic(bound, SOURCE.points)
        assert attraction.energy(there, SOURCE.normals) <= above + 1e-12
    assert -1 <= energy <= 0


@given(seeds)
def test_the_surface_bound_touches_the_energy(seed: int) -> None:
    check_tangent(SURFACE, seed)
    check_tangent(SumOfAttractions((coulomb(seed), SURFACE)), seed)


def test_the_energy_of_surfaces() -> None:
    """Near zero on the surface; 2 where nothing is near, or no normal agrees."""
    assert SURFACE.energy(SURFACE.target.points, SURFACE.target.normals) < 0.2
    assert np.isclose(SURFACE.energy(SOURCE.points, -SOURCE.normals), 2, atol=0.1)
    assert np.isclose(SURFACE.energy(SOURCE.points + 100, SOURCE.normals), 2, atol=1e-3)

"""Sphere tracing and smooth unions against shapes whose distances are known."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support import twins

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.datasets.implicit_surfaces import TRACING, ImplicitSurface, SmoothUnion
from graphreg.datasets.surfaces import rotation_zyx


def unit_vectors(count: int, seed: int = 0) -> Floats:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def sphere(radius: float) -> ImplicitSurface:
    return ImplicitSurface(lambda points: np.asarray(np.linalg.norm(points, axis=1) - radius), 2 * radius)


def test_rays_hit_a_sphere_where_they_should() -> None:
    origin = np.array([0.0, -3.0, 0.5])
    rays = unit_vectors(2000) * 0.3 + [0, 1, 0]
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    along = rays @ origin
    discriminant = along**2 - (origin @ origin - 1)
    exact = np.where(discriminant > 0, -along - np.sqrt(np.maximum(discriminant, 0)), np.inf)
    ranges, normals = sphere(1.0).cast(origin, rays, 10.0)
    # Near the silhouette a ray may end within the tolerance without a hit.
    clear = np.abs(discriminant) > 0.05
    assert np.array_equal(np.isfinite(ranges[clear]), np.isfinite(exact[clear]))
    hit = clear & np.isfinite(exact)
    assert 0.2 < hit.mean() < 0.9
    # The Newton step from a distance d leaves d^2 / (2 R cos^3) at an incidence of that cosine, here 0.22 or more; the
    # normal is that before the step, which is d / cos long.
    distance, cosine = 2 * TRACING.tolerance, np.sqrt(0.05)
    np.testing.assert_allclose(ranges[hit], exact[hit], rtol=0, atol=distance**2 / (2 * cosine**3))
    np.testing.assert_allclose(normals[hit], origin + exact[hit, None] * rays[hit], rtol=0, atol=distance / cosine)


def test_nothing_is_hit_beyond_the_maximal_range() -> None:
    ranges, _ = sphere(1.0).cast(np.array([0.0, 0.0, 5.0]), np.array([[0.0, 0.0, -1.0]]), 3.9)
    assert np.isinf(ranges).all()


def test_an_ellipsoid_is_zero_on_its_surface_and_never_overestimated() -> None:
    half_axes, frame = np.array([3.0, 1.0, 0.5]), rotation_zyx(0.4, -0.2, 1.0)
    union = SmoothUnion(blend=1e-3)
    union.add_ellipsoid([1, 2, 3], half_axes, frame)
    field = union.field()
    surface = np.array([1, 2, 3]) + (unit_vectors(500) * half_axes) @ frame.T
    np.testing.assert_allclose(field(surface), 0, atol=1e-9)
    outside = surface + unit_vectors(500, 1)
    nearest = np.linalg.norm(outside[:, None] - surface, axis=2).min(axis=1)
    assert (field(outside) <= nearest + 1e-9).all()


@pytest.mark.parametrize("radii", [(1.0, 1.0), (1.5, 0.5)])
def test_a_capsule_has_its_radius_at_both_ends(radii: tuple[float, float]) -> None:
    union = SmoothUnion(blend=1e-3)
    union.add_capsules([[0, 0, 0], [10, 0, 0]], radii)
    field = union.field()
    ends = np.array([[-radii[0], 0, 0], [10 + radii[1], 0, 0]])
    np.testing.assert_allclose(field(ends), 0, atol=1e-12)
    assert field(np.array([[5.0, 0, 0]]))[0] == pytest.approx(-np.mean(radii))


def test_a_smooth_union_is_at_most_the_nearest_part_and_within_the_blend_of_it() -> None:
    blend, centres = 0.2, np.array([[0.0, 0, 0], [1.5, 0, 0], [0, 2, 1]])
    union = SmoothUnion(blend)
    for centre in centres:
        union.add_ellipsoid(centre, [1, 1, 1])
    points = np.random.default_rng(2).uniform(-3, 4, (700, 3))
    nearest = (np.linalg.norm(points[:, None] - centres, axis=2) - 1).min(axis=1)
    found = union.field()(points)
    assert (found <= nearest + 1e-9).all()
    assert (found >= nearest - blend * np.log(len(centres)) - 1e-9).all()


@pytest.mark.parametrize("block", [1, 7, 256])
def test_the_kernel_of_smooth_unions_agrees_with_its_twin(block: int) -> None:
    rng = np.random.default_rng(0)
    frames = [
        rotation_zyx(*angles) * axes
        for angles, axes in zip(rng.random((40, 3)), rng.random((40, 3)) + 0.2, strict=True)
    ]
    start, run = rng.uniform(-9, 9, (40, 3)), rng.normal(size=(40, 3)) * (rng.random((40, 1)) > 0.3)
    parts = np.array(
        [_numbers(*part) for part in zip(frames, start, run, rng.random(40), rng.random(40) - 0.5, strict=True)]
    )
    points, blend = rng.uniform(-10, 10, (500, 3)), 0.3
    order = np.argsort(points[:, 0])
    expected = twins.smooth_union(points, parts, blend)
    every_part = _core.smooth_union(points, order, parts, blend, np.inf, block)
    np.testing.assert_allclose(every_part, expected, rtol=0, atol=1e-6)  # square roots of rounded differences
    near_parts = _core.smooth_union(points, order, parts, blend, 10 * blend, block)
    assert (near_parts >= every_part).all()
    assert (near_parts <= every_part + blend * len(parts) * np.exp(-10)).all()


def _numbers(frame: Floats, start: Floats, run: Floats, radius: float, growth: float) -> list[float]:
    """A part as the kernel takes it: of an axis from `start` to `start + run`, in the metric of a frame."""
    metric = frame @ frame.T
    push, length2 = metric @ run, float(run @ metric @ run)
    rows, columns = np.triu_indices(3)
    quadratic = metric[rows, columns] * np.where(rows == columns, 1, 2)
    square = [*quadratic, *(-2 * metric @ start), float(start @ metric @ start)]
    return [*push, float(-push @ start), 1 / max(length2, 1e-30), length2, radius, growth, *square]


def test_constants_are_shares() -> None:
    assert 0 < TRACING.tolerance < TRACING.step < 1 < TRACING.max_relaxation

"""Descriptors: against numpy, invariance, and mutual correspondences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, random_cloud, random_transform, seeds

import graphreg._core as _core
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.orientation import orient_normals
from graphreg.engine.surfels import fit_surfels
from graphreg.features.edge_descriptors import mutual_correspondences
from graphreg.poses import transform


def oriented_cloud(kind: str, count: int, seed: int) -> tuple[Floats, Floats]:
    """A cloud of a few voxels in size, with unit normals in any direction."""
    points = random_cloud(kind, count, seed)
    normals = np.random.default_rng(seed).normal(size=points.shape)
    return points / np.ptp(points) * 12, normals / np.linalg.norm(normals, axis=1, keepdims=True)


@pytest.mark.slow
@given(st.sampled_from(["blob", "surface", "box"]), st.integers(2, 70), seeds, st.floats(1.0, 8.0))
def test_descriptors_are_those_of_numpy(kind: str, count: int, seed: int, radius: float) -> None:
    points, normals = oriented_cloud(kind, count, seed)
    found = _core.descriptors(points, normals, radius, 1)
    assert found.shape == (count, 96)
    for own in range(count):
        length, signals = twins.edge_signals(points, normals, own)
        # In single precision an edge on the border of a shell or bin may count for either.
        steps = (signals + 1) * 16
        if (
            np.abs(length[:, None] / radius - [0.45, 0.72, 1.0]).min() < 1e-5
            or np.abs(steps - np.rint(steps)).min() < 1e-4
        ):
            continue
        expected = twins.descriptor(points, normals, int(own), radius)
        # Half for rounding to a whole number. Near 0 the root makes much of little: sqrt(8 u) is 0.2 of a 255th.
        assert np.abs(found[own] - expected).max() <= 0.75


def test_a_single_point_has_a_descriptor_of_zeros() -> None:
    assert not _core.descriptors(np.zeros((1, 3)), np.array([[0.0, 0, 1]]), 5.0, 1).any()


@given(seeds, st.sampled_from([0.0, 10.0, 1e5]))
def test_descriptors_are_invariant_under_rigid_motion(seed: int, distance: float) -> None:
    points, normals = oriented_cloud("surface", 200, 7)
    T = random_transform(seed, distance)
    here = _core.descriptors(points, normals, 4.0, 1)
    there = _core.descriptors(transform(T, points), normals @ T[:3, :3].T, 4.0, 1)
    assert np.abs(here.astype(int) - there).max() <= 1


def test_descriptors_depend_on_orientation_and_chirality() -> None:
    points, normals = oriented_cloud("surface", 200, 7)
    here = _core.descriptors(points, normals, 4.0, 1).astype(int)
    for other in ((points, -normals), (points * [1, 1, -1], normals * [1, 1, -1])):
        assert np.abs(here - _core.descriptors(*other, 4.0, 1)).max() > 50


def test_the_same_bits_for_any_number_of_threads() -> None:
    points, normals = oriented_cloud("box", 3000, 1)
    one, two, five = (_core.descriptors(points, normals, 2.0, threads) for threads in (1, 2, 5))
    assert one.tobytes() == two.tobytes() == five.tobytes()
    other = _core.descriptors(*oriented_cloud("surface", 2000, 2), 2.0, 1)
    pairs = [_core.match_descriptors(one, other, threads) for threads in (1, 2, 5)]
    assert all(np.array_equal(a, b) for again in pairs for a, b in zip(pairs[0], again, strict=True))


@pytest.mark.slow
@given(st.integers(1, 200), st.integers(1, 200), st.integers(1, 255), seeds)
def test_nearest_descriptors_by_the_sum_of_absolute_differences(
    count: int, other: int, largest: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # With few different numbers there are ties, of which the first counts.
    a, b = (rng.integers(0, largest + 1, (n, 96), np.uint8) for n in (count, other))
    apart = np.abs(a.astype(int)[:, None] - b.astype(int)[None]).sum(-1)
    best_of_a, best_of_b = _core.match_descriptors(a, b, 1)
    assert np.array_equal(best_of_a, apart.argmin(1))
    assert np.array_equal(best_of_b, apart.argmin(0))
    i, j = mutual_correspondences(a, b)
    assert np.array_equal(i, [n for n in range(count) if apart[:, apart[n].argmin()].argmin() == n])
    assert np.array_equal(j, apart.argmin(1)[i])


def test_nothing_to_match_is_refused() -> None:
    some = np.zeros((3, 96), np.uint8)
    with pytest.raises(ValueError, match="no descriptors"):
        _core.match_descriptors(some, some[:0], 1)


def test_outward_normals_point_away_from_the_centroid() -> None:
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(5000, 3))
    ball = directions / np.linalg.norm(directions, axis=1, keepdims=True) + [3.0, 4.0, 5.0]
    surfels = fit_surfels(ball, 0.1)
    flipped = replace(surfels, normals=surfels.normals * rng.choice([-1.0, 1.0], len(surfels))[:, None])
    away = surfels.points * 0.1 - [3.0, 4.0, 5.0]
    for given_normals in (surfels, flipped):
        rotated = orient_normals(given_normals)
        assert (np.einsum("ij,ij->i", rotated.normals, away) > 0).all()
        np.testing.assert_allclose(np.abs(rotated.normals), np.abs(surfels.normals))


def test_a_rotated_copy_corresponds_to_itself() -> None:
    """In voxel units, so that both have the same voxels up to rounding."""
    points = random_cloud("surface", 4000, 5)
    surfels = orient_normals(fit_surfels(points, 0.05))
    rotation = random_transform(9, 3.0)
    moved = replace(surfels, points=transform(rotation, surfels.points), normals=surfels.normals @ rotation[:3, :3].T)
    i, j = mutual_correspondences(compute_descriptors(surfels), compute_descriptors(moved))
    assert len(i) > 0.99 * len(surfels)
    assert (i == j).mean() > 0.99

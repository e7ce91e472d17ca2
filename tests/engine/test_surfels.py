"""Surfels: voxel moments, and the planes through them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.engine.surfels import Surfels, fit_surfels, voxel_moments
from graphreg.poses import transform


def members(points: Floats, voxel: float) -> list[np.ndarray]:
    """The points of each voxel, voxels in the order of the kernel."""
    order, starts, _ = _core.group_by_voxel(points, voxel, 1)
    return [order[begin:end] for begin, end in pairwise(starts)]


def weights_for(points: Floats, seed: int) -> Floats:
    return np.random.default_rng(seed).uniform(0.1, 3.0, len(points))


@pytest.mark.slow
@given(clouds, st.floats(0.02, 0.5), seeds, st.booleans())
def test_voxel_moments(points: Floats, share: float, seed: int, weighted: bool) -> None:
    points = points / np.ptp(points)
    weights = weights_for(points, seed) if weighted else None
    order, starts, _ = _core.group_by_voxel(points, share, 1)
    sums, means, moments = _core.voxel_moments(points, weights, order, starts, 1)
    for voxel, rows in enumerate(members(points, share)):
        expected = twins.voxel_moments(points[rows], np.ones(len(rows)) if weights is None else weights[rows])
        for found, twin in zip((sums[voxel], means[voxel], moments[voxel]), expected, strict=True):
            np.testing.assert_allclose(found, twin, rtol=1e-12, atol=1e-13 * expected[0])


@pytest.mark.slow
@given(clouds, st.floats(0.05, 0.5), st.floats(1.1, 3.0), seeds)
def test_merged_voxels_have_the_moments_of_their_points(points: Floats, share: float, times: float, seed: int) -> None:
    points, weights = points / np.ptp(points) / share, weights_for(points, seed)
    voxels = voxel_moments(points, 1.0, weights)
    chosen = np.random.default_rng(seed).random(len(voxels)) < 0.7
    chosen[0] = True
    rows = [row for row, kept in zip(members(points, 1.0), chosen, strict=True) if kept]
    coarser = voxels.merge(times, chosen)
    order, starts, _ = _core.group_by_voxel(voxels.means[chosen] / times, 1.0, 1)
    for number, (begin, end) in enumerate(pairwise(starts)):
        inside = np.concatenate([rows[voxel] for voxel in order[begin:end]])
        expected = twins.voxel_moments(points[inside] / times, weights[inside])
        assert coarser.counts[number] == len(inside)
        found = coarser.weights[number], coarser.means[number], coarser.second_moments[number]
        for value, twin in zip(found, expected, strict=True):
            np.testing.assert_allclose(value, twin, rtol=1e-11, atol=1e-11 / share**2)


@pytest.mark.slow
@given(clouds, st.floats(0.02, 0.3), seeds)
def test_planes_are_fitted_to_the_points_of_a_voxel_and_its_neighbours(points: Floats, share: float, seed: int) -> None:
    points, weights = points / np.ptp(points) / share, weights_for(points, seed)
    surfels = fit_surfels(points, 1.0, weights)
    rows = members(points, 1.0)
    for voxel, around in enumerate(surfels.neighbours):
        pooled = [rows[other] for other in (voxel, *around)]
        scatter, total = twins.pooled_scatter([points[r] for r in pooled], [weights[r] for r in pooled])
        values, vectors = np.linalg.eigh(scatter)
        trace = max(values.sum(), np.finfo(float).tiny)
        # The smallest eigenvalue is known to rounding of the trace, its root to that root.
        assert abs(surfels.roughness[voxel] ** 2 - max(values[0], 0) / total) <= 1e-12 * trace / total
        if (values[1] - values[0]) / trace > 1e-4:
            assert abs(np.linalg.norm(surfels.normals[voxel]) - 1) < 1e-12
            # A relative error of the scatter of a few u rotates the vector by that over the gap.
            assert abs(surfels.normals[voxel] @ vectors[:, 0]) > 1 - 1e-9


@given(clouds, st.floats(0.05, 1), seeds)
def test_voxels_count_all_points(points: Floats, share: float, seed: int) -> None:
    side = share * float(np.ptp(points))
    weights = weights_for(points, seed)
    voxels = voxel_moments(points, side, weights)
    assert len(voxels.means) == len(np.unique(twins.group_by_voxel(points / side, 1.0)))
    np.testing.assert_allclose(voxels.weights.sum(), weights.sum(), rtol=1e-12)
    np.testing.assert_allclose(
        voxels.weights @ voxels.means * side, weights @ points, atol=1e-11 * np.abs(points).sum()
    )
    assert voxels.neighbours.shape == (len(voxels.means), min(10, len(voxels.means) - 1))
    assert voxels.counts.sum() == len(points)


@pytest.mark.slow
@given(clouds, st.floats(0.02, 0.3), seeds)
def test_means_are_projected_to_their_planes(points: Floats, share: float, seed: int) -> None:
    points, weights = points / np.ptp(points) / share, weights_for(points, seed)
    voxels = voxel_moments(points, 1.0, weights)
    normals, _, projected = _core.fit_pooled_planes(
        voxels.means, voxels.neighbours, voxels.order, voxels.weights, voxels.second_moments, 1
    )
    rows = members(points, 1.0)
    for voxel, around in enumerate(voxels.neighbours):
        pooled = np.concatenate([rows[other] for other in (voxel, *around)])
        middle = np.average(points[pooled], axis=0, weights=weights[pooled])
        assert abs((projected[voxel] - middle) @ normals[voxel]) < 1e-9 / share
        np.testing.assert_allclose(
            np.cross(projected[voxel] - voxels.means[voxel], normals[voxel]), 0, atol=1e-9 / share
        )


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_surfels_are_denoised_and_keep_the_curvature(noise: float) -> None:
    """A ball of many voxels: without noise its curvature is kept, with noise most of the noise is removed."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(20_000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    ball = directions * (12 + noise * rng.normal(size=(20_000, 1)))
    voxels, surfels = voxel_moments(ball, 1.0), fit_surfels(ball, 1.0)

    def off(means: Floats) -> float:
        radius = np.linalg.norm(means, axis=1)
        return float(np.sqrt(((radius - 12) ** 2).mean()))

    if noise:
        assert off(surfels.points) < 0.6 * off(voxels.means)
    else:
        assert off(surfels.points) < 1.2 * off(voxels.means)


def test_surfels_of_chosen_voxels_are_as_if_there_were_no_others() -> None:
    points = random_cloud("surface", 4000, 3)
    voxels = voxel_moments(points, 0.1)
    chosen = np.random.default_rng(0).random(len(voxels.means)) < 0.8
    surfels = voxels.fit_surfels(chosen)
    numbers = np.flatnonzero(chosen)
    rows = members(points, 0.1)
    for place, number in enumerate(numbers):
        kept = [other for other in voxels.neighbours[number] if chosen[other]]
        assert {numbers[other] for other in surfels.neighbours[place] if other != place} == set(kept)
        pooled = points[np.concatenate([rows[other] for other in (number, *kept)])] / 0.1
        if len(pooled) > 3:
            normal = np.linalg.eigh(np.cov(pooled.T, bias=True))[1][:, 0]
            assert abs(normal @ surfels.normals[place]) > 1 - 1e-9
    np.testing.assert_allclose(surfels.weights, voxels.weights[chosen])


def test_the_same_bits_for_any_number_of_threads() -> None:
    points = random_cloud("surface", 20_000, 3)
    weights = weights_for(points, 0)

    def parts(threads: int) -> list[bytes]:
        surfels = fit_surfels(points, 0.03, weights, threads)
        fields = (surfels.points, surfels.normals, surfels.weights, surfels.roughness, surfels.neighbours)
        return [part.tobytes() for part in fields]

    assert parts(1) == parts(2) == parts(5)


def test_a_weight_counts_like_repeated_points() -> None:
    points = random_cloud("box", 500, 1)
    times = np.random.default_rng(0).integers(1, 4, len(points))
    weighted, repeated = (
        fit_surfels(points, 0.3, times.astype(float)),
        fit_surfels(np.repeat(points, times, axis=0), 0.3),
    )
    np.testing.assert_allclose(np.abs(weighted.normals), np.abs(repeated.normals), atol=1e-7)
    np.testing.assert_allclose(weighted.weights, repeated.weights)
    np.testing.assert_allclose(weighted.roughness, repeated.roughness, atol=1e-7)


def test_normals_of_a_plane() -> None:
    rng = np.random.default_rng(0)
    flat = np.column_stack([rng.uniform(-1, 1, (4000, 2)), np.zeros(4000)])
    T = random_transform(4, 10.0)
    surfels = fit_surfels(transform(T, flat), 0.07)
    np.testing.assert_allclose(np.abs(surfels.normals @ T[:3, 2]), 1, atol=1e-12)
    assert surfels.roughness.max() < 1e-6


def test_a_line_has_no_plane() -> None:
    surfels = fit_surfels(np.outer(np.linspace(0, 1, 500), [1.0, 0, 0]), 0.02)
    assert not surfels.normals.any()


@given(clouds, st.lists(st.integers(0, 39), max_size=60))
def test_duplicates_are_removed(points: Floats, repeated: list[int]) -> None:
    points = np.vstack([points, points[repeated]]) * np.where(np.arange(3) == 1, 0.0, 1.0)
    points[::2, 1] = -0.0
    kept = _core.unique_points(points)
    expected = np.sort(np.unique(points + 0.0, axis=0, return_index=True)[1])
    assert np.array_equal(kept, expected)


def test_voxels_too_small_for_the_extent_are_refused() -> None:
    with pytest.raises(graphreg.InputError, match="^voxel: 1e-09 would divide the cloud's extent of .* a larger one"):
        fit_surfels(random_cloud("box", 100, 0), 1e-9)
    assert isinstance(fit_surfels(random_cloud("box", 100, 0), 1e9), Surfels)


def test_one_voxel_alone_makes_no_surfel() -> None:
    with pytest.raises(graphreg.InputError, match=r"^voxel: all points are in one voxel"):
        fit_surfels(np.abs(random_cloud("blob", 50, 0)), 1e6)

"""Voxel sizes: as many voxels as asked for, and sizes that pairs share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import Floats, clouds, random_cloud, random_transform

import graphreg._core as _core
from graphreg.engine.surfels import fit_surfels
from graphreg.engine.voxel_sizes import (
    VOXEL_SIZES,
    VoxelSizes,
    on_ladder,
    pair_voxel_sizes,
    sizes_for_counts,
)
from graphreg.poses import transform


@given(clouds, st.floats(1e-3, 0.5), st.integers(1, 12))
def test_occupied_voxels_are_counted(points: Floats, share: float, levels: int) -> None:
    size = share * float(np.ptp(points))
    occupied, shared = _core.occupied_voxels(points, size, levels)
    # Voxels of twice the size are counted from the lowest one.
    voxels = np.floor(points / size)
    voxels -= voxels.min(axis=0)
    counts = [np.unique(np.floor(voxels / 2**level), axis=0, return_counts=True)[1] for level in range(levels)]
    assert occupied.tolist() == [len(each) for each in counts]
    assert shared.tolist() == [np.count_nonzero(each > 1) for each in counts]


@pytest.mark.parametrize("kind", ["surface", "box"])
def test_a_surface_occupies_as_many_voxels_as_asked_for(kind: str) -> None:
    """Between powers of two the count is taken from a power law, which surfaces follow to within a fifth.

    Rotated, since a face along a border between voxels occupies those on both sides.
    """
    points = transform(random_transform(2, 0.0), random_cloud(kind, 12_000, 0))
    for count, voxel in zip((300, 600, 1200), sizes_for_counts(points, 300, 600, 1200), strict=True):
        assert 0.8 < len(fit_surfels(points, voxel)) / count < 1.25


@given(*[st.floats(1e-3, 1e3)] * 2, st.floats(1.0, 4.0), st.floats(1.0, 4.0))
def test_a_pair_has_the_smaller_clouds_size_unless_the_larger_would_have_too_many(
    a: float, b: float, ratio: float, finer: float
) -> None:
    x, y = VoxelSizes(a, a / ratio, a / ratio / finer), VoxelSizes(b, b / ratio, b / ratio / finer)
    sizes = pair_voxel_sizes(x, y)
    assert sizes == pair_voxel_sizes(y, x)
    assert sizes.coarse == max(min(a, b), max(a, b) / ratio)
    assert sizes.fine <= sizes.coarse
    assert pair_voxel_sizes(x, y, voxel=2 * sizes.coarse) == (2 * sizes.coarse, 2 * sizes.coarse)


@given(st.floats(1e-6, 1e6))
def test_sizes_of_the_ladder_are_close_and_stay(size: float) -> None:
    rung = on_ladder(size)
    assert max(rung / size, size / rung) <= np.sqrt(VOXEL_SIZES.ladder) * (1 + 1e-9)
    assert on_ladder(rung) == rung

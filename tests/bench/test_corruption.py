"""Corruption of scans: each adds what its name says, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench.corruption import CLEAN, CORRUPTIONS, Corruption

POINTS = np.random.default_rng(2).random((4000, 3)) * [1, 2, 3]


def test_clean_scans_stay_the_same() -> None:
    assert CLEAN.apply(POINTS, 0) is POINTS


def test_outliers_noise_and_thinning_are_of_the_stated_size() -> None:
    outliers, noise, _ = CORRUPTIONS
    assert len(outliers.apply(POINTS, 0)) == 1.5 * len(POINTS)
    moved = noise.apply(POINTS, 0) - POINTS
    assert moved.std(axis=0) / np.ptp(POINTS, axis=0) == pytest.approx(0.008, rel=0.05)
    assert len(Corruption("thinned", rim=0.1).apply(POINTS, 0)) < len(POINTS)


@pytest.mark.parametrize("corruption", [*CORRUPTIONS, Corruption("thinned", rim=0.1)])
def test_the_seed_decides(corruption: Corruption) -> None:
    assert np.array_equal(corruption.apply(POINTS, 0), corruption.apply(POINTS, 0))
    assert not np.array_equal(corruption.apply(POINTS, 0), corruption.apply(POINTS, 1))

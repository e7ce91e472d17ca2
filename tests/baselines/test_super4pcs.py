"""Super4PCS: bases, congruent sets, and the overlap that it needs."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.support.strategies import random_cloud, random_transform

import graphreg
from graphreg.baselines.super4pcs import (
    PairTable,
    Super4pcsSettings,
    congruent_sets,
    intersect_segments,
    required_bases,
    sample_base,
)
from graphreg.metrics import rmsd
from graphreg.poses import inverse, transform


def test_intersections_of_segments() -> None:
    """Segments that intersect at a third and a half, and the same with a gap."""
    four = np.array([[0.0, 0, 0], [3, 0, 0], [1, -1, 0], [1, 1, 0]])
    lifted = four + np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0.5], [0, 0, 0.5]])
    found = intersect_segments(np.stack([four, lifted]))
    np.testing.assert_allclose(found.first, 1 / 3)
    np.testing.assert_allclose(found.second, 1 / 2)
    np.testing.assert_allclose(found.gap, [0, 0.5], atol=1e-12)


def test_a_base_is_wide_and_its_segments_intersect() -> None:
    points = random_cloud("box", 400, 0)
    for seed in range(10):
        base = sample_base(points, 1.5, np.random.default_rng(seed))
        assert len(set(base.tolist())) == 4
        sides = [np.linalg.norm(points[i] - points[j]) for i, j in combinations(base.tolist(), 2)]
        assert 0.2 < min(sides) <= max(sides) <= 1.5
        assert intersect_segments(points[base][None]).gap[0] < 0.1


def test_the_base_is_among_its_congruent_sets() -> None:
    points = random_cloud("blob", 120, 0)
    table = PairTable(points)
    for seed in range(5):
        base = sample_base(points, 3.0, np.random.default_rng(seed))
        sets = congruent_sets(points[base], points, table, 1e-9)
        assert base.tolist() in sets.tolist()
        loose = congruent_sets(points[base], points, table, 0.05)
        lengths = [
            np.linalg.norm(points[loose[:, i]] - points[loose[:, j]], axis=1)
            - np.linalg.norm(points[base[i]] - points[base[j]])
            for i, j in combinations(range(4), 2)
        ]
        assert np.abs(lengths).max() <= 0.05


def test_pairs_with_a_length() -> None:
    points = random_cloud("blob", 60, 0)
    lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(lengths, np.nan)
    found = PairTable(points).with_length(1.0, 0.1)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, np.argwhere(np.abs(lengths - 1) <= 0.1).tolist()))


def test_less_overlap_requires_more_bases() -> None:
    assert required_bases(Super4pcsSettings(overlap=1.0)) == 1
    assert required_bases(Super4pcsSettings(overlap=0.5)) == 72  # log(0.01) / log(1 - 0.5^4) = 71.4
    assert required_bases(Super4pcsSettings(overlap=0.2)) == 100


@pytest.mark.slow
def test_refinement_improves_the_result(body: np.ndarray) -> None:
    moved = transform(random_transform(3, 0.1), body)
    rough, fine = (graphreg.register(moved, body, method="super4pcs", voxel=0, refinement=steps) for steps in (0, 50))
    truth = inverse(random_transform(3, 0.1))
    assert rmsd(fine.transformation, truth, moved) < rmsd(rough.transformation, truth, moved) < 0.02
    energies = [step.energy for step in rough.history]
    assert energies == sorted(energies, reverse=True)


@pytest.mark.slow
def test_a_small_overlap_is_not_registered(body: np.ndarray) -> None:
    """Halves that share a tenth of the body: hardly a base lies in the overlap, and other poses have as large an LCP.
    Of parts that share half of it, the pose is found."""
    truth = random_transform(3, 0.1)
    for low, high, right in ((0.45, 0.55, False), (0.25, 0.75, True)):
        left, beyond = np.quantile(body[:, 0], [low, high])
        source, target = transform(inverse(truth), body[body[:, 0] < beyond]), body[body[:, 0] > left]
        result = graphreg.register(source, target, method="super4pcs", voxel=0, overlap=0.2)
        error = rmsd(result.transformation, truth, source)
        assert error < 0.003 if right else error > 0.03


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlap": 0.0}, "overlap: expected a share"),
        ({"refinement": -1}, "refinement: expected a whole number from 0 on"),
        ({"sample_size": 3}, "sample_size: expected a whole number from 4 on"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(Super4pcsSettings(), **settings)

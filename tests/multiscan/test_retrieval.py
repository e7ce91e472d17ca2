"""Retrieval of candidate pairs: invariances of the similarity, and which pairs are candidates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import Floats, random_transform, seeds

import graphreg
from graphreg.datasets import synthetic
from graphreg.multiscan.retrieval import (
    RetrievalParameters,
    most_similar_pairs,
    overlapping_pairs,
    pairs_between_groups,
    retrieval_surfels,
    scan_similarity,
)
from graphreg.poses import inverse, transform

POINTS = 3000


@lru_cache
def clouds() -> tuple[Floats, ...]:
    """Three scans around one body, and one of another."""
    hares = [scan.points for scan in synthetic.sequence("hare", 3, 30, points=POINTS)]
    return (*hares, synthetic.scan("casting", points=POINTS).points)


def similarity_of(scans: tuple[Floats, ...], threads: int = 1) -> Floats:
    prepared = [graphreg.prepare(scan) for scan in scans]
    return scan_similarity(retrieval_surfels(prepared, threads)[0], threads)


@lru_cache
def similarity() -> Floats:
    return similarity_of(clouds())


def random_similarity(count: int, seed: int) -> Floats:
    values = np.random.default_rng(seed).uniform(-1, 1, (count, count))
    return np.triu(values, 1) + np.triu(values, 1).T + np.eye(count)


@pytest.mark.slow
def test_similarity_is_symmetric_and_bounded() -> None:
    np.testing.assert_allclose(similarity(), similarity().T, atol=1e-6)
    np.testing.assert_allclose(np.diag(similarity()), 1, atol=1e-6)
    assert np.abs(similarity()).max() <= 1 + 1e-6


@pytest.mark.slow
def test_among_few_scans_those_of_one_body_are_more_similar_than_others() -> None:
    scans = [graphreg.prepare(scan.points) for scan in synthetic.sequence("hare", 4, 40, points=POINTS)]
    scans.append(graphreg.prepare(synthetic.scan("casting", points=POINTS).points))
    others = scan_similarity(retrieval_surfels(scans)[0]) - 3 * np.eye(5)
    assert (others[:4].argmax(axis=1) != 4).all()


@pytest.mark.slow
def test_scans_from_neighbouring_positions_are_retrieved() -> None:
    """Of twelve scans around a body each has two neighbours; by chance half of them would be among six partners."""
    similarity = similarity_of(tuple(scan.points for scan in synthetic.sequence("hare", 12, 30, points=POINTS)))
    pairs = set(most_similar_pairs(similarity))
    neighbours = {(scan, scan - 1) for scan in range(1, 12)} | {(11, 0)}
    assert len(neighbours & pairs) >= 11


@pytest.mark.parametrize("seed", range(2))
def test_similarity_does_not_depend_on_poses_or_the_order_of_points(seed: int) -> None:
    """Scans are described in frames of their own; rounding may move single points across the border of a voxel."""
    rng = np.random.default_rng(seed)
    changed = tuple(
        transform(random_transform(seed + number, 1.0), rng.permutation(cloud)) for number, cloud in enumerate(clouds())
    )
    np.testing.assert_allclose(similarity_of(changed), similarity(), atol=1e-3)


def test_the_same_bits_for_any_number_of_threads() -> None:
    assert np.array_equal(similarity_of(clouds(), threads=3), similarity())


@given(seed=seeds, count=st.integers(2, 8))
def test_of_few_scans_all_pairs_are_candidates(seed: int, count: int) -> None:
    pairs = most_similar_pairs(random_similarity(count, seed))
    assert pairs == [(source, target) for source in range(count) for target in range(source)]


@given(seed=seeds, count=st.integers(9, 20), partners=st.integers(1, 5))
def test_of_many_scans_each_has_its_most_similar_partners(seed: int, count: int, partners: int) -> None:
    similarity = random_similarity(count, seed)
    pairs = most_similar_pairs(similarity, RetrievalParameters(partners=partners))
    assert pairs == sorted(set(pairs))
    assert all(source > target for source, target in pairs)
    expected = set()
    for scan in range(count):
        others = sorted((other for other in range(count) if other != scan), key=lambda other: -similarity[scan, other])
        expected |= {(max(scan, other), min(scan, other)) for other in others[:partners]}
    assert set(pairs) == expected


@given(seed=seeds, split=st.integers(1, 8), partners=st.integers(1, 5))
def test_candidates_between_groups_join_different_groups(seed: int, split: int, partners: int) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(9).tolist()
    groups = (tuple(order[:split]), tuple(order[split:]))
    every = {(max(a, b), min(a, b)) for a in groups[0] for b in groups[1]}
    excluded = set(sorted(every)[::3])
    parameters = RetrievalParameters(partners=partners)
    similarity = random_similarity(9, seed)
    pairs = pairs_between_groups(similarity, groups, excluded, parameters)
    allowed = sorted(every - excluded, key=lambda pair: -similarity[pair])
    assert set(pairs) == set(allowed[:partners])
    assert pairs_between_groups(similarity, (tuple(range(9)),), (), parameters) == []


def test_overlapping_pairs_are_those_that_coincide_in_their_poses() -> None:
    """Three copies of a scan, two at their true poses, one far from them."""
    transforms = [random_transform(number, 1.0) for number in range(3)]
    scans = [graphreg.prepare(transform(each, clouds()[0])) for each in transforms]
    surfels, voxel = retrieval_surfels(scans)
    poses = np.stack(
        [inverse(each) @ inverse(scan.T_local_cloud) for each, scan in zip(transforms, scans, strict=True)]
    )
    one_group = ((0, 1, 2),)
    assert overlapping_pairs(surfels, voxel, poses, one_group) == [(1, 0), (2, 0), (2, 1)]
    assert overlapping_pairs(surfels, voxel, poses, one_group, {(1, 0)}) == [(2, 0), (2, 1)]
    # Poses of different groups have no common frame.
    assert overlapping_pairs(surfels, voxel, poses, ((0, 2), (1,))) == [(2, 0)]
    poses[2, :3, 3] += 100.0
    assert overlapping_pairs(surfels, voxel, poses, one_group) == [(1, 0)]
    # Surfaces that coincide with opposite normals do not overlap.
    poses[1] = poses[0]
    facing = [surfels[0], surfels[0], surfels[2]]
    assert overlapping_pairs(facing, voxel, poses, one_group) == [(1, 0)]
    assert overlapping_pairs(facing, voxel, poses, one_group, parameters=RetrievalParameters(min_cosine=1.1)) == []

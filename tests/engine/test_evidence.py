"""Evidence for a pose: descriptor ranks, contacts, inlier correspondences; against numpy, and their laws."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.strategies import Floats, random_transform, small_pair

import graphreg._core as _core
from graphreg.datasets import synthetic
from graphreg.engine.evidence import EVIDENCE, PairEvidence
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids, to_pyramid_frames
from graphreg.poses import pose


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


@pytest.fixture(scope="module")
def evidence(pair: synthetic.Pair) -> PairEvidence:
    return PairEvidence(*build_pyramids(preprocess(pair.source, "source"), preprocess(pair.target, "target")))


@pytest.fixture(scope="module")
def truth(pair: synthetic.Pair, evidence: PairEvidence) -> Floats:
    return to_pyramid_frames(pair.T_target_source, evidence.source, evidence.target)


def some_descriptors(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 60, (count, 96)).astype(np.uint8)


def test_ranks_are_those_of_the_distances() -> None:
    """Up to the width of a bin: 64, where these distances differ by some hundreds."""
    a, b = some_descriptors(0, 40), some_descriptors(1, 50)
    distances = np.abs(a[:, None].astype(int) - b).sum(axis=2)
    i, j = (index.ravel().astype(np.int32) for index in np.indices((40, 50)))
    found = _core.DescriptorRanks(a, b, 1).information(i, j).reshape(40, 50)

    def minus_log_rank(below: Floats, equal: Floats, count: int) -> Floats:
        return np.asarray(-np.log((below + equal / 2 + 0.5) / (count + 1)))

    bins = distances >> 6
    of_rows = minus_log_rank(
        (bins[:, None] < bins[:, :, None]).sum(axis=2), (bins[:, None] == bins[:, :, None]).sum(axis=2), 50
    )
    of_columns = minus_log_rank((bins[None] < bins[:, None]).sum(axis=1), (bins[None] == bins[:, None]).sum(axis=1), 40)
    np.testing.assert_allclose(found, (of_rows + of_columns) / 2, rtol=1e-5)


def test_information_is_one_on_average_by_chance(evidence: PairEvidence) -> None:
    a, b = evidence.source.descriptors, evidence.target.descriptors
    i, j = np.random.default_rng(0).integers(0, (len(a), len(b)), (100_000, 2)).T.astype(np.int32)
    information = _core.DescriptorRanks(a, b, 2).information(i.copy(), j.copy())
    assert information.mean() == pytest.approx(1, abs=0.05)


def test_indices_out_of_range_are_refused() -> None:
    ranks = _core.DescriptorRanks(some_descriptors(0, 5), some_descriptors(1, 6), 1)
    for i, j in ((5, 0), (0, 6), (-1, 0)):
        with pytest.raises(ValueError, match="out of range"):
            ranks.information(np.array([i], np.int32), np.array([j], np.int32))
    with pytest.raises(ValueError, match="no descriptors"):
        _core.DescriptorRanks(some_descriptors(0, 5), some_descriptors(1, 0), 1)


def test_the_true_pose_scores_above_all_others(evidence: PairEvidence, truth: Floats) -> None:
    others = np.array([random_transform(seed, 3.0) @ truth for seed in range(30)])
    scores = evidence.evaluate(np.concatenate([truth[None], others])).scores
    assert scores[0] > scores[1:].max() + 3


def test_the_true_pose_brings_descriptors_together_that_are_alike(evidence: PairEvidence, truth: Floats) -> None:
    right, overlapping = evidence.gather(truth, 1.0)
    wrong, _ = evidence.gather(random_transform(5, 3.0) @ truth, 1.0)
    assert right.information > 10 * abs(wrong.information)
    assert right.inlier_information > 10 * wrong.inlier_information
    assert right.floating < 0.05
    assert overlapping.mean() == right.overlap > 0.5


def test_surfels_off_the_surface_float(evidence: PairEvidence, truth: Floats) -> None:
    """Shifted along any axis by 1.8 voxels, parts of a solid are in front of the surface and parts behind it."""
    at_rest = evidence.gather(truth, 1.0)[0].floating
    for axis in np.eye(3):
        assert evidence.gather(pose(np.eye(3), 1.8 * axis) @ truth, 1.0)[0].floating > at_rest + 0.02


def test_normals_face_each_other_at_the_true_pose(evidence: PairEvidence, truth: Floats) -> None:
    assert evidence.faces(truth)
    reversed_ = PairEvidence(evidence.source.with_reversed_normals(), evidence.target)
    assert not reversed_.faces(truth)


def test_scores_do_not_depend_on_the_number_of_threads(evidence: PairEvidence, truth: Floats) -> None:
    poses = np.array([random_transform(seed, 1.0) @ truth for seed in range(9)])
    assert evidence.evaluate(poses, 1).scores.tobytes() == evidence.evaluate(poses, 3).scores.tobytes()


def test_inlier_sums_are_those_of_numpy() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = x + rng.normal(scale=0.4, size=x.shape)
    nx, ny = (n / np.linalg.norm(n, axis=1, keepdims=True) for n in rng.normal(size=(2, 300, 3)))
    ny[::2] = nx[::2]
    weights, distances = rng.uniform(size=300), np.array([0.3, 0.6, 1.2])
    poses = np.array([np.eye(4), random_transform(1, 0.2), pose(np.eye(3), [0.1, 0, 0])])
    sums = _core.inlier_sums(x, nx, y, ny, weights, poses, distances, 0.7, 2)
    for T, of_pose in zip(poses, sums, strict=True):
        moved = x @ T[:3, :3].T + T[:3, 3]
        facing = np.einsum("ij,ij->i", nx @ T[:3, :3].T, ny) >= 0.7
        for distance, (count, weight, *moments) in zip(distances, of_pose, strict=True):
            near = facing & (np.linalg.norm(moved - y, axis=1) <= distance)
            assert count == near.sum()
            assert weight == pytest.approx(weights[near].sum())
            second = (moved[near].T @ moved[near])[np.tril_indices(3)]
            np.testing.assert_allclose(moments, [*moved[near].sum(axis=0), *second], atol=1e-9)
    assert sums[0, 0, 0] > 0
    with pytest.raises(ValueError, match="ascending"):
        _core.inlier_sums(x, nx, y, ny, weights, poses, distances[::-1].copy(), 0.7, 1)
    with pytest.raises(ValueError, match="one for each pair"):
        _core.inlier_sums(x, nx, y, ny, weights[:5], poses, distances, 0.7, 1)


def test_the_variety_of_inliers_is_that_of_their_normals() -> None:
    """None on a plane, a third on a sphere: at the pose of a cloud on itself all of its surfels are inliers."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(6000, 3))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    for cloud, expected in ((points * [1, 1, 0], 0.0), (sphere, 1 / 3)):
        x, y = build_pyramids(preprocess(cloud, "source"), preprocess(cloud, "target"))
        found, _ = PairEvidence(x, y).gather(to_pyramid_frames(np.eye(4), x, y), 1.0)
        assert found.variety == pytest.approx(expected, abs=0.05)
        assert found.seen_through == 0


def test_ranking_features_give_the_scores(pair: synthetic.Pair, evidence: PairEvidence, truth: Floats) -> None:
    poses = np.array([truth, random_transform(0, 0.0), random_transform(1, 0.0)])
    evaluation = evidence.add_support(poses, evidence.evaluate(poses))
    weights = np.array([*EVIDENCE.weights, *EVIDENCE.support_weights])
    np.testing.assert_allclose(evidence.ranking_features(poses) @ weights, evaluation.scores)

"""Sums of Gaussians over all pairs, the expectation step, and what CPD, ECM and GMM have in common."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import clouds, random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.baselines.mixtures import expectation_step, mean_squared_distance
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

widths = st.sampled_from([1e-3, 0.03, 0.3, 3.0])


def single(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)


@given(clouds, clouds, widths, seeds, st.integers(1, 3))
def test_sums_agree_with_their_twin(one: np.ndarray, other: np.ndarray, width: float, seed: int, threads: int) -> None:
    mass = single(np.random.default_rng(seed).random(len(other)))
    x, y = (single(cloud[_core.Tree(cloud, 1).order()] / np.abs(cloud).max()) for cloud in (one, other))
    weights, forces = _core.gaussian_forces(x, y, mass, np.float32(width), threads)
    assert weights.tobytes() == _core.gaussian_weights(x, y, mass, np.float32(width), threads).tobytes()
    none = np.empty((len(x), 0)), np.empty((len(y), 0))
    wide = [values.astype(np.float64) for values in (x, y, mass)]
    forces_there, weights_there, forces_off, weights_off = twins.pair_forces(
        wide[0], wide[1], *none, wide[2], True, float(np.float32(width))
    )
    # In addition to the rounding that the twin bounds, pairs with an exponent below -20 may be skipped.
    lost = np.exp(-20) * wide[2].sum()
    assert (np.abs(weights - weights_there) <= weights_off + lost).all()
    assert (np.abs(forces - forces_there) <= forces_off + lost * 4).all()


@pytest.mark.slow
def test_sums_of_wide_gaussians_agree_with_their_twin() -> None:
    """Where a box of a width and a half contains many points, the sums are computed box by box, within the stated
    bounds; the same bits for any number of threads."""
    x, y = (single(random_cloud("surface", 1200, seed)) for seed in (0, 1))
    mass = single(np.random.default_rng(0).random(len(y)))
    wide = [values.astype(np.float64) for values in (x, y, mass)]
    for width in (np.float32(2.0), np.float32(0.4)):
        weights, forces = _core.gaussian_forces(x, y, mass, width, 1)
        again = _core.gaussian_forces(x, y, mass, width, 3)
        assert weights.tobytes() == again[0].tobytes()
        assert forces.tobytes() == again[1].tobytes()
        joint = wide[2] * np.exp(-twins.squared_distances(wide[0], wide[1]) / (2 * float(width) ** 2))
        expected = joint @ wide[1] - joint.sum(axis=1)[:, None] * wide[0]
        assert np.abs(weights - joint.sum(axis=1)).max() < 3e-9 * wide[2].sum()
        assert np.abs(forces - expected).max() < 1e-7 * float(width) * wide[2].sum()


@given(clouds, seeds, st.sampled_from([0.05, 0.3, 2.0]), st.sampled_from([1e-3, 1.0]))
def test_responsibilities_follow_bayes_rule(points: np.ndarray, seed: int, width: float, outliers: float) -> None:
    rng = np.random.default_rng(seed)
    x = points / np.abs(points).max()
    y = transform(random_transform(seed, 0.1), x)[: len(x) // 2] + 0.1 * rng.normal(size=(len(x) // 2, 3))
    found = expectation_step(x, y, width, outliers, 2)
    squared = twins.squared_distances(x, y)
    joint = np.exp(-squared / (2 * width**2))
    share = joint / (joint.sum(axis=0) + outliers)
    slack = 1e-4  # pairs with an exponent below -20 may be skipped, and it is in single precision: 20 * 2^-22
    np.testing.assert_allclose(found.component_sums, share.sum(axis=1), rtol=slack, atol=slack)
    np.testing.assert_allclose(found.data_sums, share.sum(axis=0), rtol=slack, atol=slack)
    assert found.log_likelihood == pytest.approx(
        np.log(joint.sum(axis=0) + outliers).sum(), rel=slack, abs=slack * len(y)
    )
    moved = x + np.array([0.1, -0.2, 0.3])
    offsets = y[None] - moved[:, None]
    expected = np.einsum("ij,ija,ijb->ab", share, offsets, offsets) / share.sum()
    if share.sum() > 1e-3:
        np.testing.assert_allclose(found.scatter(moved, y), expected, atol=20 * slack)


@given(clouds, clouds)
def test_the_mean_squared_distance_is_that_of_all_pairs(one: np.ndarray, other: np.ndarray) -> None:
    expected = twins.squared_distances(one, other).mean()
    assert mean_squared_distance(one, other) == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cpd", "ecm", "gmm"])
def test_a_large_rotation_ends_in_a_local_minimum(coarse_body: np.ndarray, method: str) -> None:
    truth = pose(rotation_from_vector([0, 0, np.radians(150)]), np.zeros(3))
    result = graphreg.register(transform(inverse(truth), coarse_body), coarse_body, method=method, voxel=0)
    assert angular_error(result.transformation, truth) > 20
    near = pose(rotation_from_vector([0, 0, np.radians(140)]), np.zeros(3))
    started = graphreg.register(transform(inverse(truth), coarse_body), coarse_body, method=method, voxel=0, init=near)
    assert angular_error(started.transformation, truth) < 0.01
    assert started.success


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cpd", "ecm", "gmm"])
def test_outliers_have_little_influence(coarse_body: np.ndarray, method: str) -> None:
    """Half as many outliers as points in either cloud, with which the error of ICP is larger than a spacing."""
    rng = np.random.default_rng(0)
    truth = pose(rotation_from_vector(np.radians([4.0, -6.0, 5.0])), [0.01, -0.01, 0.005])
    corrupted = [
        np.vstack([coarse_body, rng.normal(size=(len(coarse_body) // 2, 3)) * np.ptp(coarse_body, axis=0)])
        for _ in range(2)
    ]
    corrupted[0] = transform(inverse(truth), corrupted[0])
    result = graphreg.register(*corrupted, method=method, voxel=0)
    assert rmsd(result.transformation, truth, coarse_body) < 0.004 / 4
    plain = graphreg.register(*corrupted, method="icp", voxel=0)
    assert rmsd(plain.transformation, truth, coarse_body) > 0.004


# For a process of its own, whose memory is limited to less than a byte for each pair.
MANY = """
import resource
import numpy as np
import graphreg

rng = np.random.default_rng(0)
cloud = rng.normal(size=(6000, 3))
cloud /= np.linalg.norm(cloud * [1, 2, 3], axis=1, keepdims=True)
graphreg.register(cloud[:500], cloud[:500], method="gmm", voxel=0, max_iterations=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (28 << 20), resource.RLIM_INFINITY))
for method in ("cpd", "ecm", "gmm"):
    print(len(graphreg.register(cloud, cloud, method=method, voxel=0, max_iterations=1, threads=1).history) > 0)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux has it")
def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("True\nTrue\nTrue\n", "")

"""CPD, ECM and GMM: the sums over pairs, the steps made of them, and what the methods are known for."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import clouds, random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.baselines.ecm import SMALLEST_VARIANCE, EcmSettings, fit_points_in_metric, register_ecm
from graphreg.baselines.gmm import Overlap, motion_of
from graphreg.baselines.mixtures import in_spatial_order, mean_squared_distance, responsibilities
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

widths = st.sampled_from([1e-3, 0.03, 0.3, 3.0])


def single(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)


@given(clouds, clouds, widths, seeds, st.integers(1, 3))
def test_sums_agree_with_their_twin(one: np.ndarray, other: np.ndarray, width: float, seed: int, threads: int) -> None:
    mass = single(np.random.default_rng(seed).random(len(other)))
    x, y = (single(in_spatial_order(cloud, 1) / np.abs(cloud).max()) for cloud in (one, other))
    weights, forces = _core.gaussian_forces(x, y, mass, np.float32(width), threads)
    assert weights.tobytes() == _core.gaussian_weights(x, y, mass, np.float32(width), threads).tobytes()
    none = np.empty((len(x), 0)), np.empty((len(y), 0))
    wide = [values.astype(np.float64) for values in (x, y, mass)]
    forces_there, weights_there, forces_off, weights_off = twins.pair_forces(
        wide[0], wide[1], *none, wide[2], True, float(np.float32(width))
    )
    # Beside the rounding that the twin counts, pairs with an exponent below -20 may be missing.
    lost = np.exp(-20) * wide[2].sum()
    assert (np.abs(weights - weights_there) <= weights_off + lost).all()
    assert (np.abs(forces - forces_there) <= forces_off + lost * 4).all()


@given(clouds, seeds, st.sampled_from([0.05, 0.3, 2.0]), st.sampled_from([1e-3, 1.0]))
def test_responsibilities_are_those_of_bayes(points: np.ndarray, seed: int, width: float, outliers: float) -> None:
    rng = np.random.default_rng(seed)
    x = points / np.abs(points).max()
    y = transform(random_transform(seed, 0.1), x)[: len(x) // 2] + 0.1 * rng.normal(size=(len(x) // 2, 3))
    found = responsibilities(x, y, width, outliers, 2)
    squared = twins.squared_distances(x, y)
    joint = np.exp(-squared / (2 * width**2))
    share = joint / (joint.sum(axis=0) + outliers)
    slack = 1e-4  # the exponent reaches -20 before it counts as nothing, and is single precision: 20 * 2^-22
    np.testing.assert_allclose(found.of_components, share.sum(axis=1), rtol=slack, atol=slack)
    np.testing.assert_allclose(found.of_data, share.sum(axis=0), rtol=slack, atol=slack)
    assert found.evidence == pytest.approx(np.log(joint.sum(axis=0) + outliers).sum(), rel=slack, abs=slack * len(y))
    moved = x + np.array([0.1, -0.2, 0.3])
    apart = y[None] - moved[:, None]
    expected = np.einsum("ij,ija,ijb->ab", share, apart, apart) / share.sum()
    if share.sum() > 1e-3:
        np.testing.assert_allclose(found.scatter(moved, y), expected, atol=20 * slack)


@given(clouds, clouds)
def test_the_mean_over_all_pairs_needs_no_pairs(one: np.ndarray, other: np.ndarray) -> None:
    expected = twins.squared_distances(one, other).mean()
    assert mean_squared_distance(one, other) == pytest.approx(expected, rel=1e-9)


@given(clouds, seeds)
def test_a_fit_in_a_metric(points: np.ndarray, seed: int) -> None:
    """An exact copy is found in any metric; of a noisy one, no motion nearby is better."""
    rng = np.random.default_rng(seed)
    x = points / np.abs(points).max()
    motion = pose(rotation_from_vector(0.5 * rng.normal(size=3)), rng.normal(size=3))
    weights = rng.random(len(x)) + 0.01
    root = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
    metric = root @ root.T + 0.01 * np.eye(3)
    exact = fit_points_in_metric(x, transform(motion, x), weights, metric, np.eye(3))
    assert rmsd(exact, motion, x) < 1e-5
    y = transform(motion, x) + 0.1 * rng.normal(size=x.shape)

    def cost(tried: np.ndarray) -> float:
        gap = transform(tried, x) - y
        return float(weights @ np.einsum("ia,ab,ib->i", gap, metric, gap))

    found = fit_points_in_metric(x, y, weights, metric, motion[:3, :3])
    for _ in range(5):
        near = pose(rotation_from_vector(0.01 * rng.normal(size=3)), 0.01 * rng.normal(size=3))
        assert cost(found) <= cost(near @ found)


def test_the_slope_of_the_overlap() -> None:
    """Beside differences of the sum itself, in double precision."""
    x, y = (random_cloud("blob", 200, seed) / 2 for seed in (1, 2))
    at = np.array([1.1, 0.2, -0.3, 0.1, 0.2, -0.1, 0.3])
    value, slope = Overlap(x, y, 0.4, 1)(at)

    def there(at: np.ndarray) -> float:
        squared = twins.squared_distances(transform(motion_of(at), x), y)
        return -float(np.exp(-squared / (4 * 0.4**2)).mean())

    assert value == pytest.approx(there(at), rel=1e-5)
    step = 1e-5
    differences = [(there(at + step * e) - there(at - step * e)) / (2 * step) for e in np.eye(7)]
    np.testing.assert_allclose(slope, differences, atol=1e-5 * np.abs(differences).max())


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, 0.004)
    return points - points.mean(axis=0)


@pytest.mark.parametrize("method", ["cpd", "ecm", "gmm"])
def test_a_large_turn_ends_in_a_local_minimum(body: np.ndarray, method: str) -> None:
    turn = pose(rotation_from_vector([0, 0, np.radians(150)]), np.zeros(3))
    result = graphreg.register(transform(inverse(turn), body), body, method=method, voxel=0)
    assert angular_error(result.transformation, turn) > 20
    near = pose(rotation_from_vector([0, 0, np.radians(140)]), np.zeros(3))
    started = graphreg.register(transform(inverse(turn), body), body, method=method, voxel=0, init=near)
    assert angular_error(started.transformation, turn) < 0.01
    assert started.success


@pytest.mark.parametrize("method", ["cpd", "ecm", "gmm"])
def test_outliers_do_not_pull(body: np.ndarray, method: str) -> None:
    """As many stray points as half the cloud in either, where ICP is off by more than a spacing."""
    rng = np.random.default_rng(0)
    motion = pose(rotation_from_vector(np.radians([4.0, -6.0, 5.0])), [0.01, -0.01, 0.005])
    dirty = [np.vstack([body, rng.normal(size=(len(body) // 2, 3)) * np.ptp(body, axis=0)]) for _ in range(2)]
    dirty[0] = transform(inverse(motion), dirty[0])
    result = graphreg.register(*dirty, method=method, voxel=0)
    assert rmsd(result.transformation, motion, body) < 0.004 / 4
    plain = graphreg.register(*dirty, method="icp", voxel=0)
    assert rmsd(plain.transformation, motion, body) > 0.004


def test_ecm_agrees_with_its_twin() -> None:
    """The same start, the same steps: pose within 0.05 degrees and a tenth of the spacing."""
    pair = synthetic.pair("hare", 20.0, points=2000)
    voxel = float(np.ptp(pair.target, axis=0).max()) / 12
    settings = EcmSettings(voxel=voxel, max_iterations=15, tolerance=0.0)
    found = register_ecm(pair.source, pair.target, settings)
    there = twins.ecm(found.source, found.target, settings.radius * voxel, SMALLEST_VARIANCE, 15)
    assert angular_error(found.transformation, there) < 0.05
    assert rmsd(found.transformation, there, found.source) < 0.1 * voxel


def test_sums_of_wide_gaussians_agree_with_their_twin() -> None:
    """Where a box of a width and a half holds many points, the sums are made box by box, to the stated bounds; the
    same bits for any number of threads."""
    x, y = (single(random_cloud("surface", 2000, seed)) for seed in (0, 1))
    mass = single(np.random.default_rng(0).random(len(y)))
    wide = [values.astype(np.float64) for values in (x, y, mass)]
    for width in (np.float32(2.0), np.float32(0.4)):
        weights, forces = _core.gaussian_forces(x, y, mass, width, 1)
        again = _core.gaussian_forces(x, y, mass, width, 3)
        assert weights.tobytes() == again[0].tobytes()
        assert forces.tobytes() == again[1].tobytes()
        joint = wide[2] * np.exp(-twins.squared_distances(wide[0], wide[1]) / (2 * float(width) ** 2))
        pulls = joint @ wide[1] - joint.sum(axis=1)[:, None] * wide[0]
        assert np.abs(weights - joint.sum(axis=1)).max() < 3e-9 * wide[2].sum()
        assert np.abs(forces - pulls).max() < 1e-7 * float(width) * wide[2].sum()


def test_gmm_lowers_its_objective_for_each_width(body: np.ndarray) -> None:
    turn = pose(rotation_from_vector([0.1, 0.2, 0]), np.zeros(3))
    result = graphreg.register(transform(turn, body), body, method="gmm", scales=(0.1,), voxel=0)
    energies = [step.energy for step in result.history]
    assert len(energies) > 3
    assert all(after <= before + 2.0**-20 * abs(before) for before, after in pairwise(energies))


@pytest.mark.parametrize(
    ("method", "settings", "told"),
    [
        ("cpd", {"outliers": 0.0}, "outliers: expected a share"),
        ("cpd", {"max_iterations": 0}, "max_iterations: expected"),
        ("ecm", {"radius": 0.0}, "radius: expected a positive"),
        ("gmm", {"scales": 0.1}, "scales: expected one or more positive"),
        ("gmm", {"scales": ()}, "scales: expected one or more positive"),
    ],
)
def test_settings_that_cannot_be_used(body: np.ndarray, method: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        graphreg.register(body, body, method=method, **settings)


# Runs in a process of its own, whose memory is limited to less than a byte for each pair.
MANY = """
import resource
import numpy as np
import graphreg

rng = np.random.default_rng(0)
cloud = rng.normal(size=(12000, 3))
cloud /= np.linalg.norm(cloud * [1, 2, 3], axis=1, keepdims=True)
graphreg.register(cloud[:500], cloud[:500], method="gmm", voxel=0, max_iterations=1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
for method in ("cpd", "ecm", "gmm"):
    print(len(graphreg.register(cloud, cloud, method=method, voxel=0, max_iterations=1, threads=2).history) > 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux has it")
def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("True\nTrue\nTrue\n", "")

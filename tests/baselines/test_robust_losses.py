"""A robust loss in the methods of the ICP family: outliers do not pull, and without one nothing changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphreg
from graphreg.datasets.contamination import add_outliers
from graphreg.metrics import rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.registration import METHODS, run_method
from graphreg.robust.losses import LOSSES, Loss

FAMILY = ("icp", "icp-kp", "icp-kn", "tricp", "fricp")
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def small() -> Pair:
    """300 points of a curved surface, the same moved by 3 degrees, and the transform between them."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (300, 3)) * [1.0, 0.7, 0.0]
    points[:, 2] = 0.3 * np.sin(3 * points[:, 0]) + 0.2 * points[:, 1] ** 2
    truth = pose(rotation_from_vector(np.radians([1.0, -2.0, 2.0])), [0.02, 0.01, -0.02])
    return transform(inverse(truth), points), points, truth


@pytest.fixture(scope="module")
def half_outliers(small: Pair) -> Pair:
    """The same with as many outliers in the source, normally distributed about it and as wide as the source."""
    return add_outliers(small[0], 1.0, seed=2)[0], small[1], small[2]


def estimate(method: str, pair: Pair, **settings: Any) -> np.ndarray:
    entry = METHODS[method]
    options = {"voxel": 0.0, **settings}
    return entry.run(pair[0], pair[1], type(entry.settings)(**options), np.eye(4)).transformation


@pytest.mark.parametrize("method", FAMILY)
@pytest.mark.parametrize("name", LOSSES)
def test_exact_copies_are_registered_to_rounding(small: Pair, method: str, name: Any) -> None:
    settings = {"overlap": 1.0} if method == "tricp" else {}
    found = estimate(method, small, loss=name, **settings)
    # l1 and lp are round at a thousandth of the scale, and converge linearly from there.
    assert rmsd(found, small[2], small[0]) < 1e-5


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "l2"])
def test_half_of_the_points_are_outliers_that_least_squares_follows(half_outliers: Pair, name: Any) -> None:
    source, _, truth = half_outliers
    squares, robust = (rmsd(estimate("icp", half_outliers, loss=loss), truth, source[:300]) for loss in (None, name))
    registered = 0.01 * np.linalg.norm(np.ptp(half_outliers[1], axis=0))
    assert robust < registered < squares


@pytest.mark.parametrize("method", ["icp", "icp-kp", "icp-kn"])
def test_l2_is_what_the_method_does_without_a_loss(half_outliers: Pair, method: str) -> None:
    without, with_l2 = (estimate(method, half_outliers, loss=loss, max_iterations=10) for loss in (None, "l2"))
    np.testing.assert_allclose(with_l2, without, atol=1e-9)


def test_welsch_is_what_fricp_minimises_without_a_loss(half_outliers: Pair) -> None:
    without, named = (estimate("fricp", half_outliers, loss=loss) for loss in (None, "welsch"))
    np.testing.assert_allclose(named, without, atol=1e-4)


def test_fricp_has_scales_of_its_own() -> None:
    with pytest.raises(graphreg.InputError, match=r"^loss: fricp has scales of its own"):
        METHODS["fricp"].settings.__class__(loss=Loss("huber", scale=0.1))  # type: ignore[call-arg]


@pytest.mark.parametrize("name", LOSSES)
def test_the_energy_of_fricp_falls_for_every_loss(half_outliers: Pair, name: Any) -> None:
    """Of one scale: a reweighted step minimises an upper bound."""
    settings = {"voxel": 0.0, "loss": name, "first_scale": 1e-9}
    history = (
        METHODS["fricp"]
        .run(half_outliers[0], half_outliers[1], type(METHODS["fricp"].settings)(**settings), np.eye(4))
        .history
    )
    energies = np.array([iteration.energy for iteration in history])
    assert (np.diff(energies) <= 1e-12 * energies[0]).all()


def test_a_similarity_is_robust_too(half_outliers: Pair) -> None:
    source, target, truth = half_outliers
    found = estimate("icp", (source, 1.05 * target, truth), loss="tukey", scale=(0.9, 1.2))
    assert np.cbrt(np.linalg.det(found[:3, :3])) == pytest.approx(1.05, abs=0.01)


def test_a_scale_below_all_residuals_leaves_the_pose_where_it_is(small: Pair) -> None:
    shifted = small[0] + 50.0
    found = estimate("icp", (shifted, small[1], small[2]), loss=Loss("tukey", scale=1e-6, annealed=False))
    np.testing.assert_allclose(found, np.eye(4), atol=1e-12)


def test_a_name_that_is_none_is_refused_before_anything_is_computed(small: Pair) -> None:
    with pytest.raises(graphreg.InputError, match=r"^loss: expected one of l2, l1, .*did you mean 'welsch'"):
        run_method(small[0], small[1], "icp", {"loss": "welch"})
    with pytest.raises(graphreg.InputError, match=r"^loss: no setting of cpd"):
        run_method(small[0], small[1], "cpd", {"loss": "huber"})


def test_the_result_says_which_loss_was_used(small: Pair) -> None:
    result = run_method(small[0], small[1], "icp", {"loss": "huber", "voxel": 0})
    assert result.settings["loss"]["name"] == "huber"
    assert graphreg.Result.from_json(result.to_json()).settings["loss"]["name"] == "huber"


@pytest.mark.parametrize("method", ["icp", "icp-kn"])
def test_the_number_of_threads_changes_no_bit(half_outliers: Pair, method: str) -> None:
    entry = METHODS[method]
    settings = type(entry.settings)(voxel=0.0, loss="barron", max_iterations=5)  # type: ignore[call-arg]
    one, three = (
        entry.run(half_outliers[0], half_outliers[1], settings, np.eye(4), threads=threads).transformation
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, three)

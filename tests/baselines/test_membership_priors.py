"""Priors of memberships: sums over classes against numpy, and their scale."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import seeds

from graphreg.baselines.membership_priors import (
    PRIOR,
    MembershipPrior,
    forces_by_class,
    membership_prior,
    weights_by_class,
)
from graphreg.baselines.mixtures import expectation_step


def random_prior(seed: int, count: int, others: int) -> MembershipPrior:
    rng = np.random.default_rng(seed)
    return membership_prior(rng.normal(size=(count, 3)), rng.normal(size=(others, 3)))


@given(seeds, st.integers(1, 60), st.integers(1, 60), st.floats(0.05, 2.0))
def test_sums_are_those_over_all_pairs(seed: int, count: int, others: int, width: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.uniform(-1, 1, (n, 3)).astype(np.float32) for n in (count, others))
    mass, prior = rng.uniform(0.5, 2, others).astype(np.float32), random_prior(seed, count, others)
    offsets = y[None].astype(float) - x[:, None]
    pairs = prior.factors[prior.components[:, None], prior.data[None]] * mass
    pairs = pairs * np.exp(-(offsets**2).sum(axis=2) / (2 * width**2))
    weights, forces = forces_by_class(x, y, mass, width, 1, prior)
    rounding = 1e-5 * PRIOR.classes * mass.sum()
    np.testing.assert_allclose(weights, pairs.sum(axis=1), atol=rounding)
    np.testing.assert_allclose(forces, (pairs[..., None] * offsets).sum(axis=1), atol=4 * rounding)
    np.testing.assert_array_equal(weights_by_class(x, y, mass, width, 1, prior).shape, (count,))


@given(seeds)
def test_the_mean_factor_over_all_components_is_one(seed: int) -> None:
    prior = random_prior(seed, 300, 200)
    np.testing.assert_allclose(prior.factors[prior.components].mean(axis=0), 1)
    assert (np.diag(prior.factors) == prior.factors.max(axis=0)).all()


def test_points_without_invariants_have_equal_priors() -> None:
    prior = membership_prior(np.zeros((40, 3)), np.zeros((30, 3)))
    assert (prior.factors[prior.components][:, prior.data] == 1).all()


def test_responsibilities_are_the_posterior_of_prior_and_position() -> None:
    rng = np.random.default_rng(3)
    x, y, prior = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)), random_prior(3, 30, 20)
    gaussians = prior.factors[prior.components[:, None], prior.data[None]]
    gaussians = gaussians * np.exp(-((y[None] - x[:, None]) ** 2).sum(axis=2) / (2 * 0.7**2))
    expected = gaussians / (gaussians.sum(axis=0) + 0.1)
    found = expectation_step(x, y, 0.7, 0.1, 1, prior)
    np.testing.assert_allclose(found.component_sums, expected.sum(axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.data_sums, expected.sum(axis=0), rtol=1e-4)

"""Annealing against Algorithm 1 of the paper, transcribed line by line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.strategies import seeds

from graphreg.paper.annealing import AnnealingState, accept_or_reject, cool_adaptively, cool_geometrically, lam_rate

EPS = float(np.finfo(np.float64).eps)

betas = st.floats(0.7, 0.98)
rates = st.floats(0, 1)
temperatures = st.floats(1e-6, 1e6)


def algorithm_1(
    temperature: float,
    accept_rate: float,
    energy: float,
    energy_before: float,
    beta: float,
    k: int,
    max_iterations: int,
    rand: Callable[[], float],
) -> tuple[float, float, int]:
    state = 0
    delta = energy - energy_before
    if delta < 0:
        accept_rate = 1 / 500 * (499 * accept_rate + 1)
    else:
        p = min(1, math.exp(-delta / temperature))
        if rand() < p:
            accept_rate = 1 / 500 * (499 * accept_rate + 1)
        else:
            state = 1
            accept_rate = 1 / 500 * (499 * accept_rate)
    if k / max_iterations < 0.15:
        lam = 0.44 + 0.56 * 560 ** (-1 * k / (max_iterations * 0.15))
    elif k / max_iterations < 0.65:
        lam = 0.44
    else:
        lam = 0.44 * 440 ** (-((k / max_iterations - 0.65) / 0.35))
    temperature = beta * temperature if accept_rate > lam else temperature / beta
    return temperature, accept_rate, state


def make_energies(seed: int, count: int, roughness: float) -> list[float]:
    """A random walk that falls on average; some of its steps are zero."""
    rng = np.random.default_rng(seed)
    changes = rng.normal(-0.1, 1, count) * roughness * 10 ** rng.uniform(-3, 1, count)
    changes[rng.random(count) < 0.05] = 0
    return [float(energy) for energy in np.cumsum(changes)]


@pytest.mark.slow
@given(seeds, st.integers(2, 400), st.sampled_from([1e-3, 0.1, 1.0, 30.0]), betas, rates)
def test_each_step_is_algorithm_1(seed: int, count: int, roughness: float, beta: float, rate: float) -> None:
    energies = make_energies(seed, count, roughness)
    state = AnnealingState(accept_rate=rate)
    temperature, accept_rate = state.temperature, state.accept_rate
    ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
    for k in range(1, count):
        change = energies[k] - energies[k - 1]
        state = cool_adaptively(accept_or_reject(state, change, ours), k / count, beta)
        temperature, accept_rate, rejected = algorithm_1(
            temperature, accept_rate, energies[k], energies[k - 1], beta, k, count, theirs.random
        )
        assert state.rejected == bool(rejected)
        # each step rounds three times on either side
        assert state.accept_rate == pytest.approx(accept_rate, rel=6 * EPS * k, abs=0)
        assert state.temperature == pytest.approx(temperature, rel=3 * EPS * k, abs=0)
        assert ours.bit_generator.state == theirs.bit_generator.state


@given(st.floats(-1e6, -1e-300), temperatures, rates, seeds)
def test_a_lower_energy_is_accepted_without_a_random_number(
    change: float, temperature: float, rate: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    state = accept_or_reject(AnnealingState(temperature, rate), change, rng)
    assert not state.rejected
    assert rng.bit_generator.state == np.random.default_rng(seed).bit_generator.state


@given(st.floats(0, 1e6), temperatures, rates, seeds)
def test_a_higher_energy_takes_one_random_number(change: float, temperature: float, rate: float, seed: int) -> None:
    rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
    state = accept_or_reject(AnnealingState(temperature, rate), change, rng)
    assert state.rejected == (same.random() >= np.exp(-change / temperature))
    assert rng.bit_generator.state == same.bit_generator.state


@pytest.mark.slow
@given(st.floats(0.01, 4), st.sampled_from([1e-3, 1.0, 50.0]))
@settings(max_examples=10)
def test_the_acceptance_rate_is_the_boltzmann_factor(ratio: float, temperature: float) -> None:
    count, expected = 4000, math.exp(-ratio)
    rng = np.random.default_rng(1)
    start = AnnealingState(temperature)
    accepted = sum(not accept_or_reject(start, ratio * temperature, rng).rejected for _ in range(count))
    # five standard deviations of a binomial
    assert abs(accepted / count - expected) < 5 * math.sqrt(expected * (1 - expected) / count)


def test_no_change_is_always_accepted() -> None:
    rng = np.random.default_rng(0)
    assert not any(accept_or_reject(AnnealingState(t), 0.0, rng).rejected for t in (1e-9, 1.0, 1e9) for _ in range(100))


@given(rates, temperatures, st.floats(-10, 10), seeds, st.booleans())
def test_the_accept_rate_is_a_moving_average_over_500_steps(
    rate: float, temperature: float, change: float, seed: int, before: bool
) -> None:
    old = AnnealingState(temperature, rate, before)
    new = accept_or_reject(old, change, np.random.default_rng(seed))
    assert new.accept_rate - rate == pytest.approx((float(not new.rejected) - rate) / 500, rel=0, abs=3 * EPS)
    assert 0 <= new.accept_rate <= 1
    assert new.temperature == temperature
    assert old == AnnealingState(temperature, rate, before)


@given(rates, st.integers(0, 3000))
def test_the_accept_rate_approaches_1_when_all_is_accepted(rate: float, steps: int) -> None:
    rng = np.random.default_rng(0)
    state = AnnealingState(accept_rate=rate)
    for _ in range(steps):
        state = accept_or_reject(state, -1.0, rng)
    assert 1 - state.accept_rate == pytest.approx((1 - rate) * (499 / 500) ** steps, rel=0, abs=3 * EPS * (steps + 1))


def test_lams_schedule_at_its_joints() -> None:
    for joint, step in ((0.15, 0.56 / 560), (0.65, 0.0)):
        below, above = lam_rate(math.nextafter(joint, 0)), lam_rate(joint)
        assert above == pytest.approx(0.44, rel=4 * EPS)
        assert below - above == pytest.approx(step, rel=0, abs=1e-12)
    assert lam_rate(0) == 1
    assert lam_rate(1) == pytest.approx(0.001, rel=1e-12)


@given(st.floats(0, 1), st.floats(0, 1))
def test_lams_schedule_never_rises(early: float, late: float) -> None:
    early, late = sorted((early, late))
    assert 1 >= lam_rate(early) >= lam_rate(late) - EPS
    assert lam_rate(late) >= 0.001 * (1 - 1e-12)


@given(st.floats(0.15, 0.65, exclude_max=True))
def test_lams_schedule_is_constant_in_the_middle(progress: float) -> None:
    assert lam_rate(progress) == 0.44


@given(temperatures, rates, st.booleans(), st.floats(0, 1), betas)
def test_the_temperature_is_multiplied_or_divided_by_beta(
    temperature: float, rate: float, rejected: bool, progress: float, beta: float
) -> None:
    state = AnnealingState(temperature, rate, rejected)
    cooled = cool_adaptively(state, progress, beta)
    factor = beta if rate > lam_rate(progress) else 1 / beta
    assert cooled == AnnealingState(temperature * factor, rate, rejected)
    assert (cooled.temperature < temperature) == (rate > lam_rate(progress))
    assert cool_geometrically(state, beta) == AnnealingState(temperature * beta, rate, rejected)


def test_an_accept_rate_equal_to_lams_does_not_cool() -> None:
    assert cool_adaptively(AnnealingState(1.0, 0.44), 0.4, 0.8).temperature == 1 / 0.8
    assert cool_adaptively(AnnealingState(1.0, math.nextafter(0.44, 1)), 0.4, 0.8).temperature == 0.8


@given(betas, st.floats(1e-9, 0.5))
def test_geometric_cooling_takes_log_epsilon_over_log_beta_steps(beta: float, epsilon: float) -> None:
    exact = math.log(epsilon) / math.log(beta)
    assume(abs(exact - round(exact)) > 1e-9)
    state, steps = AnnealingState(), 0
    while state.temperature > epsilon:
        state = cool_geometrically(state, beta)
        steps += 1
    assert steps == math.ceil(exact)
    assert state.temperature == pytest.approx(beta**steps, rel=EPS * (steps + 2))


def test_the_initial_state_is_that_of_the_paper() -> None:
    assert AnnealingState() == AnnealingState(temperature=1.0, accept_rate=0.5, rejected=False)

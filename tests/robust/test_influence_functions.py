"""Laws of the influence functions: derivatives, symmetry, bounds, efficiency, and what Barron's loss contains."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.robust.influence_functions import INFLUENCE, InfluenceFunction, LossName, barron, power

FUNCTIONS: dict[str, InfluenceFunction] = {
    **INFLUENCE,
    "lp 0.1": power(0.1),
    "lp 1.5": power(1.5),
    **{f"barron {shape:g}": barron(shape) for shape in (2.0, 1.5, 1.0, -0.5, -2.0, -8.0, -np.inf)},
}
functions = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
# Away from 0, where the rounded corner of l1 has the width of the difference quotient.
residuals = st.floats(0.05, 50.0)


def at(function: object, u: float) -> float:
    return float(function(np.array([u]))[0])  # type: ignore[operator]


@given(u=residuals)
def test_psi_is_the_derivative_of_rho(u: float) -> None:
    for function in FUNCTIONS.values():
        step = 1e-5
        quotient = (at(function.rho, u + step) - at(function.rho, u - step)) / (2 * step)
        # Rounding of rho over the step, and its third derivative, or at Huber's and Tukey's corners the second.
        assert quotient == pytest.approx(at(function.psi, u), rel=1e-4, abs=1e-5 + 1e-15 * at(function.rho, u) / step)


@given(u=residuals)
def test_the_weight_is_psi_over_the_residual(u: float) -> None:
    for function in FUNCTIONS.values():
        assert at(function.weight, u) * u == pytest.approx(at(function.psi, u), rel=1e-12, abs=1e-300)


@given(u=st.floats(0.0, 1e6))
def test_the_loss_is_even_rises_with_the_residual_and_is_zero_without_one(u: float) -> None:
    for function in FUNCTIONS.values():
        assert at(function.rho, 0.0) == at(function.psi, 0.0) == 0
        assert at(function.rho, -u) == at(function.rho, u) >= 0
        assert at(function.psi, -u) == -at(function.psi, u) <= 0
        assert at(function.rho, 1.01 * u) >= at(function.rho, u) * (1 - 1e-12)


@given(u=st.floats(0.0, 1e6), more=st.floats(1.0, 10.0))
def test_a_larger_residual_never_weighs_more(u: float, more: float) -> None:
    """So that the quadratic of a reweighted step is above the loss: no step can raise it."""
    for function in FUNCTIONS.values():
        assert 0 <= at(function.weight, more * u) <= at(function.weight, u) * (1 + 1e-12)


@given(u=residuals, at_u=residuals)
def test_a_reweighted_step_minimises_an_upper_bound(u: float, at_u: float) -> None:
    for function in FUNCTIONS.values():
        bound = at(function.rho, at_u) + at(function.weight, at_u) * (u * u - at_u * at_u) / 2
        assert at(function.rho, u) <= bound + 1e-9 * (1 + abs(bound) + at(function.weight, at_u) * u * u)


@functions
def test_influence_is_bounded_and_redescends_where_the_table_says_so(function: InfluenceFunction) -> None:
    u = np.geomspace(1e-4, 1e12, 4000)
    psi = function.psi(u)
    assert (psi.max() <= max(1.0, psi[u < 1e3].max()) * (1 + 1e-9)) == function.bounded
    assert (psi[-1] < 0.1 * psi.max()) == function.redescending


@pytest.mark.parametrize("name", ["huber", "tukey", "cauchy", "geman-mcclure", "welsch"])
def test_the_tuning_is_that_of_95_percent_efficiency(name: LossName) -> None:
    """Efficiency of the M-estimate on normal residuals, (E psi')² / E psi², and E psi' = E x psi."""
    function = INFLUENCE[name]
    x = np.linspace(-10, 10, 20_001)
    density = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])
    psi = function.psi(x / function.tuning)
    assert (x * psi * density).sum() ** 2 / (psi**2 * density).sum() == pytest.approx(0.95, abs=2e-4)


@pytest.mark.parametrize(
    ("name", "largest"), [("l1", 1.0), ("huber", 1.0), ("cauchy", 0.5), ("tukey", 16 / 25 / np.sqrt(5))]
)
def test_gross_error_sensitivity(name: LossName, largest: float) -> None:
    """The largest influence that a residual can have, as in the textbooks."""
    assert np.abs(INFLUENCE[name].psi(np.linspace(0, 2000, 2_000_001))).max() == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize(
    ("shape", "name", "width"),
    [(2.0, "l2", 1.0), (0.0, "cauchy", np.sqrt(2)), (-2.0, "geman-mcclure", 2.0), (-np.inf, "welsch", np.sqrt(2))],
)
@given(u=st.floats(0.0, 1e4))
def test_barrons_loss_contains_the_named_ones(shape: float, name: LossName, width: float, u: float) -> None:
    general, named = barron(shape), INFLUENCE[name]
    assert at(general.rho, u) == pytest.approx(width**2 * at(named.rho, u / width), rel=1e-9, abs=1e-300)
    assert at(general.psi, u) == pytest.approx(width * at(named.psi, u / width), rel=1e-9, abs=1e-300)
    assert at(general.weight, u) == pytest.approx(at(named.weight, u / width), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("limit", [2.0, 0.0])
def test_barrons_loss_is_continuous_in_its_shape(limit: float) -> None:
    u = np.linspace(0, 20, 50)
    np.testing.assert_allclose(barron(limit - 1e-7).rho(u), barron(limit).rho(u), rtol=2e-5)
    np.testing.assert_allclose(barron(-1e7).rho(u), barron(-np.inf).rho(u), rtol=2e-5)


def test_l1_is_the_power_one() -> None:
    u = np.linspace(-3, 3, 41)
    np.testing.assert_array_equal(INFLUENCE["l1"].rho(u), power(1.0).rho(u))
    np.testing.assert_allclose(power(1.0).rho(u), np.abs(u), atol=2e-3)

"""The influence functions of the robust losses, in one table.

An M-estimate minimises sum_i rho(u_i), with u = r / (tuning * scale) the residual without a unit. Its influence
function psi = rho' says how hard a residual pulls, and psi(u) / u is the weight of the residual in iteratively
reweighted least squares.

| loss | rho(u) | weight(u) |
|---|---|---|
| l2 | u²/2 | 1 |
| l1, lp | \\|u\\|^p/p | \\|u\\|^(p-2) |
| huber | u²/2 up to 1, then \\|u\\| - 1/2 | 1, then 1/\\|u\\| |
| cauchy | log(1 + u²)/2 | 1/(1 + u²) |
| geman-mcclure | u²/2/(1 + u²) | 1/(1 + u²)² |
| welsch | (1 - exp(-u²))/2 | exp(-u²) |
| tukey | (1 - (1 - u²)³)/6 up to 1, then 1/6 | (1 - u²)², then 0 |
| barron | b/a ((u²/b + 1)^(a/2) - 1), b = \\|a - 2\\| | (u²/b + 1)^(a/2 - 1) |

P. J. Huber: Robust statistics, 1981. J. T. Barron: A general and adaptive robust loss function. CVPR 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from graphreg.clouds import Floats

LossName = Literal["l2", "l1", "lp", "huber", "tukey", "cauchy", "geman-mcclure", "welsch", "barron"]
"""Names of the losses."""

ROUNDED = 1e-3
"""l1 and lp have a corner at 0, where their weight is infinite; below this residual they are round (chosen)."""
SPARSE_POWER = 0.4
"""The power of lp in sparse ICP (S. Bouaziz, A. Tagliasacchi, M. Pauly, SGP 2013)."""


@dataclass(frozen=True)
class InfluenceFunction:
    """A loss as a function of the residual u, without a unit.

    Attributes
    ----------
    rho, psi, weight : callable
        From residuals, an array, to the loss, its derivative, and psi(u) / u.
    tuning : float
        u is the residual over this multiple of the scale. For the losses with a quadratic middle it is the one at which
        the estimate is 95 % as efficient as least squares on normally distributed residuals (derived).
    bounded : bool
        Whether no residual has an arbitrarily large influence.
    redescending : bool
        Whether the influence of ever larger residuals falls to zero.
    """

    rho: Callable[[Floats], Floats]
    psi: Callable[[Floats], Floats]
    weight: Callable[[Floats], Floats]
    tuning: float
    bounded: bool
    redescending: bool


def power(p: float) -> InfluenceFunction:
    """Return the loss |u|^p / p, rounded near 0.

    Parameters
    ----------
    p : float
        Above 0, up to 2.

    Examples
    --------
    >>> import numpy as np
    >>> np.round(power(1.0).psi(np.array([-5.0, 0.0, 0.5])), 3).tolist()
    [-1.0, 0.0, 1.0]
    """

    def rho(u: Floats) -> Floats:
        # (u² + ROUNDED²)^(p/2) - ROUNDED^p, which is exactly 0 at 0 however powers are rounded.
        return np.asarray(ROUNDED**p * np.expm1(p / 2 * np.log1p((u / ROUNDED) ** 2)) / p)

    def weight(u: Floats) -> Floats:
        return np.asarray((u * u + ROUNDED**2) ** (p / 2 - 1))

    return InfluenceFunction(rho, lambda u: u * weight(u), weight, 1.0, p <= 1, p < 1)


def barron(alpha: float) -> InfluenceFunction:
    """Return Barron's loss of a shape.

    2 is least squares, 1 a smooth Huber, 0 Cauchy, -2 Geman-McClure, and minus infinity Welsch.

    Parameters
    ----------
    alpha : float
        Up to 2; -inf is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> u = np.array([0.5, 3.0])
    >>> bool(np.allclose(barron(0.0).weight(u), INFLUENCE["cauchy"].weight(u / np.sqrt(2))))
    True
    """
    flag = alpha <= 1, alpha < 1
    if alpha == 2:
        return InfluenceFunction(_half_square, lambda u: u, np.ones_like, 1.0, *flag)
    if alpha == -np.inf:

        def weight(u: Floats) -> Floats:
            return np.exp(-u * u / 2)

        return InfluenceFunction(lambda u: -np.expm1(-u * u / 2), lambda u: u * weight(u), weight, 1.0, *flag)
    b = abs(alpha - 2)

    def logarithm(u: Floats) -> Floats:
        return np.log1p(u * u / b)

    def rho(u: Floats) -> Floats:
        if alpha == 0:
            return b / 2 * logarithm(u)
        return b / alpha * np.expm1(alpha / 2 * logarithm(u))

    def weight_of(u: Floats) -> Floats:
        return np.exp((alpha / 2 - 1) * logarithm(u))

    return InfluenceFunction(rho, lambda u: u * weight_of(u), weight_of, 1.0, *flag)


def _half_square(u: Floats) -> Floats:
    return u * u / 2


def _huber(u: Floats) -> Floats:
    size = np.abs(u)
    return np.where(size <= 1, u * u / 2, size - 0.5)


def _inside(u: Floats) -> Floats:
    """1 - u², 0 beyond 1."""
    return np.maximum(1 - u * u, 0.0)


INFLUENCE: dict[LossName, InfluenceFunction] = {
    "l2": InfluenceFunction(_half_square, lambda u: u, np.ones_like, 1.0, False, False),
    "l1": power(1.0),
    "lp": power(SPARSE_POWER),
    "huber": InfluenceFunction(
        _huber, lambda u: np.clip(u, -1, 1), lambda u: 1 / np.maximum(np.abs(u), 1), 1.345, True, False
    ),
    "tukey": InfluenceFunction(
        lambda u: (1 - _inside(u) ** 3) / 6, lambda u: u * _inside(u) ** 2, lambda u: _inside(u) ** 2, 4.685, True, True
    ),
    "cauchy": InfluenceFunction(
        lambda u: np.log1p(u * u) / 2, lambda u: u / (1 + u * u), lambda u: 1 / (1 + u * u), 2.385, True, True
    ),
    "geman-mcclure": InfluenceFunction(
        lambda u: u * u / 2 / (1 + u * u),
        lambda u: u / (1 + u * u) ** 2,
        lambda u: 1 / (1 + u * u) ** 2,
        3.787,
        True,
        True,
    ),
    "welsch": InfluenceFunction(
        lambda u: -np.expm1(-u * u) / 2, lambda u: u * np.exp(-u * u), lambda u: np.exp(-u * u), 2.985, True, True
    ),
    "barron": barron(0.0),
}
"""The losses by name; lp with its usual power, and barron with the shape that it has before residuals are seen."""

"""The shape of Barron's loss, estimated from residuals as their most probable distribution.

exp(-rho(u)) is a density only for shapes above 0; cut off at ten scales it is one for all (N. Chebrolu et al.: Adaptive
robust kernels for non-linear least squares problems. IEEE RA-L 6(2), 2021).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from graphreg.clouds import Floats
from graphreg.robust.influence_functions import barron

SHAPES = tuple(np.linspace(-8.0, 2.0, 41).tolist())
"""Shapes that are compared (chosen): below the first one, the loss hardly changes."""
CUT = 10.0
"""Where the density is cut off, in scales; the value of Chebrolu et al."""
BINS = 1000
"""Of residuals up to there, for sums and integrals (chosen)."""


def estimate_shape(residuals: Floats) -> float:
    """Return the most probable shape of Barron's loss.

    Parameters
    ----------
    residuals : (N,) ndarray
        Over their scale.

    Returns
    -------
    float
        2 where the residuals are normal; the smaller, the more of them are outliers.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> estimate_shape(rng.normal(size=2000)) > 1.5
    True
    >>> estimate_shape(rng.standard_cauchy(2000)) < 0.5
    True
    """
    losses, log_partitions = _tables()
    rows = np.minimum(np.abs(residuals) * (BINS / CUT), BINS - 1).astype(np.int64)
    shares = np.bincount(rows, minlength=BINS) / len(residuals)
    return float(SHAPES[int(np.argmin(losses @ shares + log_partitions))])


@cache
def _tables() -> tuple[Floats, Floats]:
    """The loss in the middle of each bin, and the logarithm of the integral of exp(-rho), a row for each shape."""
    middles = np.linspace(0.5, BINS - 0.5, BINS) * (CUT / BINS)
    losses = np.stack([barron(shape).rho(middles) for shape in SHAPES])
    return losses, np.log(2 * (CUT / BINS) * np.exp(-losses).sum(axis=1))

"""The scale of residuals, about zero, that outliers do not change much: the standard deviation of normal ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from graphreg.clouds import Floats
from graphreg.robust.influence_functions import INFLUENCE

ScaleName = Literal["mad", "s"]
"""Names of the estimates."""

NORMAL_MAD = 1.4826
"""Standard deviation over the median absolute deviation of a normal distribution (derived)."""
S_TUNING = 1.5476
"""At this tuning of Tukey's loss its mean is half of its largest value, if residuals are normal (derived)."""
S_STEPS, S_CONVERGENCE = 50, 1e-4


def mad_scale(residuals: Floats) -> float:
    """Return 1.4826 times the median of the absolute residuals.

    Examples
    --------
    >>> import numpy as np
    >>> mad_scale(np.array([-1.0, 2.0, 500.0]))
    2.9652
    """
    return NORMAL_MAD * float(np.median(np.abs(residuals)))


def s_scale(residuals: Floats) -> float:
    """Return the scale s at which the mean of Tukey's loss of r / (1.5476 s) is half of its largest value.

    The pose that minimises this scale is the S-estimate (P. Rousseeuw, V. Yohai 1984). As of the MAD, up to half of the
    residuals can be arbitrarily large; it uses the sizes of the others, and not their order alone.

    Examples
    --------
    >>> import numpy as np
    >>> abs(s_scale(np.random.default_rng(0).normal(size=10_000)) - 1) < 0.03
    True
    """
    rho = INFLUENCE["tukey"].rho
    half = 0.5 * float(rho(np.ones(1))[0])
    scale = mad_scale(residuals)
    for _ in range(S_STEPS):
        if not scale > 0:
            return 0.0
        ratio = float(np.sqrt(rho(residuals / (S_TUNING * scale)).mean() / half))
        scale *= ratio
        if abs(ratio - 1) < S_CONVERGENCE:
            break
    return scale


SCALES: dict[ScaleName, Callable[[Floats], float]] = {"mad": mad_scale, "s": s_scale}
"""The estimates by name."""

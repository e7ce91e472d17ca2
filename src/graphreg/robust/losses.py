"""Loss, what a caller chooses, and the weights that follow from it in each iteration."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np

from graphreg.argument_checks import check_choice, check_flag, check_number, check_positive
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.robust.adaptive_shape import estimate_shape
from graphreg.robust.influence_functions import INFLUENCE, SPARSE_POWER, InfluenceFunction, LossName, barron, power
from graphreg.robust.robust_scales import SCALES, ScaleName

LOSSES: tuple[LossName, ...] = get_args(LossName)
"""Names of all losses."""


@dataclass(frozen=True)
class Loss:
    """A robust loss: how much a residual counts that is larger than the scale of most.

    Parameters
    ----------
    name : str
        "l2" (least squares), "l1", "lp", "huber", "tukey", "cauchy", "geman-mcclure", "welsch" or "barron".
    scale : {"mad", "s"} or float, default "mad"
        The scale of the residuals of inliers: estimated by the median absolute deviation or by an S-estimate, or a
        length in the unit of the data.
    annealed : bool, default True
        Graduated non-convexity: the scale starts at that of the smallest fifth of the residuals and falls by a tenth in
        each iteration, down to the spacing of the points, and from there to the scale of the residuals within its
        reach; or to `scale`, where that is a length. More than half of the points can then be outliers. False: the
        scale of all residuals, anew in each iteration.
    tuning : float, optional
        The loss changes from quadratic to robust at this multiple of the scale. By default it is 95 % as efficient as
        least squares on normal residuals.
    p : float, default 0.4
        The power of "lp", above 0 and up to 2.
    alpha : float, optional
        The shape of "barron", up to 2. By default it is estimated in each iteration.

    Raises
    ------
    InputError
        If a value is out of range, or belongs to another loss.

    Examples
    --------
    >>> import graphreg
    >>> graphreg.Loss("tukey", annealed=False)
    Loss('tukey', annealed=False)
    """

    name: LossName
    scale: ScaleName | float = "mad"
    annealed: bool = True
    tuning: float | None = None
    p: float | None = None
    alpha: float | None = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "name": check_choice("loss", self.name, LOSSES),
            "annealed": check_flag("annealed", self.annealed),
            "scale": check_choice("scale", self.scale, tuple(SCALES))
            if isinstance(self.scale, str)
            else check_positive("scale", self.scale, f"{', '.join(SCALES)}, or a positive length"),
        }
        if self.tuning is not None:
            checked["tuning"] = check_positive("tuning", self.tuning)
        for field, owner, low in (("p", "lp", 1e-3), ("alpha", "barron", -np.inf)):
            value = getattr(self, field)
            if value is None:
                continue
            if checked["name"] != owner:
                raise InputError(f"{field}: only {owner} has it, and not {checked['name']}")
            checked[field] = check_number(field, value, low, 2.0)
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    def __repr__(self) -> str:
        chosen = (f for f in fields(self)[1:] if getattr(self, f.name) != f.default)
        return f"Loss({', '.join([repr(self.name), *(f'{f.name}={getattr(self, f.name)!r}' for f in chosen)])})"


def as_loss(value: Any) -> Loss:
    """Return a loss from its name; a `Loss` stays what it is.

    Examples
    --------
    >>> as_loss("huber")
    Loss('huber')
    """
    return value if isinstance(value, Loss) else Loss(value)


@dataclass(frozen=True)
class AnnealingParameters:
    """Constants of annealing.

    Attributes
    ----------
    first_share : float
        The first scale is that of the smallest residuals, this share of all (chosen);
    normal_ratio : float
        so many times the largest of them, which is the standard deviation if all are normal (derived).
    decay : float
        Factor of the scale from one iteration to the next, at least (chosen).
    reach : float
        Below the spacing, residuals within this multiple of the scale say what it may fall to (chosen);
    reach_correction : float
        if they are normal, their scale is so much too small for those beyond (derived).
    """

    first_share: float = 0.2
    normal_ratio: float = 3.947
    decay: float = 0.9
    reach: float = 2.5
    reach_correction: float = 1.016


ANNEALING = AnnealingParameters()


class RobustWeights:
    """The weights of residuals, in one iteration after the other.

    Parameters
    ----------
    loss : Loss
    smallest : float
        The scale falls no lower: rounding says nothing about it.
    spacing : float
        The scale of residuals between two samples of one surface, to which annealing falls in any case.
    """

    def __init__(self, loss: Loss, smallest: float, spacing: float) -> None:
        self._loss = loss
        self._smallest = max(smallest, float(np.finfo(float).tiny))
        self._spacing = spacing
        self._scale: float | None = None

    def __call__(self, residuals: Floats) -> tuple[float, Floats]:
        """Return the objective and the weights of residuals.

        Parameters
        ----------
        residuals : (N,) ndarray
            One or more, of any sign.

        Returns
        -------
        objective : float
            The mean of 2 k² rho(r / k), with k the tuning times the scale: of "l2" the mean square.
        weights : (N,) ndarray
            psi(u) / u.
        """
        if self._loss.name == "l2":
            return float(np.square(residuals).mean()), np.ones(len(residuals))
        self._scale = max(self._next_scale(residuals), self._smallest)
        function = influence_of(self._loss, residuals / self._scale)
        unit = (self._loss.tuning or function.tuning) * self._scale
        u = residuals / unit
        return 2 * unit**2 * float(function.rho(u).mean()), function.weight(u)

    def _next_scale(self, residuals: Floats) -> float:
        chosen = self._loss.scale
        estimate = SCALES[chosen] if isinstance(chosen, str) else None
        if not self._loss.annealed:
            return estimate(residuals) if estimate else float(chosen)
        if self._scale is None:
            return ANNEALING.normal_ratio * float(np.quantile(np.abs(residuals), ANNEALING.first_share))
        lower = ANNEALING.decay * self._scale
        if estimate is None:
            return max(lower, float(chosen))
        if self._scale > self._spacing:
            return max(lower, self._spacing)
        near = residuals[np.abs(residuals) <= ANNEALING.reach * self._scale]
        of_near = ANNEALING.reach_correction * estimate(near) if len(near) else self._scale
        return max(lower, min(of_near, self._scale))


def influence_of(loss: Loss, residuals: Floats) -> InfluenceFunction:
    """Return the influence function of a loss; `residuals`, over their scale, decide on an adaptive shape."""
    if loss.name == "lp":
        return power(SPARSE_POWER if loss.p is None else loss.p)
    if loss.name == "barron":
        return barron(estimate_shape(residuals) if loss.alpha is None else loss.alpha)
    return INFLUENCE[loss.name]

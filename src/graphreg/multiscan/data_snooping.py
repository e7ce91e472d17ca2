"""Data snooping: which observed points contradict the others in a least-squares adjustment (Baarda 1968).

A point has the residual r, three numbers, with covariance Q. If it is right, r^T Q^-1 r is chi-squared with as many
degrees of freedom as Q has rank; where the observations' standard deviations are known up to a common factor alone, the
quotient by the variance that the other points show is F-distributed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask

# Chosen: the probability at which a right point would be called an outlier.
SIGNIFICANCE = 0.001
# Rounds of testing; each removes one point, or adds all that fit. Chosen.
MAX_ROUNDS = 200
# Eigenvalues of Q below this share of the observation's variance are rounding: the others say nothing there. Chosen.
RANK_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class PointResiduals:
    """Residuals of all observed points in an adjustment by some of them.

    Attributes
    ----------
    residuals : (K, 3) ndarray
    covariances : (K, 3, 3) ndarray
        Of the residuals, by the stated standard deviations.
    variances : (K,) ndarray
        Of a coordinate of each observed point, as stated.
    squared_sum : float
        Sum of the squared residuals of all observations in use, each over its variance.
    redundancy : int
        Number of observations in use, less that of the unknowns.
    least_factor : float or None
        Where the standard deviations are known up to a common factor alone, the smallest square of that factor, which
        rounding causes; None where they are known.
    """

    residuals: Floats
    covariances: Floats
    variances: Floats
    squared_sum: float
    redundancy: int
    least_factor: float | None

    def probabilities(self, used: Mask) -> Floats:
        """Probability of a residual as large as that of each point, (K,), if the point is right."""
        from scipy.special import chdtrc, fdtrc

        values, vectors = np.linalg.eigh(self.covariances)
        along = np.einsum("kij,ki->kj", vectors, self.residuals)
        tested = values > RANK_TOLERANCE * self.variances[:, None]
        rank = tested.sum(axis=1)
        statistic = np.where(tested, along**2 / np.where(tested, values, 1.0), 0.0).sum(axis=1)
        if self.least_factor is None:
            return np.asarray(np.where(rank > 0, chdtrc(np.maximum(rank, 1), statistic), 1.0))
        # The variance factor without the point itself.
        freedom = np.where(used, self.redundancy - rank, self.redundancy)
        remaining = np.where(used, self.squared_sum - statistic, self.squared_sum)
        possible = (rank > 0) & (freedom > 0)
        factor = np.maximum(remaining / np.maximum(freedom, 1), self.least_factor)
        tail = fdtrc(np.maximum(rank, 1), np.maximum(freedom, 1), statistic / np.maximum(rank, 1) / factor)
        return np.asarray(np.where(possible, tail, 1.0))


def consistent_points(
    adjust: Callable[[Mask], PointResiduals], start: Mask, significance: float = SIGNIFICANCE
) -> tuple[Mask, PointResiduals]:
    """The points that agree with each other, and the residuals of an adjustment by these.

    Points that fit are added, all at once; else the worst of those in use that does not fit is removed, until all in
    use fit and the others do not.

    Parameters
    ----------
    adjust : callable
        The adjustment by the points in use, (K,) of bool.
    start : (K,) ndarray of bool
        Points that agree for certain, as far as known.
    significance : float, default 0.001
        Probability at which a right point is called an outlier.

    Returns
    -------
    used : (K,) ndarray of bool
    residuals : PointResiduals
    """
    used, seen = start, set()
    found = adjust(used)
    for _ in range(MAX_ROUNDS):
        seen.add(used.tobytes())
        probability = found.probabilities(used)
        following = used | (probability >= significance)
        if np.array_equal(following, used):
            worst = int(np.argmin(np.where(used, probability, np.inf))) if used.any() else -1
            if worst < 0 or probability[worst] >= significance:
                break
            following = used.copy()
            following[worst] = False
        if following.tobytes() in seen:
            break
        used = following
        found = adjust(used)
    return used, found

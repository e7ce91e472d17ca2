r"""Fit the weights that rank candidates: a conditional logit over the candidates of each run.

The candidates of a run are the refined poses that the search returned. Of these, each is the right one with probability
:math:`e^{w \cdot x} / \sum e^{w \cdot x}`, with the features :math:`x` of `PairEvidence.ranking_features`; the weights
:math:`w` maximise the likelihood of those that are right. Runs with both right and wrong candidates count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from graphreg.bench.calibration import FOLDS, cross_validate
from graphreg.clouds import Floats
from graphreg.engine.evidence import EVIDENCE

Row = Mapping[str, Any]

FEATURES, RIGHT = "features of candidates", "candidates that are right"
TERMS = (
    "log(1 + information)",
    "log(1 + inlier information)",
    "log(overlap score)",
    "floating",
    "log(1 + nearest inliers)",
    "tightness",
    "log(1 + spread)",
)
IN_USE = (*EVIDENCE.weights, *EVIDENCE.support_weights)
# Ridge on the weights of features in units of their standard deviation.
RIDGE = 0.1


def rankable(rows: Sequence[Row]) -> list[Row]:
    """Return the runs with right and wrong candidates."""
    return [row for row in rows if row.get(RIGHT) and 0 < sum(row[RIGHT]) < len(row[RIGHT])]


def can_be_ranked(rows: Sequence[Row]) -> bool:
    """Return whether there are enough such runs, on enough scenes, to fit and cross-validate."""
    some = rankable(rows)
    return len(some) >= 2 * len(TERMS) and len({row["scene"] for row in some}) >= FOLDS


def fit_weights(rows: Sequence[Row]) -> Floats:
    """Return the weights of `TERMS` that make the right candidates most probable."""
    runs = [np.array(row[FEATURES], float) for row in rows]
    scale = np.maximum(np.concatenate([features - features.mean(axis=0) for features in runs]).std(axis=0), 1e-9)
    features, right = np.concatenate(runs) / scale, np.concatenate([np.array(row[RIGHT], bool) for row in rows])
    counts = [len(candidates) for candidates in runs]
    starts = np.cumsum([0, *counts[:-1]])

    def log_sums(scores: Floats) -> tuple[Floats, Floats]:
        """Of each run the logarithm of the sum of exponentials, and the share of each candidate in it."""
        largest = np.maximum.reduceat(scores, starts)
        powers = np.exp(scores - np.repeat(largest, counts))
        sums = np.add.reduceat(powers, starts)
        return largest + np.log(sums), powers / np.repeat(sums, counts)

    def cost(weights: Floats) -> tuple[float, Floats]:
        scores = features @ weights
        (of_all, probability), (of_right, among_right) = log_sums(scores), log_sums(np.where(right, scores, -np.inf))
        total = RIDGE * float(weights @ weights) / 2 - float((of_right - of_all).sum())
        return total, RIDGE * weights - (among_right - probability) @ features

    found = minimize(cost, np.zeros(len(TERMS)), jac=True, method="L-BFGS-B")
    return np.asarray(found.x / scale)


def ranked_first(rows: Sequence[Row], weights: Floats) -> int:
    """Return in how many runs a right candidate has the largest score; weights of all runs, or (n, 7) of each."""
    each = np.broadcast_to(weights, (len(rows), len(TERMS)))
    return sum(bool(row[RIGHT][int(np.argmax(np.array(row[FEATURES]) @ w))]) for row, w in zip(rows, each, strict=True))


def ranking_table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the weights in use, those fitted to all runs, and the range of those fitted without a fold."""
    some = rankable(rows)
    fitted, (_, without) = fit_weights(some), cross_validate(some, fit_weights)
    return [
        {
            "term": term,
            "in use": IN_USE[number],
            "fitted": float(fitted[number]),
            "smallest without a fold": float(without[:, number].min()),
            "largest without a fold": float(without[:, number].max()),
        }
        for number, term in enumerate(TERMS)
    ]


def ranking_statement(rows: Sequence[Row]) -> str:
    """Return in how many runs the weights in use, and those fitted without the scene, rank a right pose first."""
    some = rankable(rows)
    folds, without = cross_validate(some, fit_weights)
    return (
        f"ranking: of {len(some)} runs whose candidates are partly right, the weights in use put a right one first in "
        f"{ranked_first(some, np.array(IN_USE))}, weights fitted without the object or scene in "
        f"{ranked_first(some, without[folds])}"
    )

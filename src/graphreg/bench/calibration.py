r"""Fit and check the constants of the verdict: confidence by logistic regression, covariance by its inflation.

Confidence is the probability :math:`1 / (1 + e^{-w \cdot x})` that a registration is correct, with the predictors
:math:`x` of `predictors`. The covariance of the pose is inflated by :math:`\max(10^{a + b r}, c)`, where :math:`r` is
the median roughness of the surfels in coarse voxels. `graphreg bench confidence` prints the constants fitted to its
runs beside those in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

from graphreg.clouds import Floats
from graphreg.engine.evidence import Evidence
from graphreg.engine.observability import OBSERVABILITY, Observability, inflation_of
from graphreg.engine.verdict import VERDICT, confidence_of, verdict_features
from graphreg.poses import inverse, transform

Row = Mapping[str, Any]

INFLATION_TERMS = ("a", "b", "c")
ALTERNATIVES = "features of alternatives"
AMBIGUOUS = "ambiguous"  # the group of scenes that several poses fit equally well
# Cross-validation: constants are fitted to the runs on four fifths of the objects, and tried on the rest.
FOLDS = 5
# Logistic regression: Newton steps, and a ridge, as runs may be separable.
NEWTON_STEPS, RIDGE = 30, 0.1


def area_under_roc(confidence: Sequence[float], correct: Sequence[bool]) -> float:
    """Return the probability that a correct run has a higher confidence than a wrong one; ties count half."""
    from scipy.stats import rankdata  # a second to import, for every command and experiment

    positive = np.asarray(correct, bool)
    count = np.count_nonzero(positive)
    if count in (0, len(positive)):
        return float("nan")
    ranks = rankdata(confidence)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * (len(positive) - count)))


def normalised_error(found: Floats, truth: Floats, observability: Observability) -> float:
    r"""Return the normalised estimation error squared (NEES) over 6, :math:`e^T C^{-1} e / 6`.

    Its mean is 1 where the covariance :math:`C` is that of the errors :math:`e`: rotation vector about the centre
    (radians), then translation of the centre, from the truth to what was found.

    Parameters
    ----------
    found, truth : (4, 4) array
        T_target_source.
    observability : Observability
        Covariance and centre of the pose.
    """
    error = found @ inverse(truth)
    rotation = Rotation.from_matrix(error[:3, :3]).as_rotvec()
    # What is at the centre now would be elsewhere in the true pose.
    translation = observability.centre - transform(inverse(error), observability.centre[None])[0]
    vector = np.concatenate([rotation, translation])
    return float(vector @ np.linalg.solve(observability.covariance, vector) / 6)


def evidence_of(row: Row) -> Evidence:
    """Return the evidence of a run, as its row stores it; NaN for figures that it does not have."""
    stored = {field.name: row.get(field.name) for field in fields(Evidence)}
    known: dict[str, Any] = {name: np.nan if value is None else value for name, value in stored.items()}
    return Evidence(**known)


def features_of(row: Row) -> dict[str, float]:
    """Return the features that confidence depends on beside a constant, by name, in the order of its weights."""
    return verdict_features(evidence_of(row))


def predictors(rows: Sequence[Row]) -> Floats:
    """Return the predictors of confidence, a row for each run: 1, then its features."""
    return np.array([(1.0, *features_of(row).values()) for row in rows])


def fit_logit(rows: Sequence[Row]) -> Floats:
    """Fit the constants of confidence to runs.

    Without runs on scenes that several poses fit equally well: no pose of theirs is right or wrong, and the verdict
    on them is not that of the regression.
    """
    rows = [row for row in rows if row.get("group") != AMBIGUOUS]
    return logistic_regression(predictors(rows), np.array([row["correct"] for row in rows], float))


def logistic_regression(known: Floats, correct: Floats) -> Floats:
    """Return the weights of predictors, a row for each run, by ridge regression with Newton's method."""
    weights = np.zeros(known.shape[1])
    for _ in range(NEWTON_STEPS):
        probability = logistic(known @ weights)
        gradient = known.T @ (correct - probability) - RIDGE * weights
        hessian = (known * (probability * (1 - probability))[:, None]).T @ known + RIDGE * np.eye(len(weights))
        weights = weights + np.linalg.solve(hessian, gradient)
    return weights


def fit_inflation(rows: Sequence[Row]) -> Floats:
    """Fit a, b and c of the inflation to runs with a NEES, by maximum likelihood of normally distributed errors."""
    roughness, nees = _roughness(rows), _uninflated(rows)

    def cost(constants: Floats) -> float:
        inflation = _inflations(roughness, constants)
        return float(np.mean(np.log(inflation) + nees / inflation))

    found = minimize(
        cost, np.array(OBSERVABILITY.inflation), method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-3}
    )
    return np.asarray(found.x)


def cross_validate(rows: Sequence[Row], fit: Callable[[Sequence[Row]], Floats]) -> tuple[NDArray[np.int64], Floats]:
    """Fit constants without the objects and scenes of each fold.

    Returns
    -------
    folds : (n,) array of int
        Fold of each run; all runs on an object or scene are in one fold.
    constants : (FOLDS, k) array
        Constants fitted to the runs of the other folds.
    """
    scenes = [row["scene"] for row in rows]
    numbers = {scene: number for number, scene in enumerate(sorted(set(scenes)))}
    folds = np.array([numbers[scene] % FOLDS for scene in scenes])
    return folds, np.array(
        [fit([row for row, fold in zip(rows, folds, strict=True) if fold != out]) for out in range(FOLDS)]
    )


def cross_validated_confidence(rows: Sequence[Row]) -> list[float]:
    """Return the confidence of each run by constants that were fitted without its object."""
    folds, constants = cross_validate(rows, fit_logit)
    probability = logistic((predictors(rows) * constants[folds]).sum(axis=1))
    # No confidence at all: without overlap the verdict needs no regression.
    return [
        confidence_of(float(value), row["degenerate"], alternative_probabilities(row, weights))
        if row["confidence"]
        else 0.0
        for row, value, weights in zip(rows, probability, constants[folds], strict=True)
    ]


def alternative_probabilities(row: Row, weights: Floats) -> list[float]:
    """Return the probability of each pose that fits equally well, by constants of the confidence."""
    return [float(logistic(np.dot(weights, (1.0, *features)))) for features in row.get(ALTERNATIVES, ())]


def cross_validated_nees(rows: Sequence[Row]) -> Floats:
    """Return the NEES / 6 of each run with an inflation that was fitted without its object."""
    folds, constants = cross_validate(rows, fit_inflation)
    inflation = [inflation_of(one, constants[fold]) for one, fold in zip(_roughness(rows), folds, strict=True)]
    return np.asarray(_uninflated(rows) / np.array(inflation))


def can_be_fitted(rows: Sequence[Row], calibrated: Sequence[Row]) -> bool:
    """Return whether there are enough runs of either kind, on enough scenes, to fit and cross-validate.

    Parameters
    ----------
    rows, calibrated : sequence of rows
        As for `fitted_constants`.
    """
    correct = [row["correct"] for row in rows]
    scenes = min(len({row["scene"] for row in some}) for some in (rows, calibrated))
    return min(correct.count(True), correct.count(False), scenes) >= FOLDS


def fitted_constants(rows: Sequence[Row], calibrated: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a table of the constants: in use, fitted to all runs, and the range of those fitted without a fold.

    Parameters
    ----------
    rows : sequence of rows
        All runs, for the confidence.
    calibrated : sequence of rows
        Runs with an exact ground truth and a NEES, for the inflation.
    """
    lines = []
    for name, terms, used, some, fit in (
        ("confidence", ("constant", *features_of(rows[0])), VERDICT.logit, rows, fit_logit),
        ("inflation of the covariance", INFLATION_TERMS, OBSERVABILITY.inflation, calibrated, fit_inflation),
    ):
        fitted, (_, without) = fit(some), cross_validate(some, fit)
        lines += [
            {
                "constant of": name,
                "term": term,
                "in use": used[number],
                "fitted": float(fitted[number]),
                "smallest without a fold": float(without[:, number].min()),
                "largest without a fold": float(without[:, number].max()),
            }
            for number, term in enumerate(terms)
        ]
    degenerate = [row for row in rows if row["degenerate"]]
    if degenerate:
        lines.append(
            {
                "constant of": "confidence",
                "term": "share if degenerate",
                "in use": VERDICT.ambiguous_share,
                "fitted": fit_degenerate_share(degenerate),
                "smallest without a fold": None,
                "largest without a fold": None,
            }
        )
    return lines


def fit_degenerate_share(rows: Sequence[Row]) -> float:
    """Return how many degenerate poses are right, over how many their probabilities let expect."""
    probable = logistic(predictors(rows) @ np.array(VERDICT.logit))
    return float(sum(row["correct"] for row in rows) / probable.sum())


def logistic(values: Floats) -> Floats:
    """Return the logistic function, without overflow."""
    return np.asarray(1 / (1 + np.exp(-np.clip(values, -700, 700))))


def _roughness(rows: Sequence[Row]) -> Floats:
    return np.array([row["roughness"] for row in rows])


def _inflations(roughness: Floats, constants: Floats) -> Floats:
    """Inflations that a fit can take the logarithm of."""
    return np.array([max(inflation_of(one, constants), 1e-3) for one in roughness])


def _uninflated(rows: Sequence[Row]) -> Floats:
    """NEES / 6 of runs with a covariance that is not inflated."""
    inflation = [inflation_of(one, OBSERVABILITY.inflation) for one in _roughness(rows)]
    return np.asarray(np.array([row["NEES / 6"] for row in rows]) * np.array(inflation))

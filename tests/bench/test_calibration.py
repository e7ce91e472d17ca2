"""Calibration of the verdict: the area under the ROC curve, NEES, and fits that recover known constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench.calibration import (
    ALTERNATIVES,
    area_under_roc,
    cross_validate,
    cross_validated_confidence,
    cross_validated_nees,
    features_of,
    fit_inflation,
    fit_logit,
    logistic,
    normalised_error,
    predictors,
)
from graphreg.engine.observability import OBSERVABILITY, Observability, inflation_of
from graphreg.poses import pose, rotation_from_vector


def runs_on(subjects: list[str], correct: list[bool], inliers: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "scene": subject, "correct": yes, "nearest_inliers": count, "tightness": 0.5, "spread": 10.0,
            "floating_in_clutter": 0.1, "seen_through": 0.0, "variety": 0.1, "margin": 1.0, "similarity": 0.0,
            "degenerate": False, "confidence": 0.5,
        }
        for subject, yes, count in zip(subjects, correct, inliers, strict=True)
    ]  # fmt: skip


def test_the_area_is_the_probability_that_a_correct_run_has_more_confidence() -> None:
    rng = np.random.default_rng(1)
    confidence, correct = rng.integers(0, 5, 60) / 4, rng.random(60) < 0.4
    pairs_of_runs = [(a > b) + 0.5 * (a == b) for a in confidence[correct] for b in confidence[~correct]]
    assert area_under_roc(confidence, correct) == pytest.approx(np.mean(pairs_of_runs))
    assert np.isnan(area_under_roc([0.1, 0.2], [True, True]))


@pytest.mark.slow
def test_errors_sampled_from_the_covariance_are_calibrated() -> None:
    rng = np.random.default_rng(2)
    mixing = rng.normal(size=(6, 6)) * 1e-4
    observability = Observability(np.array([10.0, -20.0, 30.0]), mixing @ mixing.T, ())
    centre = observability.centre
    truth = pose(rotation_from_vector([0.5, 1.0, -2.0]), [5.0, 6.0, 7.0])
    squared = []
    for _ in range(2000):
        error = mixing @ rng.normal(size=6)
        rotation = rotation_from_vector(error[:3])
        found = pose(rotation, centre - rotation @ centre + error[3:]) @ truth
        squared.append(normalised_error(found, truth, observability))
    # The mean of 2000 chi-squares of six degrees of freedom, by six: 1, give or take four times sqrt(2 / 6 / 2000).
    assert np.mean(squared) == pytest.approx(1, abs=0.052)


@pytest.mark.slow
def test_the_logistic_fit_recovers_the_constants_that_made_the_runs() -> None:
    rng = np.random.default_rng(4)
    constants = np.array([-4.0, 1.5, 2.0, 0.3, -2.0, -3.0, 0.5, 1.0, -1.0])
    rows: list[dict[str, Any]] = [
        {
            "nearest_inliers": int(rng.integers(0, 60)), "tightness": rng.random(), "spread": 20 * rng.random(),
            "floating_in_clutter": 0.1 + rng.random(), "seen_through": rng.random(), "variety": rng.random() / 3,
            "margin": rng.uniform(-2, 2), "similarity": rng.random(),
        }
        for _ in range(6000)
    ]  # fmt: skip
    probability = logistic(predictors(rows) @ constants)
    for row, one in zip(rows, probability, strict=True):
        row["correct"] = bool(rng.random() < one)
    known = predictors(rows)
    deviation = np.sqrt(np.diag(np.linalg.inv((known * (probability * (1 - probability))[:, None]).T @ known)))
    assert np.all(np.abs(fit_logit(rows) - constants) < 4 * deviation)


@pytest.mark.slow
def test_the_fit_of_the_inflation_recovers_the_constants_that_made_the_errors() -> None:
    rng = np.random.default_rng(5)
    constants = (-1.0, 9.0, 2.0)
    rows = []
    for roughness in rng.uniform(0, 0.45, 1000):
        ratio = inflation_of(roughness, constants) / inflation_of(roughness, OBSERVABILITY.inflation)
        rows.append({"roughness": roughness, "NEES / 6": rng.chisquare(6) / 6 * ratio})
    fitted = fit_inflation(rows)
    # A chi-square of six degrees of freedom, by six, has a deviation of sqrt(2 / 6); a quarter of the runs for each.
    for roughness in (0.05, 0.2, 0.3, 0.4):
        expected = inflation_of(roughness, constants)
        assert inflation_of(roughness, fitted) == pytest.approx(expected, rel=4 * np.sqrt(2 / 6 / 250))


def test_runs_on_one_object_are_in_one_fold_and_not_fitted() -> None:
    subjects = [f"object{number % 20}" for number in range(200)]
    rows = runs_on(subjects, [True] * 200, [1] * 200)
    fitted: list[set[str]] = []

    def fit(some: Any) -> Any:
        fitted.append({row["scene"] for row in some})
        return np.zeros(1)

    folds, _ = cross_validate(rows, fit)
    for subject, fold in zip(subjects, folds, strict=True):
        assert subject not in fitted[fold]


def test_what_separates_correct_from_wrong_does_so_on_other_objects() -> None:
    subjects = [f"object{number % 20}" for number in range(200)]
    correct = [number % 3 == 0 for number in range(200)]
    confidence = cross_validated_confidence(runs_on(subjects, correct, [60 if yes else 2 for yes in correct]))
    assert area_under_roc(confidence, correct) == 1


def test_alternatives_as_convincing_as_the_pose_leave_no_confidence() -> None:
    subjects = [f"object{number % 20}" for number in range(200)]
    correct = [number % 3 == 0 for number in range(200)]
    rows = runs_on(subjects, correct, [60 if yes else 2 for yes in correct])
    for row, yes in zip(rows, correct, strict=True):
        row[ALTERNATIVES] = [list(features_of(rows[0 if yes else 1]).values())]
    confidence = np.array(cross_validated_confidence(rows))
    alone = np.array(cross_validated_confidence([{**row, ALTERNATIVES: []} for row in rows]))
    # Right runs have alternatives that are right elsewhere, wrong ones such that are wrong.
    assert confidence == pytest.approx(alone * np.minimum(1 - alone, 0.5))


def test_what_separates_nothing_is_not_learnt_by_heart() -> None:
    # Each object has a number of its own, which predicts its own runs and no others.
    rng = np.random.default_rng(3)
    number = np.arange(400) % 40
    correct = (rng.random(40) < 0.5)[number].tolist()
    confidence = cross_validated_confidence(runs_on([f"object{one}" for one in number], correct, (7 * number).tolist()))
    assert 0.2 < area_under_roc(confidence, correct) < 0.8


@pytest.mark.slow
def test_the_cross_validated_nees_of_calibrated_errors_is_one() -> None:
    rng = np.random.default_rng(6)
    rows = [
        {"scene": f"object{number % 20}", "roughness": rng.uniform(0, 0.4), "NEES / 6": rng.chisquare(6) / 6}
        for number in range(1000)
    ]
    assert np.mean(cross_validated_nees(rows)) == pytest.approx(1, abs=4 * np.sqrt(2 / 6 / 500))

"""Calibration of the verdict: confidence against the share of correct runs, covariance against the errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphreg.bench import confidence_runs
from graphreg.bench.calibration import (
    ALTERNATIVES,
    FOLDS,
    area_under_roc,
    can_be_fitted,
    cross_validated_confidence,
    cross_validated_nees,
    fitted_constants,
)
from graphreg.bench.comparison_runs import Row
from graphreg.bench.corruption import CLEAN
from graphreg.bench.measured_parts import ENGINE, SYNTHETIC_SCANS
from graphreg.bench.pairs import PREFIX
from graphreg.bench.ranking import can_be_ranked, ranking_statement, ranking_table
from graphreg.engine.verdict import VERDICT
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Confidence and covariance"
PARTS = (*ENGINE, *SYNTHETIC_SCANS)
BINS = 10
# Pairs that a statement names at most.
NAMED = 12
RELIABILITY = "Reliability: confidence and share of correct runs"

jobs, measure = confidence_runs.jobs, confidence_runs.measure


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the verdict by group, the reliability in bins of confidence, and the fitted constants."""
    calibrated = _with_exact_truth(rows)
    found = {"Verdict by group": by_group(rows), RELIABILITY: reliability(rows)}
    if can_be_fitted(rows, calibrated):
        found["Fitted constants"] = fitted_constants(rows, calibrated)
    if can_be_ranked(rows):
        found["Weights that rank candidates"] = ranking_table(rows)
    return found


def by_group(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return both kinds of errors of the verdict for each group of runs, and for all."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    if len(groups) > 1:
        groups["all"] = list(rows)
    lines = []
    for name, mine in groups.items():
        called = [row for row in mine if row["success"]]
        correct = [row for row in mine if row["correct"]]
        area = _area(mine)
        lines.append(
            {
                "group": name,
                "runs": len(mine),
                "correct": len(correct),
                "called a success": len(called),
                "of these wrong": sum(not row["correct"] for row in called),
                "correct but not called": sum(not row["success"] for row in correct),
                "area under ROC": None if np.isnan(area) else area,
                "largest confidence if wrong": max(
                    (row["confidence"] for row in mine if not row["correct"]), default=None
                ),
            }
        )
    return lines


def reliability(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return the mean confidence and the share of correct runs in bins of confidence."""
    bins: dict[int, list[Row]] = {}
    for row in rows:
        bins.setdefault(min(int(row["confidence"] * BINS), BINS - 1), []).append(row)
    return [
        {
            "confidence": f"{number / BINS:g} to {(number + 1) / BINS:g}",
            "runs": len(mine),
            "mean confidence": float(np.mean([row["confidence"] for row in mine])),
            "share correct": float(np.mean([row["correct"] for row in mine])),
        }
        for number, mine in sorted(bins.items())
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    matches = [row for row in rows if row["task"] in ("match", "listed")]
    correct, wrong = ([row for row in rows if row["correct"] is answer] for answer in (True, False))
    false_positives = [row for row in wrong if row["success"]]
    false_negatives = [row for row in correct if not row["success"]]
    refined = sum(bool(row.get(confidence_runs.REFINED_TRUTH)) for row in rows)
    calibrated = _with_exact_truth(rows)
    of_revolution = sum(bool(row.get(confidence_runs.OF_REVOLUTION)) and row["correct"] for row in rows)
    confidence, determined = [row["confidence"] for row in rows], _determined(rows)
    ambiguous = [row for row in rows if row.get(ALTERNATIVES) and not row["degenerate"]]
    lines = [
        f"{len(matches)} runs on {len({row['pair'] for row in matches})} pairs that match, {len(rows) - len(matches)} "
        f"on ambiguous pairs and on clouds that do not match: {len(correct)} correct, {len(wrong)} wrong; runs of a "
        f"pair are not independent; no pose of an ambiguous pair counts as correct; {refined} poses of public "
        "benchmarks are correct only beside the ground truth that ICP refined: the published one is off by more than "
        "their tolerance",
        f"area under the ROC curve: {_area(rows):.4f}; on the pairs that match {_area(matches):.4f} (nan: all runs are "
        "correct, or all wrong)",
        f"both count {of_revolution} poses of bodies of revolution as correct, whose rotation about the axis may be "
        "any; confidence is the probability that a pose is right and determined, which these are not: as wrong ones, "
        f"like those of ambiguous pairs, they leave an area of {area_under_roc(confidence, determined):.4f}",
        f"{len(ambiguous)} poses are not degenerate, but others fit equally well: their confidence lets expect "
        f"{sum(row['confidence'] for row in ambiguous):.1f} correct, and "
        f"{sum(row['correct'] for row in ambiguous)} are",
        f"reported as registered (confidence {VERDICT.success:g} or more) although wrong: {len(false_positives)} of "
        f"{len(wrong)}{_counts(false_positives)}",
        f"not reported as registered although correct: {len(false_negatives)} of {len(correct)}"
        f"{_counts(false_negatives)}",
        *(_cross_validation(rows, calibrated) if can_be_fitted(rows, calibrated) else ()),
        *([ranking_statement(rows)] if can_be_ranked(rows) else ()),
        "below, the mean of NEES / 6 (normalised estimation error squared, over correct runs on synthetic scans, whose "
        "ground truth is exact): 1 is calibrated, at 4 errors are twice as large as the covariance says; in brackets "
        "the median, 0.89 if calibrated",
    ]
    groups: dict[tuple[str, str], list[float]] = {}
    for row in calibrated:
        groups.setdefault((row["kind"], row["corruption"]), []).append(row["NEES / 6"])
    lines += [
        f"{kind}, {corruption}: {np.mean(values):.3g} ({np.median(values):.3g}) over {len(values)} runs"
        for (kind, corruption), values in groups.items()
    ]
    return lines


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """Return a chart (SVG) of the reliability and of both kinds of errors over the threshold."""
    bins = reliability(rows)
    measured = [line["mean confidence"] for line in bins], [line["share correct"] for line in bins]
    series = {"measured": measured, "calibrated": ([0, 1], [0, 1])}
    diagram = Panel(series, "Reliability", "mean confidence", "share correct")
    thresholds = np.linspace(0, 1, 21)
    errors = {}
    for name, answer in (("false positives", False), ("false negatives", True)):
        confidence = np.array([row["confidence"] for row in rows if row["correct"] is answer])
        if len(confidence):
            positive = (confidence[:, None] >= thresholds).mean(axis=0)
            errors[name] = thresholds, 1 - positive if answer else positive
    verdict = Panel(errors, "Errors of the verdict", "threshold of confidence", "share of runs")
    return {"confidence": plot_grid([diagram, verdict], "confidence")}


def _cross_validation(rows: Sequence[Row], calibrated: Sequence[Row]) -> list[str]:
    correct = [row["correct"] for row in rows]
    confidence = cross_validated_confidence(rows)
    positive = [value >= VERDICT.success for value in confidence]
    false_positives = sum(yes and not right for yes, right in zip(positive, correct, strict=True))
    false_negatives = sum(right and not yes for yes, right in zip(positive, correct, strict=True))
    nees = cross_validated_nees(calibrated)
    return [
        f"cross-validated, constants fitted without the object judged ({FOLDS} folds): area "
        f"{area_under_roc(confidence, correct):.4f} ({area_under_roc(confidence, _determined(rows)):.4f} with poses of "
        f"bodies of revolution as wrong ones), reported as registered although wrong {false_positives}, not "
        f"reported as registered although correct {false_negatives}; NEES / 6 {np.mean(nees):.3g} "
        f"({np.median(nees):.3g})",
    ]


def _with_exact_truth(rows: Sequence[Row]) -> list[Row]:
    """Correct runs on synthetic pairs; without noise, further initial poses repeat the error of the first."""
    return [
        row
        for row in rows
        if row["NEES / 6"] is not None
        and row["pair"].startswith(PREFIX)
        and (row["corruption"] != CLEAN.name or row["initial pose"] == 0)
    ]


def _area(rows: Sequence[Row]) -> float:
    return area_under_roc([row["confidence"] for row in rows], [row["correct"] for row in rows])


def _determined(rows: Sequence[Row]) -> list[bool]:
    """Which poses are correct, and not those of a body of revolution."""
    return [bool(row["correct"] and not row.get(confidence_runs.OF_REVOLUTION)) for row in rows]


def _counts(rows: Sequence[Row]) -> str:
    names = (row["pair"] if row["corruption"] == CLEAN.name else f"{row['pair']} ({row['corruption']})" for row in rows)
    counts = Counter(names).most_common()
    if not counts:
        return ""
    others = f"; {len(counts) - NAMED} others" if len(counts) > NAMED else ""
    return ": " + "; ".join(f"{name} {count}x" for name, count in counts[:NAMED]) + others

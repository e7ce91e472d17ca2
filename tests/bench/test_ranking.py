"""Weights that rank candidates: the fit recovers those that made the choices, and folds keep scenes apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench.ranking import (
    FEATURES,
    IN_USE,
    RIGHT,
    TERMS,
    can_be_ranked,
    fit_weights,
    rankable,
    ranked_first,
    ranking_statement,
    ranking_table,
)


def runs(count: int, weights: list[float], seed: int = 0) -> list[dict[str, Any]]:
    """Runs with five candidates each, of which one is right with the probability that the weights give it."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        features = rng.normal(size=(5, len(TERMS)))
        scores = features @ weights
        right = rng.choice(5, p=np.exp(scores) / np.exp(scores).sum())
        rows.append(
            {"scene": f"scene{number % 10}", FEATURES: features.tolist(), RIGHT: [i == right for i in range(5)]}
        )
    return rows


def test_the_fit_recovers_the_weights_that_made_the_choices() -> None:
    weights = [1.0, -0.5, 0.0, 2.0, 0.3, 0.0, -1.0]
    # With these features a weight of 600 choices among five has a standard deviation below 0.12.
    assert np.abs(fit_weights(runs(600, weights)) - weights).max() < 4 * 0.12


def test_runs_whose_candidates_are_all_right_or_all_wrong_say_nothing() -> None:
    rows = runs(3, [0.0] * 7)
    rows[0][RIGHT], rows[1][RIGHT] = [True] * 5, [False] * 5
    assert rankable([*rows, {"scene": "no candidates"}]) == rows[2:]
    assert not can_be_ranked(rows)


def test_the_best_weights_put_the_right_candidate_first() -> None:
    rows = runs(50, [0.0] * 6 + [200.0])
    assert ranked_first(rows, np.eye(7)[6]) == 50
    assert ranked_first(rows, -np.eye(7)[6]) == 0


@pytest.mark.slow
def test_the_table_has_all_weights_in_use() -> None:
    rows = runs(60, [1.0] * 7)
    assert can_be_ranked(rows)
    table = ranking_table(rows)
    assert [line["in use"] for line in table] == list(IN_USE)
    assert all(line["smallest without a fold"] <= line["largest without a fold"] for line in table)
    assert ranking_statement(rows).startswith("ranking: of 60 runs")

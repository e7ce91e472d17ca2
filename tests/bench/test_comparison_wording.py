"""Sentences about the comparison: where ours is first, what was left out."""

from __future__ import annotations

import pytest
from tests.support.comparison_rows import rows

from graphreg.bench.comparison_statistics import Column
from graphreg.bench.comparison_wording import READING, omissions, ranking, remarks

COLUMN = {"a": Column(lambda row: True)}


@pytest.mark.parametrize(
    ("ours", "theirs", "accuracy", "expected"),
    [
        (0.1, 0.2, 0.0, "graphreg is first on a"),
        (0.2, 0.1, 0.0, "graphreg is NOT first on a (0.2, icp 0.1)"),
        (0.2, 0.1, 0.15, "graphreg is within the accuracy of the ground truth on a (0.2, icp 0.1; ground truth "
                         "accurate to about 0.15)"),
        (1e-9, 1e-12, 0.0, "graphreg is first on a"),
    ],
)  # fmt: skip
def test_the_ranking_says_where_ours_is_not_first(ours: float, theirs: float, accuracy: float, expected: str) -> None:
    runs = rows({"graphreg": [ours], "icp": [theirs], "cpd": [5.0]}, accuracy)
    assert ranking(runs, COLUMN) == [f"smallest median rotation error: {expected}"]


def test_there_is_no_ranking_without_ours_or_without_others() -> None:
    assert ranking(rows({"icp": [1.0], "cpd": [2.0]}), COLUMN) == []
    assert ranking(rows({"graphreg": [1.0]}), COLUMN) == []
    assert ranking(rows({"graphreg": [None], "icp": [1.0]}), COLUMN) == []


def test_runs_that_were_left_out_are_counted() -> None:
    runs = rows({"graphreg": [1.0, 2.0], "icp": [4.0, None]})
    assert "methods that could not make all runs within the time limit: icp 1 of 2" in omissions(runs)
    assert remarks(runs) == [*READING, *omissions(runs)]
    assert not any("time limit" in line for line in omissions(runs[:2]))

"""Charts of the comparison: one for each family of methods, medians over x."""

from __future__ import annotations

from tests.support.comparison_rows import rows

from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.comparison_runs import ROTATION_ERROR


def test_each_family_has_a_chart_with_ours_in_it() -> None:
    runs = rows({"graphreg": [0.0, 1.0, None], "icp": [1.0, 2.0], "fricp": [3.0], "cpd": [2.0, 4.0]})
    charts = family_charts(runs, lambda row: float(row["seed"]), ROTATION_ERROR, "seed", "error", "all: ")
    assert [chart.title for chart in charts] == ["all: closest points", "all: mixtures"]
    assert [list(chart.series) for chart in charts] == [["graphreg", "icp", "fricp"], ["graphreg", "cpd"]]
    assert charts[1].series["cpd"] == ([0.0, 1.0], [2.0, 4.0])


def test_without_ours_there_is_no_chart() -> None:
    assert family_charts(rows({"icp": [1.0]}), lambda row: 0.0, ROTATION_ERROR, "x", "y") == []

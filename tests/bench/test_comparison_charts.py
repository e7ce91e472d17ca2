"""Charts of the comparison: one for each family of methods, medians over x."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.support.comparison_rows import rows

from graphreg.bench.comparison_charts import family_charts
from graphreg.bench.comparison_runs import ROTATION_ERROR


def test_each_family_has_a_chart_with_ours_in_it() -> None:
    runs = rows({"graphreg": [0.0, 1.0, None], "icp": [1.0, 2.0], "fricp": [3.0], "cpd": [2.0, 4.0]})
    charts = family_charts(runs, lambda row: float(row["seed"]), ROTATION_ERROR, "seed", "error", "all: ")
    texts = [[element.text for element in ElementTree.fromstring(chart).iter() if element.text] for chart in charts]
    assert ["all: closest points" in text for text in texts] == [True, False]
    assert ["all: mixtures" in text for text in texts] == [False, True]
    assert all("graphreg" in text for text in texts)


def test_without_ours_there_is_no_chart() -> None:
    assert family_charts(rows({"icp": [1.0]}), lambda row: 0.0, ROTATION_ERROR, "x", "y") == []

"""Charts of the comparison: one for each family of methods, with ours in each, so that lines can be told apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphreg.bench.comparison import Row, families_in, made
from graphreg.reports.charts import line_chart

# Smaller values are drawn as this: a logarithmic axis has no zero.
LEAST_DRAWN = 1e-4
# Of more points on a line, marks would hide it.
MOST_MARKED = 30


def family_charts(
    rows: Sequence[Row], x_of: Callable[[Row], float], name: str, x_label: str, y_label: str, title: str = ""
) -> list[str]:
    """Medians of a field over x: SVG texts."""
    ran = made(rows)
    charts = []
    for family, methods in families_in(ran).items():
        series = {}
        for method in methods:
            mine = [row for row in ran if row["method"] == method]
            places = sorted({x_of(row) for row in mine})
            values = [float(np.median([row[name] for row in mine if x_of(row) == place])) for place in places]
            series[method] = places, np.maximum(values, LEAST_DRAWN)
        few = all(len(places) <= MOST_MARKED for places, _ in series.values())
        charts.append(line_chart(series, f"{title}{family}", x_label, y_label, log_y=True, marked=few))
    return charts

"""Charts of the comparison, one for each family of methods with ours in each, so that lines can be distinguished."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphreg.bench.comparison_runs import Row, completed
from graphreg.bench.comparison_statistics import families_in
from graphreg.reports.plots import Panel

# Smaller values are drawn at the lower end of the axis, as below this: a logarithmic axis has no zero.
SMALLEST_DRAWN = 1e-4


def family_charts(
    rows: Sequence[Row], x_of: Callable[[Row], float], name: str, x_label: str, y_label: str, title: str = ""
) -> list[Panel]:
    """Draw medians of a field over x.

    Parameters
    ----------
    rows : sequence of rows
        Runs of the comparison.
    x_of : callable
        The x coordinate of a row.
    name : str
        The field to draw, on a logarithmic axis.
    x_label, y_label : str
        Labels of the axes.
    title : str, default ""
        What stands before the family's name in the title.

    Returns
    -------
    list of Panel
        One for each family of methods.
    """
    ran = completed(rows)
    charts = []
    for family, methods in families_in(ran).items():
        series = {}
        for method in methods:
            of_method = [row for row in ran if row["method"] == method]
            xs = sorted({x_of(row) for row in of_method})
            values = [float(np.median([row[name] for row in of_method if x_of(row) == x])) for x in xs]
            series[method] = xs, values
        charts.append(Panel(series, f"{title}{family}", x_label, y_label, log_y=True, floor=SMALLEST_DRAWN))
    return charts

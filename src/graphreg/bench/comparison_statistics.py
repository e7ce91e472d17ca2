"""Tables of the comparison: medians of errors and times by method, the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphreg.bench.comparison_runs import OURS, REGISTRATION_TIME, ROTATION_ERROR, Row, completed

# Methods of one chart, ours beside those of one kind.
FAMILIES = {
    "physics": ("graphreg-paper", "pipl"),
    "closest points": ("icp", "icp-kp", "icp-kn", "tricp", "fricp"),
    "mixtures": ("gmm", "cpd", "ecm"),
    "features, congruent sets": ("fgr", "teaser", "super4pcs"),
    "other libraries": ("gicp", "kiss+gicp", "open3d-icp", "fgr+icp", "ransac+icp"),
}


@dataclass(frozen=True)
class Column:
    """A group of runs, and what the paper reports on them.

    Attributes
    ----------
    contains : callable
        Whether a row belongs to the group.
    label : str, default ""
        Data of the paper.
    published : mapping, default empty
        {field of a row: {method: the paper's figure}}.
    """

    contains: Callable[[Row], bool]
    label: str = ""
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def tables_of(rows: Sequence[Row], columns: Mapping[str, Column]) -> dict[str, list[dict[str, Any]]]:
    """Return tables of errors and times with a line for each method, and one with all statistics of each group."""
    details = []
    for title, column in columns.items():
        inside = [row for row in rows if column.contains(row)]
        for name in distinct(row["method"] for row in inside):
            of_method = [row for row in inside if row["method"] == name]
            details.append({"data": title, "method": name, **statistics_of(of_method)})
    return {
        "Median rotation error (degrees)": side_by_side(rows, columns, ROTATION_ERROR),
        "Median time of the registration stage (s)": side_by_side(rows, columns, REGISTRATION_TIME),
        "Median time of the whole call (s)": side_by_side(rows, columns, "seconds"),
        "All statistics": details,
    }


def side_by_side(rows: Sequence[Row], columns: Mapping[str, Column], name: str) -> list[dict[str, Any]]:
    """Return medians of a field, a line for each method, the paper's figures beside ours."""
    lines: list[dict[str, Any]] = [{"method": method} for method in distinct(row["method"] for row in rows)]
    for title, column in columns.items():
        inside = completed([row for row in rows if column.contains(row)])
        for line in lines:
            line[title] = median_of([row for row in inside if row["method"] == line["method"]], name)
            if name in column.published:
                line[f"paper: {column.label}"] = column.published[name].get(line["method"])
    return lines


def statistics_of(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how many runs of a method are correct, and statistics of errors and times over all runs."""
    ran = completed(rows)
    degrees = [row[ROTATION_ERROR] for row in ran]
    low, high = np.quantile(degrees, [0.1, 0.9]) if degrees else (None, None)
    return {
        "correct": f"{sum(row['correct'] for row in ran)} of {len(ran)}",
        f"mean {ROTATION_ERROR}": float(np.mean(degrees)) if degrees else None,
        "median (deg)": median_of(ran, ROTATION_ERROR),
        "10 % (deg)": low,
        "90 % (deg)": high,
        "median rmsd": median_of(ran, "rmsd"),
        REGISTRATION_TIME: median_of(ran, REGISTRATION_TIME),
        "whole call (s)": median_of(ran, "seconds"),
        "not run": len(rows) - len(ran),
    }


def median_of(rows: Sequence[Row], name: str) -> float | None:
    """Return the median of a field, or None if no row has a value."""
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.median(values)) if values else None


def columns_by(rows: Sequence[Row], name: str) -> dict[str, Column]:
    """Return a column for each value of a field."""
    return {str(value): Column(_equals(name, value)) for value in distinct(row[name] for row in rows)}


def families_in(rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return {title of a chart: ours and the measured methods of one kind}."""
    measured = distinct(row["method"] for row in rows)
    families = {title: [name for name in names if name in measured] for title, names in FAMILIES.items()}
    return {title: [OURS, *names] for title, names in families.items() if names and OURS in measured}


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once, in order of appearance."""
    return list(dict.fromkeys(values))


def _equals(name: str, value: Any) -> Callable[[Row], bool]:
    return lambda row: bool(row[name] == value)

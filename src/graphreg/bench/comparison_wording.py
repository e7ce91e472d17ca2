"""Summaries of the comparison in sentences: where our method is first, what was left out, how to read the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from graphreg.bench.comparison_runs import OURS, ROTATION_ERROR, Row, completed
from graphreg.bench.comparison_statistics import Column, distinct
from graphreg.bench.peers import PEERS, describe_peers

# Rotation errors below this (degrees) are rounding, and count as equal.
ROUNDING = 1e-6
NOT_FIRST, UNDECIDED = "NOT first", "within the accuracy of the ground truth"
# How to read the tables of all comparisons.
READING = (
    "correct: rotation error and RMSD within the tolerance of the pair (objects: 2 degrees and 1 % of the target's "
    "diagonal); rotation errors and their quantiles are over all runs, correct or not; a run that ends in an exception "
    "counts as the identity",
    "every method gets the clouds in their initial pose; local methods first align the centroids, as the paper's "
    "reference implementation does, those of other libraries do not; all but graphreg, graphreg-paper and pipl get a "
    "voxel size that suits the clean scans, cpd and ecm twice that",
    f"{UNDECIDED}: graphreg is not first, but the difference is smaller than the accuracy of the ground truth; for the "
    "Stanford and KITTI scans that accuracy is our own estimate, from how closely our method and GICP agree with each "
    "other and not with the ground truth",
    "times: of the registration stage alone, as in the paper, and of the whole call; the paper's figures were measured "
    "on another machine, and partly on other data",
)


def ranking(rows: Sequence[Row], columns: Mapping[str, Column]) -> list[str]:
    """Say on which data our method has the smallest median rotation error, and on which it has not."""
    first, undecided, behind = [], [], []
    for title, column in columns.items():
        inside = completed([row for row in rows if column.contains(row)])
        medians = {
            name: float(np.median([row[ROTATION_ERROR] for row in inside if row["method"] == name]))
            for name in distinct(row["method"] for row in inside)
        }
        if OURS not in medians or len(medians) == 1:
            continue
        best = min(medians, key=medians.__getitem__)
        accuracy = max(row["truth accuracy (deg)"] for row in inside)
        compared = f"{title} ({medians[OURS]:.3g}, {best} {medians[best]:.3g}"
        if medians[OURS] <= max(medians[best], ROUNDING):
            first.append(title)
        elif medians[OURS] - medians[best] <= accuracy:
            undecided.append(f"{compared}; ground truth accurate to about {accuracy:g})")
        else:
            behind.append(f"{compared})")
    lines = []
    if first:
        lines.append(f"smallest median rotation error: {OURS} is first on {', '.join(first)}")
    if undecided:
        lines.append(f"smallest median rotation error: {OURS} is {UNDECIDED} on {', '.join(undecided)}")
    if behind:
        lines.append(f"smallest median rotation error: {OURS} is {NOT_FIRST} on {', '.join(behind)}")
    return lines


def remarks(rows: Sequence[Row]) -> list[str]:
    """Describe how to read the tables, the other libraries, runs that were left out and exceptions."""
    return [*READING, *omissions(rows)]


def omissions(rows: Sequence[Row]) -> list[str]:
    """Describe the other libraries, runs that were left out and exceptions."""
    lines = describe_peers(PEERS, {row["method"] for row in rows})
    runs = {name: [row for row in rows if row["method"] == name] for name in distinct(row["method"] for row in rows)}
    made = {name: f"{name} {len(completed(mine))} of {len(mine)}" for name, mine in runs.items()}
    short = [made[name] for name, mine in runs.items() if len(completed(mine)) < len(mine)]
    if short:
        lines.append(f"methods that could not make all runs within the time limit: {', '.join(short)}")
    exceptions = Counter(f"{row['method']}: {row['exception']}" for row in completed(rows) if row["exception"])
    return [*lines, *(f"ended in an exception, {count} times: {text}" for text, count in exceptions.items())]

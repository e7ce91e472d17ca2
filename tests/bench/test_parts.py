"""The ablation of the published method."""

from __future__ import annotations

import numpy as np
import pytest

from graphreg.bench import parts


def test_without_data_synthetic_pairs_are_measured() -> None:
    assert [job.pair for job in parts.jobs(None)] == list(parts.SYNTHETIC)


@pytest.mark.slow
def test_rows_and_summary() -> None:
    rows = list(parts.measure(parts.Job("synthetic_casting_30", 2, 600), None))
    assert [row["variant"] for row in rows] == list(parts.VARIANTS)
    for row in rows:
        assert row["under 1 degree"] == sum(angle < 1 for angle in row["rotation errors (deg)"])
        assert row["of these not correct"] >= row["reported as registered"] - row["correct"]
    assert len(parts.summary(rows)) == 1 + len(parts.VARIANTS)


def test_the_interval_contains_the_mean_and_shrinks_with_the_spread() -> None:
    wide, narrow = (
        parts.bootstrap_interval(np.array([-1.0, 0.0, 1.0, 2.0])),
        parts.bootstrap_interval(np.array([0.4, 0.5, 0.5, 0.6])),
    )
    for mean, low, high in (wide, narrow):
        assert low <= mean <= high
        assert mean == pytest.approx(0.5)
    assert narrow[2] - narrow[1] < wide[2] - wide[1]

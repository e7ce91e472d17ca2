"""The experiment on resampling and invariants."""

from __future__ import annotations

import pytest

from graphreg.bench import resampling
from graphreg.bench.pairs import pair_of
from graphreg.bench.resampling import Job, measure


@pytest.mark.slow
def test_kept_points_respond_more_and_features_of_corresponding_points_agree() -> None:
    rows = list(measure(Job("synthetic_hare_30", 4000), None))
    kept = [row["value"] for row in rows if "kept" in row["figure"]]
    assert 1 < kept[0] < kept[1] < kept[2]
    assert all(0 < row["value"] <= 1 for row in rows if "rank correlation" in row["figure"])


def test_points_of_a_copy_correspond_to_themselves() -> None:
    indices = resampling._corresponding_points(pair_of("synthetic_casting_copy", None, 1500))
    assert (indices[:, 0] == indices[:, 1]).all()

"""Real scans in any order and pose, alone and with a foreign scan among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.bench.multiway import ScanSet, measure


@pytest.mark.slow
@pytest.mark.parametrize(("name", "foreign"), [("stanford_bunny", True), ("eth_facade", False)])
def test_all_scans_are_registered_and_a_foreign_one_is_left_out(scans: Path, name: str, foreign: bool) -> None:
    (row,) = measure(ScanSet(name, seed=7, frames=4, points=None, foreign=foreign), scans)
    assert row["registered"] == row["of"] == 4
    assert row["max rotation error (deg)"] < 0.5
    assert row["max translation error (%)"] < 0.5
    assert row["foreign left out"] is (True if foreign else None)

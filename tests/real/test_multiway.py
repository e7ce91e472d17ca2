"""Real scans in any order and pose, with and without a foreign scan among them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.bench.multiway import SCANNED, Loop, measure


@pytest.mark.parametrize("name", SCANNED)
@pytest.mark.parametrize("foreign", [False, True])
def test_all_scans_are_registered_and_a_foreign_one_is_left_out(scans: Path, name: str, foreign: bool) -> None:
    (row,) = measure(Loop(name, seed=7, frames=4, points=None, foreign=foreign), scans)
    assert row["placed"] == row["of"] == 4
    assert row["largest degrees"] < 0.5
    assert row["largest % of size"] < 0.5
    assert row["foreign left out"] is (True if foreign else None)

"""The experiment on the lid: errors up to rotations about its axis, and to the one pose as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphreg.bench import peers, teapot
from graphreg.bench.comparison_runs import ROTATION_ERROR, Run
from graphreg.bench.pairs import pair_of
from graphreg.poses import pose, rotation_from_vector


def test_a_rotation_about_the_axis_is_an_error_only_to_the_one_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = pair_of(teapot.SYNTHETIC, None).truth
    rotated = pose(rotation_from_vector([0, 0, np.radians(40)]), np.zeros(3)) @ truth
    monkeypatch.setitem(peers.PEERS, "rotates", peers.Peer(("numpy",), lambda *_: rotated, ""))
    row: dict[str, Any]
    (row,) = teapot.measure(Run(teapot.SYNTHETIC, "rotates"), None)
    assert row["correct"]
    assert row[ROTATION_ERROR] == pytest.approx(0, abs=1e-6)
    assert row[teapot.ONE_POSE] == pytest.approx(40)
    assert set(teapot.left_out(Run(teapot.SYNTHETIC, "rotates"), "")) == set(row)


def test_each_setting_of_the_paper_is_a_column() -> None:
    jobs = teapot.jobs(None, quick=True, methods="graphreg,pipl,super4pcs")
    assert [(job.method, job.settings) for job in jobs] == [
        ("graphreg", ()),
        ("pipl", (("beta", 0.9),)),
        ("pipl", (("beta", 0.95),)),
        ("super4pcs", (("overlap", 0.2),)),
        ("super4pcs", (("overlap", 0.5),)),
    ]

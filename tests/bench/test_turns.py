"""The pose test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

from graphreg.bench import pairs, peers, turns
from graphreg.cli import app


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pairs, "POINTS", 3000)
    monkeypatch.setattr(turns, "MADE", "made_hand_30")
    monkeypatch.setattr(turns, "ANGLES", (-180, 90))
    stays = peers.Peer(("numpy",), lambda *_: np.eye(4), "one that stays where it is")
    monkeypatch.setattr(turns, "LOCAL", {"stays": stays})
    pairs.pair_of.cache_clear()
    yield
    pairs.pair_of.cache_clear()


def test_every_axis_is_turned_by_a_whole_turn_in_five_degree_steps() -> None:
    jobs = turns.jobs(None)
    assert len(jobs) == 73 * 3
    for axis in turns.AXES:
        assert [job.angle for job in jobs if job.axis == axis] == list(range(-180, 181, 5))


@pytest.mark.usefixtures("small")
def test_the_command_measures_ours_beside_local_methods(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "turns", "-o", str(tmp_path)], env={"GRAPHREG_DATA": ""})
    assert done.exit_code == 0, done.output
    assert "graphreg: 6 of 6 registered" in done.output
    assert "stays: 0 of 6 registered" in done.output
    assert "stays is one that stays where it is" in done.output
    lines = list(
        ElementTree.fromstring((tmp_path / "turns.svg").read_text()).iter("{http://www.w3.org/2000/svg}polyline")
    )
    assert [len((line.get("points") or "").split()) for line in lines] == [2] * 6


@pytest.mark.usefixtures("small")
def test_what_stays_is_off_by_the_turn() -> None:
    # Up to the turn between the two scans.
    own = pairs.pair_of("made_hand_30", None).errors(np.eye(4))[0]
    for axis in turns.AXES:
        row = list(turns.measure(turns.Job(axis, 90, True, None)))[1]
        assert abs(row["degrees"] - 90) <= own + 1e-9

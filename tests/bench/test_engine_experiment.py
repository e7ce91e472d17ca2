"""The experiment on our own method: pairs, starts, what spoils them, and peers, on small clouds."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from graphreg.bench import engine, pairs, peers
from graphreg.cli import app
from graphreg.errors import InputError
from graphreg.metrics import angular_error
from graphreg.poses import pose, rotation_from_vector


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pairs, "POINTS", 3000)
    pairs.pair_of.cache_clear()
    yield
    pairs.pair_of.cache_clear()


def test_objects_are_spoilt_and_scenes_are_not() -> None:
    jobs = engine.jobs(None, starts=3)
    assert {job.pair for job in jobs} == set(pairs.MADE)
    for name, (_, _, kind) in pairs.MADE.items():
        ways = [job.spoiling for job in jobs if job.pair == name]
        assert ways == ([pairs.CLEAN, *pairs.SPOILINGS] if kind == "object" else [pairs.CLEAN])


def test_pairs_are_chosen_by_patterns() -> None:
    assert {job.pair for job in engine.jobs(None, pairs="*room*,*hand_30")} == {"made_room_40", "made_hand_30"}
    with pytest.raises(InputError, match="pairs: 'nothing' is like none of made_dragon_30"):
        engine.jobs(None, pairs="nothing")


def test_real_pairs_come_with_what_counts_as_right(tmp_path: Path) -> None:
    entry = (
        '[{"name": "a", "kind": "tls", "source": "a.xyz", "target": "a.xyz", "peer_voxel": 0.1, "max_rmsd": 0.3,'
        '"max_rotation_error_deg": 2.0, "T_target_source": [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]'
    )
    (tmp_path / "pairs.json").write_text(entry)
    np.savetxt(tmp_path / "a.xyz", np.random.default_rng(0).normal(size=(20, 3)))
    assert pairs.kinds_of(tmp_path) == {"a": "tls"}
    pair = pairs.pair_of("a", tmp_path)
    shifted = pose(np.eye(3), [0.15, 0.0, 0.0])
    assert pair.errors(shifted) == pytest.approx((0.0, 0.5))
    assert pair.is_right(*pair.errors(shifted))
    assert not pair.is_right(*pair.errors(shifted @ shifted @ shifted))
    assert not pair.is_right(2.1, 0.5)


@pytest.mark.parametrize("kind", ["object", "indoor", "tls", "lidar"])
def test_starts_are_as_far_as_the_kind_allows_and_the_same_in_every_run(kind: str) -> None:
    points = np.random.default_rng(1).normal(size=(100, 3)) + 50
    found = list(pairs.starts_of("name", kind, points, 30))
    assert np.array_equal(found, list(pairs.starts_of("name", kind, points, 30)))
    assert np.array_equal(found[0], np.eye(4))
    centre, size = points.mean(axis=0), pairs.diagonal_of(points)
    shifts = [np.linalg.norm(start[:3, :3] @ centre + start[:3, 3] - centre) / size for start in found]
    tilts = [np.degrees(np.arccos(start[2, 2])) for start in found]
    outdoors = kind in pairs.OUTDOOR
    assert max(shifts) <= (0.1 if outdoors else 1.0)
    assert (max(tilts) <= 10) == outdoors
    assert max(angular_error(start, np.eye(4)) for start in found) > 90


def test_spoiling_adds_what_its_name_says() -> None:
    points = np.random.default_rng(2).random((4000, 3)) * [1, 2, 3]
    outliers, noise, _ = pairs.SPOILINGS
    assert pairs.CLEAN.of(points, 0) is points
    assert len(outliers.of(points, 0)) == 1.5 * len(points)
    moved = noise.of(points, 0) - points
    assert moved.std(axis=0) / np.ptp(points, axis=0) == pytest.approx(0.008, rel=0.05)
    assert not np.array_equal(noise.of(points, 0), noise.of(points, 1))


@pytest.mark.usefixtures("small")
def test_methods_take_turns_and_one_that_breaks_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: Any) -> Any:
        raise RuntimeError("no features")

    def knows(source: Any, target: Any, voxel: float, kind: str) -> Any:
        assert voxel == pytest.approx(pairs.diagonal_of(target) / 200)
        return pairs.pair_of("made_hand_30", None).truth

    here = {"broken": peers.Peer(("numpy",), breaks, "broken"), "knows": peers.Peer(("numpy",), knows, "the truth")}
    absent = {"absent": peers.Peer(("no_such_module",), breaks, "not there")}
    monkeypatch.setattr(engine, "CHAINS", {**here, **absent})
    job = engine.Job("made_hand_30", pairs.CLEAN, 2, True, None)
    rows = list(engine.measure(job))
    assert [(row["start"], row["method"]) for row in rows] == [
        (start, method) for start in (0, 1) for method in ("graphreg", "broken", "knows")
    ]
    assert all(row["right"] and row["degrees"] < 2 for row in rows if row["method"] == "graphreg")
    assert [row["right"] for row in rows if row["method"] == "knows"] == [True, False]
    assert all(row["problem"] == "RuntimeError: no features" for row in rows if row["method"] == "broken")
    told = engine.summary(rows)
    assert "broken is broken; knows is the truth" in told
    assert "left out, as not installed or not asked for: absent (no_such_module)" in told
    lines = {line["method"]: line for line in engine.table(rows)}
    assert [lines[name]["right"] for name in ("graphreg", "broken", "knows")] == ["2 of 2", "0 of 2", "1 of 2"]


def test_the_table_has_a_line_for_each_kind_and_one_for_all() -> None:
    def row(kind: str, spoilt: str, right: bool, degrees: float) -> dict[str, Any]:
        return {
            "pair": kind, "kind": kind, "spoilt": spoilt, "start": 0, "method": "graphreg", "right": right,
            "degrees": degrees, "rmsd of tolerance": degrees, "seconds": degrees, "problem": "",
        }  # fmt: skip

    rows = [row("object", "clean", True, 1.0), row("lidar", "clean", False, 9.0), row("object", "noise", True, 3.0)]
    told = [(line["spoilt"], line["kind"], line["right"], line["worst s"]) for line in engine.table(rows)]
    assert told == [
        ("clean", "object", "1 of 1", 1.0),
        ("clean", "lidar", "0 of 1", 9.0),
        ("clean", "all", "1 of 2", 9.0),
        ("noise", "object", "1 of 1", 3.0),
    ]
    assert engine.table(rows)[2]["median degrees"] == 1.0
    assert engine.table(rows)[2]["pairs"] == "1 of 2"
    assert engine.table([*rows[:1], row("object", "clean", False, 9.0)])[0]["pairs"] == "0 of 1"
    assert "ours was wrong on: lidar (clean) 1x" in engine.summary(rows)


@pytest.mark.usefixtures("small")
def test_the_command_shows_the_table_and_writes_every_run(tmp_path: Path) -> None:
    arguments = ["bench", "engine", "-o", str(tmp_path), "--starts", "1", "--pairs", "made_hand_30", "--no-peers"]
    done = CliRunner().invoke(app, arguments, env={"GRAPHREG_DATA": ""})
    assert done.exit_code == 0, done.output
    with (tmp_path / "engine.csv").open() as file:
        assert [row["spoilt"] for row in csv.DictReader(file)] == [way.name for way in (pairs.CLEAN, *pairs.SPOILINGS)]
    assert (tmp_path / "engine.md").read_text().count("| object | graphreg |") == 4


def test_an_option_that_an_experiment_does_not_have_is_named() -> None:
    done = CliRunner().invoke(app, ["bench", "x84", "--starts", "2"], env={"GRAPHREG_DATA": ""})
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "starts: no option of x84"


def test_a_turn_is_an_error_of_its_angle() -> None:
    scans = pairs.Pair(
        np.eye(3), np.eye(3), np.eye(4), name="a", kind="object", most_degrees=2.0, tolerance=1.0, voxel=1.0
    )
    turn = pose(rotation_from_vector([0, 0, np.radians(30)]), np.zeros(3))
    assert scans.errors(turn)[0] == pytest.approx(30)

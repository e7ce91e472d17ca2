"""The experiment on our own method, from any pose: what is run, and how it is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import invoke

from graphreg.bench import engine, pairs
from graphreg.bench.comparison_runs import ROTATION_ERROR, Run, left_out
from graphreg.bench.corruption import CLEAN, CORRUPTIONS, Corruption
from graphreg.bench.results_files import read_rows
from graphreg.errors import InputError


def test_objects_are_corrupted_and_scenes_are_not() -> None:
    jobs = engine.jobs(None, starts=3, peers=False)
    assert {job.pair for job in jobs} == set(pairs.SYNTHETIC)
    for name in pairs.SYNTHETIC:
        found = [job.corruption for job in jobs if job.pair == name and job.initial_pose == 2]
        assert found == ([CLEAN, *CORRUPTIONS] if pairs.synthetic_kind(name) == "object" else [CLEAN])


def test_pairs_are_chosen_by_patterns() -> None:
    assert {job.pair for job in engine.jobs(None, pairs="*room*,*hand_30")} == {
        "synthetic_room_40",
        "synthetic_hand_30",
    }
    with pytest.raises(InputError, match="pairs: 'nothing' matches none of synthetic_dragon_30"):
        engine.jobs(None, pairs="nothing")


def row(kind: str, corruption: str, correct: bool, error: float) -> dict[str, Any]:
    missing = left_out(Run(kind, "graphreg", corruption=Corruption(corruption)), "")
    found = {ROTATION_ERROR: error, "rmsd / tolerance": error, "seconds": error}
    return {**missing, "kind": kind, "correct": correct, **found}


def test_the_table_has_a_line_for_each_kind_and_one_for_all() -> None:
    rows = [row("object", "clean", True, 1.0), row("lidar", "clean", False, 9.0), row("object", "noise", True, 3.0)]
    lines = engine.tables(rows)[""]
    assert [(line["corruption"], line["kind"], line["correct"], line["max (s)"]) for line in lines] == [
        ("clean", "object", "1 of 1", 1.0),
        ("clean", "lidar", "0 of 1", 9.0),
        ("clean", "all", "1 of 2", 9.0),
        ("noise", "object", "1 of 1", 3.0),
    ]
    assert lines[2][f"median {ROTATION_ERROR}"] == 1.0
    assert lines[2]["pairs"] == "1 of 2"
    assert engine.tables([*rows[:1], row("object", "clean", False, 9.0)])[""][0]["pairs"] == "0 of 1"
    assert "graphreg is not correct on: lidar (clean) 1x" in engine.summary(rows)


@pytest.mark.slow
def test_the_command_shows_the_table_and_writes_every_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pairs.QUICK_POINTS, "object", 1500)
    arguments = ["bench", "engine", "--quick", "-o", str(tmp_path), "--starts", "1", "--pairs", "synthetic_casting_30"]
    done = invoke([*arguments, "--budget", "99"])
    assert done.exit_code == 0, done.output
    rows = read_rows(tmp_path / "engine.rows.jsonl.gz")
    assert [row["corruption"] for row in rows] == [corruption.name for corruption in (CLEAN, *CORRUPTIONS)]
    assert (tmp_path / "engine.md").read_text().count("| object | graphreg |") == 4

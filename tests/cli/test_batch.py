"""graphreg batch: the exit status, the summary and the output files."""

from __future__ import annotations

import csv
import json
import signal
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.batch_jobs import keys_in, pairs_of, write_scans
from tests.support.commands import PROGRAM, run_command

import graphreg
from graphreg.batches.store import Record
from graphreg.clouds import Floats
from graphreg.datasets import synthetic


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "batch", *map(str, arguments)]


def batch_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("batch", *arguments, cwd=cwd)


@lru_cache
def scans() -> dict[str, Floats]:
    pair = {str(n): synthetic.scan("hare", angle, points=1000, seed=n).points for n, angle in enumerate((0.0, 5.0))}
    return pair | {"other": synthetic.scan("casting", points=500).points}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two scans of one body, one of another, and tables of jobs in a folder of their own."""
    for name, points in scans().items():
        np.save(tmp_path / f"{name}.npy", points)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "good.csv").write_text("source,target\n../0.npy,../1.npy\n../1.npy,../0.npy\n")
    (tmp_path / "tables" / "mixed.csv").write_text(
        "id,source,target\ngood,../0.npy,../1.npy\nother,../0.npy,../other.npy\n<gone>,../0.npy,../gone.npy\n"
    )
    return tmp_path


@pytest.mark.slow
def test_all_registered(folder: Path) -> None:
    done = batch_command("tables/good.csv", "--workers", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "registered: 2 of 2 pairs" in done.stdout
    assert done.stderr == ""
    assert len(keys_in(folder / "tables" / "good.results.jsonl")) == 2
    again = batch_command("tables/good.csv", "--json", cwd=folder)
    assert again.returncode == 0
    output = json.loads(again.stdout)
    assert (output["registered"], output["before"]) == (2, 2)


@pytest.mark.slow
def test_jobs_that_are_not_registered_or_fail_are_in_the_files(folder: Path) -> None:
    done = batch_command(
        "tables/mixed.csv",
        "-o",
        "r.jsonl",
        "--csv",
        "s.csv",
        "--report",
        "s.html",
        "--cache",
        "kept",
        "--workers",
        1,
        cwd=folder,
    )
    assert done.returncode == 1, done.stderr
    assert "registered: 1 of 3 pairs" in done.stdout
    assert "failed: <gone>: " in done.stdout
    assert list((folder / "kept" / "prepared").rglob("*.npz"))
    with (folder / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["id"], row["state"]) for row in rows] == [
        ("good", "registered"),
        ("other", "not registered"),
        ("<gone>", "set aside"),
    ]
    records = [Record(**json.loads(line)) for line in (folder / "r.jsonl").read_text().splitlines()]
    (good,) = (record for record in records if record.id == "good")
    assert good.result is not None
    transformation = np.array(rows[0]["transformation"].split(), float).reshape(4, 4)
    assert np.array_equal(transformation, good.result["transformation"])
    assert float(rows[0]["confidence"]) == good.result["confidence"]
    page = (folder / "s.html").read_text(encoding="utf-8")
    assert "1 of 3 pairs registered" in page
    assert "&lt;gone&gt;" in page
    assert "<gone>" not in page


@pytest.mark.slow
def test_the_transformation_of_a_table_is_an_initial_pose_of_another(folder: Path) -> None:
    batch_command("tables/good.csv", "--csv", "s.csv", "--workers", 1, cwd=folder)
    with (folder / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "next.csv").write_text(
        "source,target,init\n" + "".join(f"{r['source']},{r['target']},{r['transformation']}\n" for r in rows)
    )
    done = batch_command("next.csv", "--json", "--workers", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["registered"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gone.csv"], "gone.csv"),
        (["tables/good.csv", "-o", "r.csv"], "ends in .jsonl"),
        (["tables/good.csv", "--csv", "x.txt"], "ends in .csv"),
        (["tables/good.csv", "--report", "nowhere/x.html"], "there is no folder"),
        (["tables/good.csv", "--timeout", "-1"], "timeout: expected a positive number"),
        (["0.npy"], "ends in .csv or .jsonl"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: list[str], message: str) -> None:
    done = batch_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(folder.rglob("*.jsonl"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("jobs.csv", f"source,target,voxel\na.ply,b.ply,{'-' * 5000}1"),
        ("jobs.jsonl", "[" * 100_000),
        ("jobs.jsonl", '{"source": "a\\u0000", "target": "\\ud800"}'),
        ("results.jsonl", '{"key":' * 100_000),
        ("results.jsonl", '{"key": []}'),
    ],
)
def test_hostile_tables_and_results_are_one_line(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / "jobs.csv").write_text("source,target\na.ply,b.ply\n")
    (tmp_path / name).write_text(content + "\n")
    jobs = name if name.startswith("jobs") else "jobs.csv"
    done = batch_command(jobs, "-o", "results.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "memory" not in done.stderr


@pytest.mark.slow
def test_after_ctrl_c_the_same_command_resumes(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = pairs_of(tmp_path, write_scans(tmp_path, 3))
    table, out = tmp_path / "jobs.csv", tmp_path / "jobs.results.jsonl"
    table.write_text("source,target\n" + "".join(f"{job['source']},{job['target']}\n" for job in jobs))
    with subprocess.Popen(
        program(table, "--workers", 1), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        while command.poll() is None and not (out.exists() and keys_in(out)):
            time.sleep(0.01)
        command.send_signal(signal.SIGINT)
        _, errors = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "the same command resumes" in errors
    assert "Traceback" not in errors
    done = len(keys_in(out))
    assert 1 <= done < len(jobs)
    assert graphreg.batch(table, out, workers=1).before == done

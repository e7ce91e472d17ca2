"""graphreg batch: the exit status, what is printed, the files."""

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
from tests.support.commands import run_command

import graphreg
from graphreg.batches.store import Record
from graphreg.clouds import Floats
from graphreg.datasets import synthetic


def program(*arguments: object) -> list[str]:
    return [sys.executable, "-c", "from graphreg.cli import main; main()", "batch", *map(str, arguments)]


def batch_command(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command("batch", *arguments, cwd=cwd)


@lru_cache
def scans() -> dict[str, Floats]:
    pair = {str(n): synthetic.scan("dragon", angle, points=2000, seed=n).points for n, angle in enumerate((0.0, 5.0))}
    return pair | {"other": synthetic.scan("casting", points=2000).points}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two scans that belong together, one that does not, and tables of jobs in a folder of their own."""
    for name, points in scans().items():
        np.save(tmp_path / f"{name}.npy", points)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "good.csv").write_text("source,target\n../0.npy,../1.npy\n../1.npy,../0.npy\n")
    (tmp_path / "tables" / "mixed.csv").write_text(
        "id,source,target\ngood,../0.npy,../1.npy\nother,../0.npy,../other.npy\n<gone>,../0.npy,../gone.npy\n"
    )
    return tmp_path


def test_all_registered(folder: Path) -> None:
    done = batch_command("tables/good.csv", "--workers", 1, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "registered: 2 of 2 pairs" in done.stdout
    assert done.stderr == ""
    assert len(keys_in(folder / "tables" / "good.results.jsonl")) == 2
    again = batch_command("tables/good.csv", "--json", cwd=folder)
    assert again.returncode == 0
    told = json.loads(again.stdout)
    assert (told["registered"], told["before"]) == (2, 2)


def test_some_are_not_and_the_files_say_which(folder: Path) -> None:
    done = batch_command(
        "tables/mixed.csv", "-o", "r.jsonl", "--csv", "s.csv", "--report", "s.html", "--cache", "kept", cwd=folder
    )
    assert done.returncode == 1, done.stderr
    assert "registered: 1 of 3 pairs" in done.stdout
    assert "set aside: <gone>: " in done.stdout
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
    motion = np.array(rows[0]["transformation"].split(), float).reshape(4, 4)
    assert np.array_equal(motion, good.result["transformation"])
    assert float(rows[0]["confidence"]) == good.result["confidence"]
    page = (folder / "s.html").read_text(encoding="utf-8")
    assert "1 of 3 pairs registered" in page
    assert "&lt;gone&gt;" in page
    assert "<gone>" not in page


def test_the_transformation_of_a_table_starts_the_next_batch(folder: Path) -> None:
    batch_command("tables/good.csv", "--csv", "s.csv", cwd=folder)
    with (folder / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "next.csv").write_text(
        "source,target,init\n" + "".join(f"{r['source']},{r['target']},{r['transformation']}\n" for r in rows)
    )
    done = batch_command("next.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["registered"] == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["gone.csv"], "gone.csv"),
        (["tables/good.csv", "-o", "r.csv"], "ends in .jsonl"),
        (["tables/good.csv", "--csv", "x.txt"], "ends in .csv"),
        (["tables/good.csv", "--report", "nowhere/x.html"], "there is no folder"),
        (["tables/good.csv", "--timeout", "-1"], "timeout: expected a positive number"),
        (["0.npy"], "ends in .csv or .jsonl"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: list[str], problem: str) -> None:
    done = batch_command(*arguments, cwd=folder)
    assert done.returncode == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(folder.rglob("*.jsonl"))


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    jobs: list[dict[str, Any]] = pairs_of(tmp_path, write_scans(tmp_path, 5))
    table, out = tmp_path / "jobs.csv", tmp_path / "jobs.results.jsonl"
    table.write_text("source,target\n" + "".join(f"{job['source']},{job['target']}\n" for job in jobs))
    with subprocess.Popen(program(table), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        while command.poll() is None and not (out.exists() and keys_in(out)):
            time.sleep(0.01)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    done = len(keys_in(out))
    assert 1 <= done < len(jobs)
    assert graphreg.batch(table, out).before == done

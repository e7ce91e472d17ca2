"""Jobs: the same from CSV, JSON lines and Python, with an identity that covers all that a result depends on."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphreg import InputError, write_poses
from graphreg.batches.jobs import Job, as_jobs, check_settings, read_jobs
from graphreg.poses import pose, rotation_from_vector

START = pose(rotation_from_vector([0.1, 0.2, -0.3]), [1.0, -2.0, 0.5])


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_json_lines_give_the_same_jobs(tmp_path: Path) -> None:
    write_poses(tmp_path / "T.txt", START)
    numbers = " ".join(f"{value:.17g}" for value in START.ravel())
    table = write_text(
        tmp_path / "jobs.csv",
        "source, target,id,method,init,seed,voxel,dof\n"
        f"a.ply,b.ply,first,,{numbers},,0.5,\n"
        '\na.ply,sub/c.ply,,graphreg,T.txt,7,,"rz,x,y,z"\n'
        "/far/d.ply,b.ply,,icp,,,,\n",
    )
    rows: list[dict[str, Any]] = [
        {"source": "a.ply", "target": "b.ply", "id": "first", "init": START.tolist(), "voxel": 0.5},
        {"source": "a.ply", "target": "sub/c.ply", "init": "T.txt", "seed": 7, "dof": "rz,x,y,z", "id": None},
        {"source": "/far/d.ply", "target": "b.ply", "method": "icp"},
    ]
    lines = write_text(tmp_path / "jobs.jsonl", "\n".join(map(json.dumps, rows)))
    jobs = read_jobs(table)
    assert jobs == read_jobs(lines)
    assert [job.source for job in jobs] == [str(tmp_path / "a.ply"), str(tmp_path / "a.ply"), "/far/d.ply"]
    assert jobs[1].target == str(tmp_path / "sub" / "c.ply")
    assert jobs[0].settings == {"voxel": 0.5}
    assert np.allclose(jobs[0].init, START)
    assert (jobs[1].seed, jobs[1].settings) == (7, {"dof": "rz,x,y,z"})
    assert jobs[2].method == "icp"


def test_mappings_and_jobs_are_accepted(tmp_path: Path) -> None:
    by_name = as_jobs([{"source": Path("a.ply"), "target": "b.ply", "voxel": 0.5, "init": START}])
    assert by_name == [Job("a.ply", "b.ply", init=START, settings={"voxel": 0.5})]
    assert as_jobs(iter(by_name)) == by_name


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("jobs.csv", "source,target\n", "has no jobs"),
        ("jobs.csv", "", "expected a header line with source and target, separated by commas, got nothing"),
        ("jobs.csv", "a,b\n1,2\n", "expected a header line with source and target, separated by commas, got a, b"),
        ("jobs.csv", "source,target,target\n1,2,3\n", "two columns have one name"),
        ("jobs.csv", "source,target\na.ply,b.ply\na.ply\n", "line 3: target: missing"),
        ("jobs.csv", "source,target\na.ply,b.ply,c\n", "line 2: has more than 2 columns"),
        ("jobs.csv", "source,target,method\na,b,magic\n", "line 2: method: expected one of graphreg"),
        ("jobs.csv", "source,target,seed\na,b,-1\n", "line 2: seed: expected a whole number"),
        ("jobs.csv", "source,target,init\na,b,1 2 3\n", "line 2: init: expected a 4x4 matrix"),
        ("jobs.csv", "source,target,init\na,b,gone.txt\n", "line 2: .*gone.txt"),
        ("jobs.jsonl", '{"source": "a", "target": "b"}\n{', "line 2: is no JSON"),
        ("jobs.jsonl", "[1]\n", "line 1: expected an object"),
        ("jobs.jsonl", '{"source": 3, "target": "b"}', "line 1: source: expected the name of a file, got 3"),
        ("jobs.txt", "", "expected a name that ends in .csv or .jsonl"),
        ("jobs.jsonl", "[" * 100_000, "line 1: is no JSON"),
        ("jobs.jsonl", '{"source": "a", "target": ' * 10_000, "line 1: is no JSON"),
        (
            "jobs.jsonl",
            '{"source": "a\\u0000b", "target": "b"}',
            "line 1: source: expected the name of a file, got '/.*",
        ),
        ("jobs.jsonl", '{"source": "\\ud800", "target": "b"}', "line 1: source: expected the name of a file"),
        (
            "jobs.jsonl",
            '{"source": "a", "target": "b", "init": "\\ud800"}',
            "line 1: init: expected the name of a file",
        ),
        ("jobs.jsonl", '{"source": "a", "target": "b", "id": "\\ud800"}', r"line 1: id: expected text, got '\\ud800'"),
        ("jobs.jsonl", '{"source": "a", "target": "b", "method": []}', r"line 1: method: expected one of .*got \[\]"),
        ("jobs.jsonl", '{"source": "a", "target": "b", "settings": [1]}', "line 1: settings: expected values by"),
        ("jobs.jsonl", '{"source": "a", "target": "b", "voxel": NaN}', "line 1: settings: expected numbers"),
        (
            "jobs.jsonl",
            f'{{"source": "a", "target": "b", "init": [{"9" * 400}{", 1" * 15}]}}',
            "line 1: init: expected",
        ),
        ("jobs.jsonl", f'{{"source": "a", "target": "b", "init": ["x"{", 1" * 11}]}}', "line 1: init: expected"),
        ("jobs.csv", "source,target,settings\na,b,x\n", "line 2: settings: expected values by"),
        ("jobs.csv", 'source,target,voxel\na,b,"{[]: 1}x"\n' + "x" * 200_000, "is no table of jobs: field larger"),
    ],
)
def test_invalid_files_are_refused_with_the_line(tmp_path: Path, name: str, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_jobs(write_text(tmp_path / name, text))


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "(" * 5000, "[" * 90 + "1" + "]" * 90, "{[]: 1}", "1if 2else 3"])
def test_cells_that_are_no_numbers_are_refused_as_settings(tmp_path: Path, text: str) -> None:
    jobs = read_jobs(write_text(tmp_path / "jobs.csv", f"source,target,voxel\na,b,{text}\n"))
    with pytest.raises(InputError, match="voxel: expected a positive number"):
        check_settings(jobs)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "jobs.csv")
    with pytest.raises(InputError, match="is not a regular file"):
        read_jobs(tmp_path / "jobs.csv")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_bytes(b"source,target\n\xff\xfe\x00,b\n")
    with pytest.raises(InputError, match="is no table of jobs"):
        read_jobs(tmp_path / "jobs.csv")


@pytest.mark.parametrize(
    ("jobs", "problem"),
    [
        (3, "jobs: expected a file or an iterable"),
        ([], "jobs: expected at least one, got none"),
        ([{"source": "a"}], "jobs: number 0: target: missing"),
        ([("a", "b")], "jobs: number 0: expected a Job or a mapping"),
        ([{"source": "a", "target": "b", 3: 4}], "jobs: number 0: settings: expected values by their names"),
        ([{"source": "a", "target": "b", "init": 10**400}], "jobs: number 0: init: expected a 4x4 matrix"),
        ("jobs\0.csv", "jobs: expected the name of a file"),
        ([{"source": "a", "target": "b", "odd": object()}], "jobs: number 0: settings: expected numbers"),
    ],
)
def test_invalid_jobs_of_python_are_refused(jobs: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        as_jobs(jobs)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"voxle": 1}, "voxle: no setting of graphreg"), ({"voxel": -1}, "voxel: expected"), ({"k": "x"}, "k: expected")],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=f"jobs: number 1, a to b: {problem}"):
        check_settings([Job("a", "b"), Job("a", "b", settings=settings)])


JOB = Job("a.ply", "b.ply", id="x", init=START, settings={"voxel": 0.5, "k": 12})
OTHERS = {
    "id": replace(JOB, id="y"),
    "method": replace(JOB, method="icp"),
    "init": replace(JOB, init=np.eye(4)),
    "no init": replace(JOB, init=None),
    "seed": replace(JOB, seed=0),
    "settings": replace(JOB, settings={"voxel": 0.5, "k": 13}),
}


def test_the_identity_changes_with_all_inputs_of_the_result_and_the_id_alone() -> None:
    identity = JOB.identity("hash a", "hash b", "")
    assert replace(JOB, source="elsewhere.ply").identity("hash a", "hash b", "") == identity
    assert replace(JOB, settings={"k": 12, "voxel": 0.5}).identity("hash a", "hash b", "") == identity
    made = {name: other.identity("hash a", "hash b", "") for name, other in OTHERS.items()}
    made |= {
        "source": JOB.identity("hash c", "hash b", ""),
        "target": JOB.identity("hash a", "hash c", ""),
        "swapped": JOB.identity("hash b", "hash a", ""),
        "run": JOB.identity("hash a", "hash b", "other.run"),
    }
    assert len({identity, *made.values()}) == len(made) + 1


def test_the_seed_depends_on_the_inputs_of_the_result_and_not_on_the_id() -> None:
    def seed(job: Job, source: str = "hash a") -> int:
        return job.seed_for(source, "hash b", "")

    assert seed(JOB) == seed(OTHERS["id"])
    assert seed(OTHERS["seed"]) == 0
    different = {seed(OTHERS[name]) for name in ("method", "init", "no init", "settings")}
    assert len({seed(JOB), seed(JOB, "hash c"), *different}) == 6


def test_a_table_in_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("source,target\na,b\n", encoding="utf-16")
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_jobs(path)

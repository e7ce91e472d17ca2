"""Small scans in files, the jobs that pair them, and what batches wrote."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import graphreg
from graphreg.batches.store import Record
from graphreg.clouds import Floats
from graphreg.datasets import synthetic

POINTS = 600


def write_scans(folder: Path, count: int) -> list[str]:
    """Write scans of one body from several directions, a file each; returns their names."""
    names = []
    for number in range(count):
        names.append(f"scan_{number}.npy")
        np.save(folder / names[-1], _scan(number))
    return names


@lru_cache
def _scan(number: int) -> Floats:
    return synthetic.scan("hare", 10.0 * number, points=POINTS, seed=number).points


def pairs_of(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """A job for each pair of scans, in both directions."""
    return [{"source": folder / a, "target": folder / b} for a in names for b in names if a != b]


def write_table(folder: Path, jobs: list[dict[str, Any]]) -> Path:
    """Write jobs to a CSV file, for other processes."""
    table = folder / "jobs.csv"
    table.write_text("source,target\n" + "".join(f"{job['source']},{job['target']}\n" for job in jobs))
    return table


def batch_results(jobs: list[dict[str, Any]], out: Path, **options: Any) -> list[str]:
    """The records of a batch, without times."""
    return [without_times(record) for record in graphreg.batch(jobs, out, **options)]


def without_times(record: Record) -> str:
    """A record as JSON, without what differs between runs: times and the number of attempts."""
    values = asdict(record) | {"seconds": None, "attempts": None}
    if values["result"] is not None:
        values["result"] = values["result"] | {"timings": None}
    return json.dumps(values, sort_keys=True)


def keys_in(path: Path) -> list[str]:
    """The keys of all complete lines of a file of results."""
    return [json.loads(line)["key"] for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

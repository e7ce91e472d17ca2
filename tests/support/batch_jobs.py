"""For tests of batches: small scans in files, and jobs that harm the worker that does them. Workers import this too."""

from __future__ import annotations

import json
import os
import signal
import time
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
    """Scans of one body from several sides, a file each."""
    names = []
    for number in range(count):
        names.append(f"scan_{number}.npy")
        np.save(folder / names[-1], _scan(number))
    return names


@lru_cache
def _scan(number: int) -> Floats:
    return synthetic.scan("dragon", 10.0 * number, points=POINTS, seed=number).points


def pairs_of(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """A job for each two of them, in both directions."""
    return [{"source": folder / a, "target": folder / b} for a in names for b in names if a != b]


def write_table(folder: Path, jobs: list[dict[str, Any]]) -> Path:
    """Jobs as a file, for other processes."""
    table = folder / "jobs.csv"
    table.write_text("source,target\n" + "".join(f"{job['source']},{job['target']}\n" for job in jobs))
    return table


def found_by(jobs: list[dict[str, Any]], out: Path, **how: Any) -> list[str]:
    """What a batch finds, but for times."""
    return [timeless(record) for record in graphreg.batch(jobs, out, **how)]


def harmful(source: Any, target: Any, *, poison: str = "", mark: str = "", **how: Any) -> graphreg.Result:
    """Registers, but for jobs that are poisoned.

    mark  a file that is made in the first attempt; with it, later attempts are harmless
    """
    if poison and not (mark and Path(mark).exists()):
        if mark:
            Path(mark).touch()
        if poison == "exit":
            os._exit(7)
        if poison == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if poison == "hang":
            time.sleep(1000)
        if poison == "memory":
            raise MemoryError
        raise RuntimeError(poison)
    return graphreg.register(source, target, **how)


def timeless(record: Record) -> str:
    """A record without what differs from run to run: how long things took, and how often they had to be begun."""
    held = asdict(record) | {"seconds": None, "attempts": None}
    if held["result"] is not None:
        held["result"] = held["result"] | {"timings": None}
    return json.dumps(held, sort_keys=True)


def keys_in(path: Path) -> list[str]:
    """Of every whole line of a file of results."""
    return [json.loads(line)["key"] for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]

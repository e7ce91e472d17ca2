"""What a survey of many large scans costs on a cluster: measured on scans of ten million points, then reckoned up.

    pip install '.[las]'
    python benchmarks/survey.py --out docs/results

Scans of one wavy ground, as LAZ and as PLY. What a worker does with them is measured in a process of its own, on one
thread: hash, read, prepare, register. A batch of a few of them shows how far the reckoning can be trusted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from os import environ
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import numpy as np
from scaling import APART, START, ground

from graphreg import batch, prepare, read_cloud, register, write
from graphreg.batches.cache import content_of, prepare_file, prepared_cloud
from graphreg.batches.jobs import as_jobs
from graphreg.batches.schedule import Plan
from graphreg.batches.store import ResultStore
from graphreg.batches.tasks import Prepare
from graphreg.batches.workers import ONE_THREAD, Ended
from graphreg.bench.measured_parts import BATCHES
from graphreg.bench.memory import resident_bytes
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.engine.settings import EngineSettings
from graphreg.poses import transform
from graphreg.provenance import measured_now, script_command

POINTS = 10_000_000
SCANS, PAIRS_A_SCAN = 10_000, 4
WORKERS = (16, 64, 256)
# What a network may bring, in GB/s.
NETWORK = 1.0
FORMATS = (".laz", ".ply")
ROUNDS = 3
# Of the batch that the reckoning is held against: scans in a row, each with the next one.
IN_A_ROW = 3
DIRECTED = 20_000


def write_scans(folder: Path, points: int) -> None:
    """Scans in a row, a fifth of their side apart, each turned and shifted a little."""
    for number in range(IN_A_ROW):
        scan = transform(START, ground(points, APART * number, number + 1))
        for suffix in FORMATS:
            write(folder / f"scan_{number}{suffix}", scan)


def run_once(folder: Path, suffix: str) -> None:
    """In a process of its own: print what a worker's work on two scans takes, and the most memory it held."""
    paths = [folder / f"scan_{number}{suffix}" for number in (0, 1)]
    seconds: dict[str, list[float]] = {name: [] for name in ("hash", "read", "prepare", "load", "register")}
    cache = folder / f"cache of {suffix}"
    contents = []

    def timed(name: str, call: Any) -> Any:
        began = time.process_time()
        value = call()
        seconds[name].append(time.process_time() - began)
        return value

    for path in paths:
        contents.append(timed("hash", lambda path=path: content_of(str(path))))
        cloud = timed("read", lambda path=path: read_cloud(path))
        timed("prepare", lambda cloud=cloud: prepare(cloud))
        del cloud
        prepare_file(cache, str(path), EngineSettings.points)
    peak = resident_bytes("VmHWM")
    for _ in range(ROUNDS):
        clouds = [
            timed("load", lambda p=p, c=c: prepared_cloud(cache, str(p), c, EngineSettings.points))
            for p, c in zip(paths, contents, strict=True)
        ]
        found = timed("register", lambda clouds=clouds: register(*clouds, threads=1))
    entry = sum(file.stat().st_size for file in cache.rglob("*.npz")) / len(paths)
    told = {name: float(np.median(values)) for name, values in seconds.items()}
    line = len(found.to_json()) - len(json.dumps([]))
    print(json.dumps({**told, "peak": peak, "file": paths[0].stat().st_size, "entry": entry, "line": line}))


def directed(folder: Path, count: int) -> float:
    """Jobs that the driver can direct in a second of its core: plan and store alone, workers that take no time."""
    jobs = as_jobs({"source": f"{number}.ply", "target": f"{number + 1}.ply"} for number in range(count))
    given = {
        "success": True,
        "reason": "",
        "history": [],
        "transformation": [[0.1] * 4] * 4,
        "covariance": [[0.1] * 6] * 6,
    }
    began = time.process_time()
    with closing(ResultStore(folder / "directed.jsonl")) as store:
        plan = Plan(jobs, store, folder / "none", register)
        while (task := plan.next_task(0)) is not None:
            value: Any = (task.path, None) if isinstance(task, Prepare) else given
            plan.take(task, Ended(value, None, 1, 0.0))
    return count / (time.process_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run_once(Path(args.run[0]), args.run[1])
        return
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_scans(folder, args.points)
        rows = [measured(folder, suffix, args.points) for suffix in FORMATS]
        rate = directed(folder, DIRECTED)
    plans = [reckoned(row, workers) for row in rows for workers in WORKERS]
    tables = {"What a worker needs for one scan, and for one pair": rows, "The survey": plans}
    about = {"scans": SCANS, "pairs a scan": PAIRS_A_SCAN, "jobs a second that the driver directs": rate}
    provenance = measured_now(script_command(), BATCHES, versions_of_modules("laspy", "lazrs"))
    results = Results("What a survey costs", provenance, summary(rows, plans, rate), rows, tables, about)
    print(write_results(args.out, "survey", results).read_text(encoding="utf-8"))


def measured(folder: Path, suffix: str, points: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--run", str(folder), suffix]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**environ, **ONE_THREAD}).stdout
    one = json.loads(said.splitlines()[-1])
    names = [folder / f"scan_{number}{suffix}" for number in range(IN_A_ROW)]
    jobs = [{"source": b, "target": a} for a, b in pairwise(names)]
    before = getrusage(RUSAGE_CHILDREN)
    found = batch(jobs, folder / f"results{suffix}.jsonl", workers=1)
    after = getrusage(RUSAGE_CHILDREN)
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    expected = IN_A_ROW * _a_scan(one) + len(jobs) * _a_pair(one)
    return {
        "format": suffix,
        "points": points,
        "file MB": one["file"] / 1e6,
        "hash s": one["hash"],
        "read s": one["read"],
        "prepare s": one["prepare"],
        "cached MB": one["entry"] / 1e6,
        "load s": one["load"],
        "register s": one["register"],
        "result KB": one["line"] / 1e3,
        "peak MB": one["peak"] / 1e6,
        f"batch of {IN_A_ROW} scans, {len(jobs)} pairs, its worker: s": worked,
        "the same, reckoned: s": expected,
        "registered": found.registered,
    }


def _a_scan(one: dict[str, float]) -> float:
    return one["hash"] + one["read"] + one["prepare"]


def _a_pair(one: dict[str, float]) -> float:
    return 2 * one["load"] + one["register"]


def reckoned(row: dict[str, Any], workers: int) -> dict[str, Any]:
    """The whole survey on so many workers, each a core like ours."""
    pairs = SCANS * PAIRS_A_SCAN
    preparing = SCANS * (row["hash s"] + row["read s"] + row["prepare s"])
    registering = pairs * (2 * row["load s"] + row["register s"])
    hours = (preparing + registering) / workers / 3600
    moved = SCANS * row["file MB"] + 2 * pairs * row["cached MB"]
    return {
        "format": row["format"],
        "workers": workers,
        "hours": hours,
        "of these preparing": preparing / workers / 3600,
        "core hours": (preparing + registering) / 3600,
        "memory a worker MB": row["peak MB"],
        "read over the network GB": moved / 1e3,
        "MB/s over the network": moved / (hours * 3600),
        f"hours at {NETWORK:g} GB/s": max(hours, moved / 1e3 / NETWORK / 3600),
        "scans on disk GB": SCANS * row["file MB"] / 1e3,
        "cache GB": SCANS * row["cached MB"] / 1e3,
        "results MB": pairs * row["result KB"] / 1e3,
    }


def summary(rows: list[dict[str, Any]], plans: list[dict[str, Any]], rate: float) -> list[str]:
    most = max(SCANS * (1 + PAIRS_A_SCAN) / plan["hours"] / 3600 for plan in plans)
    return [
        f"a plan, not a run: {SCANS:,} scans, {PAIRS_A_SCAN} pairs for each, reckoned from what one core of this "
        "machine takes for one scan and one pair, times how many there are, over how many workers there are",
        "it takes for granted that cores do not slow each other down, and that the network and the disks behind it "
        "deliver what is asked of them; MB/s over the network says what that is",
        "each file is read once over the network: it is hashed and then read, the second time from the host's memory",
        f"the driver, which directs the work and writes the results, can do so for {rate:,.0f} jobs a second; the "
        f"largest of these clusters asks for {most:,.0f}",
        "seconds are those that a core worked, files in the memory of the host; those of the batch's worker include "
        "its start",
        f"hours at {NETWORK:g} GB/s: where the network and the disks behind it bring no more than that",
        "peak MB: of the whole process, Python and libraries included",
    ]


if __name__ == "__main__":
    main()

"""The cost of a survey of many large scans on a cluster: extrapolated from measurements of scans of ten million points.

    pip install '.[las]'
    python benchmarks/survey.py --out docs/results

Scans of one undulating ground, as LAZ and as PLY. The steps of a worker are measured in a separate process, on one
thread: hash, read, preprocess, register. A batch of a few of the scans verifies the extrapolation.
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
from graphreg.batches.cache import cache_file, cached_cloud, file_hash
from graphreg.batches.jobs import as_jobs
from graphreg.batches.schedule import Schedule
from graphreg.batches.store import ResultStore
from graphreg.batches.tasks import PreprocessTask
from graphreg.batches.workers import SINGLE_THREAD_ENVIRONMENT, TaskOutcome
from graphreg.bench.measured_parts import BATCHES
from graphreg.bench.memory import resident_bytes
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.engine.settings import EngineSettings
from graphreg.poses import transform
from graphreg.provenance import measured_now, script_command

POINTS = 10_000_000
SCANS, PAIRS_PER_SCAN = 10_000, 4
WORKERS = (16, 64, 256)
# Throughput of a network, in GB/s.
NETWORK = 1.0
FORMATS = (".laz", ".ply")
ROUNDS = 3
# Scans of the batch that verifies the extrapolation, each paired with the next one.
VERIFIED_SCANS = 3
# Jobs that the throughput of the driver is measured on.
DRIVER_JOBS = 20_000


def write_scans(folder: Path, points: int) -> None:
    """Write a chain of scans, a fifth of their extent apart, each in a frame of its own."""
    for number in range(VERIFIED_SCANS):
        scan = transform(START, ground(points, APART * number, number + 1))
        for suffix in FORMATS:
            write(folder / f"scan_{number}{suffix}", scan)


def run_once(folder: Path, suffix: str) -> None:
    """Print the duration of each step on two scans, and the peak memory of this process."""
    paths = [folder / f"scan_{number}{suffix}" for number in (0, 1)]
    seconds: dict[str, list[float]] = {name: [] for name in ("hash", "read", "preprocess", "load", "register")}
    cache = folder / f"cache of {suffix}"
    contents = []

    def timed(name: str, call: Any) -> Any:
        began = time.process_time()
        value = call()
        seconds[name].append(time.process_time() - began)
        return value

    for path in paths:
        contents.append(timed("hash", lambda path=path: file_hash(str(path))))
        cloud = timed("read", lambda path=path: read_cloud(path))
        timed("preprocess", lambda cloud=cloud: prepare(cloud))
        del cloud
        cache_file(cache, str(path), EngineSettings.points)
    peak = resident_bytes("VmHWM")
    for _ in range(ROUNDS):
        clouds = [
            timed("load", lambda p=p, c=c: cached_cloud(cache, str(p), c, EngineSettings.points))
            for p, c in zip(paths, contents, strict=True)
        ]
        found = timed("register", lambda clouds=clouds: register(*clouds, threads=1))
    entry = sum(file.stat().st_size for file in cache.rglob("*.npz")) / len(paths)
    medians = {name: float(np.median(values)) for name, values in seconds.items()}
    line = len(found.to_json()) - len(json.dumps([]))
    print(json.dumps({**medians, "peak": peak, "file": paths[0].stat().st_size, "entry": entry, "line": line}))


def driver_rate(folder: Path, count: int) -> float:
    """Jobs per second of the driver's core: schedule and store alone, with workers that take no time."""
    jobs = as_jobs({"source": f"{number}.ply", "target": f"{number + 1}.ply"} for number in range(count))
    result = {
        "success": True,
        "reason": "",
        "history": [],
        "transformation": [[0.1] * 4] * 4,
        "covariance": [[0.1] * 6] * 6,
    }
    began = time.process_time()
    with closing(ResultStore(folder / "driver.jsonl")) as store:
        schedule = Schedule(jobs, store, folder / "none", register)
        while (task := schedule.next_task(0)) is not None:
            value: Any = (task.path, None) if isinstance(task, PreprocessTask) else result
            schedule.complete(task, TaskOutcome(value, None, 1, 0.0))
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
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_scans(folder, args.points)
        rows = [measured(folder, suffix, args.points) for suffix in FORMATS]
        rate = driver_rate(folder, DRIVER_JOBS)
    plans = [extrapolated(row, workers) for row in rows for workers in WORKERS]
    tables = {"One scan and one pair on one worker": rows, "The survey": plans}
    about = {"scans": SCANS, "pairs per scan": PAIRS_PER_SCAN, "jobs per second of the driver": rate}
    provenance = measured_now(script_command(), BATCHES, versions_of_modules("laspy", "lazrs"))
    results = Results("Cost of a survey", provenance, summary(rows, plans, rate), rows, tables, about)
    print(write_results(args.out, "survey", results).read_text(encoding="utf-8"))


def measured(folder: Path, suffix: str, points: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--run", str(folder), suffix]
    environment = {**environ, **SINGLE_THREAD_ENVIRONMENT}
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    one = json.loads(printed.splitlines()[-1])
    names = [folder / f"scan_{number}{suffix}" for number in range(VERIFIED_SCANS)]
    jobs = [{"source": b, "target": a} for a, b in pairwise(names)]
    before = getrusage(RUSAGE_CHILDREN)
    found = batch(jobs, folder / f"results{suffix}.jsonl", workers=1)
    after = getrusage(RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    expected = VERIFIED_SCANS * _scan_seconds(one) + len(jobs) * _pair_seconds(one)
    return {
        "format": suffix,
        "points": points,
        "file MB": one["file"] / 1e6,
        "hash s": one["hash"],
        "read s": one["read"],
        "preprocess s": one["preprocess"],
        "cached MB": one["entry"] / 1e6,
        "load s": one["load"],
        "register s": one["register"],
        "result KB": one["line"] / 1e3,
        "peak MB": one["peak"] / 1e6,
        f"batch of {VERIFIED_SCANS} scans, {len(jobs)} pairs, its worker: s": cpu_seconds,
        "the same, extrapolated: s": expected,
        "registered": found.registered,
    }


def _scan_seconds(one: dict[str, float]) -> float:
    return one["hash"] + one["read"] + one["preprocess"]


def _pair_seconds(one: dict[str, float]) -> float:
    return 2 * one["load"] + one["register"]


def extrapolated(row: dict[str, Any], workers: int) -> dict[str, Any]:
    """The cost of the whole survey on a number of workers, each a core of this machine."""
    pairs = SCANS * PAIRS_PER_SCAN
    preprocessing = SCANS * (row["hash s"] + row["read s"] + row["preprocess s"])
    registering = pairs * (2 * row["load s"] + row["register s"])
    hours = (preprocessing + registering) / workers / 3600
    transferred = SCANS * row["file MB"] + 2 * pairs * row["cached MB"]
    return {
        "format": row["format"],
        "workers": workers,
        "hours": hours,
        "of these preprocessing": preprocessing / workers / 3600,
        "core hours": (preprocessing + registering) / 3600,
        "memory per worker MB": row["peak MB"],
        "read over the network GB": transferred / 1e3,
        "MB/s over the network": transferred / (hours * 3600),
        f"hours at {NETWORK:g} GB/s": max(hours, transferred / 1e3 / NETWORK / 3600),
        "scans on disk GB": SCANS * row["file MB"] / 1e3,
        "cache GB": SCANS * row["cached MB"] / 1e3,
        "results MB": pairs * row["result KB"] / 1e3,
    }


def summary(rows: list[dict[str, Any]], plans: list[dict[str, Any]], rate: float) -> list[str]:
    most = max(SCANS * (1 + PAIRS_PER_SCAN) / plan["hours"] / 3600 for plan in plans)
    return [
        f"an extrapolation, not a run: {SCANS:,} scans, {PAIRS_PER_SCAN} pairs for each, from the time of one core of "
        "this machine for one scan and one pair, times their number, divided by the number of workers",
        "it assumes that cores do not slow each other down, and that the network and the disks deliver the MB/s over "
        "the network",
        "each file is read once over the network: it is hashed and then read, the second time from the host's memory",
        f"the driver, which schedules the jobs and writes the results, manages {rate:,.0f} jobs per second; the "
        f"largest of these clusters needs {most:,.0f}",
        "seconds of CPU time, with files in the memory of the host; those of the batch include the start of its worker",
        f"hours at {NETWORK:g} GB/s: where the network and the disks deliver no more than that",
        "peak MB: of the whole process, Python and libraries included",
    ]


if __name__ == "__main__":
    main()

"""A batch of a thousand pairs: equal results on a process pool and on a Dask cluster, after kills, and its throughput.

    pip install '.[dask]'
    python benchmarks/batch.py --out docs/results

The scans are synthetic: bodies from all directions, paired with their neighbours, and some with another body. Needs
Linux, whose /proc lists the processes to kill.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphreg import batch, register
from graphreg.batches.batch_run import Batch
from graphreg.batches.jobs import read_jobs
from graphreg.batches.schedule import Schedule
from graphreg.batches.store import Record, ResultStore
from graphreg.batches.tasks import RegisterTask
from graphreg.batches.workers import SINGLE_THREAD_ENVIRONMENT, TaskOutcome
from graphreg.bench.measured_parts import BATCHES, SYNTHETIC_SCANS
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.bench.run_log import RunLog, run
from graphreg.datasets import synthetic
from graphreg.provenance import fingerprint, machine, measured_now, package_versions, script_command

PARTS = (*BATCHES, *SYNTHETIC_SCANS)
BODIES = ("dragon", "hare", "hand", "casting")
POINTS = 4_000
VIEWS, NEIGHBOURS = 30, 4
JOBS = 1_000
KILLS = 20
ROUNDS = 3
Figure = tuple[str, Any]
# Numbers of points of the clouds that crash a worker or make it hang, and the number of good jobs among them.
CRASH_POINTS, HANG_POINTS = 23, 29
GOOD_JOBS = 40
# Jobs of a round of the throughput, and those before, during which workers start and load their modules.
TIMED_JOBS, WARM_UP_JOBS = 80, 20


def write_jobs(folder: Path, count: int, every: int = 1) -> Path:
    """Write the scans, and a table of `count` pairs of them: every `every`-th pair."""
    names = {}
    for body in BODIES:
        for view in range(VIEWS):
            names[body, view] = f"{body}_{view}.npy"
            if not (folder / names[body, view]).exists():
                scan = synthetic.scan(body, 360 / VIEWS * view, points=POINTS, seed=view)
                np.save(folder / names[body, view], scan.points)
    near = [
        (names[body, view], names[body, (view + step) % VIEWS])
        for step in (*range(1, NEIGHBOURS + 1), *range(-NEIGHBOURS, 0))
        for body in BODIES
        for view in range(VIEWS)
    ]
    other = [(names[BODIES[0], view % VIEWS], names[BODIES[3], (7 * view) % VIEWS]) for view in range(VIEWS)]
    other += [(names[BODIES[1], view % VIEWS], names[BODIES[2], (7 * view) % VIEWS]) for view in range(VIEWS)]
    table = folder / f"jobs_{count}_{every}.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *[*near, *other][::every][:count]])
    return table


def without_times(record: Record) -> str:
    """A record as JSON, without what differs between runs: times and the number of attempts."""
    values = {**asdict(record), "seconds": None, "attempts": None}
    if values["result"]:
        values["result"] = {**values["result"], "timings": None}
    return json.dumps(values, sort_keys=True)


@contextmanager
def local_cluster() -> Iterator[Any]:
    """A Dask cluster on this machine: a scheduler, and two worker processes of one thread."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


def children_of(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def killed(
    command: list[str], out: Path, workers: Callable[[int], list[int]], kills: int, pause: float, seed: int
) -> dict[str, int]:
    """Run a batch, and kill its driver or a worker at random moments; a driver that was killed is started again.

    Parameters
    ----------
    command : list of str
        Starts the driver.
    out : Path
        The results.
    workers : callable
        Returns the process ids of the workers for that of the driver.
    kills : int
        How often to kill.
    pause : float
        Mean time between kills, in seconds.
    seed : int

    Returns
    -------
    dict of str to int
        Kills of the driver and of workers, and how often a finished job was lost.
    """
    rng = np.random.default_rng(seed)
    count = {"driver": 0, "worker": 0, "lost": 0}
    kept = b""
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while count["driver"] + count["worker"] < kills:
        time.sleep(rng.uniform(0, 2 * pause))
        if driver.poll() is not None:
            raise RuntimeError("the batch ended before the last kill; use a shorter pause")
        # The driver in a third of the cases.
        victims = [driver.pid] if rng.random() < 1 / 3 else workers(driver.pid)
        if not victims:
            continue
        os.kill(victims[rng.integers(len(victims))], signal.SIGKILL)
        count["driver" if victims == [driver.pid] else "worker"] += 1
        if victims == [driver.pid]:
            driver.wait()
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        content = out.read_bytes() if out.exists() else b""
        count["lost"] += not content.startswith(kept)
        kept = content[: content.rfind(b"\n") + 1]
    driver.wait()
    return count


def run_alone(table: Path, cache: Path, part: int, parts: int) -> None:
    """Run one of several parts of the jobs in this process, without a batch, and print the jobs per second."""
    jobs = read_jobs(table)
    tasks = []
    with tempfile.TemporaryDirectory() as folder:
        store = ResultStore(Path(folder) / "none.jsonl")
        schedule = Schedule(jobs, store, cache, register)
        while (task := schedule.next_task(0)) is not None:
            assert isinstance(task, RegisterTask), "all clouds are in the cache"
            tasks.append(task)
            schedule.complete(task, TaskOutcome({"success": True, "reason": ""}, None, 1, 0.0))
        store.close()
    # Contiguous parts, as in a batch: neighbours share clouds.
    mine = tasks[len(tasks) * part // parts : len(tasks) * (part + 1) // parts]
    warm_up = WARM_UP_JOBS // parts
    for task in mine[:warm_up]:
        task()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for task in mine[warm_up:]:
        task()
    print((len(mine) - warm_up) / (time.perf_counter() - began), flush=True)


def rate_alone(table: Path, cache: Path, processes: int) -> float:
    """Jobs per second of several independent processes that run at the same time."""
    command = [sys.executable, __file__, "--alone", str(table), str(cache)]
    running = [
        subprocess.Popen(
            [*command, str(part), str(processes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **SINGLE_THREAD_ENVIRONMENT},
        )
        for part in range(processes)
    ]  # fmt: skip
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return sum(float(process.communicate()[0]) for process in running)


def rate_of_batch(jobs: Any, out: Path, cache: Path, workers: int, **options: Any) -> tuple[float, float]:
    """Jobs per second of a batch once its workers have started, and the share of the time that they were busy."""
    times: list[float] = []

    def record_times(now: Batch) -> None:
        times.extend([time.perf_counter()] * (now.done - len(times)))

    out.unlink(missing_ok=True)
    batch(jobs, out, cache=cache, progress=record_times, workers=workers, **options)
    wall = times[-1] - times[WARM_UP_JOBS - 1]
    worked = sum(json.loads(line)["seconds"] for line in out.read_bytes().splitlines()[WARM_UP_JOBS:])
    return (len(times) - WARM_UP_JOBS) / wall, worked / (workers * wall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument(
        "--folder", type=Path, help="for the scans and the measurements; a run that was interrupted is resumed from it"
    )
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_alone(Path(args.alone[0]), Path(args.alone[1]), int(args.alone[2]), int(args.alone[3]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        table = write_jobs(folder, args.jobs)
        parts = [Measurement(name, args.jobs, args.kills, args.rounds) for name in MEASURES]
        log = RunLog(folder / "measured.jsonl", {**package_versions(), **machine(), "code": fingerprint(*PARTS)})
        done = run(parts, lambda part: measured(part, folder, table), log, np.inf)
        rows = [{name: row[name] for name in ("what", "measured")} for some in done for row in some]
        log.close()
    provenance = measured_now(script_command(), PARTS, versions_of_modules("distributed"))
    results = Results("Batches", provenance, summary(args.jobs), rows)
    print(write_results(args.out, "batch", results).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Measurement:
    """One measurement and its size."""

    name: str
    jobs: int
    kills: int
    rounds: int


def measured(part: Measurement, folder: Path, table: Path) -> list[dict[str, Any]]:
    rows = []
    for what, value in MEASURES[part.name](part, folder, table):
        rows.append({"what": f"{part.name}: {what}", "measured": value})
        print(f"{part.name}: {what}: {value}", file=sys.stderr, flush=True)
    return rows


def on_process_pool(part: Measurement, folder: Path, table: Path) -> Iterator[Figure]:
    (folder / "pool.jsonl").unlink(missing_ok=True)
    found = batch(table, folder / "pool.jsonl", workers=2, cache=folder / "cache")
    yield "jobs", found.jobs
    yield "clouds, each read and preprocessed once", found.clouds
    yield "registered, not registered, set aside", f"{found.registered}, {found.not_registered}, {found.set_aside}"
    yield "jobs per second, start and preprocessing included", found.rate


def on_dask_cluster(part: Measurement, folder: Path, table: Path) -> Iterator[Figure]:
    (folder / "dask.jsonl").unlink(missing_ok=True)
    with local_cluster() as cluster:
        address = str(cluster.scheduler_address)
        found = batch(table, folder / "dask.jsonl", dask=address, cache=folder / "cache of dask")
    yield "jobs", found.jobs
    yield "results that differ from the pool's", differing(folder, table, found)
    yield "jobs per second, start and preprocessing included", found.rate


def on_killed_pool(part: Measurement, folder: Path, table: Path) -> Iterator[Figure]:
    yield from through_kills(part, folder, table, children_of, 1.0, 1, "--workers", "2")


def on_killed_cluster(part: Measurement, folder: Path, table: Path) -> Iterator[Figure]:
    import dask
    from distributed import Status

    # By default Dask gives up a job after the death of four workers, which is not measured here.
    with dask.config.set({"distributed.scheduler.allowed-failures": part.kills}), local_cluster() as cluster:

        def workers(_: int) -> list[int]:
            # Dask does not restart a worker that is killed before it is ready.
            for name, nanny in list(cluster.workers.items()):
                if nanny.status in (Status.closed, Status.failed):
                    cluster.worker_spec.pop(name, None)
                    cluster.workers.pop(name, None)
            cluster.scale(2)
            known = cluster.scheduler.workers
            return [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in known and nanny.pid]

        yield from through_kills(part, folder, table, workers, 1.5, 2, "--dask", str(cluster.scheduler_address))


def through_kills(
    part: Measurement,
    folder: Path,
    table: Path,
    workers: Callable[[int], list[int]],
    slowdown: float,
    seed: int,
    *options: str,
) -> Iterator[Figure]:
    """Run a batch with kills; after a kill it takes `slowdown` times as long as on a pool until jobs run again."""
    out = folder / f"{part.name}.jsonl"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-c", "from graphreg.cli import main; main()", "batch", str(table), "-o", str(out)]
    command += ["--cache", str(folder / f"cache of {part.name}"), "--retries", "20", "--quiet", *options]
    # The pause is short enough that the batch lasts until the last kill.
    lines = (folder / "pool.jsonl").read_bytes().splitlines()
    pause = slowdown * 0.5 * sum(json.loads(line)["seconds"] for line in lines) / 2 / part.kills
    count = killed(command, out, workers, part.kills, pause, seed)
    lines = out.read_bytes().splitlines()
    found = batch(table, out, cache=folder / f"cache of {part.name}")
    yield "SIGKILLs of the driver, of workers", f"{count['driver']}, {count['worker']}"
    yield "times that a finished job was lost", count["lost"]
    yield "jobs not done at the end", found.jobs - found.before
    yield "jobs that are in the store twice", len(lines) - len({json.loads(line)["key"] for line in lines})
    yield "results that differ from the pool's", differing(folder, table, found)


def differing(folder: Path, table: Path, found: Batch) -> int:
    pooled = batch(table, folder / "pool.jsonl", cache=folder / "cache")
    return sum(without_times(a) != without_times(b) for a, b in zip(pooled, found, strict=True))


def throughput(part: Measurement, folder: Path, _: Path) -> Iterator[Figure]:
    """Jobs per second with one worker and with two, and those of processes without a batch, alternating."""
    # Jobs that share no cloud with the one before: otherwise a single worker, which does all of them, reuses more.
    table, cache = write_jobs(folder, TIMED_JOBS + WARM_UP_JOBS, JOBS // (TIMED_JOBS + WARM_UP_JOBS)), folder / "cache"
    rates: dict[str, list[float]] = {name: [] for name in ("pool of 1", "pool of 2", "1 process", "2 processes")}
    busy: dict[int, list[float]] = {1: [], 2: []}
    for _round in range(part.rounds):
        for workers in (1, 2):
            rate, share = rate_of_batch(table, folder / "timed.jsonl", cache, workers)
            rates[f"pool of {workers}"].append(rate)
            busy[workers].append(share)
            name = "1 process" if workers == 1 else "2 processes"
            rates[name].append(rate_alone(table, cache, workers))
    for name, values in rates.items():
        yield f"{name}, jobs per second", float(np.median(values))
    for one, two in (("pool of 1", "pool of 2"), ("1 process", "2 processes")):
        ratios = [b / a for a, b in zip(rates[one], rates[two], strict=True)]
        yield f"{two} over {one}", float(np.median(ratios))
    for workers, shares in busy.items():
        yield f"pool of {workers}, share of the time that workers were busy", float(np.median(shares))
    yield "load average of the last minute, this benchmark included", os.getloadavg()[0]


def harmful(source: Any, target: Any, **options: Any) -> Any:
    """Register, but crash or hang for clouds of two sizes, as libraries may for a damaged file."""
    if len(source) == CRASH_POINTS:
        os.kill(os.getpid(), signal.SIGSEGV)
    if len(source) == HANG_POINTS:
        time.sleep(1e6)
    return register(source, target, **options)


def with_harmful_files(part: Measurement, folder: Path, table: Path) -> Iterator[Figure]:
    """A batch with files that crash a worker or make it hang."""
    from batch import harmful as importable  # under a name that workers can import

    good = read_jobs(table)[:GOOD_JOBS]
    jobs = []
    for number, job in enumerate(good):
        if number % 10 == 5:
            size = CRASH_POINTS if number % 20 == 5 else HANG_POINTS
            np.save(folder / f"harmful_{number}.npy", np.random.default_rng(number).random((size, 3)))
            jobs.append(replace(job, source=str(folder / f"harmful_{number}.npy")))
        jobs.append(job)
    out = folder / "harmful.jsonl"
    out.unlink(missing_ok=True)
    found = batch(jobs, out, workers=2, cache=folder / "cache", timeout=10.0, retries=1, run=importable)
    yield "jobs, of these with a harmful file", f"{found.jobs}, {len(jobs) - len(good)}"
    yield "registered or not, set aside", f"{found.registered + found.not_registered}, {found.set_aside}"
    for reason, count in Counter(record.reason for record in found if record.result is None).items():
        yield f"set aside because it {reason.removeprefix('its worker ')}", count


MEASURES: dict[str, Callable[[Measurement, Path, Path], Iterator[Figure]]] = {
    "pool of 2": on_process_pool,
    "killed pool": on_killed_pool,
    "Dask cluster": on_dask_cluster,
    "harmful files": with_harmful_files,
    "throughput": throughput,
    "killed cluster": on_killed_cluster,
}


def summary(count: int) -> list[str]:
    return [
        f"{count:,} pairs of synthetic scans of {POINTS:,} points, most of them neighbours, some of two bodies; one "
        "thread per worker",
        "results are compared bit by bit, except times and numbers of attempts",
        "killed: SIGKILL at random moments, to the driver, which is then started again, or to a worker (on the "
        "cluster, to a Dask worker)",
        "harmful files: jobs with a file that crashes the worker or makes it hang, among others",
        "N processes: the same jobs, with preprocessed clouds in the cache, divided between independent processes "
        "without a batch: the upper bound on this machine",
        "throughput: of jobs that share no cloud with the one before; neighbours in a table often do, and are faster, "
        "most of all with a single worker, which then computes the descriptors of each cloud once",
        "jobs per second without the first jobs, during which workers start; medians of alternating rounds",
    ]


if __name__ == "__main__":
    main()

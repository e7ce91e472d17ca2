"""A thousand pairs as a batch: the same results on a pool and on a Dask cluster, through kills, and how fast.

    pip install '.[dask]'
    python benchmarks/batch.py --out docs/results

The scans are our own: bodies from all sides, paired with their neighbours, and some with another body. Needs Linux,
which shows the processes to kill.
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
from graphreg.batches.schedule import Plan
from graphreg.batches.store import Record, ResultStore
from graphreg.batches.tasks import Register
from graphreg.batches.workers import ONE_THREAD, Ended
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
# Points of clouds that make a worker die or hang, and the jobs among which they are.
DEADLY, ENDLESS = 23, 29
POISON_AMONG = 40
# Jobs of a round of the throughput, and those before that, in which workers start and load what they need.
TIMED, WARM = 80, 20


def write_jobs(folder: Path, count: int, every: int = 1) -> Path:
    """The scans and a table of so many pairs of them: all from the first on, or every so-manyth."""
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


def timeless(record: Record) -> str:
    """A record without what differs from run to run: times, and how often a job had to be begun."""
    held = {**asdict(record), "seconds": None, "attempts": None}
    if held["result"]:
        held["result"] = {**held["result"], "timings": None}
    return json.dumps(held, sort_keys=True)


@contextmanager
def local_cluster() -> Iterator[Any]:
    """Dask with a scheduler here and two workers, each a process of its own with one thread."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as held:
        yield held


def children_of(pid: int) -> list[int]:
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for thread in threads for child in (thread / "children").read_text().split()]
    except OSError:
        return []


def killed(
    command: list[str], out: Path, workers: Callable[[int], list[int]], kills: int, pause: float, seed: int
) -> dict[str, int]:
    """Run a batch, and kill it or a worker at random moments, so often; it is started again whenever it is gone.

    workers  of the driver's process id, those of the workers
    pause    between kills, in seconds, in the mean
    """
    rng = np.random.default_rng(seed)
    count = {"driver": 0, "worker": 0, "lost": 0}
    kept = b""
    driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while count["driver"] + count["worker"] < kills:
        time.sleep(rng.uniform(0, 2 * pause))
        if driver.poll() is not None:
            raise RuntimeError("the batch was over before all kills were made; take a shorter pause")
        # Every third time the driver.
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
    """Every so-manyth job in this process alone, without anything of a batch, and print how long it took."""
    jobs = read_jobs(table)
    tasks = []
    with tempfile.TemporaryDirectory() as folder:
        store = ResultStore(Path(folder) / "none.jsonl")
        plan = Plan(jobs, store, cache, register)
        while (task := plan.next_task(0)) is not None:
            assert isinstance(task, Register), "all clouds are in the cache"
            tasks.append(task)
            plan.take(task, Ended({"success": True, "reason": ""}, None, 1, 0.0))
        store.close()
    # In blocks, as a batch deals them out: neighbours share clouds.
    mine = tasks[len(tasks) * part // parts : len(tasks) * (part + 1) // parts]
    warm = WARM // parts
    for task in mine[:warm]:
        task()
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.perf_counter()
    for task in mine[warm:]:
        task()
    print((len(mine) - warm) / (time.perf_counter() - began), flush=True)


def rate_alone(table: Path, cache: Path, processes: int) -> float:
    """Jobs a second of so many processes side by side that know nothing of each other."""
    command = [sys.executable, __file__, "--alone", str(table), str(cache)]
    running = [
        subprocess.Popen(
            [*command, str(part), str(processes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD},
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


def rate_of_batch(jobs: Any, out: Path, cache: Path, workers: int, **how: Any) -> tuple[float, float]:
    """Jobs a second of a batch, once its workers have started; and the share of the time that they were at work."""
    times: list[float] = []

    def note(now: Batch) -> None:
        times.extend([time.perf_counter()] * (now.done - len(times)))

    out.unlink(missing_ok=True)
    batch(jobs, out, cache=cache, progress=note, workers=workers, **how)
    wall = times[-1] - times[WARM - 1]
    worked = sum(json.loads(line)["seconds"] for line in out.read_bytes().splitlines()[WARM:])
    return (len(times) - WARM) / wall, worked / (workers * wall)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument(
        "--folder", type=Path, help="for the scans and what is measured; stopped, it goes on from there"
    )
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--alone", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        run_alone(Path(args.alone[0]), Path(args.alone[1]), int(args.alone[2]), int(args.alone[3]))
        return
    with tempfile.TemporaryDirectory() as place:
        folder = args.folder or Path(place)
        folder.mkdir(exist_ok=True)
        table = write_jobs(folder, args.jobs)
        parts = [Part(name, args.jobs, args.kills, args.rounds) for name in MEASURES]
        log = RunLog(folder / "measured.jsonl", {**package_versions(), **machine(), "code": fingerprint(*PARTS)})
        done = run(parts, lambda part: measured(part, folder, table), log, np.inf)
        rows = [{name: row[name] for name in ("what", "measured")} for some in done for row in some]
        log.close()
    provenance = measured_now(script_command(), PARTS, versions_of_modules("distributed"))
    results = Results("Batches", provenance, summary(args.jobs), rows)
    print(write_results(args.out, "batch", results).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Part:
    """Something to measure."""

    name: str
    jobs: int
    kills: int
    rounds: int


def measured(part: Part, folder: Path, table: Path) -> list[dict[str, Any]]:
    rows = []
    for what, value in MEASURES[part.name](part, folder, table):
        rows.append({"what": f"{part.name}: {what}", "measured": value})
        print(f"{part.name}: {what}: {value}", file=sys.stderr, flush=True)
    return rows


def on_pool(part: Part, folder: Path, table: Path) -> Iterator[Figure]:
    (folder / "pool.jsonl").unlink(missing_ok=True)
    found = batch(table, folder / "pool.jsonl", workers=2, cache=folder / "cache")
    yield "jobs", found.jobs
    yield "clouds, each read and prepared once", found.clouds
    yield "registered, not registered, set aside", f"{found.registered}, {found.not_registered}, {found.set_aside}"
    yield "jobs a second, start and preparation included", found.rate


def on_cluster(part: Part, folder: Path, table: Path) -> Iterator[Figure]:
    (folder / "dask.jsonl").unlink(missing_ok=True)
    with local_cluster() as cluster:
        address = str(cluster.scheduler_address)
        found = batch(table, folder / "dask.jsonl", dask=address, cache=folder / "cache of dask")
    yield "jobs", found.jobs
    yield "results that differ from the pool's", differing(folder, table, found)
    yield "jobs a second, start and preparation included", found.rate


def on_killed_pool(part: Part, folder: Path, table: Path) -> Iterator[Figure]:
    yield from through_kills(part, folder, table, children_of, 1.0, 1, "--workers", "2")


def on_killed_cluster(part: Part, folder: Path, table: Path) -> Iterator[Figure]:
    import dask
    from distributed import Status

    # By default Dask gives up on a job when four workers died with it, which is not what is measured here.
    with dask.config.set({"distributed.scheduler.allowed-failures": part.kills}), local_cluster() as cluster:

        def workers(_: int) -> list[int]:
            # A worker that is killed before it is ready is not started again by Dask, so we do.
            for name, nanny in list(cluster.workers.items()):
                if nanny.status in (Status.closed, Status.failed):
                    cluster.worker_spec.pop(name, None)
                    cluster.workers.pop(name, None)
            cluster.scale(2)
            known = cluster.scheduler.workers
            return [nanny.pid for nanny in cluster.workers.values() if nanny.worker_address in known and nanny.pid]

        yield from through_kills(part, folder, table, workers, 1.5, 2, "--dask", str(cluster.scheduler_address))


def through_kills(
    part: Part, folder: Path, table: Path, workers: Callable[[int], list[int]], slower: float, seed: int, *how: str
) -> Iterator[Figure]:
    """slower: how many times as long as on a pool it takes until there is work again after a kill."""
    out = folder / f"{part.name}.jsonl"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-c", "from graphreg.cli import main; main()", "batch", str(table), "-o", str(out)]
    command += ["--cache", str(folder / f"cache of {part.name}"), "--retries", "20", "--quiet", *how]
    # Kills come as often as lets the batch last through all of them.
    lines = (folder / "pool.jsonl").read_bytes().splitlines()
    pause = slower * 0.5 * sum(json.loads(line)["seconds"] for line in lines) / 2 / part.kills
    count = killed(command, out, workers, part.kills, pause, seed)
    lines = out.read_bytes().splitlines()
    found = batch(table, out, cache=folder / f"cache of {part.name}")
    yield "SIGKILLs of the driver, of workers", f"{count['driver']}, {count['worker']}"
    yield "times that a finished job was lost", count["lost"]
    yield "jobs left over at the end", found.jobs - found.before
    yield "jobs that are in the store twice", len(lines) - len({json.loads(line)["key"] for line in lines})
    yield "results that differ from the pool's", differing(folder, table, found)


def differing(folder: Path, table: Path, found: Batch) -> int:
    pooled = batch(table, folder / "pool.jsonl", cache=folder / "cache")
    return sum(timeless(a) != timeless(b) for a, b in zip(pooled, found, strict=True))


def throughput(part: Part, folder: Path, _: Path) -> Iterator[Figure]:
    """With one worker and two, and what the machine allows, in turns."""
    # Jobs that share no cloud with the one before: else one worker, which sees them all, has less to do for each.
    table, cache = write_jobs(folder, TIMED + WARM, JOBS // (TIMED + WARM)), folder / "cache"
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
        yield f"{name}, jobs a second", float(np.median(values))
    for one, two in (("pool of 1", "pool of 2"), ("1 process", "2 processes")):
        ratios = [b / a for a, b in zip(rates[one], rates[two], strict=True)]
        yield f"{two} over {one}", float(np.median(ratios))
    for workers, shares in busy.items():
        yield f"pool of {workers}, share of the time that workers were at work", float(np.median(shares))
    yield "load of the machine in the last minute, our own included", os.getloadavg()[0]


def harmful(source: Any, target: Any, **how: Any) -> Any:
    """Registers, but for clouds of two sizes, which stand for files that make a library crash or never come back."""
    if len(source) == DEADLY:
        os.kill(os.getpid(), signal.SIGSEGV)
    if len(source) == ENDLESS:
        time.sleep(1e6)
    return register(source, target, **how)


def poisoned(part: Part, folder: Path, table: Path) -> Iterator[Figure]:
    """A batch of which some files are poison."""
    from batch import harmful as importable  # by workers, which do not know what this process runs as its own

    good = read_jobs(table)[:POISON_AMONG]
    jobs = []
    for number, job in enumerate(good):
        if number % 10 == 5:
            size = DEADLY if number % 20 == 5 else ENDLESS
            np.save(folder / f"poison_{number}.npy", np.random.default_rng(number).random((size, 3)))
            jobs.append(replace(job, source=str(folder / f"poison_{number}.npy")))
        jobs.append(job)
    out = folder / "poisoned.jsonl"
    out.unlink(missing_ok=True)
    found = batch(jobs, out, workers=2, cache=folder / "cache", timeout=10.0, retries=1, run=importable)
    yield "jobs, of these with poison", f"{found.jobs}, {len(jobs) - len(good)}"
    yield "registered or not, set aside", f"{found.registered + found.not_registered}, {found.set_aside}"
    for reason, count in Counter(record.reason for record in found if record.result is None).items():
        yield f"set aside because it {reason.removeprefix('its worker ')}", count


MEASURES: dict[str, Callable[[Part, Path, Path], Iterator[Figure]]] = {
    "pool of 2": on_pool,
    "killed pool": on_killed_pool,
    "Dask cluster": on_cluster,
    "poisoned": poisoned,
    "throughput": throughput,
    "killed cluster": on_killed_cluster,
}


def summary(count: int) -> list[str]:
    return [
        f"{count:,} pairs of scans of {POINTS:,} points that we make, most of them neighbours, some of two bodies; one "
        "thread a worker",
        "results are compared to the last bit, all but times and numbers of attempts",
        "killed: SIGKILL at random moments, to the process that directs the batch, which is then started again, or to "
        "a worker (on the cluster, to a Dask worker)",
        "poisoned: jobs with a file that makes the worker die, or hang, among others",
        "N processes: the same jobs, prepared clouds in the cache, each process with its share and nothing of a batch: "
        "what the machine allows",
        "throughput: of jobs that share no cloud with the one before, as neighbours in a table often do; those are "
        "faster, most of all with a single worker, which then describes each cloud once",
        "jobs a second without the first ones, in which workers start; medians of rounds in which all take turns",
    ]


if __name__ == "__main__":
    main()

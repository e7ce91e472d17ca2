"""Batches that are killed: `python -m fuzz.kills pool --kills 20`, or `cluster` for a local Dask cluster.

At random moments the driver gets SIGKILL, and often workers shortly before it. Then the same batch is started again.
No result may be lost or changed, no job may be recorded twice, and in the end all results are those of a batch that
nobody killed.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from random import Random

import graphreg
from graphreg.batches.batch_run import Batch
from graphreg.batches.store import Record
from graphreg.datasets import synthetic

SCANS, POINTS = 8, 600
# Seconds: within the first a driver starts, after the second one is killed without a result.
START, LONGEST = 5.0, 60.0
DRIVER = """
import sys, graphreg
jobs, out, dask = sys.argv[1:]
graphreg.batch(jobs, out, workers=None if dask else 2, dask=dask or None, retries=1000)
"""


def kill_batches(kills: int, seed: int, dask: str, workers: Callable[[], list[int]], folder: Path) -> int:
    """Kill a batch again and again.

    Parameters
    ----------
    kills : int
        How often to kill the driver.
    seed : int
    dask : str
        Address of a scheduler; empty for a pool of processes.
    workers : callable
        Returns the workers of a cluster, started again where they were killed; none for a pool.
    folder : Path
        For scans and results; empty.

    Returns
    -------
    int
        How many workers were killed.

    Raises
    ------
    AssertionError
        Where a result is lost, changed or recorded twice.
    """
    generator = Random(seed)
    table, out = folder / "jobs.csv", folder / "results.jsonl"
    names = [f"scan_{number}.ply" for number in range(SCANS)]
    for number, name in enumerate(names):
        graphreg.write(folder / name, synthetic.scan("hare", 10.0 * number, points=POINTS, seed=number).points)
    table.write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in permutations(names, 2)))
    expected = _records(graphreg.batch(table, folder / "expected.jsonl", workers=1))

    killed = 0
    kept = b""
    for number in range(kills):
        of_cluster = workers()
        with subprocess.Popen([sys.executable, "-c", DRIVER, str(table), str(out), dask]) as driver:
            _wait(driver, out, len(kept), generator)
            victims = of_cluster or _children(driver.pid)
            for victim in victims[: generator.choice((0, 0, 1, 2))]:
                os.kill(victim, signal.SIGKILL)
                killed += 1
            time.sleep(generator.choice((0, 0, 0.3)))
            finished = driver.poll() is not None
            driver.kill()
        content = out.read_bytes() if out.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        assert complete.startswith(kept), f"kill {number}: results were lost"
        done = _keys(complete)
        assert len(set(done)) == len(done), f"kill {number}: a job was recorded twice"
        print(f"kill {number + 1:3d}: {len(done):3d} of {len(expected)} results, {killed} workers killed", flush=True)
        kept = complete
        if finished:  # from the beginning, so that there is something to kill
            assert len(done) == len(expected), f"kill {number}: the batch ended early"
            out.unlink()
            kept = b""
    workers()
    last = graphreg.batch(table, out, workers=None if dask else 2, dask=dask or None)
    assert out.read_bytes().startswith(kept), "results were lost"
    assert len(_keys(out.read_bytes())) == len(expected), "a job was recorded twice"
    assert _records(last) == expected, "results differ"
    return killed


def _wait(driver: subprocess.Popen[bytes], out: Path, size: int, generator: Random) -> None:
    """Wait for a random moment: some time after the start, or shortly after the next result."""
    end = time.monotonic() + (generator.uniform(0, START) if generator.random() < 0.5 else LONGEST)
    while driver.poll() is None and time.monotonic() < end:
        if out.exists() and out.stat().st_size > size:
            time.sleep(generator.uniform(0, 0.5))
            return
        time.sleep(0.01)


def _records(batch: Batch) -> list[str]:
    """The records without what differs between runs: times and the number of attempts."""

    def stable(record: Record) -> str:
        values = asdict(record) | {"seconds": None, "attempts": None}
        assert values["result"] is not None, f"a job was set aside: {record.reason}"
        return json.dumps(values | {"result": values["result"] | {"timings": None}}, sort_keys=True)

    return [stable(record) for record in batch]


def _keys(content: bytes) -> list[str]:
    return [json.loads(line)["key"] for line in content.splitlines()]


def _children(process: int) -> list[int]:
    """Processes that any thread of a process has started."""
    lists = Path(f"/proc/{process}/task").glob("*/children")
    try:
        return [int(child) for each in lists for child in each.read_text().split()]
    except OSError:
        return []


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, Callable[[], list[int]]]]:
    """A scheduler and two workers; those that were killed are replaced when they are asked for."""
    address_file = folder / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    running: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> None:
        # A job is not set aside because of the kills of this program.
        environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1000"}
        running.append(subprocess.Popen(arguments, stderr=subprocess.DEVNULL, env=environment))

    def workers() -> list[int]:
        ended = [process for process in running[1:] if process.poll() is not None]
        for process in ended:
            running.remove(process)
        while len(running) < 3:
            start(sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny")
        return [process.pid for process in running[1:]]

    try:
        start(*command, "--host", "127.0.0.1", "--scheduler-file", str(address_file))
        while not address_file.exists():
            time.sleep(0.05)
        address = json.loads(address_file.read_text())["address"]
        workers()
        yield address, workers
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.kills", description=__doc__)
    parser.add_argument("where", choices=["pool", "cluster"])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.where == "pool":
            killed = kill_batches(options.kills, options.seed, "", list, folder)
        else:
            with _cluster(folder) as (address, workers):
                killed = kill_batches(options.kills, options.seed, address, workers, folder)
    print(f"{options.kills} drivers and {killed} workers killed: no result lost, changed or recorded twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""How often the workers of a batch load a cloud and compute its descriptors, and the effect on the throughput.

    pip install '.[dask]'
    python benchmarks/locality.py --out docs/results

Jobs of a survey: a chain of scans, each paired with the next four, and stars of scans around one. They are run with the
affinity of a batch, and, for comparison, in the order of the table by the next free worker; alternating.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch
from weakref import WeakSet

import numpy as np
from batch import BODIES, NEIGHBOURS, VIEWS, local_cluster, rate_of_batch, without_times, write_jobs

from graphreg import batch, register
from graphreg.batches.affinity import CloudKey, JobQueue
from graphreg.bench.measured_parts import BATCHES, SYNTHETIC_SCANS
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.provenance import measured_now, script_command

ROUNDS = 3
WORKERS = 2
Pairs = list[tuple[Path, Path]]
# Clouds that this process has loaded.
_seen: WeakSet[PreprocessedCloud] = WeakSet()


class TableOrderQueue(JobQueue):
    """Jobs in the order of the table, for any worker."""

    def __init__(self, pairs: Sequence[tuple[CloudKey, CloudKey]]) -> None:
        super().__init__(pairs)
        self._starts = iter(range(len(pairs)))

    def record_use(self, worker: Any, clouds: Iterable[CloudKey]) -> None:
        pass


def logged_register(source: PreprocessedCloud, target: PreprocessedCloud, *, log: str, **options: Any) -> Any:
    """Register, and log each cloud that this process has not loaded before."""
    new = [cloud for cloud in (source, target) if cloud not in _seen]
    _seen.update(new)
    with open(f"{log}.{os.getpid()}", "a", encoding="utf-8") as file:
        file.writelines(f"{cloud.name}\n" for cloud in new)
    return register(source, target, **options)


def job_lists(folder: Path) -> Iterator[tuple[str, Pairs]]:
    write_jobs(folder, 1)
    views = [folder / f"{body}_{view}.npy" for body in BODIES[:2] for view in range(VIEWS)]
    chain = [(b, a) for i, a in enumerate(views) for b in views[i + 1 : i + 1 + NEIGHBOURS]]
    yield f"chain, each with the next {NEIGHBOURS}", chain
    yield "the same, shuffled", [chain[number] for number in np.random.default_rng(0).permutation(len(chain))]
    yield (
        f"stars of {VIEWS}",
        [(leaf, views[hub]) for hub in range(0, len(views), VIEWS) for leaf in views[hub + 1 : hub + VIEWS]],
    )


def measured(folder: Path, pairs: Pairs, **options: Any) -> tuple[float, float, list[str]]:
    """Mean number of times that a cloud was loaded, jobs per second, and the results."""
    from locality import logged_register as importable  # under a name that workers can import

    out, log = folder / "results.jsonl", folder / "log"
    jobs = [{"source": source, "target": target, "log": str(log)} for source, target in pairs]
    rate, _ = rate_of_batch(jobs, out, folder / "cache", WORKERS, run=importable, **options)
    logs = list(folder.glob("log.*"))
    loads = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in logs)
    for file in logs:
        file.unlink()
    found = batch(jobs, out, cache=folder / "cache", run=importable)
    return loads / len({cloud for pair in pairs for cloud in pair}), rate, [without_times(record) for record in found]


def compared(folder: Path, pairs: Pairs, rounds: int, **options: Any) -> dict[str, Any]:
    """Both orders, alternating."""
    loads: dict[bool, list[float]] = {True: [], False: []}
    rates: dict[bool, list[float]] = {True: [], False: []}
    found = []
    for _ in range(rounds):
        for affinity in (False, True):
            with ExitStack() as patches:
                if not affinity:
                    patches.enter_context(patch("graphreg.batches.schedule.JobQueue", TableOrderQueue))
                load, rate, results = measured(folder, pairs, **options)
            loads[affinity].append(load)
            rates[affinity].append(rate)
            found.append(results)
    return {
        "jobs": len(pairs),
        "loads per cloud, table order": float(np.median(loads[False])),
        "loads per cloud": float(np.median(loads[True])),
        "jobs per second, table order": float(np.median(rates[False])),
        "jobs per second": float(np.median(rates[True])),
        "faster": float(np.median([b / a for a, b in zip(rates[False], rates[True], strict=True)])),
        "results that differ": sum(a != b for results in found for a, b in zip(found[0], results, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        lists = list(job_lists(folder))
        all_pairs = [pair for _, pairs in lists for pair in pairs]
        # Preprocess all clouds first.
        batch([{"source": a, "target": b} for a, b in all_pairs], folder / "first.jsonl", cache=folder / "cache")
        for name, pairs in lists:
            rows.append({"jobs of": name, "workers": "pool of 2", **compared(folder, pairs, args.rounds)})
            with local_cluster() as cluster:
                options = {"dask": cluster.scheduler_address}
                rows.append({"jobs of": name, "workers": "Dask, 2", **compared(folder, pairs, args.rounds, **options)})
    summary = [
        "loads: how often, on average, a cloud was loaded from the cache and its descriptors computed, by both workers "
        "together; each file was read and preprocessed once before",
        "table order: jobs in the order of the table, each run by the next free worker",
        "jobs per second without the first jobs, during which workers start; medians of alternating rounds",
    ]
    provenance = measured_now(script_command(), (*BATCHES, *SYNTHETIC_SCANS), versions_of_modules("distributed"))
    results = Results("Affinity of jobs and workers", provenance, summary, rows)
    print(write_results(args.out, "locality", results).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

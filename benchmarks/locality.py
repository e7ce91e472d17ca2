"""How often a cloud is loaded and described by the workers of a batch, and what it costs.

    pip install '.[dask]'
    python benchmarks/locality.py --out docs/results

Jobs of a survey: scans in a row, each with the next four, and stars, each with one scan in its middle. They are done as
a batch deals them out, and, for comparison, in the order of the table by whoever is free; in turns.
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
from batch import BODIES, NEIGHBOURS, VIEWS, local_cluster, rate_of_batch, timeless, write_jobs

from graphreg import batch, register
from graphreg.batches.affinity import File, Routes
from graphreg.bench.measured_parts import BATCHES, SYNTHETIC_SCANS
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.provenance import measured_now, script_command

ROUNDS = 3
WORKERS = 2
Pairs = list[tuple[Path, Path]]
# Clouds that this process was given.
_seen: WeakSet[PreprocessedCloud] = WeakSet()


class InTurn(Routes):
    """Jobs in the order of the table, whoever asks."""

    def __init__(self, pairs: Sequence[tuple[File, File]]) -> None:
        super().__init__(pairs)
        self._starts = iter(range(len(pairs)))

    def uses(self, worker: Any, files: Iterable[File]) -> None:
        pass


def counted(source: PreprocessedCloud, target: PreprocessedCloud, *, log: str, **how: Any) -> Any:
    """Registers, and notes each cloud that this process was not given before."""
    new = [cloud for cloud in (source, target) if cloud not in _seen]
    _seen.update(new)
    with open(f"{log}.{os.getpid()}", "a", encoding="utf-8") as file:
        file.writelines(f"{cloud.name}\n" for cloud in new)
    return register(source, target, **how)


def lists_of_jobs(folder: Path) -> Iterator[tuple[str, Pairs]]:
    write_jobs(folder, 1)
    views = [folder / f"{body}_{view}.npy" for body in BODIES[:2] for view in range(VIEWS)]
    row = [(b, a) for place, a in enumerate(views) for b in views[place + 1 : place + 1 + NEIGHBOURS]]
    yield f"row, each with the next {NEIGHBOURS}", row
    yield "the same, shuffled", [row[number] for number in np.random.default_rng(0).permutation(len(row))]
    yield (
        f"stars of {VIEWS}",
        [(leaf, views[hub]) for hub in range(0, len(views), VIEWS) for leaf in views[hub + 1 : hub + VIEWS]],
    )


def measured(folder: Path, pairs: Pairs, **how: Any) -> tuple[float, float, list[str]]:
    """Times that a cloud was loaded, jobs a second, and what was found."""
    from locality import counted as importable  # by workers, which do not know what this process runs as its own

    out, log = folder / "results.jsonl", folder / "log"
    jobs = [{"source": source, "target": target, "log": str(log)} for source, target in pairs]
    rate, _ = rate_of_batch(jobs, out, folder / "cache", WORKERS, run=importable, **how)
    logs = list(folder.glob("log.*"))
    loads = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in logs)
    for file in logs:
        file.unlink()
    found = batch(jobs, out, cache=folder / "cache", run=importable)
    return loads / len({cloud for pair in pairs for cloud in pair}), rate, [timeless(record) for record in found]


def compared(folder: Path, pairs: Pairs, rounds: int, **how: Any) -> dict[str, Any]:
    loads: dict[bool, list[float]] = {True: [], False: []}
    rates: dict[bool, list[float]] = {True: [], False: []}
    found = []
    for _ in range(rounds):
        for near in (False, True):
            with ExitStack() as held:
                if not near:
                    held.enter_context(patch("graphreg.batches.schedule.Routes", InTurn))
                load, rate, said = measured(folder, pairs, **how)
            loads[near].append(load)
            rates[near].append(rate)
            found.append(said)
    return {
        "jobs": len(pairs),
        "loads of a cloud, in turn": float(np.median(loads[False])),
        "loads of a cloud": float(np.median(loads[True])),
        "jobs a second, in turn": float(np.median(rates[False])),
        "jobs a second": float(np.median(rates[True])),
        "faster": float(np.median([b / a for a, b in zip(rates[False], rates[True], strict=True)])),
        "results that differ": sum(a != b for said in found for a, b in zip(found[0], said, strict=True)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        lists = list(lists_of_jobs(folder))
        everything = [pair for _, pairs in lists for pair in pairs]
        # So that all clouds are in the cache.
        batch([{"source": a, "target": b} for a, b in everything], folder / "first.jsonl", cache=folder / "cache")
        for name, pairs in lists:
            rows.append({"jobs of": name, "workers": "pool of 2", **compared(folder, pairs, args.rounds)})
            with local_cluster() as cluster:
                how = {"dask": cluster.scheduler_address}
                rows.append({"jobs of": name, "workers": "Dask, 2", **compared(folder, pairs, args.rounds, **how)})
    summary = [
        "loads: how many times, in the mean, a cloud was taken from the cache and described, by both workers together; "
        "each file was read and prepared once before that",
        "in turn: jobs in the order of the table, each done by the worker that is free",
        "jobs a second without the first ones, in which workers start; medians of rounds in which both take turns",
    ]
    provenance = measured_now(script_command(), (*BATCHES, *SYNTHETIC_SCANS), versions_of_modules("distributed"))
    results = Results("Clouds at hand", provenance, summary, rows)
    print(write_results(args.out, "locality", results).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

"""Whether memory stays flat: `python -m fuzz.memory --inputs 10000` runs inputs of all targets in one process.

Caches of libraries fill in the first half; from then on, memory that grows is memory that is lost.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from pathlib import Path

import numpy as np

from fuzz.child import run_input, write_input
from fuzz.targets import TARGETS
from graphreg.bench.memory import resident_bytes

READINGS = 40
# The E57 library loses the buffers of a reader (2 MB) that it cannot open because the scan is damaged.
LEAKING = (".e57",)
# Bytes an input, in the second half: what the allocator's pages waver by in 10,000 inputs is a tenth of it.
MOST_GROWTH = 1000.0


def resident_memory(inputs: int, seed: int) -> list[tuple[int, int]]:
    """Run inputs of all targets in turn.

    Parameters
    ----------
    inputs : int
    seed : int

    Returns
    -------
    list of (int, int)
        Number of inputs, and resident memory in bytes after as many.
    """
    readings = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "work"
        corpora: dict[str, dict[str, bytes]] = {}
        for name, target in TARGETS.items():
            corpus = Path(folder) / name
            corpus.mkdir()
            target.write_seeds(corpus)
            paths = [path for path in sorted(corpus.iterdir()) if path.suffix not in LEAKING]
            corpora[name] = {path.name: path.read_bytes() for path in paths}
        work.mkdir()
        step = max(1, inputs // READINGS)
        for number in range(inputs):
            target_name = list(TARGETS)[number % len(TARGETS)]
            path = write_input(target_name, number, seed, corpora[target_name], work)
            outcome, trace = run_input(target_name, path)
            if trace:
                raise RuntimeError(f"{target_name}, input {number}: {outcome}\n{trace}")
            if (number + 1) % step == 0:
                gc.collect()
                readings.append((number + 1, resident_bytes("VmRSS")))
    return readings


def growth(readings: list[tuple[int, int]]) -> float:
    """Bytes an input in the second half of the readings, by a straight line through them."""
    numbers, sizes = np.array(readings[len(readings) // 2 :], float).T
    return float(np.polyfit(numbers, sizes, 1)[0])


def main() -> int:
    """Run the command line; the exit status is 1 where memory grows."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.memory", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    readings = resident_memory(options.inputs, options.seed)
    for number, size in readings:
        print(f"{number:7d} inputs  {size / 1e6:7.1f} MB")
    grown = growth(readings)
    print(f"{grown:.0f} bytes an input in the second half")
    return int(grown > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())

"""Time and memory of a whole registration over the number of points, beside other libraries.

    pip install '.[peers]'
    python benchmarks/scaling.py --out docs/results

Two scans of one wavy ground, a little apart. Every run is a process of its own, and methods take turns. Ours is told
nothing; the others are told a voxel size, and start from the same pose, which is near.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from graphreg import register
from graphreg.bench.measured_parts import ENGINE
from graphreg.bench.memory import resident_bytes
from graphreg.bench.peers import LOCAL, describe_peers, installed, versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.clouds import Floats
from graphreg.engine.settings import EngineSettings
from graphreg.metrics import angular_error
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.provenance import measured_now, script_command

SIZES = (10_000, 100_000, 1_000_000, 2_000_000, 5_000_000)
ROUNDS = 3
# The ground is a unit wide; the source lies on it a fifth further on than the target.
VOXEL = 0.01
APART = 0.2
NOISE = 2e-4
# The source is turned about its middle by so many degrees, and shifted, before it is registered: by no more than the
# few voxels that the others look around.
DEGREES = 2.0
TURN = rotation_from_vector(np.radians(DEGREES) * np.array([1.0, -2.0, 2.0]) / 3)
MIDDLE = np.array([0.5 + APART, 0.5, 0.0])
START = pose(TURN, MIDDLE - TURN @ MIDDLE + [0.005, -0.005, 0.005])
OURS = "graphreg"


def ground(count: int, begins: float, seed: int) -> Floats:
    """Points as a scanner delivers them, row by row, on waves that repeat nowhere."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(count))
    rows, columns = np.divmod(np.arange(side * side), side)
    x, y = ((cells + rng.random(side * side)) / side for cells in (rows, columns))
    x = x + begins
    waves = np.random.default_rng(0)
    height = np.zeros(side * side)
    for length in np.geomspace(0.6, 0.08, 12):
        heading, phase = waves.uniform(0, 2 * np.pi, 2)
        height += 0.06 * length * np.sin(2 * np.pi / length * (x * np.cos(heading) + y * np.sin(heading)) + phase)
    return np.column_stack([x, y, height]) + rng.normal(size=(side * side, 3)) * NOISE


def method_of(name: str) -> Callable[[Floats, Floats], Any]:
    if name == OURS:
        return lambda source, target: register(source, target).transformation
    run = LOCAL[name].run
    return lambda source, target: run(source, target, VOXEL, "object", start=np.eye(4))


def run_once(name: str, folder: Path) -> None:
    """In a process of its own: print seconds, bytes beyond what it held with the points loaded, and the error."""
    method = method_of(name)
    source, target = (np.load(folder / f"{end}.npy") for end in ("source", "target"))
    step = max(1, len(source) // 5000)
    method(source[::step], target[::step])  # libraries load what they need in their first call
    before = resident_bytes("VmRSS")
    began = time.perf_counter()
    found = method(source, target)
    seconds = time.perf_counter() - began
    peak = resident_bytes("VmHWM") - before
    print(json.dumps({"seconds": seconds, "peak": peak, "degrees": angular_error(found, inverse(START))}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        run_once(args.run[0], Path(args.run[1]))
        return
    rows: list[dict[str, Any]] = []
    names = [OURS, *installed(LOCAL)]
    for size in sorted(args.sizes):
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in names}
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "source.npy", transform(START, ground(size, APART, 1)))
            np.save(Path(folder) / "target.npy", ground(size, 0.0, 2))
            for _ in range(args.rounds):
                for name in names:
                    command = [sys.executable, __file__, "--run", name, folder]
                    # Libraries print as well; the last line is ours.
                    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                    runs[name].append(json.loads(said.splitlines()[-1]))
        for name in names:
            seconds, peak, degrees = (
                float(np.median([run[what] for run in runs[name]])) for what in ("seconds", "peak", "degrees")
            )
            smaller = next((row for row in reversed(rows) if row["method"] == name), None)
            row = {
                "points": size,
                "method": name,
                "seconds": seconds,
                "a doubling": growth(smaller["points"], smaller["seconds"], size, seconds) if smaller else "",
                "peak MB": peak / 1e6,
                "bytes a point": peak / (2 * size),
                "degrees": degrees,
            }
            rows.append(row)
            print(*row.values(), sep="\t", flush=True)
    peers = versions_of_modules(*(module for name in names if name in LOCAL for module in LOCAL[name].modules))
    provenance = measured_now(script_command(), ENGINE, peers)
    results = Results("Time and memory over the number of points", provenance, summary(rows), rows)
    print(write_results(args.out, "scaling", results))


def growth(fewer: int, before: float, more: int, after: float) -> float:
    """How many times as long it takes for twice the points."""
    return float((after / before) ** (1 / np.log2(more / fewer)))


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "the whole call, all cores, each run in a process of its own, in turns, medians; points: of each cloud; a "
        "doubling: times as long for twice the points, since the size before; peak: memory beyond that of the points; "
        "degrees: error of the rotation",
        f"ours samples {EngineSettings().points:,} points of each cloud at random, and so takes little longer for "
        "more; the others look at all of them",
        f"ours from any pose, without a voxel size; the others from {DEGREES:g} degrees off, with voxels "
        f"of {VOXEL:g} of the size, and neighbours within 3 (icp) or 5 (gicp) of them",
        *describe_peers(LOCAL, {row["method"] for row in rows}),
    ]
    most = max(row["points"] for row in rows)
    largest = {row["method"]: row for row in rows if row["points"] == most}
    lines.append(
        f"{most:,} points: "
        + ", ".join(f"{name} {row['seconds']:.2f} s and {row['peak MB']:.0f} MB" for name, row in largest.items())
    )
    return lines


if __name__ == "__main__":
    main()

"""Time and memory of a whole registration over the number of points, beside other libraries.

    pip install '.[peers]'
    python benchmarks/scaling.py --out docs/results

Two overlapping scans of a wavy ground. Every run is a process of its own, and methods alternate. Ours gets the points
alone; the others get a voxel size, and start from the same initial pose near the true one.
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
# The ground is a unit wide; the source begins a fifth of that farther along x than the target.
VOXEL = 0.01
APART = 0.2
NOISE = 2e-4
# Initial pose of the source: rotated about its centre and translated, by less than the few voxels within which the
# others search for correspondences.
DEGREES = 2.0
ROTATION = rotation_from_vector(np.radians(DEGREES) * np.array([1.0, -2.0, 2.0]) / 3)
CENTRE = np.array([0.5 + APART, 0.5, 0.0])
START = pose(ROTATION, CENTRE - ROTATION @ CENTRE + [0.005, -0.005, 0.005])
OURS = "graphreg"


def ground(count: int, begins: float, seed: int) -> Floats:
    """Return points of a wavy ground that is not periodic, row by row, as a scanner delivers them.

    Parameters
    ----------
    count : int
        Approximate number of points.
    begins : float
        Smallest x.
    seed : int
        Seed of positions and noise; the ground is always the same.
    """
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
    """Return a function that estimates T_target_source."""
    if name == OURS:
        return lambda source, target: register(source, target).transformation
    run = LOCAL[name].run
    return lambda source, target: run(source, target, VOXEL, "object", start=np.eye(4))


def run_once(name: str, folder: Path) -> None:
    """Print seconds, peak memory beyond that of the points, and the rotation error; run in a process of its own."""
    method = method_of(name)
    source, target = (np.load(folder / f"{end}.npy") for end in ("source", "target"))
    step = max(1, len(source) // 5000)
    method(source[::step], target[::step])  # libraries are loaded in the first call
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
                    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                    runs[name].append(json.loads(printed.splitlines()[-1]))
        for name in names:
            seconds, peak, degrees = (
                float(np.median([run[what] for run in runs[name]])) for what in ("seconds", "peak", "degrees")
            )
            smaller = next((row for row in reversed(rows) if row["method"] == name), None)
            row = {
                "points": size,
                "method": name,
                "seconds": seconds,
                "growth per doubling": growth(smaller["points"], smaller["seconds"], size, seconds) if smaller else "",
                "peak MB": peak / 1e6,
                "bytes per point": peak / (2 * size),
                "rotation error (deg)": degrees,
            }
            rows.append(row)
            print(*row.values(), sep="\t", flush=True)
    peers = versions_of_modules(*(module for name in names if name in LOCAL for module in LOCAL[name].modules))
    provenance = measured_now(script_command(), ENGINE, peers)
    results = Results("Time and memory over the number of points", provenance, summary(rows), rows)
    print(write_results(args.out, "scaling", results))


def growth(fewer: int, before: float, more: int, after: float) -> float:
    """Return the factor of the time for twice the points."""
    return float((after / before) ** (1 / np.log2(more / fewer)))


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "the whole call, all cores, each run in a process of its own, interleaved, medians; points: of each cloud; "
        "growth per doubling: factor of the time for twice the points, since the size before; peak: memory beyond that "
        "of the points",
        f"graphreg samples {EngineSettings().points:,} points of each cloud at random, so that its time hardly grows; "
        "the others use all points",
        f"graphreg from any initial pose, without a voxel size; the others from {DEGREES:g} degrees off the true pose, "
        f"with voxels of {VOXEL:g} of the size, and correspondences within 3 (icp) or 5 (gicp) voxels",
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

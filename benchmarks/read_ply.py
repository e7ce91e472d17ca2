"""The time to read a PLY file with graphreg and with Open3D, alternating.

pip install '.[peers]'
python benchmarks/read_ply.py --out docs/results
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from graphreg import files
from graphreg.bench.peers import versions_of_modules
from graphreg.bench.results_files import Results, write_results
from graphreg.provenance import NATIVE, measured_now, script_command


def write_text_ply(path: Path, points: int, grid: int) -> Path:
    """A file as of Stanford range scans: few decimals, a blank at the end of each line, and optionally a range grid."""
    rng = np.random.default_rng(0)
    header = ["ply", "format ascii 1.0", "obj_info is_cyberware_data 1", f"element vertex {points}"]
    header += [f"property float {axis}" for axis in "xyz"]
    if grid:
        header += [f"element range_grid {grid}", "property list uchar int vertex_indices"]
    rows = ["{:.6g} {:.6g} {:.6g} ".format(*row) for row in rng.normal(0, 0.1, (points, 3)).tolist()]
    grid_rows = [f"1 {i} " if i < points else "0 " for i in rng.permutation(grid).tolist()]
    path.write_text("\n".join([*header, "end_header", *rows, *grid_rows, ""]))
    return path


def write_binary_ply(path: Path, points: int) -> Path:
    """A file of single-precision coordinates, as the software of most scanners writes it."""
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {points}"]
    header += [*(f"property float {axis}" for axis in "xyz"), "end_header", ""]
    values = np.random.default_rng(0).normal(0, 10, (points, 3)).astype("<f4")
    path.write_bytes("\n".join(header).encode() + values.tobytes())
    return path


def seconds(read: Callable[[str], object], path: Path) -> float:
    start = time.perf_counter()
    read(str(path))
    return time.perf_counter() - start


def main() -> None:
    open3d: Any = import_module("open3d")

    def read_with_open3d(path: str) -> object:
        return np.asarray(open3d.io.read_point_cloud(path).points)

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=41)
    parser.add_argument("--out", type=Path, default=Path("results"))
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        cases = {
            "text, 40,000 points": write_text_ply(Path(folder, "text.ply"), 40_000, 0),
            "text, 40,000 points and a grid": write_text_ply(Path(folder, "grid.ply"), 40_000, 204_800),
            "binary, 40,000 points": write_binary_ply(Path(folder, "small.ply"), 40_000),
            "binary, 4,000,000 points": write_binary_ply(Path(folder, "large.ply"), 4_000_000),
        }
        for name, path in cases.items():
            rounds = max(args.repeats // 8, 3) if path.stat().st_size > 10_000_000 else args.repeats
            times = [(seconds(files.read, path), seconds(read_with_open3d, path)) for _ in range(rounds)]
            ours, theirs = (statistics.median(column) * 1e3 for column in zip(*times, strict=True))
            rows.append({"PLY": name, "graphreg ms": ours, "Open3D ms": theirs, "ratio": ours / theirs})
    note = ["medians of alternating reads; a ratio below 1 means that graphreg is faster"]
    provenance = measured_now(script_command(), ("clouds", "files", NATIVE), versions_of_modules("open3d"))
    results = Results("Reading PLY beside Open3D", provenance, note, rows)
    print(write_results(args.out, "read_ply", results).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

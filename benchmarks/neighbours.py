"""The neighbour graph and the features computed on it, beside other libraries.

    pip install '.[peers]'
    python benchmarks/neighbours.py --out docs/results

Two threads each, rounds interleaved, medians. The clouds are frames of a synthetic street in the world's frame, in the
order of the scanner and shuffled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

THREADS = 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)  # pykdtree and Open3D take no argument; read when they are imported

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from graphreg import neighbour_graph, voxel_downsample  # noqa: E402
from graphreg.bench.measured_parts import FEATURES, SYNTHETIC_SCANS  # noqa: E402
from graphreg.bench.memory import resident_bytes  # noqa: E402
from graphreg.bench.peers import versions_of_modules  # noqa: E402
from graphreg.bench.results_files import Results, write_results  # noqa: E402
from graphreg.datasets import synthetic  # noqa: E402
from graphreg.features.invariant_features import graph_invariants  # noqa: E402
from graphreg.features.response import response_intensity  # noqa: E402
from graphreg.provenance import measured_now, script_command  # noqa: E402

Points = NDArray[np.float64]
K = 10
SIZES = (10_000, 100_000, 1_000_000, 5_000_000)
VOXEL = 0.05


def ours(points: Points) -> Any:
    return neighbour_graph(points, K, THREADS).neighbours


def with_scipy(points: Points) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(points).query(points, K + 1, workers=THREADS)[1]


def with_pykdtree(points: Points) -> Any:
    from pykdtree.kdtree import KDTree

    return KDTree(points).query(points, K + 1)[1]


def with_small_gicp(points: Points) -> Any:
    import small_gicp

    tree = small_gicp.KdTree(small_gicp.PointCloud(points), num_threads=THREADS)
    return tree.batch_knn_search(points, K + 1, num_threads=THREADS)[0]


def describe(points: Points) -> Any:
    graph = neighbour_graph(voxel_downsample(points, VOXEL, THREADS), K, THREADS)
    return response_intensity(graph), graph_invariants(graph)


def describe_with_open3d(points: Points) -> Any:
    import open3d

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points)).voxel_down_sample(VOXEL)
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(K + 1))
    return cloud


GRAPHS: dict[str, Callable[[Points], Any]] = {
    "graphreg": ours,
    "scipy": with_scipy,
    "pykdtree": with_pykdtree,
    "small_gicp": with_small_gicp,
}
DESCRIPTIONS: dict[str, Callable[[Points], Any]] = {"graphreg": describe, "open3d": describe_with_open3d}


def street(count: int) -> Points:
    """Return frames of a synthetic street, 1 m apart, in the world's frame."""
    frames = []
    total = 0
    for scan in synthetic.sequence("street", -(-count // 90_000), 1.0):
        frames.append(scan.points @ scan.pose[:3, :3].T + scan.pose[:3, 3])
        total += len(scan.points)
        if total >= count:
            break
    whole = np.vstack(frames)
    if len(whole) < count:
        raise RuntimeError(f"the sequence has {len(whole)} points, not {count}")
    # Every n-th point of all frames rather than all points of some.
    return np.ascontiguousarray(whole[np.linspace(0, len(whole) - 1, count).astype(np.int64)])


def medians(methods: dict[str, Callable[[Points], Any]], points: Points, rounds: int) -> dict[str, float]:
    """Return the median time of each method, rounds interleaved."""
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(rounds):
        for name, run in methods.items():
            began = time.perf_counter()
            run(points)
            seconds[name].append(time.perf_counter() - began)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def peak_bytes_per_point(task: str, name: str, path: Path) -> float:
    """Return by how much the resident memory of a new process rises above that with the points loaded."""
    arguments = [sys.executable, __file__, "--memory-of", f"{task}:{name}", "--points", str(path)]
    return round(float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout))


def report_memory(what: str, path: Path) -> None:
    """Print the peak memory of a method in bytes per point; run in a process of its own."""
    task, name = what.split(":")
    run = (GRAPHS if task == "graph" else DESCRIPTIONS)[name]
    points = np.load(path)
    run(points[:1000])
    before = resident_bytes("VmRSS")
    run(points)
    print((resident_bytes("VmHWM") - before) / len(points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--points", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        report_memory(args.memory_of, args.points)
        return

    rows: list[dict[str, Any]] = []
    rng = np.random.default_rng(0)
    whole = street(max(args.sizes))
    args.out.mkdir(parents=True, exist_ok=True)
    points_path = args.out / "points.npy"
    for size in args.sizes:
        scanned = np.ascontiguousarray(whole[np.linspace(0, len(whole) - 1, size).astype(np.int64)])
        np.save(points_path, scanned)
        # A peak below what a process has used before would not be noticed.
        for order, points in (("scanned", scanned), ("shuffled", scanned[rng.permutation(size)])):
            measurable = order == "scanned" and size >= 1_000_000
            rounds = 15 if size <= 100_000 else 5 if size <= 1_000_000 else 3
            for task, methods in (("graph", GRAPHS), ("describe", DESCRIPTIONS)):
                times = medians(methods, points, rounds)
                best = min(seconds for name, seconds in times.items() if name != "graphreg")
                for name, seconds in times.items():
                    row = {
                        "task": task,
                        "points": size,
                        "order": order,
                        "library": name,
                        "seconds": seconds,
                        "time / fastest other": seconds / best,
                        "ns / (n log2 n)": 1e9 * seconds / (size * np.log2(size)),
                        "peak bytes per point": peak_bytes_per_point(task, name, points_path) if measurable else "",
                    }
                    rows.append(row)
                    print(*row.values(), sep="\t", flush=True)
    points_path.unlink()
    peers = versions_of_modules("open3d", "pykdtree", "small_gicp")
    provenance = measured_now(script_command(), (*FEATURES, *SYNTHETIC_SCANS), peers)
    results = Results("The neighbour graph beside other libraries", provenance, summary(rows), rows)
    print(write_results(args.out, "neighbours", results))


def summary(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"graph: k-d tree and {K} nearest neighbours of every point; describe: downsampling to {VOXEL} m, then graph, "
        "response intensity, normals, curvature and V_g (graphreg); downsampling and normals alone (Open3D)",
        f"{THREADS} threads each, rounds interleaved, medians; time / fastest other: below 1, graphreg is faster",
    ]
    for task in ("graph", "describe"):
        mine = [
            row for row in rows if row["task"] == task and row["library"] == "graphreg" and row["points"] >= 100_000
        ]
        shares = ", ".join(f"{row['time / fastest other']:.2f} ({row['points']:,}, {row['order']})" for row in mine)
        lines.append(f"{task}: time of graphreg over that of the fastest other library: {shares}")
    return lines


if __name__ == "__main__":
    main()

"""Time and error of the methods of the comparison, beside Open3D and pycpd on the same points, in turns.

pip install '.[peers]'
GRAPHREG_DATA=/path/to/scans python benchmarks/rivals.py --out docs/results
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

THREADS = 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)  # Open3D takes no argument; read when it is imported

import numpy as np  # noqa: E402
import open3d  # noqa: E402
import pycpd  # noqa: E402

from graphreg import read, voxel_downsample  # noqa: E402
from graphreg.bench.tables import write_table  # noqa: E402
from graphreg.clouds import Floats  # noqa: E402
from graphreg.graphs import neighbour_graph  # noqa: E402
from graphreg.histograms import outward_normals  # noqa: E402
from graphreg.invariants import planes_of  # noqa: E402
from graphreg.methods import RIVALS  # noqa: E402
from graphreg.metrics import angular_error  # noqa: E402
from graphreg.outcomes import Outcome  # noqa: E402
from graphreg.poses import pose  # noqa: E402

PAIRS = ("dragon_24_to_0", "bunny_045_to_000", "armadillo_SIM_30_to_0")
ROUNDS = 5
MIXTURE_POINTS = 5_000
MANY_POINTS = 50_000
FEW = 3

registration = open3d.pipelines.registration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data", type=Path, default=os.environ.get("GRAPHREG_DATA"), help="folder with pairs.json")
    args = parser.parse_args()
    rows = []
    for entry in json.loads((args.data / "pairs.json").read_text()):
        if entry["name"] in PAIRS:
            source, target = (read(args.data / entry[end]) for end in ("source", "target"))
            truth = np.array(entry["T_target_source"])
            for name, theirs in (("icp", open3d_icp), ("icp-kn", open3d_icp_to_planes), ("fgr", open3d_fgr)):
                rows.append(beside_open3d(entry["name"], name, source, target, truth, theirs))
                print(rows[-1], flush=True)
            if entry["name"] == PAIRS[0]:
                mixtures = beside_pycpd(source, target, truth)
    note = [
        "iterative methods beside Open3D: all points at one a voxel (a two-hundredth of the longer cloud), aligned "
        "centroids as the start, the same number of steps; trees are built inside the time on both sides",
        "FGR beside Open3D: features, matching and optimisation; the same normals; 64 steps",
        f"{THREADS} threads, in turns, medians of {ROUNDS}; a ratio under 1 is in our favour",
    ]
    print(write_table(args.out, "rivals", "ICP and FGR beside Open3D", note, rows).read_text(encoding="utf-8"))
    note = [
        f"time of an iteration, mean of the first {FEW}, where no pair is out of reach, beside pycpd's CPD on the "
        f"same {MIXTURE_POINTS} points a cloud of the dragon; GMM: of a step, mean of the first {FEW} for each width",
        f"whole run: on these points, with all defaults; {THREADS} threads",
    ]
    path = write_table(args.out, "rivals_mixtures", "CPD, ECM and GMM beside pycpd", note, mixtures)
    print(path.read_text(encoding="utf-8"))


def run(name: str, source: Floats, target: Floats, **settings: Any) -> Outcome:
    defaults, method, _ = RIVALS[name]
    return method(source, target, replace(defaults, **settings), None, 0, THREADS, None)


def beside_open3d(
    pair: str,
    name: str,
    source: Floats,
    target: Floats,
    truth: Floats,
    theirs: Callable[[Outcome], Callable[[], Floats]],
) -> dict[str, Any]:
    settings = {"max_iterations": 64} if name == "fgr" else {}
    first = run(name, source, target, **settings)
    call = theirs(first)
    here, there = [], []
    for _ in range(ROUNDS):
        found = run(name, source, target, **settings)
        here.append(found.timings["register"] + (found.timings["describe"] if name == "fgr" else 0.0))
        began = time.perf_counter()
        motion = call()
        there.append(time.perf_counter() - began)
    return {
        "pair": pair,
        "method": name,
        "points": f"{len(first.source)} and {len(first.target)}",
        "steps": len(first.history),
        "graphreg s": float(np.median(here)),
        "Open3D s": float(np.median(there)),
        "ratio": float(np.median(here) / np.median(there)),
        "graphreg degrees": angular_error(first.transformation, truth),
        "Open3D degrees": angular_error(motion, truth),
    }


def cloud_of(points: Floats, normals: Floats | None = None) -> Any:
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    if normals is not None:
        cloud.normals = open3d.utility.Vector3dVector(normals)
    return cloud


def icp_of(first: Outcome, there: Any, estimation: Any) -> Callable[[], Floats]:
    here = cloud_of(first.source)
    start = pose(np.eye(3), first.target.mean(axis=0) - first.source.mean(axis=0))
    criteria = registration.ICPConvergenceCriteria(0, 0, len(first.history))
    everywhere = 1e3 * float(np.ptp(first.target))
    return lambda: np.asarray(
        registration.registration_icp(here, there, everywhere, start, estimation, criteria).transformation
    )


def open3d_icp(first: Outcome) -> Callable[[], Floats]:
    return icp_of(first, cloud_of(first.target), registration.TransformationEstimationPointToPoint())


def open3d_icp_to_planes(first: Outcome) -> Callable[[], Floats]:
    """With our normals, which both are given before the clock starts."""
    normals, _ = planes_of(neighbour_graph(first.target, RIVALS["icp-kn"][0].normal_neighbours))
    return icp_of(first, cloud_of(first.target, normals), registration.TransformationEstimationPointToPlane())


def open3d_fgr(first: Outcome) -> Callable[[], Floats]:
    """Features and registration; the normals, which ours makes inside its time, are given."""
    here, there = (cloud_of(cloud, outward_normals(cloud, 10, THREADS)) for cloud in (first.source, first.target))
    reach = open3d.geometry.KDTreeSearchParamHybrid(RIVALS["fgr"][0].radius * first.voxel, 100)
    size = max(
        float(np.linalg.norm(cloud - cloud.mean(axis=0), axis=1).max()) for cloud in (first.source, first.target)
    )
    option = registration.FastGlobalRegistrationOption(
        iteration_number=64, maximum_correspondence_distance=(first.voxel / size) ** 2
    )

    def call() -> Floats:
        features = (registration.compute_fpfh_feature(cloud, reach) for cloud in (here, there))
        found = registration.registration_fgr_based_on_feature_matching(here, there, *features, option)
        return np.asarray(found.transformation)

    return call


def thinned(points: Floats, count: int) -> Floats:
    """About so many points, evenly spread."""
    low, high = 0.0, float(np.ptp(points, axis=0).max())
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if len(voxel_downsample(points, middle)) < count else (middle, high)
    return voxel_downsample(points, high)[:count]


def beside_pycpd(source: Floats, target: Floats, truth: Floats) -> list[dict[str, Any]]:
    rows = []
    x, y = (thinned(cloud, MIXTURE_POINTS) for cloud in (source, target))
    peer = pycpd.RigidRegistration(X=y - y.mean(axis=0), Y=x - x.mean(axis=0), w=0.5, tolerance=0.0)
    began = time.perf_counter()
    for _ in range(FEW):
        peer.iterate()
    theirs = (time.perf_counter() - began) / FEW
    dense = np.repeat(source, MANY_POINTS // len(source) + 1, axis=0)[:MANY_POINTS]
    jitter = np.random.default_rng(0).normal(size=dense.shape) * 1e-4
    wide = np.repeat(target, MANY_POINTS // len(target) + 1, axis=0)[:MANY_POINTS]
    for name in ("cpd", "ecm", "gmm"):
        few = run(name, x, y, voxel=0, max_iterations=FEW)
        many = run(name, dense + jitter, wide + jitter[::-1], voxel=0, max_iterations=FEW)
        whole = run(name, x, y, voxel=0)
        rows.append(
            {
                "method": name,
                "graphreg s": few.timings["register"] / len(few.history),
                "pycpd s": theirs,
                "ratio": few.timings["register"] / len(few.history) / theirs,
                f"graphreg s, {MANY_POINTS} points": many.timings["register"] / len(many.history),
                "whole run s": whole.timings["register"],
                "iterations": len(whole.history),
                "degrees": angular_error(whole.transformation, truth),
            }
        )
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    main()

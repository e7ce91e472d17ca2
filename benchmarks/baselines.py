"""Time and error of the baselines, compared with Open3D, pycpd and probreg on the same points, alternating.

pip install '.[peers]' scikit-learn transforms3d matplotlib six
pip install --no-deps probreg  # it asks for open3d, which has the same files as open3d-cpu
GRAPHREG_DATA=/path/to/scans python benchmarks/baselines.py --out docs/results
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
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
from probreg import cost_functions  # noqa: E402

from graphreg import read, voxel_downsample  # noqa: E402
from graphreg.baselines import BASELINES  # noqa: E402
from graphreg.baselines.baseline_run import BaselineRun  # noqa: E402
from graphreg.baselines.fgr import FgrSettings  # noqa: E402
from graphreg.baselines.gmm import L2Distance  # noqa: E402
from graphreg.baselines.icp_kn import IcpKnSettings  # noqa: E402
from graphreg.baselines.mixtures import mixture_clouds  # noqa: E402
from graphreg.bench.measured_parts import BASELINE_METHODS, SYNTHETIC_SCANS  # noqa: E402
from graphreg.bench.peers import versions_of_modules  # noqa: E402
from graphreg.bench.results_files import Results, write_results  # noqa: E402
from graphreg.clouds import Floats  # noqa: E402
from graphreg.features.fpfh_features import outward_normals  # noqa: E402
from graphreg.features.graphs import neighbour_graph  # noqa: E402
from graphreg.features.invariant_features import fit_planes  # noqa: E402
from graphreg.method_interface import Outcome  # noqa: E402
from graphreg.metrics import angular_error  # noqa: E402
from graphreg.poses import pose  # noqa: E402
from graphreg.provenance import measured_now, script_command  # noqa: E402

PAIRS = ("dragon_24_to_0", "bunny_045_to_000", "armadillo_SIM_30_to_0")
ROUNDS = 5
MIXTURE_ROUNDS = 3
MIXTURE_ITERATIONS = 3
MIXTURE_POINTS = 5_000
MANY_POINTS = 50_000
WIDTH = 0.2
WHOLE_REGISTRATION = f"""
import json, sys, time
import numpy as np
import graphreg
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error

pair = synthetic.pair("dragon", 24.0, points={MANY_POINTS + MANY_POINTS // 20})
rng = np.random.default_rng(0)
clouds = [cloud[np.sort(rng.permutation(len(cloud))[:{MANY_POINTS}])] for cloud in (pair.source, pair.target)]
began = time.process_time()
found = graphreg.register(*clouds, method=sys.argv[1], voxel=0, threads={THREADS})
row = {{
    "iterations": len(found.history),
    "s an iteration": found.timings["register"] / len(found.history),
    "total s": found.timings["register"],
    "CPU s": time.process_time() - began,
    "MB": int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) / 1024,
    "rotation error (deg)": angular_error(found.transformation, pair.T_target_source),
}}
print(json.dumps(row))
"""

registration = open3d.pipelines.registration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data", type=Path, default=os.environ.get("GRAPHREG_DATA"), help="folder with pairs.json")
    parser.add_argument("--only", choices=("open3d", "mixtures"), help="one of the two tables")
    args = parser.parse_args()
    entries = [e for e in json.loads((args.data / "pairs.json").read_text()) if e["name"] in PAIRS]
    if args.only != "mixtures":
        print(compare_with_open3d(args.data, entries, args.out).read_text(encoding="utf-8"))
    if args.only != "open3d":
        dragon = next(e for e in entries if e["name"] == PAIRS[0])
        source, target = (read(args.data / dragon[end]) for end in ("source", "target"))
        print(compare_mixtures(source, target, args.out).read_text(encoding="utf-8"))


def compare_with_open3d(data: Path, entries: list[dict[str, Any]], out: Path) -> Path:
    rows = []
    for entry in entries:
        source, target = (read(data / entry[end]) for end in ("source", "target"))
        truth = np.array(entry["T_target_source"])
        for name, theirs in (("icp", open3d_icp), ("icp-kn", open3d_point_to_plane), ("fgr", open3d_fgr)):
            rows.append(compare_pair(entry["name"], name, source, target, truth, theirs))
            print(rows[-1], flush=True)
    note = [
        "ICP compared with Open3D: one point a voxel (1/200 of the longest extent), centroids aligned at the start, "
        "the same number of iterations; both times include building the search tree",
        "FGR compared with Open3D: features, matching and optimisation; the same normals; 64 iterations",
        f"{THREADS} threads, alternating, medians of {ROUNDS}; a ratio below 1 is in our favour",
    ]
    provenance = measured_now(script_command(), BASELINE_METHODS, versions_of_modules("open3d"))
    return write_results(out, "baselines", Results("ICP and FGR compared with Open3D", provenance, note, rows))


def compare_mixtures(source: Floats, target: Floats, out: Path) -> Path:
    x, y = (downsample_to(cloud, MIXTURE_POINTS) for cloud in (source, target))
    rounds = [time_mixtures(x, y) for _ in range(MIXTURE_ROUNDS)]
    median = {name: float(np.median([seconds[name] for seconds in rounds])) for name in rounds[0]}
    rows: list[dict[str, Any]] = []
    for name, peer in (("cpd", "pycpd"), ("ecm", "pycpd"), ("gmm", "probreg")):
        compared = {"graphreg s": median[name], "compared with": peer, "its s": median[peer]}
        whole = subprocess.run(
            [sys.executable, "-c", WHOLE_REGISTRATION, name], check=True, capture_output=True, text=True
        )
        rows.append({"method": name, **compared, "ratio": median[name] / median[peer], **json.loads(whole.stdout)})
        print(rows[-1], flush=True)
    note = [
        f"{MIXTURE_POINTS} points of each scan of the dragon, {THREADS} threads, alternating, medians of "
        f"{MIXTURE_ROUNDS}. CPD and ECM: one iteration, mean of the first {MIXTURE_ITERATIONS}, in which no pair is "
        "beyond the Gaussian's reach, compared with one of pycpd's CPD (no other ECM can be installed). GMM: objective "
        f"and gradient at a width of {WIDTH}, compared with probreg's",
        f"columns after the ratio: a whole registration of {MANY_POINTS} points a cloud of the synthetic dragon, 24 "
        "degrees apart, default settings, in a process of its own; CPU s: of all threads; MB: peak memory, including "
        "Python and all libraries",
    ]
    peers = versions_of_modules("pycpd", "probreg")
    provenance = measured_now(script_command(), (*BASELINE_METHODS, *SYNTHETIC_SCANS), peers)
    results = Results("CPD, ECM and GMM compared with pycpd and probreg", provenance, note, rows)
    return write_results(out, "baselines_mixtures", results)


def run(name: str, source: Floats, target: Floats, **settings: Any) -> Outcome:
    method = BASELINES[name]
    return method.run(source, target, replace(method.settings, **settings), None, 0, THREADS, None)


def compare_pair(
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
        estimate = call()
        there.append(time.perf_counter() - began)
    return {
        "pair": pair,
        "method": name,
        "points": f"{len(first.source)} and {len(first.target)}",
        "steps": len(first.history),
        "graphreg s": float(np.median(here)),
        "Open3D s": float(np.median(there)),
        "ratio": float(np.median(here) / np.median(there)),
        "graphreg rotation error (deg)": angular_error(first.transformation, truth),
        "Open3D rotation error (deg)": angular_error(estimate, truth),
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


def open3d_point_to_plane(first: Outcome) -> Callable[[], Floats]:
    """With our normals, which are computed before the time starts."""
    normals, _ = fit_planes(neighbour_graph(first.target, IcpKnSettings().normal_neighbours))
    return icp_of(first, cloud_of(first.target, normals), registration.TransformationEstimationPointToPlane())


def open3d_fgr(first: Outcome) -> Callable[[], Floats]:
    """Features and registration; the normals, which are part of our own time, are computed before the time starts."""
    here, there = (cloud_of(cloud, outward_normals(cloud, 10, THREADS)) for cloud in (first.source, first.target))
    reach = open3d.geometry.KDTreeSearchParamHybrid(FgrSettings().radius * first.voxel, 100)
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


def downsample_to(points: Floats, count: int) -> Floats:
    """At most `count` points, one a voxel."""
    low, high = 0.0, float(np.ptp(points, axis=0).max())
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if len(voxel_downsample(points, middle)) < count else (middle, high)
    return voxel_downsample(points, high)[:count]


def time_mixtures(x: Floats, y: Floats) -> dict[str, float]:
    """Seconds of each method and of each other library."""
    seconds = {}
    for name in ("cpd", "ecm"):
        found = run(name, x, y, voxel=0, max_iterations=MIXTURE_ITERATIONS)
        seconds[name] = found.timings["register"] / len(found.history)
    clouds = mixture_clouds(BaselineRun(x, y, 0, None, THREADS, None), False, 0)
    x, y = clouds.source, clouds.target
    at, masses = np.array([1.0, 0, 0, 0, 0, 0, 0]), [np.full(len(cloud), 1 / len(cloud)) for cloud in (x, y)]
    distance = L2Distance(x, y, WIDTH, THREADS)
    cpd = pycpd.RigidRegistration(X=y, Y=x, w=0.5, tolerance=0.0)
    theirs = cost_functions.RigidCostFunction()
    calls: dict[str, Callable[[], Any]] = {
        "gmm": lambda: distance(at),
        "pycpd": cpd.iterate,
        "probreg": lambda: theirs(at, x, masses[0], y, masses[1], np.sqrt(2) * WIDTH),
    }
    for name, call in calls.items():
        began = time.perf_counter()
        call()
        seconds[name] = time.perf_counter() - began
    return seconds


if __name__ == "__main__":
    main()

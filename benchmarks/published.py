"""Time of the published method's registration stage, compared with Open3D's point-to-point ICP, alternating.

pip install '.[peers]'
GRAPHREG_DATA=/path/to/scans python benchmarks/published.py --out docs/results
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

THREADS = 2
os.environ["OMP_NUM_THREADS"] = str(THREADS)  # Open3D takes no argument; read when it is imported

import numpy as np  # noqa: E402
import open3d  # noqa: E402

from graphreg import read  # noqa: E402
from graphreg.bench.measured_parts import PAPER_METHOD  # noqa: E402
from graphreg.bench.peers import versions_of_modules  # noqa: E402
from graphreg.bench.results_files import Results, write_results  # noqa: E402
from graphreg.metrics import angular_error  # noqa: E402
from graphreg.paper.published import PaperSettings, register_published  # noqa: E402
from graphreg.provenance import measured_now, script_command  # noqa: E402

PAIRS = ("dragon_24_to_0", "dragon_48_to_24", "bunny_045_to_000")
ROUNDS = 11


def open3d_cloud(points: Any) -> Any:
    return open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--data", type=Path, default=os.environ.get("GRAPHREG_DATA"), help="folder with pairs.json")
    args = parser.parse_args()
    registration = open3d.pipelines.registration
    rows = []
    for entry in json.loads((args.data / "pairs.json").read_text()):
        if entry["name"] not in PAIRS:
            continue
        source, target = (read(args.data / entry[end]) for end in ("source", "target"))
        truth = np.array(entry["T_target_source"])
        first = register_published(source, target, PaperSettings(), threads=THREADS)
        clouds = open3d_cloud(first.source), open3d_cloud(first.target)
        start = np.eye(4)
        start[:3, 3] = first.target.mean(axis=0) - first.source.mean(axis=0)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(register_published(source, target, PaperSettings(), threads=THREADS).timings["register"])
            began = time.perf_counter()
            icp = registration.registration_icp(
                *clouds,
                20 * first.voxel,
                start,
                registration.TransformationEstimationPointToPoint(),
                registration.ICPConvergenceCriteria(1e-7, 1e-7, 200),
            )
            theirs.append(time.perf_counter() - began)
        rows.append(
            {
                "pair": entry["name"],
                "points": f"{len(first.source)} and {len(first.target)}",
                "graphreg-paper s": float(np.median(ours)),
                "Open3D ICP s": float(np.median(theirs)),
                "ratio": float(np.median(ours) / np.median(theirs)),
                "graphreg-paper degrees": angular_error(first.transformation, truth),
                "Open3D ICP degrees": angular_error(icp.transformation, truth),
            }
        )
    note = [
        f"registration stage only, 100 iterations; ICP from aligned centroids until it converges, 200 at most; the "
        f"same points; {THREADS} threads, alternating, medians of {ROUNDS}; a ratio below 1 is in our favour"
    ]
    provenance = measured_now(script_command(), PAPER_METHOD, versions_of_modules("open3d"))
    results = Results("The published method compared with ICP", provenance, note, rows)
    print(write_results(args.out, "published", results).read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

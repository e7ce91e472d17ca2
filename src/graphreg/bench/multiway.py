"""Multiway registration: are all scans registered, and does optimising the pose graph reduce the errors?

Synthetic scans are taken in a loop around a body, in a room or before a house, so that the last overlaps the first;
they come in any order and pose. Errors are measured before optimisation, when poses are composed along the most
confident pairs, and at the end. Real scans come in the same way, once alone and once with a foreign scan among them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from graphreg.bench.measured_parts import MULTIWAY, SYNTHETIC_SCANS
from graphreg.bench.multiway_scale import ManyScans, scale_jobs, scale_row, scale_summary
from graphreg.bench.pairs import pair_of
from graphreg.clouds import Floats, extent
from graphreg.datasets import synthetic
from graphreg.files import read
from graphreg.metrics import angular_error
from graphreg.multiscan.multiway_registration import multiway
from graphreg.poses import inverse, pose, transform
from graphreg.reports.plots import Panel, plot_grid

TITLE = "Multiway registration"
PARTS = (*MULTIWAY, *SYNTHETIC_SCANS)
SUBJECTS, QUICK_SUBJECTS = ("hare", "dragon", "hand", "casting", "room", "facade"), ("hare",)
FRAMES, QUICK_FRAMES = 30, 9
POINTS, QUICK_POINTS = 10_000, 5_000
SEEDS, QUICK_SEEDS = 3, 1
MEAN_ROTATION, MEAN_TRANSLATION = "mean rotation error (deg)", "mean translation error (%)"
MAX_ROTATION, MAX_TRANSLATION = "max rotation error (deg)", "max translation error (%)"
# Real scans, with the pairs whose ground truth leads from the first scan to each of them, and a foreign scan.
REAL = {
    "stanford_bunny": (
        ("bun000", "bun045", "bun090", "bun315"),
        ((), ("bunny_045_to_000",), ("bunny_090_to_000",), ("bunny_315_to_000",)),
        "stanford_dragon/dragonStandRight_0.ply",
    ),
    "stanford_dragon": (
        ("dragonStandRight_0", "dragonStandRight_24", "dragonStandRight_48", "dragonStandRight_336"),
        ((), ("dragon_24_to_0",), ("dragon_48_to_0",), ("dragon_336_to_0",)),
        "armadillo_simulated/armadillo_sim_0.ply",
    ),
    "eth_facade": (
        ("s2", "s3", "s4", "s5"),
        (
            (),
            ("eth_facade_3_to_2",),
            ("eth_facade_3_to_2", "eth_facade_4_to_3"),
            ("eth_facade_3_to_2", "eth_facade_4_to_3", "eth_facade_5_to_4"),
        ),
        "small_gicp_lidar/source.ply",
    ),
}


@dataclass(frozen=True)
class ScanSet:
    """Scans of one scene.

    Attributes
    ----------
    scans : str
        Name of the scene.
    seed : int
        Seed of the order and poses, and of synthetic scans.
    frames : int
        Number of scans.
    points : int or None
        Approximate number of points of synthetic scans; None for real ones.
    foreign : bool, default False
        Whether a scan of another scene is among them.
    """

    scans: str
    seed: int
    frames: int
    points: int | None
    foreign: bool = False


def jobs(data: Path | None, quick: bool = False) -> list[ScanSet | ManyScans]:
    """Return the sets of scans."""
    loops = [
        ScanSet(name, seed, QUICK_FRAMES if quick else FRAMES, QUICK_POINTS if quick else POINTS)
        for name in (QUICK_SUBJECTS if quick else SUBJECTS)
        for seed in range(QUICK_SEEDS if quick else SEEDS)
    ]
    real = REAL if data is not None else ()
    return [
        *(ScanSet(name, seed, 4, None, foreign) for name in real for seed in range(SEEDS) for foreign in (False, True)),
        *loops,
        *([] if quick else scale_jobs(data)),
    ]


def measure(job: ScanSet | ManyScans, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a set of scans."""
    if isinstance(job, ManyScans):
        yield scale_row(job, data)
        return
    scans, truth, names = shuffled(job, data)
    began = time.perf_counter()
    found = multiway(scans, names=names)
    seconds = time.perf_counter() - began
    group = list(found.groups[0]) if found.groups else []
    # Over all pairs: in the frame of the first scan, all errors would include that of the first.
    pairs = list(combinations(group, 2))
    before, after = (_errors(poses, truth, scans, pairs) for poses in (found.initial_poses, found.poses))
    in_first = _errors(found.poses, truth, scans, [(group[0], scan) for scan in group[1:]] if group else [])
    foreign = {name for name in names if name.startswith("foreign")}
    yield {
        "scans": job.scans,
        "seed": job.seed,
        "foreign": job.foreign,
        "of": len(scans) - len(foreign),
        "registered": len(group),
        "foreign left out": foreign <= set(found.left_out) if foreign else None,
        "pairs tried": len(found.edges),
        "pairs registered": sum(edge.success for edge in found.edges),
        "pairs rejected": sum(edge.success and not edge.used for edge in found.edges),
        "doubtful": len(found.doubtful),
        f"initial {MEAN_ROTATION}": before[0].mean(),
        MEAN_ROTATION: after[0].mean(),
        MAX_ROTATION: in_first[0].max(),
        f"initial {MEAN_TRANSLATION}": before[1].mean(),
        MEAN_TRANSLATION: after[1].mean(),
        MAX_TRANSLATION: in_first[1].max(),
        "seconds": seconds,
    }


def shuffled(job: ScanSet, data: Path | None) -> tuple[list[Floats], list[Floats], list[str]]:
    """Return scans in random order and pose, their true poses T_world_scan, and their names."""
    rng = np.random.default_rng([job.seed, 5])
    clouds, poses, names = _real(job, data) if job.points is None else _loop(job)
    order = rng.permutation(len(clouds))
    scans, truth = [], []
    for number in order:
        size = extent(clouds[number])
        move = pose(Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(), size * rng.normal(size=3))
        scans.append(transform(move, clouds[number]))
        truth.append(poses[number] @ inverse(move))
    return scans, truth, [names[number] for number in order]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each set of scans."""
    few, many = _few_and_many(rows)
    return {
        "": [{name: value for name, value in row.items() if name != "foreign"} for row in few],
        **(
            {"Many scans": [{name: value for name, value in row.items() if name != "stages"} for row in many]}
            if many
            else {}
        ),
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    rows, many = _few_and_many(rows)
    with_foreign = [row for row in rows if row["foreign"]]
    lines = [
        "scans in random order and pose; translation errors are those of the centroid of a scan, in per cent of its "
        "longest side; mean: over all pairs of scans, one in the frame of the other; max: in the frame of the first "
        "scan; initial: poses composed along the most confident pairs",
        f"all scans registered: {sum(row['registered'] == row['of'] for row in rows)} of {len(rows)} runs",
        f"largest error of any pose: {max(row[MAX_ROTATION] for row in rows):.3g} degrees, "
        f"{max(row[MAX_TRANSLATION] for row in rows):.3g} % of the size",
    ]
    loops = [row for row in rows if row["scans"] in SUBJECTS]
    for what, column in (("rotation", MEAN_ROTATION), ("translation", MEAN_TRANSLATION)):
        better = sum(row[column] < row[f"initial {column}"] for row in loops)
        lines.append(f"synthetic loops, mean {what} error smaller after optimisation: {better} of {len(loops)}")
    if with_foreign:
        named = sum(row["foreign left out"] for row in with_foreign)
        lines.append(f"foreign scan left out and named: {named} of {len(with_foreign)} runs")
    return [*lines, *scale_summary(many)]


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return a chart (SVG) of the errors of each set of scans, and what optimisation makes of them."""
    few, _ = _few_and_many(rows)
    panels = []
    for what, column, unit in (
        ("Rotation", MEAN_ROTATION, "degrees"),
        ("Translation", MEAN_TRANSLATION, "% of the size"),
    ):
        errors, ratios = {}, {}
        for scans in dict.fromkeys(row["scans"] for row in few):
            after, before = (
                float(np.median([row[name] for row in few if row["scans"] == scans]))
                for name in (column, f"initial {column}")
            )
            errors[scans], ratios[scans] = ([0], [after]), ([0], [after / before])
        panels += [
            Panel(errors, f"{what} error", f"mean over all pairs of scans ({unit})", "", bars=True),
            Panel(ratios, f"{what}: what optimisation leaves", "error after / before", "", bars=True),
        ]
    return {"multiway": plot_grid(panels, "multiway", columns=2)}


def _few_and_many(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return [row for row in rows if "scene" not in row], [row for row in rows if "scene" in row]


def _errors(
    poses: Floats, truth: Sequence[Floats], scans: Sequence[Floats], pairs: Sequence[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """Rotation errors in degrees, and translation errors in % of the size, of the second scan in the first's frame."""
    degrees, percents = [], []
    for first, second in pairs:
        found, true = (inverse(some[first]) @ some[second] for some in (poses, truth))
        centroid = scans[second].mean(axis=0)[None]
        distance = float(np.linalg.norm(transform(found, centroid) - transform(true, centroid)))
        degrees.append(angular_error(found, true))
        percents.append(100 * distance / extent(scans[second]))
    return (np.array(degrees), np.array(percents)) if degrees else (np.full(1, np.nan), np.full(1, np.nan))


def _loop(job: ScanSet) -> tuple[list[Floats], list[Floats], list[str]]:
    """Synthetic scans of which the last overlaps the first."""
    scans = list(
        synthetic.sequence(job.scans, job.frames, 360 / job.frames, points=job.points, variant=job.seed, seed=job.seed)
    )
    return [scan.points for scan in scans], [scan.pose for scan in scans], [f"scan {k}" for k in range(len(scans))]


def _real(job: ScanSet, data: Path | None) -> tuple[list[Floats], list[Floats], list[str]]:
    assert data is not None
    names, chains, foreign = REAL[job.scans]
    clouds = [read(data / job.scans / f"{name}.ply") for name in names]
    poses = []
    for chain in chains:
        T_first_scan = np.eye(4)
        for pair in chain:
            T_first_scan = T_first_scan @ pair_of(pair, data).truth
        poses.append(T_first_scan)
    if not job.foreign:
        return clouds, poses, list(names)
    return [*clouds, read(data / foreign)], [*poses, np.eye(4)], [*names, f"foreign {Path(foreign).stem}"]

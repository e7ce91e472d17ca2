"""Many scans to one set of poses: do all find their place, and does the pose graph make the poses better?

Scans that we make stand in a loop around a body, in a room or before a house, so that the last meets the first; they
come in any order and pose. Errors are measured before, when poses are composed along the most certain pairs, and after
all is done. Real scans come in the same way, once alone and once with a foreign one among them.
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

from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.bench.pairs import pair_of
from graphreg.clouds import Floats, extent
from graphreg.datasets import synthetic
from graphreg.files import read
from graphreg.metrics import angular_error
from graphreg.multiscan.multiway_registration import multiway
from graphreg.poses import inverse, pose, transform

TITLE = "Multiway registration"
PARTS = (*MULTISCAN, *SYNTHETIC_SCANS)
SCENES, QUICK_SCENES = ("hare", "dragon", "hand", "casting", "room", "facade"), ("hare",)
FRAMES, QUICK_FRAMES = 30, 9
POINTS, QUICK_POINTS = 10_000, 5_000
SEEDS, QUICK_SEEDS = 3, 1
COLUMNS = (
    "scans", "seed", "of", "placed", "foreign left out", "pairs tried", "registered", "named wrong",
    "in doubt", "mean degrees before", "mean degrees", "largest degrees", "mean % of size before", "mean % of size",
    "largest % of size", "seconds",
)  # fmt: skip
# Real scans, by the pairs that tell how they lie: each scan's pose is that of the pairs along the way to the first.
# With them goes one that does not belong there.
SCANNED = {
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
class Loop:
    """Some scans, in an order and in poses that the seed says; with a foreign one among them, or not."""

    scans: str
    seed: int
    frames: int
    points: int | None
    foreign: bool = False


def jobs(data: Path | None, quick: bool = False) -> list[Loop]:
    made = [
        Loop(name, seed, QUICK_FRAMES if quick else FRAMES, QUICK_POINTS if quick else POINTS)
        for name in (QUICK_SCENES if quick else SCENES)
        for seed in range(QUICK_SEEDS if quick else SEEDS)
    ]
    real = SCANNED if data is not None else ()
    return [
        *(Loop(name, seed, 4, None, foreign) for name in real for seed in range(SEEDS) for foreign in (False, True)),
        *made,
    ]


def measure(job: Loop, data: Path | None) -> Iterator[dict[str, Any]]:
    scans, truth, names = mixed(job, data)
    began = time.perf_counter()
    found = multiway(scans, names=names)
    seconds = time.perf_counter() - began
    group = list(found.groups[0]) if found.groups else []
    # Between all of them: in the frame of the first alone, all would share its error.
    every = list(combinations(group, 2))
    before, after = (_errors(poses, truth, scans, every) for poses in (found.initial_poses, found.poses))
    in_first = _errors(found.poses, truth, scans, [(group[0], scan) for scan in group[1:]] if group else [])
    strangers = {name for name in names if name.startswith("foreign")}
    yield {
        "scans": job.scans,
        "seed": job.seed,
        "foreign": job.foreign,
        "of": len(scans) - len(strangers),
        "placed": len(group),
        "foreign left out": strangers <= set(found.left_out) if strangers else None,
        "pairs tried": len(found.edges),
        "registered": sum(edge.success for edge in found.edges),
        "named wrong": sum(edge.success and not edge.used for edge in found.edges),
        "in doubt": len(found.doubtful),
        "mean degrees before": before[0].mean(),
        "mean degrees": after[0].mean(),
        "largest degrees": in_first[0].max(),
        "mean % of size before": before[1].mean(),
        "mean % of size": after[1].mean(),
        "largest % of size": in_first[1].max(),
        "seconds": seconds,
    }


def mixed(job: Loop, data: Path | None) -> tuple[list[Floats], list[Floats], list[str]]:
    """Scans in any order, each in a pose of its own, the truth x_world = P x_scan, and their names."""
    rng = np.random.default_rng([job.seed, 5])
    clouds, poses, names = _real(job, data) if job.points is None else _made(job)
    order = rng.permutation(len(clouds))
    scans, truth = [], []
    for number in order:
        reach = extent(clouds[number])
        motion = pose(Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(), reach * rng.normal(size=3))
        scans.append(transform(motion, clouds[number]))
        truth.append(poses[number] @ inverse(motion))
    return scans, truth, [names[number] for number in order]


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    return {"": [{name: row[name] for name in COLUMNS} for row in rows]}


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    strangers = [row for row in rows if row["foreign"]]
    lines = [
        "scans in any order, each turned and moved at random; shifts are those of the middle of a scan in % of its "
        "longest side; mean: over all pairs of scans, one in the frame of the other; largest: in the frame of the "
        "first scan; before: composed along the most certain pairs",
        f"all scans placed: {sum(row['placed'] == row['of'] for row in rows)} of {len(rows)} runs",
        f"largest error of any pose: {max(row['largest degrees'] for row in rows):.3g} degrees, "
        f"{max(row['largest % of size'] for row in rows):.3g} % of the size",
    ]
    loops = [row for row in rows if row["scans"] in SCENES]
    for what, column in (("turns", "mean degrees"), ("shifts", "mean % of size")):
        better = sum(row[column] < row[f"{column} before"] for row in loops)
        lines.append(f"our own loops, mean error of {what} smaller after than before: {better} of {len(loops)}")
    if strangers:
        named = sum(row["foreign left out"] for row in strangers)
        lines.append(f"a foreign scan left out and named: {named} of {len(strangers)} runs")
    return lines


def _errors(
    poses: Floats, truth: Sequence[Floats], scans: Sequence[Floats], pairs: Sequence[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """Degrees, and shifts in % of the size, of the second scan of each pair in the frame of the first."""
    degrees, shifts = [], []
    for first, second in pairs:
        found, right = (inverse(at[first]) @ at[second] for at in (poses, truth))
        middle = scans[second].mean(axis=0)[None]
        off = float(np.linalg.norm(transform(found, middle) - transform(right, middle)))
        degrees.append(angular_error(found, right))
        shifts.append(100 * off / extent(scans[second]))
    return (np.array(degrees), np.array(shifts)) if degrees else (np.full(1, np.nan), np.full(1, np.nan))


def _made(job: Loop) -> tuple[list[Floats], list[Floats], list[str]]:
    """A loop: the last scan stands beside the first."""
    loop = synthetic.sequence(
        job.scans, job.frames, 360 / job.frames, points=job.points, variant=job.seed, seed=job.seed
    )
    scans = list(loop)
    return [scan.points for scan in scans], [scan.pose for scan in scans], [f"scan {k}" for k in range(len(scans))]


def _real(job: Loop, data: Path | None) -> tuple[list[Floats], list[Floats], list[str]]:
    assert data is not None
    names, ways, stranger = SCANNED[job.scans]
    clouds = [read(data / job.scans / f"{name}.ply") for name in names]
    poses = []
    for way in ways:
        at = np.eye(4)
        for pair in way:
            at = at @ pair_of(pair, data).truth
        poses.append(at)
    if not job.foreign:
        return clouds, poses, list(names)
    return [*clouds, read(data / stranger)], [*poses, np.eye(4)], [*names, f"foreign {Path(stranger).stem}"]

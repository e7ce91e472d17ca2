"""Whole drives, as one would run them: errors, drift and frames a second, beside other libraries' odometry.

All ways of a drive run side by side, frame by frame: every frame is made or read once, and whatever else the machine
does meets all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.comparison import Row
from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.bench.odometry import PUBLISHED
from graphreg.bench.pairs import KNOWN_TO
from graphreg.clouds import Floats
from graphreg.datasets import kitti, synthetic
from graphreg.metrics import segment_errors, sequence_errors
from graphreg.multiscan.odometry import MODES, Odometry
from graphreg.multiscan.trajectory import relative_transforms
from graphreg.poses import inverse
from graphreg.reports.charts import charts_side_by_side, line_chart
from graphreg.threads import thread_count

TITLE = "Drives"
PARTS = (*MULTISCAN, *SYNTHETIC_SCANS)
# name: the first frame, and every n-th from there
SCANNED = {"kitti_03, even frames": (0, 2), "kitti_03, odd frames": (1, 2), "kitti_03, all frames": (0, 1)}
# A frame a metre, as at 36 km/h and 10 Hz; and the same seen by a scanner of 16 rings in place of 64.
MADE, SPARSE = "made_street", "made_street, 16 rings"
MADE_FRAMES, SPARSE_FRAMES, QUICK_FRAMES = 400, 100, 5
MADE_APART = 1.0
MADE_POINTS, QUICK_POINTS = 120_000, 20_000
RINGS, SPREAD = 64, (-24.8, 2.0)
# What is asked for: errors of a step below the paper's; of a whole way, in percent; frames a second.
PAPER_STEP = PUBLISHED["graphreg-paper"][:2]
MOST_DRIFT, LEAST_RATE = 0.5, 10.0
# small_gicp's own examples of odometry have these: metres, metres, frames.
GICP_VOXEL, GICP_MAP_VOXEL, GICP_HORIZON = 0.25, 1.0, 100

Follow = Callable[[Floats], tuple[Floats, bool]]
"""A frame in; the pose of the sensor, with respect to the first, and whether it can be trusted."""


@dataclass(frozen=True)
class Drive:
    """One drive, all ways side by side.

    frames, points  of a drive that we make
    """

    name: str
    ways: tuple[str, ...]
    frames: int | None = None
    points: int | None = None


def ours(mode: str) -> Follow:
    odometry = Odometry(mode=mode)

    def follow(points: Floats) -> tuple[Floats, bool]:
        step = odometry.add(points)
        return step.pose, step.success

    return follow


def kiss_icp() -> Follow:
    """KISS-ICP by its defaults. Frames come as they are, without times to undo the motion within them."""
    from kiss_icp.config import KISSConfig
    from kiss_icp.kiss_icp import KissICP

    config = KISSConfig()
    config.data.deskew = False
    config.mapping.voxel_size = config.data.max_range / 100
    odometry = KissICP(config)

    def follow(points: Floats) -> tuple[Floats, bool]:
        odometry.register_frame(points, np.empty(0))
        return np.array(odometry.last_pose), True

    return follow


def gicp_pairs() -> Follow:
    """small_gicp on the frame before, from the motion before."""
    import small_gicp

    threads = thread_count(None)
    before: list[Any] = []
    at, step = np.eye(4), np.eye(4)

    def follow(points: Floats) -> tuple[Floats, bool]:
        nonlocal at, step
        cloud, tree = small_gicp.preprocess_points(points, downsampling_resolution=GICP_VOXEL, num_threads=threads)
        if before:
            there, its_tree = before
            found = small_gicp.align(there, cloud, its_tree, init_T_target_source=step, num_threads=threads)
            step = np.asarray(found.T_target_source)
            at = at @ step
        before[:] = cloud, tree
        return at, True

    return follow


def gicp_map() -> Follow:
    """small_gicp on its map of Gaussian voxels, from where the motion before leads."""
    import small_gicp

    threads = thread_count(None)
    held = small_gicp.GaussianVoxelMap(GICP_MAP_VOXEL)
    held.set_lru(horizon=GICP_HORIZON, clear_cycle=10)
    at, step, empty = np.eye(4), np.eye(4), True

    def follow(points: Floats) -> tuple[Floats, bool]:
        nonlocal at, step, empty
        cloud, _ = small_gicp.preprocess_points(points, downsampling_resolution=GICP_VOXEL, num_threads=threads)
        if not empty:
            found = small_gicp.align(held, cloud, init_T_target_source=at @ step, num_threads=threads)
            # Its poses keep the rounding of where it starts: the transpose in place of the inverse would let that grow.
            step = np.linalg.inv(at) @ found.T_target_source
            at = np.asarray(found.T_target_source)
        empty = False
        held.insert(cloud, at)
        return at, True

    return follow


OURS = {f"graphreg, {mode}": partial(ours, mode) for mode in MODES}
# way: the module that it needs, its package, how it begins, a line for people
PEERS: dict[str, tuple[str, str, Callable[[], Follow], str]] = {
    "kiss-icp": ("kiss_icp", "kiss-icp", kiss_icp, "KISS-ICP on its map, by its defaults, without undoing motion"),
    "gicp, map": ("small_gicp", "small_gicp", gicp_map, "small_gicp on its map of Gaussian voxels"),
    "gicp, pairs": ("small_gicp", "small_gicp", gicp_pairs, "small_gicp on the frame before"),
}


def jobs(data: Path | None, quick: bool = False, peers: bool = True) -> list[Drive]:
    ways = (*OURS, *(name for name in PEERS if peers and _version(name)))
    if quick:
        return [Drive(MADE, ways, QUICK_FRAMES, QUICK_POINTS)]
    scanned = [Drive(name, ways) for name in SCANNED] if data is not None else []
    made = [Drive(MADE, ways, MADE_FRAMES, MADE_POINTS), Drive(SPARSE, ways, SPARSE_FRAMES, MADE_POINTS)]
    return [*scanned, *made]


def peer_versions(jobs: Sequence[Drive]) -> dict[str, str]:
    """Versions of the other libraries that take part."""
    found = (_version(way) for job in jobs for way in job.ways)
    return dict(known.rsplit(" ", 1) for known in found if known)


def measure(drive: Drive, data: Path | None) -> Iterator[dict[str, Any]]:
    follows = {way: (OURS.get(way) or PEERS[way][2])() for way in drive.ways}
    poses: dict[str, list[Floats]] = {way: [] for way in drive.ways}
    seconds: dict[str, list[float]] = {way: [] for way in drive.ways}
    lost = dict.fromkeys(drive.ways, 0)
    truth = []
    for points, at in _frames(drive, data):
        truth.append(at)
        for way, follow in follows.items():
            began = time.perf_counter()
            found, trusted = follow(points)
            seconds[way].append(time.perf_counter() - began)
            # One that has lost itself altogether stays where it was.
            poses[way].append(np.array(found) if np.isfinite(found).all() else poses[way][-1])
            lost[way] += not trusted
    for way in drive.ways:
        # The first frame is laid on nothing.
        yield {
            "drive": drive.name,
            "method": way,
            "version": _version(way),
            "frames": len(truth),
            "lost": lost[way] if way in OURS else None,
            **_errors(np.array(poses[way]), np.array(truth)),
            "median s": float(np.median(seconds[way][1:])),
            "worst s": max(seconds[way][1:]),
            "frames a second": (len(truth) - 1) / sum(seconds[way][1:]),
            "at": np.round(np.array(poses[way])[:, :2, 3], 3).tolist(),
            "truly at": np.round([(inverse(truth[0]) @ at)[:2, 3] for at in truth], 3).tolist(),
        }


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    hidden = ("at", "truly at", "version")
    return {"Errors": [{name: value for name, value in row.items() if name not in hidden} for row in rows]}


def summary(rows: Sequence[Row]) -> list[str]:
    versions = {row["version"] for row in rows} - {None}
    lines = [
        "relative: of each step; absolute: of each frame with respect to the first; last: of the last frame; drift: "
        "that, in percent of the way; segments: over stretches of 100 m, 200 m, ... as the KITTI benchmark has it; on "
        "shorter ways, over its eighths",
        "map: each frame on a local map, from where the motion before leads; pairs: each on the one before, ours by "
        "the full search, as in the paper; lost: frames that ours marks as not registered",
        "seconds: a frame, with all that is done for it but reading; all ways side by side, frame by frame, all cores",
        f"KITTI's own poses are good to about {KNOWN_TO['SemanticKITTI']:g} degrees a step, by our estimate; our "
        f"street's are exact; the paper's errors of a step, over the whole sequence: {PAPER_STEP[0]:g} degrees and "
        f"{PAPER_STEP[1]:g} m",
        *(f"{name} is {peer[3]}" for name, peer in PEERS.items() if any(row["method"] == name for row in rows)),
        *(["versions: " + ", ".join(sorted(versions))] if versions else []),
    ]
    for drive in dict.fromkeys(row["drive"] for row in rows):
        mine = {row["method"]: row for row in rows if row["drive"] == drive}
        for way in OURS:
            row = mine[way]
            held = [_held(row["rel. degrees"] < PAPER_STEP[0] and row["rel. m"] < PAPER_STEP[1], "errors of the paper")]
            if drive == MADE:
                held.append(_held(row["drift %"] < MOST_DRIFT, f"drift {MOST_DRIFT:g} %"))
                held.append(_held(row["frames a second"] > LEAST_RATE, f"{LEAST_RATE:g} frames a second"))
            better = [name for name in PEERS if name in mine and _beaten(row, mine[name])]
            lines.append(
                f"{drive}, {way}: {row['rel. degrees']:.4f} degrees and {row['rel. m']:.4f} m a step, drift "
                f"{row['drift %']:.3f} %, {row['frames a second']:.1f} frames a second; {'; '.join(held)}; more "
                f"exact a step, both in degrees and in metres: {', '.join(better) or 'no other library'}"
            )
    return lines


def figures(rows: Sequence[Row]) -> dict[str, str]:
    """The way that each came to, seen from above, on the longest drive."""
    drive = max(rows, key=lambda row: row["frames"])["drive"]
    mine = [row for row in rows if row["drive"] == drive]
    ways = {"truth": np.array(mine[0]["truly at"])} | {row["method"]: np.array(row["at"]) for row in mine}
    off = {
        name: (np.arange(len(way)), np.linalg.norm(way - ways["truth"], axis=1))
        for name, way in ways.items()
        if name != "truth"
    }
    lines = {name: (way[:, 0], way[:, 1]) for name, way in ways.items()}
    charts = [
        line_chart(lines, f"{drive}, from above", "ahead (m)", "aside (m)", marked=False),
        line_chart(off, "Off the truth", "frame", "m", marked=False),
    ]
    return {"sequences_way": charts_side_by_side(charts)}


def _errors(poses: Floats, truth: Floats) -> dict[str, Any]:
    told = asdict(sequence_errors(relative_transforms(poses), list(truth)))
    way = float(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).sum())
    errors = {
        f"{short} {unit}": told[f"{name}_{kind}"]
        for name, short in (("rpe", "rel."), ("ate", "abs."), ("final", "last"))
        for kind, unit in (("rotation", "degrees"), ("translation", "m"))
    }
    segments = segment_errors(poses, truth)
    return {
        "way m": way,
        **errors,
        "drift %": 100 * told["final_translation"] / way,
        "segments %": segments.translation_percent if segments else None,
        "segments degrees/100 m": 100 * segments.rotation_per_length if segments else None,
    }


def _frames(drive: Drive, data: Path | None) -> Iterator[tuple[Floats, Floats]]:
    """Points and true pose of each frame."""
    if drive.name in SCANNED:
        assert data is not None
        first, every = SCANNED[drive.name]
        for scan in kitti.scans(data / "kitti_03")[first::every]:
            yield scan.read(), scan.pose
        return
    assert drive.frames is not None
    for made in synthetic.sequence("street", drive.frames, MADE_APART, points=drive.points):
        yield (_every_fourth_ring(made.points) if drive.name == SPARSE else made.points), made.pose


def _every_fourth_ring(points: Floats) -> Floats:
    """What a scanner of 16 rings would see: rings are directions of one elevation, evenly spread."""
    low, high = np.radians(SPREAD)
    elevation = np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))
    ring = np.round((elevation - low) / (high - low) * (RINGS - 1)).astype(int)
    return np.asarray(points[ring % 4 == 0])


def _held(kept: bool, what: str) -> str:
    return f"{'within' if kept else 'NOT within'} {what}"


def _beaten(ours: Row, theirs: Row) -> bool:
    return bool(theirs["rel. degrees"] < ours["rel. degrees"] and theirs["rel. m"] < ours["rel. m"])


@cache
def _version(way: str) -> str | None:
    """Of the library that a peer is, or None: ours, or not installed."""
    if way not in PEERS:
        return None
    module, package, _, _ = PEERS[way]
    try:
        import_module(module)
        return f"{package} {version(package)}"
    except (ImportError, PackageNotFoundError):
        return None

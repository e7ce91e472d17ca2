"""Multiway registration of many scans: all 60 fragments of a room of 3DMatch, and 300 scans of a synthetic city.

They come in random order and pose. Poses are compared with the true ones after aligning the largest group to them as a
whole. The poses of 3DMatch's fragments are themselves uncertain by centimetres and degrees, so that it is measured as
well how surfaces fit, at the poses found and at those of 3DMatch: the mean distance from points to the surface of the
other scan, of all pairs that overlap at either.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from graphreg.bench.memory import resident_bytes
from graphreg.clouds import Floats
from graphreg.datasets import city_routes
from graphreg.features.invariant_features import normals
from graphreg.files import read
from graphreg.files.folders import frame_files
from graphreg.metrics import angular_error
from graphreg.multiscan.multiway_registration import multiway
from graphreg.poses import inverse, pose, transform

FRAGMENTS, SCANS = 60, 300
ROOMS = ("3dmatch_kitchen", "3dmatch_home_at")
CITY = "synthetic_city"
# Two blocks in a figure of eight, with a scan every 4 m.
EIGHT: city_routes.Route = ((0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (1, 0), (1, 1), (0, 1), (0, 0))
BLOCK, STEP, POINTS = (160.0, 150.0), 4.0, 8_000
# A pose is right within these: metres, degrees. Of the city: the accuracy of a LiDAR map, twice that of the range.
LIMITS = {**dict.fromkeys(ROOMS, (0.05, 2.0)), CITY: (0.05, 2.0)}
# Surfaces: points of each pair, and the largest distance that counts as the same surface, in metres.
SAMPLE, SAME_SURFACE = 1_000, 0.05
# A pair overlaps if this share of so many points is within twice that distance at either set of poses.
OVERLAPPING, FEW = 0.3, 60


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface that a scan shows: its points, and their normals."""

    tree: Any
    normals: Floats

    def distances(self, points: Floats) -> Floats:
        """Distances of points from the tangent plane at the nearest point, at most that of the same surface."""
        apart, nearest = self.tree.query(points, distance_upper_bound=2 * SAME_SURFACE)
        close = np.isfinite(apart)
        there = np.asarray(nearest)[close]
        result = np.full(len(points), SAME_SURFACE)
        away = np.einsum("ij,ij->i", points[close] - self.tree.data[there], self.normals[there])
        result[close] = np.minimum(np.abs(away), SAME_SURFACE)
        return result


@dataclass(frozen=True)
class ManyScans:
    """Many scans of one scene: its name, and their number."""

    scene: str
    count: int


def scale_jobs(data: Path | None) -> list[ManyScans]:
    """Return the sets of many scans."""
    return [*(ManyScans(room, FRAGMENTS) for room in (ROOMS if data is not None else ())), ManyScans(CITY, SCANS)]


def scale_row(job: ManyScans, data: Path | None) -> dict[str, Any]:
    """Return the row of a set of many scans."""
    rng = np.random.default_rng(7)
    clouds, poses = _city(job) if job.scene == CITY else _room(job, data)
    scans, truth, names = [], [], []
    for number in rng.permutation(len(clouds)):
        move = pose(Rotation.random(random_state=int(rng.integers(2**31))).as_matrix(), rng.normal(size=3))
        scans.append(transform(move, clouds[number]))
        truth.append(poses[number] @ inverse(move))
        names.append(f"{number}")
    began, cpu = time.perf_counter(), time.process_time()
    found = multiway(scans, names=names)
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - began
    group = list(found.groups[0]) if found.groups else []
    degrees, metres = _aligned_errors(found.poses, np.array(truth), scans, group)
    limit = LIMITS[job.scene]
    surfaces = [Surface(cKDTree(scan), normals(scan)) for scan in scans]
    pairs = _overlapping(scans, surfaces, group, found.poses, np.array(truth))
    ours, reference = _pair_fits(scans, surfaces, pairs, found.poses, np.array(truth)).T
    return {
        "scene": job.scene,
        "scans": len(scans),
        "in one frame": len(group),
        "in other groups": sum(map(len, found.groups[1:])),
        "left out and named": len(found.left_out),
        "doubtful and named": len(found.doubtful),
        "right": int(np.count_nonzero((metres <= limit[0]) & (degrees <= limit[1]))),
        "median error (deg)": float(np.median(degrees)),
        "max error (deg)": float(degrees.max()),
        "median error (m)": float(np.median(metres)),
        "max error (m)": float(metres.max()),
        "overlapping pairs": len(pairs),
        "distance, ours (mm)": 1000 * float(ours.mean()),
        "distance, reference (mm)": 1000 * float(reference.mean()),
        "pairs that ours fit better": int(np.count_nonzero(ours < reference)),
        "pairs tried": len(found.edges),
        "pairs rejected": sum(edge.success and not edge.used for edge in found.edges),
        "seconds": seconds,
        "CPU seconds": cpu,
        "peak memory (MB)": resident_bytes("VmHWM") / 1e6,
        "stages": {name: round(value, 2) for name, value in found.timings.items()},
    }


def scale_summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a statement for each set of many scans."""
    lines = []
    for row in rows:
        metres, degrees = LIMITS[row["scene"]]
        lines.append(
            f"{row['scene']}: {row['scans']} scans, {row['in one frame']} in one frame, {row['left out and named']} "
            f"left out and named; {row['right']} within {100 * metres:g} cm and {degrees:g} degrees of the reference; "
            f"points of {row['overlapping pairs']} overlapping pairs are {row['distance, ours (mm)']:.2f} mm from the "
            f"surface of the other scan on average, at the reference poses {row['distance, reference (mm)']:.2f} mm; "
            f"{row['pairs that ours fit better']} pairs fit better at ours; {row['CPU seconds']:.0f} s CPU, "
            f"peak memory {row['peak memory (MB)']:.0f} MB"
        )
    return lines


def _aligned_errors(
    poses: Floats, truth: Floats, scans: Sequence[Floats], group: Sequence[int]
) -> tuple[Floats, Floats]:
    """Rotation errors in degrees and distances of centroids, with the group as a whole aligned to the true poses."""
    if not group:
        return np.full(1, np.nan), np.full(1, np.nan)
    found, true = (
        np.array([transform(some[scan], scans[scan].mean(axis=0)[None])[0] for scan in group])
        for some in (poses, truth)
    )
    turned = Rotation.from_matrix([(truth[scan] @ inverse(poses[scan]))[:3, :3] for scan in group]).mean().as_matrix()
    align = pose(turned, true.mean(axis=0) - turned @ found.mean(axis=0))
    degrees = [angular_error(align @ poses[scan], truth[scan]) for scan in group]
    return np.array(degrees), np.linalg.norm(transform(align, found) - true, axis=1)


def _overlapping(
    scans: Sequence[Floats], surfaces: Sequence[Surface], group: Sequence[int], *poses: Floats
) -> list[tuple[int, int]]:
    """Pairs of scans that overlap at any of these sets of poses."""
    pairs = []
    for source, target in permutations(group, 2):
        few = scans[source][:: 1 + len(scans[source]) // FEW]
        for some in poses:
            moved = transform(inverse(some[target]) @ some[source], few)
            apart, _ = surfaces[target].tree.query(moved, distance_upper_bound=2 * SAME_SURFACE)
            if np.mean(np.isfinite(apart)) >= OVERLAPPING:
                pairs.append((source, target))
                break
    return pairs


def _pair_fits(
    scans: Sequence[Floats], surfaces: Sequence[Surface], pairs: list[tuple[int, int]], *poses: Floats
) -> Floats:
    """Mean distance of each pair at each set of poses, (pairs, sets): from points to the surface of the other scan.

    Of the points that are near it at any of them, each distance at most that of the same surface: so a set of poses
    gains nothing from points that it moves away.
    """
    means = [np.full(len(poses), np.nan)] if not pairs else []
    for source, target in pairs:
        sample = scans[source][:: 1 + len(scans[source]) // SAMPLE]
        distances = np.array(
            [surfaces[target].distances(transform(inverse(some[target]) @ some[source], sample)) for some in poses]
        )
        near = distances.min(axis=0) < SAME_SURFACE
        means.append(distances[:, near].mean(axis=1) if near.any() else np.full(len(poses), SAME_SURFACE))
    return np.array(means)


def _room(job: ManyScans, data: Path | None) -> tuple[list[Floats], list[Floats]]:
    assert data is not None
    folder = data / job.scene
    rows = np.loadtxt(folder / "poses.txt").reshape(-1, 3, 4)[: job.count]
    clouds = [read(path) for path in frame_files(folder)[: job.count]]
    return clouds, [pose(row[:, :3], row[:, 3]) for row in rows]


def _city(job: ManyScans) -> tuple[list[Floats], list[Floats]]:
    scans = list(city_routes.follow(EIGHT, length=(job.count - 1) * STEP, step=STEP, block=BLOCK, points=POINTS))
    return [scan.points for scan in scans], [scan.pose for scan in scans]

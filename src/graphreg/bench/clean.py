"""Outlier removal on scans: what is lost of scans without outliers, and which outliers are found, beside other filters.

Scans as they are: every point that a filter removes counts as lost, although real scans have a few outliers of their
own. Corrupted scans: outliers are added as in the experiment on X84; those within two spacings of the scan's points are
on its surface as far as anyone can tell, so recall is given for all outliers and for the others. Beside the filters
stands what could be found by who knows the scan without its outliers, from two distances of a point: to the nearest
point of the scan, and to the plane through the nearest ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.bench.measured_parts import FEATURES, SYNTHETIC_SCANS
from graphreg.clouds import Floats, Mask
from graphreg.datasets import synthetic
from graphreg.datasets.contamination import add_outliers
from graphreg.features.graphs import neighbour_graph
from graphreg.features.response import inliers
from graphreg.files import read

TITLE = "Outlier removal beside other filters"
PARTS = (*FEATURES, "features.volume_outliers", *SYNTHETIC_SCANS)
KINDS, RATIOS = ("gaussian", "uniform"), (0.1, 0.5, 1.0)
SYNTHETIC, POINTS = ("dragon", "hare", "hand", "casting", "facade", "room", "street"), 40_000
QUICK, QUICK_POINTS = ("hare",), 4_000
# Scans that outliers are added to: one of each folder. All scans are also cleaned as they are.
CORRUPTED = (
    "stanford_bunny/bun000.ply",
    "stanford_dragon/dragonStandRight_0.ply",
    "armadillo_simulated/armadillo_sim_0.ply",
    "utah_teapot_lid/teapot.ply",
    "eth_facade/s3.ply",
    "small_gicp_lidar/source.ply",
    "nclt/420.ply",
    "kitti_03/000003.bin",
    "3dmatch_kitchen/000000.ply",
)
# In spacings of the scan: outliers nearer to its points are on its surface.
ON_SURFACE = 2.0
# A filter that takes more than this share of a scan without outliers takes too much.
LITTLE = 0.03
OURS, WORST = "volume", 6
REFERENCE, REFERENCE_NEIGHBOURS = "knowing the scan", 10


def _open3d_statistical(points: Floats) -> Mask:
    """As in Open3D's tutorial: 20 neighbours, 2 standard deviations."""
    return _open3d(points, lambda cloud: cloud.remove_statistical_outlier(nb_neighbors=20, std_ratio=2.0))


def _pcl_statistical(points: Floats) -> Mask:
    """As in PCL's tutorial: 50 neighbours, 1 standard deviation. The filter is the same."""
    return _open3d(points, lambda cloud: cloud.remove_statistical_outlier(nb_neighbors=50, std_ratio=1.0))


def _open3d_radius(points: Floats) -> Mask:
    """Fewer than 16 points, as in Open3D's tutorial, within 5 spacings: its radius of 5 cm is for its room."""
    return _open3d(points, lambda cloud: cloud.remove_radius_outlier(nb_points=16, radius=5 * _spacing(points)))


FILTERS: dict[str, Callable[[Floats], Mask]] = {
    OURS: lambda points: inliers(points, rule="volume"),
    "x84": inliers,
    "statistical 20/2 (Open3D)": _open3d_statistical,
    "statistical 50/1 (PCL's, by Open3D)": _pcl_statistical,
    "radius 16/5 (Open3D)": _open3d_radius,
}


@dataclass(frozen=True)
class Job:
    """One scan, as it is or with outliers; approximate number of points of a synthetic one."""

    cloud: str
    kind: str | None = None
    ratio: float = 0.0
    points: int | None = None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    """Return the jobs: scans as they are, then corrupted ones."""
    names, points = (QUICK, QUICK_POINTS) if quick else (SYNTHETIC, POINTS)
    clean, corrupted = list(names), list(names)
    if data is not None and not quick:
        files = sorted(file for suffix in ("ply", "bin") for file in data.glob(f"*/*.{suffix}"))
        clean += [str(file.relative_to(data)) for file in files if "outlier" not in file.name]
        corrupted += [name for name in CORRUPTED if (data / name).exists()]
    return [Job(name, points=points) for name in clean] + [
        Job(name, kind, ratio, points) for name in corrupted for kind in KINDS for ratio in RATIOS
    ]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each filter."""
    scan = read(data / job.cloud) if data and "/" in job.cloud else synthetic.scan(job.cloud, points=job.points).points
    points, is_outlier = (
        (scan, np.zeros(len(scan), bool)) if job.kind is None else add_outliers(scan, job.ratio, job.kind, 1)
    )
    off_surface = _distances(scan, points[is_outlier]) > ON_SURFACE * _spacing(scan)
    for name, run in FILTERS.items():
        if "Open3D" in name and not _has_open3d():
            continue
        removed = ~run(points)
        found = removed[is_outlier]
        yield {
            "cloud": job.cloud,
            "points": len(scan),
            "outliers": job.kind or "none",
            "ratio": job.ratio,
            "filter": name,
            "lost": float(removed[~is_outlier].mean()),
            "found": float(found.mean()) if len(found) else None,
            "found off surface": float(found[off_surface].mean()) if off_surface.any() else None,
        }
    if job.kind is not None:
        found = found_knowing_the_scan(scan, points[is_outlier])
        yield {
            "cloud": job.cloud,
            "points": len(scan),
            "outliers": job.kind,
            "ratio": job.ratio,
            "filter": REFERENCE,
            "lost": LITTLE,
            "found": float(found.mean()) if len(found) else None,
            "found off surface": float(found[off_surface].mean()) if off_surface.any() else None,
        }


def found_knowing_the_scan(scan: Floats, outliers: Floats) -> Mask:
    """Return which outliers a rule finds that knows the scan without them and removes 3 % of its points.

    A point is removed where its distance from the nearest other point of the scan, or from the plane through the
    nearest ten, exceeds a limit. Of the limits that remove 3 % of the scan, those are taken that find the most.
    """
    tree = _core.Tree(scan, 1)
    nearest, height = _distances_from_surface(tree, scan, scan, itself=True)
    outlier_nearest, outlier_height = _distances_from_surface(tree, scan, outliers, itself=False)
    best = np.zeros(len(outliers), bool)
    for share in np.linspace(0, LITTLE, 7):
        farthest = np.quantile(nearest, 1 - share)
        kept = nearest <= farthest
        left = LITTLE - np.mean(~kept)
        highest = np.quantile(height[kept], 1 - max(left, 0) / kept.mean())
        found = (outlier_nearest > farthest) | (outlier_height > highest)
        if found.sum() > best.sum():
            best = found
    return best


def _distances_from_surface(tree: _core.Tree, scan: Floats, points: Floats, itself: bool) -> tuple[Floats, Floats]:
    """Of each point, from the nearest point of the scan and from the plane through the nearest ten; not from itself."""
    if not len(points):
        return np.zeros(0), np.zeros(0)
    indices, squared = (table[:, int(itself) :] for table in tree.nearest(points, REFERENCE_NEIGHBOURS + itself, 1))
    centre = scan[indices].mean(axis=1)
    offsets = scan[indices] - centre[:, None]
    normals = np.linalg.eigh(np.einsum("nki,nkj->nij", offsets, offsets))[1][:, :, 0]
    return np.sqrt(squared[:, 0]), np.abs(np.einsum("ni,ni->n", points - centre, normals))


def tables(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each filter, kind and ratio of outliers, in percent, and the scans with the fewest found."""
    as_they_are = [
        {
            "filter": name,
            "scans": len(lost),
            "lost, median (%)": _percent(np.median(lost)),
            "lost, 95 % (%)": _percent(np.quantile(lost, 0.95)),
            "lost, at worst (%)": _percent(lost.max()),
            "scans that lose over 3 %": int((lost > LITTLE).sum()),
        }
        for name, lost in _by_filter(rows, "none", 0.0, "lost")
    ]
    corrupted = [
        {
            "outliers": kind,
            "for each point": ratio,
            "filter": name,
            "found, median (%)": _percent(np.median(found)),
            "found, at worst (%)": _percent(found.min()),
            "off the surface, at worst (%)": _percent(_column(rows, name, kind, ratio, "found off surface").min()),
            "lost, median (%)": _percent(np.median(lost := _column(rows, name, kind, ratio, "lost"))),
            "lost, at worst (%)": _percent(lost.max()),
        }
        for kind, ratio in sorted({(row["outliers"], row["ratio"]) for row in rows if row["ratio"] > 0})
        for name, found in _by_filter(rows, kind, ratio, "found")
    ]
    ours = [row for row in rows if row["filter"] == OURS and row["found"] is not None]
    attainable = {
        (row["cloud"], row["outliers"], row["ratio"]): row["found"] for row in rows if row["filter"] == REFERENCE
    }
    worst = [
        {
            "scan": row["cloud"],
            "outliers": row["outliers"],
            "for each point": row["ratio"],
            **{f"{column} (%)": _percent(row[column]) for column in ("found", "found off surface", "lost")},
            f"found {REFERENCE} (%)": _percent(attainable[row["cloud"], row["outliers"], row["ratio"]]),
        }
        for row in sorted(ours, key=lambda row: float(row["found"]))[:WORST]
    ]
    return {
        "Scans as they are": as_they_are,
        "Scans with outliers": corrupted,
        f"Where {OURS} finds the fewest outliers": worst,
    }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    made = tables(rows)
    return [
        "lost: share of the scan's own points that is removed; found: share of the outliers that is removed; off the "
        f"surface: of those farther than {ON_SURFACE:g} spacings from the scan's points",
        f"{REFERENCE}: found by limits on the distances from the nearest point of the scan without outliers and from "
        f"the plane through its nearest {REFERENCE_NEIGHBOURS}, chosen on each scan to take {100 * LITTLE:g} % of it",
        *(
            f"{line['filter']}: {line['lost, median (%)']:g} % of a scan without outliers is lost in the median of "
            f"{line['scans']}, {line['lost, at worst (%)']:g} % at worst"
            for line in made["Scans as they are"]
        ),
    ]


def _by_filter(rows: Sequence[dict[str, Any]], kind: str, ratio: float, column: str) -> Iterator[tuple[str, Floats]]:
    for name in (*FILTERS, REFERENCE):
        values = _column(rows, name, kind, ratio, column)
        if len(values):
            yield name, values


def _column(rows: Sequence[dict[str, Any]], name: str, kind: str, ratio: float, column: str) -> Floats:
    mine = [row[column] for row in rows if (row["filter"], row["outliers"], row["ratio"]) == (name, kind, ratio)]
    return np.array([value for value in mine if value is not None], float)


def _percent(share: float) -> float:
    return round(100 * float(share), 1)


@cache
def _has_open3d() -> bool:
    try:
        import_module("open3d")
    except ImportError:
        return False
    return True


def _open3d(points: Floats, run: Callable[[Any], tuple[Any, list[int]]]) -> Mask:
    open3d = import_module("open3d")
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    kept = np.zeros(len(points), bool)
    kept[np.asarray(run(cloud)[1], int)] = True
    return kept


def _spacing(points: Floats) -> float:
    """Median distance to the nearest other point."""
    nearest = points[neighbour_graph(points, 2).neighbours[:, 0]]
    return float(np.median(np.linalg.norm(points - nearest, axis=1)))


def _distances(points: Floats, others: Floats) -> Floats:
    if not len(others):
        return np.zeros(0)
    return np.asarray(np.sqrt(_core.Tree(points, 1).nearest(others, 1, 1)[1][:, 0]))

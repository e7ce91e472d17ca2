"""Pairs of scans that methods are measured on, with the ground truth and what counts as correct.

Pairs have names: those of pairs.json; `synthetic_hare_30`, a synthetic hare scanned twice, 30 degrees apart;
`synthetic_hare_copy` and `bunny_copy`, a scan and a copy of it; `synthetic_lid`, the lid of a synthetic pot.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench import pot
from graphreg.bench.initial_poses import diagonal
from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.errors import FileError, InputError
from graphreg.files import read
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector

PREFIX = "synthetic_"
# Synthetic pairs of all kinds; the number is degrees, or metres on the street, between the two viewpoints.
SYNTHETIC = (
    *(f"{PREFIX}{body}_{apart}" for body in ("dragon", "hare", "hand", "casting") for apart in (30, 60)),
    f"{PREFIX}room_40",
    f"{PREFIX}facade_60",
    f"{PREFIX}street_5",
    f"{PREFIX}street_10",
)
SYNTHETIC_LID = f"{PREFIX}lid"
KINDS = {"room": "indoor", "facade": "tls", "street": "lidar"}
# Approximate number of points of a synthetic scan in a quick run.
QUICK_POINTS = {"object": 4_000, "indoor": 10_000, "tls": 10_000, "lidar": 20_000}
# Largest rotation error (degrees) and RMSD (metres) of a correct registration; RMSD of objects as a share of the size.
MAX_DEGREES = {"object": 2.0, "indoor": 5.0, "tls": 2.0, "lidar": 2.0}
MAX_METRES = {"indoor": 0.2, "tls": 0.3, "lidar": 0.6}
MAX_SHARE = 0.01
# Voxels of other libraries for synthetic scans, in a diagonal of the target.
VOXELS_IN_DIAGONAL = 200
# Accuracy of the ground truth of real pairs in degrees, by how pairs.json describes it. The terrestrial scans close a
# loop to 0.036. The other two are our own estimates, each from a pair or two (dragon 24 to 0, bunny 045 to 000; frame 1
# to 0): our method and GICP agree to 0.01 to 0.02, and both differ from the ground truth by that much. They may share
# an error.
TRUTH_ACCURACY = {"exact": 0.0, "official": 0.07, "pseudo": 0.036, "SemanticKITTI": 0.05}
# Single scans, to be registered to a copy of themselves.
COPIES = {"bunny_copy": "stanford_bunny/bun000.ply"}
# Pairs whose ground truth is the product of two others'.
COMPOSED = {
    "eth_facade_4_to_2": ("eth_facade_3_to_2", "eth_facade_4_to_3"),
    "eth_facade_5_to_3": ("eth_facade_4_to_3", "eth_facade_5_to_4"),
}


@dataclass(frozen=True)
class Axis:
    """Axis of a body of revolution in the target's frame; rotations about it change nothing."""

    point: Floats
    direction: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Pair:
    """Two scans, the transform between them, and what counts as correct.

    Attributes
    ----------
    name : str
        Name of the pair.
    kind : str
        "object", "indoor", "tls" (a scanner on a tripod) or "lidar" (one on a car).
    source, target : (N, 3) array
        Points of the scans.
    truth : (4, 4) array
        Ground truth T_target_source.
    max_degrees : float
        Largest rotation error of a correct registration.
    tolerance : float
        Largest RMSD of a correct registration, in the unit of the data.
    voxel : float
        Voxel size for libraries that need one.
    axis : Axis, optional
        Axis of a source that is a body of revolution.
    truth_accuracy : float, default 0
        Accuracy of the ground truth in degrees; 0: exact.
    """

    name: str
    kind: str
    source: Floats
    target: Floats
    truth: Floats
    max_degrees: float
    tolerance: float
    voxel: float
    axis: Axis | None = None
    truth_accuracy: float = 0.0

    def nearest_truth(self, found: Floats) -> Floats:
        """Return the ground truth; for a body of revolution, the equivalent one that is nearest to `found`."""
        if self.axis is None:
            return self.truth
        # Rodrigues' formula in the trace of R^T between, which is largest where R is nearest to it.
        direction, between = self.axis.direction, found[:3, :3] @ self.truth[:3, :3].T
        twist = [between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]]
        angle = np.arctan2(direction @ twist, np.trace(between) - direction @ between @ direction)
        rotation = rotation_from_vector(angle * direction)
        return pose(rotation, self.axis.point - rotation @ self.axis.point) @ self.truth

    def errors(self, found: Floats) -> tuple[float, float]:
        """Return the rotation error in degrees, and the RMSD over its tolerance."""
        truth = self.nearest_truth(found)
        return angular_error(found, truth), rmsd(found, truth, self.source) / self.tolerance

    def is_correct(self, degrees: float, rmsd_of_tolerance: float) -> bool:
        """Return whether errors are within the tolerances."""
        return degrees <= self.max_degrees and rmsd_of_tolerance <= 1


def kinds_of(data: Path | None) -> dict[str, str]:
    """Return {name: kind} of the pairs of pairs.json, or without a folder of data, of the synthetic ones."""
    if data is None:
        return {name: synthetic_kind(name) for name in SYNTHETIC}
    return {entry["name"]: entry["kind"] for entry in entries_of(data)}


def synthetic_kind(name: str) -> str:
    """Return the kind of a synthetic pair."""
    return KINDS.get(name.split("_")[1], "object")


def points_of(name: str, quick: bool) -> int | None:
    """Return the number of points to ask of synthetic scans; None for as many as the sensor delivers."""
    # The pot costs next to nothing, and with few points its lid is too smooth to be distinguished from its body.
    few = quick and name.startswith(PREFIX) and name != SYNTHETIC_LID
    return QUICK_POINTS[synthetic_kind(name)] if few else None


def select(kinds: dict[str, str], patterns: str) -> dict[str, str]:
    """Select pairs whose names match one of the shell patterns, which are separated by commas."""
    found = {name: kind for name, kind in kinds.items() if any(fnmatch(name, one) for one in patterns.split(","))}
    if not found:
        raise InputError(f"pairs: {patterns!r} matches none of {', '.join(kinds)}")
    return found


@lru_cache(maxsize=32)
def pair_of(name: str, data: Path | None, points: int | None = None, seed: int = 0) -> Pair:
    """Load or synthesise a pair by its name.

    Parameters
    ----------
    name : str
        Name of the pair.
    data : Path or None
        Folder with pairs.json; not needed for synthetic pairs.
    points : int, optional
        Approximate number of points of synthetic scans.
    seed : int, default 0
        Seed of synthetic scans: noise, losses and positions of the scanner.

    Raises
    ------
    FileError
        If pairs.json has no such pair.
    """
    if name == SYNTHETIC_LID:
        return _exact_pair(name, *pot.lid_and_pot(points), axis=Axis(np.zeros(3), np.array([0.0, 0.0, 1.0])))
    if name.startswith(PREFIX):
        _, subject, apart = name.split("_")
        if apart == "copy":
            scan = synthetic.scan(subject, points=points, seed=seed).points
            return _exact_pair(name, scan, scan, np.eye(4))
        scans = synthetic.pair(subject, float(apart), points=points, seed=seed)
        return _exact_pair(name, scans.source, scans.target, scans.T_target_source)
    assert data is not None
    if name in COPIES:
        scan = read(data / COPIES[name])
        return _exact_pair(name, scan, scan, np.eye(4))
    first, last = COMPOSED.get(name, (name, name))
    known = {entry["name"]: entry for entry in entries_of(data)}
    for part in (first, last):
        if part not in known:
            raise FileError(data / "pairs.json", f"has no pair {part!r}")
    if name not in COMPOSED:
        return listed_pair(known[name], data)
    truth = np.array(known[first]["T_target_source"]) @ np.array(known[last]["T_target_source"])
    composed = {**known[first], "name": name, "source": known[last]["source"], "T_target_source": truth}
    return listed_pair(composed, data)


def listed_pair(entry: dict[str, Any], data: Path) -> Pair:
    """Load the pair of an entry of pairs.json, or of another list of that form."""
    target = read(data / entry["target"])
    symmetry = entry.get("symmetry_axis")
    described = entry.get("ground_truth", "")
    return Pair(
        name=entry["name"],
        kind=entry["kind"],
        source=read(data / entry["source"]),
        target=target,
        truth=np.array(entry["T_target_source"]),
        max_degrees=entry["max_rotation_error_deg"],
        tolerance=entry["max_rmsd"] or MAX_SHARE * diagonal(target),
        voxel=entry["peer_voxel"],
        axis=None if symmetry is None else Axis(np.array(symmetry["point"]), np.array(symmetry["direction"])),
        truth_accuracy=next((degrees for what, degrees in TRUTH_ACCURACY.items() if described.startswith(what)), 0.0),
    )


def entries_of(data: Path, name: str = "pairs.json") -> list[dict[str, Any]]:
    """Read pairs.json, or another list of that form.

    Raises
    ------
    FileError
        If it is no JSON text.
    """
    path = data / name
    try:
        entries: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise FileError(path, "is no JSON text") from problem
    return entries


def _exact_pair(name: str, source: Floats, target: Floats, truth: Floats, axis: Axis | None = None) -> Pair:
    """A pair whose ground truth is exact."""
    kind, size = synthetic_kind(name), diagonal(target)
    return Pair(
        name=name,
        kind=kind,
        source=source,
        target=target,
        truth=truth,
        max_degrees=MAX_DEGREES[kind],
        tolerance=MAX_METRES.get(kind, MAX_SHARE * size),
        voxel=size / VOXELS_IN_DIAGONAL,
        axis=axis,
    )

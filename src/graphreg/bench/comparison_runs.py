"""Runs of the comparison: every method on the same pair, from the same initial pose.

Every method gets the clouds in their initial pose and no other hint. Local methods first align the centroids, as the
paper's reference implementation does; local methods of other libraries start from the initial pose. Methods that need a
voxel size get one that suits the clean scans, and so do not suffer from outliers that enlarge the bounding box.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.corruption import CLEAN, Corruption
from graphreg.bench.initial_poses import initial_poses, rotation_about_centroid
from graphreg.bench.pairs import PREFIX, Pair, pair_of
from graphreg.bench.peers import PEERS, installed
from graphreg.clouds import Floats
from graphreg.errors import InputError, MissingExtraError
from graphreg.metrics import rmsd
from graphreg.poses import transform
from graphreg.registration import methods, run_method

Row = Mapping[str, Any]

OURS = "graphreg"
# Fields of a row; "seconds" is the time of the whole call.
ROTATION_ERROR, REGISTRATION_TIME = "rotation error (deg)", "registration (s)"
# These clean and downsample on their own, and get no voxel size.
PREPROCESSING_METHODS = ("graphreg", "graphreg-paper", "pipl")
# Voxels along the longer cloud for the methods that need a voxel size, as by their own defaults on clean scans; and how
# much larger the voxels of the methods are that visit all pairs of points.
VOXELS_ALONG_CLOUD = 200
COARSER = {"cpd": 2, "ecm": 2}
# Stages outside the registration itself, which is all that the paper's times count.
OTHER_STAGES = ("preprocess", "describe", "judge", "total")
# Fields of a row that a run without a result does not have.
MEASURED = (
    "kind",
    "correct",
    ROTATION_ERROR,
    "rmsd",
    "rmsd / tolerance",
    "seconds",
    REGISTRATION_TIME,
    "truth accuracy (deg)",
)


@dataclass(frozen=True)
class Run:
    """One method on one pair, once.

    Attributes
    ----------
    pair : str
        Name of the pair.
    method : str
        Name of the method.
    seed : int, default 0
        Seed of the method, of the corruption and of synthetic scans.
    corruption : Corruption, default CLEAN
        What is done to both scans.
    points : int, optional
        Approximate number of points of synthetic scans; None for as many as the sensor delivers.
    initial_pose : int, default 0
        Number of the initial pose of the source: 0 as scanned, then random ones.
    initial_rotation : tuple of three floats, default zeros
        Degrees by which the source is then rotated about the x, y and z axes through its centroid, in this order.
    settings : tuple of (str, value), default empty
        Settings of the method.
    """

    pair: str
    method: str
    seed: int = 0
    corruption: Corruption = CLEAN
    points: int | None = None
    initial_pose: int = 0
    initial_rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def cell(self) -> Any:
        """Runs of a method with equal cells are summarised by one figure of the tables."""
        return self.pair, self.corruption.name, self.settings


@dataclass(frozen=True)
class Attempt:
    """What a method made of two clouds.

    Attributes
    ----------
    found : (4, 4) array
        T_target_source; the identity where the method raised an exception.
    seconds : float
        Time of the whole call.
    stages : dict of str to float
        Seconds of each stage; empty for other libraries.
    exception : str
        The exception, or "".
    """

    found: Floats
    seconds: float
    stages: dict[str, float]
    exception: str

    @property
    def registration_seconds(self) -> float | None:
        """Time of the registration itself, where the stages are known."""
        stages = [seconds for stage, seconds in self.stages.items() if stage not in OTHER_STAGES]
        return sum(stages) if self.stages else None


def methods_of(names: str | None, peers: bool) -> list[str]:
    """Return the methods to measure.

    Parameters
    ----------
    names : str or None
        Names separated by commas; None for all of graphreg's.
    peers : bool
        Whether all methods include those of other libraries that are installed.

    Raises
    ------
    MissingExtraError
        If the library of a method is not installed.
    InputError
        If there is no method of that name.
    """
    available = installed(PEERS)
    if names is None:
        return [*methods(), *(available if peers else ())]
    asked = names.split(",")
    for name in asked:
        if name in PEERS and name not in available:
            raise MissingExtraError(f"the method {name}", "peers")
        if name not in (*methods(), *PEERS):
            raise InputError(f"methods: {name!r} is none of {', '.join((*methods(), *PEERS))}")
    return list(dict.fromkeys(asked))


def attempt(
    method: str, source: Floats, target: Floats, pair: Pair, seed: int, settings: Mapping[str, Any] | None = None
) -> Attempt:
    """Register once. An exception is a failure of the method, and counts as one.

    Parameters
    ----------
    method : str
        Name of the method, or of another library's.
    source, target : (N, 3) array
        Clouds in their initial pose.
    pair : Pair
        The pair without corruption, for the voxel size.
    seed : int
        Seed of the method.
    settings : mapping, optional
        Settings of the method.
    """
    peer = installed(PEERS).get(method)
    arguments = dict(settings or {})
    if method not in PREPROCESSING_METHODS and peer is None:
        arguments["voxel"] = arguments.get("voxel", _voxel(pair)) * COARSER.get(method, 1)
    stages: dict[str, float] = {}
    began = time.perf_counter()
    try:
        if peer is not None:
            found = np.asarray(peer.run(source.copy(), target.copy(), arguments.get("voxel", pair.voxel), pair.kind))
        else:
            result = run_method(source, target, method, arguments, seed=seed)
            found = result.transformation
            stages = {stage: round(seconds, 6) for stage, seconds in result.timings.items()}
        if found.shape != (4, 4) or not np.isfinite(found).all():
            raise ArithmeticError("the transform is not finite")
        exception = ""
    except Exception as failure:
        found, exception = np.eye(4), f"{type(failure).__name__}: {failure}"
    return Attempt(np.asarray(found, np.float64), time.perf_counter() - began, stages, exception)


def measure(run: Run, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the row of a run."""
    yield row_of(run, *outcome_of(run, data))


def outcome_of(run: Run, data: Path | None) -> tuple[Pair, Attempt, Floats]:
    """Return the pair, what the method did, and T_target_source from the pose as scanned."""
    pair = pair_of(run.pair, data, run.points, run.seed if run.pair.startswith(PREFIX) else 0)
    source = run.corruption.apply(pair.source, 2 * run.seed)
    target = run.corruption.apply(pair.target, 2 * run.seed + 1)
    *_, start = initial_poses(pair.name, pair.kind, pair.source, run.initial_pose + 1)
    start = rotation_about_centroid(transform(start, pair.source), run.initial_rotation) @ start
    attempted = attempt(run.method, transform(start, source), target, pair, run.seed, dict(run.settings))
    return pair, attempted, attempted.found @ start


def row_of(run: Run, pair: Pair, attempted: Attempt, found: Floats) -> dict[str, Any]:
    """Return the row of a run that was made."""
    degrees, distance = pair.errors(found)
    return {
        **_description(run),
        "kind": pair.kind,
        "correct": not attempted.exception and pair.is_correct(degrees, distance),
        ROTATION_ERROR: degrees,
        "rmsd": rmsd(found, pair.nearest_truth(found), pair.source),
        "rmsd / tolerance": distance,
        "seconds": attempted.seconds,
        REGISTRATION_TIME: attempted.registration_seconds,
        "truth accuracy (deg)": pair.truth_accuracy,
        "exception": attempted.exception,
        "stages": attempted.stages,
    }


def left_out(run: Run, why: str) -> dict[str, Any]:
    """Return the row of a run that was not made."""
    return {**_description(run), **dict.fromkeys(MEASURED), "exception": why, "stages": {}}


def completed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of runs that were made."""
    return [row for row in rows if row["correct"] is not None]


def _description(run: Run) -> dict[str, Any]:
    return {
        "pair": run.pair,
        "corruption": run.corruption.name,
        "initial pose": run.initial_pose,
        "initial rotation (deg)": list(run.initial_rotation),
        "settings": ", ".join(f"{name} {value}" for name, value in run.settings),
        "method": run.method,
        "seed": run.seed,
    }


def _voxel(pair: Pair) -> float:
    longest = max(np.ptp(cloud, axis=0).max() for cloud in (pair.source, pair.target))
    return float(longest / VOXELS_ALONG_CLOUD)

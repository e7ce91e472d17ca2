"""What each part of the published method contributes: masses from the response, charges from the invariants.

Every pair is registered from the pose it was scanned in, with each part and without, by several seeds. On scans that we
make, the start is the truth turned by twenty degrees.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.datasets import synthetic
from graphreg.files import read
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import pose, rotation_from_vector
from graphreg.registration import register

TITLE = "The parts of the published method"
SEEDS = 10
MADE = ("dragon", "hare", "hand", "casting")
VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "without masses": {"masses": False},
    "without charges": {"charges": False},
    "without both": {"masses": False, "charges": False},
}


@dataclass(frozen=True)
class Job:
    pair: str
    data: Path | None


@dataclass(frozen=True)
class Axis:
    """What a body of revolution can be turned about without a difference, in the target's frame."""

    point: Floats
    direction: Floats


@dataclass(frozen=True)
class Scans:
    source: Floats
    target: Floats
    truth: Floats
    start: Floats | None = None
    axis: Axis | None = None

    def truth_for(self, found: Floats) -> Floats:
        """The truth; of a body of revolution the one of all true motions that turns it as `found` does."""
        if self.axis is None:
            return self.truth
        # Rodrigues' formula in the trace of R^T between, which is largest where R is nearest to it.
        direction, between = self.axis.direction, found[:3, :3] @ self.truth[:3, :3].T
        twist = [between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]]
        angle = np.arctan2(direction @ twist, np.trace(between) - direction @ between @ direction)
        turn = rotation_from_vector(angle * direction)
        return pose(turn, self.axis.point - turn @ self.axis.point) @ self.truth


def jobs(data: Path | None) -> list[Job]:
    names = [] if data is None else [entry["name"] for entry in json.loads((data / "pairs.json").read_text())]
    return [Job(name, data) for name in (*names, *MADE)]


def measure(job: Job) -> Iterator[dict[str, Any]]:
    scans = scans_of(job.pair, job.data)
    for variant, settings in VARIANTS.items():
        results = [
            register(scans.source, scans.target, method="graphreg-paper", init=scans.start, seed=seed, **settings)
            for seed in range(SEEDS)
        ]
        motions = [result.transformation for result in results]
        angles = [angular_error(motion, scans.truth_for(motion)) for motion in motions]
        distances = [rmsd(motion, scans.truth_for(motion), scans.source) for motion in motions]
        yield {
            "pair": job.pair,
            "variant": variant,
            "median degrees": float(np.median(angles)),
            "worst degrees": max(angles),
            "under 1 degree": sum(angle < 1 for angle in angles),
            "median rmsd": float(np.median(distances)),
            "called registered": sum(result.success for result in results),
            "register s": float(np.median([result.timings["register"] for result in results])),
            "degrees": [round(angle, 4) for angle in angles],
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [
        f"{SEEDS} seeds a pair; 100 iterations; error of the rotation, of the lid apart from turns about its axis; "
        "`called registered` is our own verdict"
    ]
    whole = {row["pair"]: row for row in rows if row["variant"] == "as published"}
    for variant in VARIANTS:
        if variant == "as published":
            continue
        mine = {row["pair"]: row for row in rows if row["variant"] == variant}
        # Logarithms, so that a pair with large errors does not speak for all.
        ratios = np.array([np.mean(np.log(mine[name]["degrees"]) - np.log(whole[name]["degrees"])) for name in whole])
        middle, low, high = np.exp(_interval(ratios))
        wins = sum(mine[name]["under 1 degree"] for name in whole), sum(r["under 1 degree"] for r in whole.values())
        lines.append(
            f"{variant}: errors are {middle:.2f} times as large (95 % interval over pairs {low:.2f} to {high:.2f}); "
            f"{wins[0]} of {SEEDS * len(whole)} runs end under 1 degree, against {wins[1]}"
        )
    return lines


def _interval(values: Floats) -> Floats:
    """Mean, and where 95 % of the means of pairs drawn again lie."""
    draws = np.random.default_rng(0).integers(0, len(values), (10_000, len(values)))
    return np.array([values.mean(), *np.quantile(values[draws].mean(axis=1), [0.025, 0.975])])


@lru_cache(maxsize=1)
def scans_of(name: str, data: Path | None) -> Scans:
    """A pair by its name: one that we make, or one of pairs.json."""
    if name in MADE:
        made = synthetic.pair(name, 20.0)
        turn = pose(rotation_from_vector(np.radians([12.0, -12.0, 10.0])), np.zeros(3))
        centre = made.target.mean(axis=0)
        about = pose(np.eye(3), centre) @ turn @ pose(np.eye(3), -centre)
        return Scans(made.source, made.target, made.T_target_source, about @ made.T_target_source)
    assert data is not None
    entry = next(e for e in json.loads((data / "pairs.json").read_text()) if e["name"] == name)
    source, target = (read(data / entry[end]) for end in ("source", "target"))
    symmetry = entry.get("symmetry_axis")
    axis = None if symmetry is None else Axis(np.array(symmetry["point"]), np.array(symmetry["direction"]))
    return Scans(source, target, np.array(entry["T_target_source"]), axis=axis)

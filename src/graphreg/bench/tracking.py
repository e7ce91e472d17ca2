"""Confidence of tracked frames, against the truth and beside the verdict of the engine.

On synthetic walks each frame is tracked on the map of the frames before it: from good guesses, from wrong ones and from
the poses of earlier frames; and so are frames of another place, for which no pose is right. The constants of the
confidence are fitted to some walks and checked on others, some of them through a scene that no fit has seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.bench.calibration import area_under_roc, logistic, logistic_regression
from graphreg.bench.comparison_runs import Row
from graphreg.bench.measured_parts import MULTISCAN, SYNTHETIC_SCANS
from graphreg.bench.sequences import every_fourth_ring
from graphreg.clouds import Floats
from graphreg.datasets import city_routes, synthetic
from graphreg.multiscan.tracking import TRACKING, FrameVoxels, SurfelTracker, displacement, tracking_features
from graphreg.poses import inverse, pose, rotation_from_vector
from graphreg.registration import register

TITLE = "Confidence of tracked frames"
PARTS = (*MULTISCAN, *SYNTHETIC_SCANS)
STREET, SPARSE, DISTORTED, HALL, CITY = "street", "street, 16 rings", "street, distorted", "hall", "city"
# Of each walk: metres or degrees from frame to frame, and points of a scan.
WALKS = {STREET: (1.0, 24_000), SPARSE: (1.0, 48_000), DISTORTED: (1.0, 20_000), HALL: (4.0, 12_000)}
UNSEEN = {CITY: (1.0, 15_000)}
# Variants of the scenes that constants are fitted to, and those that they are checked on.
FITTED, CHECKED, QUICK = (1, 2, 3), (4, 5, 6), (1, 4)
FRAMES, FIRST = 10, 3
# A pose is right if it moves the points of the frame by less than this on average, in voxels.
LARGEST_ERROR = 0.3
GOOD, WRONG, EARLIER, ELSEWHERE = "good guess", "wrong guess", "an earlier frame's pose", "another place"
GOOD_GUESSES, WRONG_GUESSES, EARLIER_FRAMES = 2, 6, (1, 2, 3)
# Standard deviations of good guesses (voxels, radians); largest errors of wrong ones; errors of the map's poses.
GOOD_ERROR, WRONG_ERROR, MAP_ERROR = (0.15, 0.003), (6.0, 0.06), (0.02, 0.0003)
# Of a tracked frame, what its confidence follows from.
FIGURES = ("overlap", "inliers", "correspondences", "support", "information")
# The engine judges every n-th of them.
ENGINE_EVERY = 10


@dataclass(frozen=True)
class Walk:
    """A walk through a synthetic scene.

    Attributes
    ----------
    scene : str
    variant : int
        Of the scene, and seed.
    fitted : bool
        Whether constants are fitted to it.
    """

    scene: str
    variant: int
    fitted: bool


def jobs(data: Path | None, quick: bool = False) -> list[Walk]:
    """Return the walks."""
    if quick:
        return [Walk(HALL, variant, variant in FITTED) for variant in QUICK]
    return [
        *(Walk(scene, variant, True) for scene in WALKS for variant in FITTED),
        *(Walk(scene, variant, False) for scene in (*WALKS, *UNSEEN) for variant in CHECKED),
    ]


def measure(walk: Walk, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each frame and guess."""
    rng = np.random.default_rng([walk.variant, 41])
    frames, truth = _frames(walk)
    # Rooms are all alike, so that a street is the other place.
    elsewhere, _ = _frames(Walk(STREET if walk.scene == HALL else walk.scene, walk.variant + 100, walk.fitted), 1)
    tracker = SurfelTracker(frames[0])
    number = 0
    for k, (points, true) in enumerate(zip(frames, truth, strict=True)):
        voxels = tracker.voxels_of(points)
        if k >= FIRST:
            guesses = list(_guesses(rng, truth, k, tracker.voxel))
            foreign = tracker.voxels_of(elsewhere[0])
            cases = [(kind, points, voxels, guess) for kind, guess in guesses]
            cases += [(ELSEWHERE, elsewhere[0], foreign, guess) for kind, guess in guesses if kind == GOOD]
            for kind, some, grouped, guess in cases:
                yield {
                    "scene": walk.scene, "variant": walk.variant, "fitted": walk.fitted, "frame": k, "guess": kind,
                    **_tracked(tracker, grouped, guess, None if kind == ELSEWHERE else true),
                    **_by_engine(
                        some, frames[k - 1], inverse(truth[k - 1]) @ guess,
                        None if kind == ELSEWHERE else inverse(truth[k - 1]) @ true, tracker.voxel,
                        number % ENGINE_EVERY == 0,
                    ),
                }  # fmt: skip
                number += 1
        tracker.insert(voxels, true @ _error(rng, MAP_ERROR[0] * tracker.voxel, MAP_ERROR[1]))


def tables(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the verdicts by kind of walk and guess, and the constants in use beside those fitted."""
    fitted = fit(rows)
    groups = {
        "fitted to": [row for row in rows if row["fitted"]],
        **{scene: [row for row in _checked(rows) if row["scene"] == scene] for scene in _scenes(rows)},
        **{guess: [row for row in _checked(rows) if row["guess"] == guess] for guess in _guess_kinds(rows)},
        "all that were not fitted": _checked(rows),
    }
    verdicts = []
    for name, some in groups.items():
        called = [row for row in some if row["tracked"]]
        judged = [row for row in some if row["engine"] is not None]
        verdicts.append(
            {
                "frames": name,
                "tracked from guesses": len(some),
                "right": sum(row["right"] for row in some),
                "called": len(called),
                "wrong of these": sum(not row["right"] for row in called),
                "least confidence of these": min((row["confidence"] for row in called), default=None),
                "largest of a wrong pose": max((row["confidence"] for row in some if not row["right"]), default=None),
                "area under ROC": area_under_roc([row["confidence"] for row in some], [row["right"] for row in some]),
                "the engine, of": len(judged),
                "called by it": sum(row["engine"] for row in judged),
                "wrong of those": sum(row["engine"] and not row["engine right"] for row in judged),
                "called by tracking, of these": sum(row["tracked"] for row in judged),
            }
        )
    terms = ("constant", *_features(rows[0]))
    constants = [
        {"term": term, "in use": used, "fitted": float(value)}
        for term, used, value in zip(terms, TRACKING.logit, fitted, strict=True)
    ]
    return {"Verdicts": verdicts, "Calibration": _calibration(_checked(rows)), "Constants": constants}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return statements about the results, one a line."""
    by_name = {line["frames"]: line for line in tables(rows)["Verdicts"]}
    line = by_name["all that were not fitted"]
    with_fit = logistic(_predictors(_checked(rows)) @ fit(rows))
    wrong = sum(p >= TRACKING.success and not row["right"] for p, row in zip(with_fit, _checked(rows), strict=True))
    engine = [row["engine CPU (s)"] for row in rows if row["engine"] is not None]
    return [
        f"right: the points of the frame are off by less than {LARGEST_ERROR:g} voxels on average; called: tracked, "
        f"with a confidence of at least {TRACKING.success:g}, and by all other rules",
        f"walks that no constant was fitted to: {line['called']} of {line['tracked from guesses']} called, "
        f"{line['wrong of these']} of these wrong; area under the ROC curve {line['area under ROC']:.4f}; by the "
        f"confidence alone, with the constants fitted now, {wrong} wrong",
        f"the engine, from the same guesses to the frame before: {line['called by it']} of {line['the engine, of']} "
        f"called, {line['wrong of those']} of these wrong; a frame takes "
        f"{1000 * float(np.median([row['CPU (s)'] for row in rows])):.1f} ms of processor time when tracked, "
        f"{1000 * float(np.median(engine)):.0f} ms by the engine",
    ]


def fit(rows: Sequence[Row]) -> Floats:
    """Fit the constants of the confidence to the walks that are for that."""
    some = [row for row in rows if row["fitted"]]
    return logistic_regression(_predictors(some), np.array([row["right"] for row in some], float))


def _predictors(rows: Sequence[Row]) -> Floats:
    return np.array([(1.0, *_features(row).values()) for row in rows])


def _features(row: Row) -> dict[str, float]:
    return tracking_features(**{name: row[name] for name in FIGURES})


def _checked(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if not row["fitted"]]


def _scenes(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["scene"] for row in _checked(rows)))


def _guess_kinds(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["guess"] for row in _checked(rows)))


def _calibration(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How many poses are right, by their confidence."""
    lines = []
    for low, high in ((0.0, 0.01), (0.01, 0.1), (0.1, 0.5), (0.5, 0.8), (0.8, 0.99), (0.99, 1.0)):
        some = [row for row in rows if low <= row["confidence"] < high or (high == 1.0 == row["confidence"])]
        if some:
            lines.append(
                {
                    "confidence from": low,
                    "to": high,
                    "poses": len(some),
                    "mean confidence": float(np.mean([row["confidence"] for row in some])),
                    "share of right poses": float(np.mean([row["right"] for row in some])),
                }
            )
    return lines


def _tracked(tracker: SurfelTracker, frame: FrameVoxels, guess: Floats, true: Floats | None) -> dict[str, Any]:
    began = time.process_time()
    found = tracker.track(frame, guess)
    seconds = time.process_time() - began
    error = None if true is None else displacement(frame.means, inverse(true) @ found.pose) / tracker.voxel
    figures = {name: getattr(found, name) for name in FIGURES}
    return {
        "right": error is not None and error < LARGEST_ERROR,
        "error (voxels)": error,
        "tracked": found.success,
        "confidence": found.confidence,
        **figures,
        "CPU (s)": seconds,
        "reason": found.reason,
    }


def _by_engine(
    points: Floats, before: Floats, guess: Floats, true: Floats | None, voxel: float, judged: bool
) -> dict[str, Any]:
    if not judged:
        return {"engine": None, "engine right": None, "engine CPU (s)": None}
    began = time.process_time()
    found = register(points, before, init=guess)
    seconds = time.process_time() - began
    right = true is not None and displacement(points, inverse(true) @ found.transformation) < LARGEST_ERROR * voxel
    return {"engine": found.success, "engine right": right, "engine CPU (s)": seconds}


def _guesses(rng: np.random.Generator, truth: Sequence[Floats], k: int, voxel: float) -> Iterator[tuple[str, Floats]]:
    """Kind and pose of each guess for a frame."""
    for _ in range(GOOD_GUESSES):
        yield GOOD, truth[k] @ _error(rng, GOOD_ERROR[0] * voxel, GOOD_ERROR[1])
    for _ in range(WRONG_GUESSES):
        yield WRONG, truth[k] @ _error(rng, rng.uniform(0, WRONG_ERROR[0] / 2) * voxel, rng.uniform(0, WRONG_ERROR[1]))
    for frames in EARLIER_FRAMES:
        yield EARLIER, truth[k - frames]


def _error(rng: np.random.Generator, distance: float, radians: float) -> Floats:
    """A random transform, with these standard deviations."""
    return pose(rotation_from_vector(radians * rng.normal(size=3)), distance * rng.normal(size=3))


def _frames(walk: Walk, count: int = FRAMES) -> tuple[list[Floats], list[Floats]]:
    """Points of each frame, and poses with respect to the first."""
    step, points = (WALKS | UNSEEN)[walk.scene]
    if walk.scene == CITY:
        route = city_routes.follow(
            length=FRAMES * step, step=step, points=points, variant=walk.variant, seed=walk.variant
        )
        scans = list(islice(route, count))
    else:
        # On other stretches of the street, so that no two walks see the same.
        scene, viewpoint = ("room", 0.0) if walk.scene == HALL else ("street", 3.0 * (walk.variant % 10))
        scans = list(
            synthetic.sequence(
                scene,
                count,
                step,
                viewpoint=viewpoint,
                points=points,
                variant=walk.variant,
                seed=walk.variant,
                distorted=walk.scene == DISTORTED,
            )
        )
    clouds = [every_fourth_ring(scan.points) if walk.scene == SPARSE else scan.points for scan in scans]
    return clouds, [inverse(scans[0].pose) @ scan.pose for scan in scans]

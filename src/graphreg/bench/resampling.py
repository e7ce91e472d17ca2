"""What resampling by the response keeps, and what the invariants see in two scans (Fig. resample, Fig. featVis).

The paper shows pictures. The figures beside them say how much more the points that are kept respond than all do, and
how well the invariants of two scans agree where they show the same place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import spearmanr

from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import CAMERA, SIZE
from graphreg.bench.pairs import Pair, pair_of, points_of
from graphreg.clouds import Floats
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import graph_invariants
from graphreg.features.response import inliers, intensity, resample
from graphreg.poses import principal_frame, transform
from graphreg.registration import register
from graphreg.reports.pictures import BLUE, GREY, ORANGE, Coloured, Image, colour_map, panels

TITLE = "Resampling and invariants"
PARTS = (*PAPER_METHOD, *SYNTHETIC_SCANS)
SCANNED = ("dragon_24_to_0", "bunny_045_to_000")
MADE = ("made_dragon_30", "made_hare_30")
QUICK = ("made_hare_30",)
SHARES = (0.5, 0.1, 0.01)
# Points of both scans show the same place if they are so close in the true pose, in spacings.
SAME = 0.5


@dataclass(frozen=True)
class Job:
    pair: str
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    pairs = QUICK if quick else (*(SCANNED if data is not None else ()), *MADE)
    return [Job(pair, points_of(pair, quick)) for pair in pairs]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    pair = pair_of(job.pair, data, job.points)
    response = intensity(pair.target)
    everything = float(np.median(response[inliers(pair.target)]))
    for share in SHARES:
        kept = resample(pair.target, share)
        yield {
            "pair": job.pair,
            "what": f"median response of the {share:.0%} kept, over that of all",
            "value": float(np.median(response[kept])) / everything,
        }
    together = _same_places(pair)
    for name, feature in (("response intensity", intensity), ("V_g", _variation)):
        mine, theirs = feature(pair.source), feature(pair.target)
        yield {
            "pair": job.pair,
            "what": f"rank correlation of both scans' {name} where they show the same place",
            "value": float(spearmanr(mine[together[:, 0]], theirs[together[:, 1]]).statistic),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [
        "response: how far a point stands off its neighbours; resampling keeps those that respond most, after outliers "
        "are gone",
        "rank correlation: 1 where both scans put their points in the same order, 0 where one says nothing of the "
        f"other; same place: within {SAME:g} spacings in the true pose",
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    names = QUICK if quick else SCANNED if data is not None else MADE
    first, last = (pair_of(name, data, points_of(name, quick)) for name in (names[0], names[-1]))
    return {"resampling": _resampled(first), "resampling_invariants": _invariants(last)}


def _resampled(pair: Pair) -> Image:
    upright = transform(principal_frame(pair.target), pair.target)
    scenes: list[list[Coloured]] = [[(upright, GREY)]]
    scenes += [[(upright[resample(pair.target, share)], BLUE)] for share in SHARES]
    captions = [f"M = {len(upright)}", *(f"{share:.0%} that respond most" for share in SHARES)]
    return panels(scenes, captions, CAMERA, SIZE, point_size=2.5)


def _invariants(pair: Pair) -> Image:
    frame = principal_frame(pair.target)
    found = register(pair.source, pair.target, method="graphreg-paper").transformation
    with np.errstate(divide="ignore"):
        levels = [np.log(_variation(cloud)) for cloud in (pair.source, pair.target)]
    bounds = np.quantile(np.concatenate([level[np.isfinite(level)] for level in levels]), [0.02, 0.98])
    colours = [colour_map(level, *bounds.tolist()) for level in levels]
    target = transform(frame, pair.target)
    scenes: list[list[Coloured]] = [
        [(transform(frame, pair.source), BLUE), (target, ORANGE)],
        [(transform(frame @ pair.truth, pair.source), colours[0])],
        [(target, colours[1])],
        [(transform(frame @ found, pair.source), BLUE), (target, ORANGE)],
    ]
    captions = ["as they lie", "V_g of the source, turned", "V_g of the target", "registered as published"]
    return panels(scenes, captions, CAMERA, SIZE)


def _variation(points: Floats) -> Floats:
    """V_g, which the invariants begin with."""
    return np.asarray(graph_invariants(neighbour_graph(points))[:, 0])


def _same_places(pair: Pair) -> NDArray[np.int64]:
    """Which points of source and target lie together in the true pose: (n, 2)."""
    tree = cKDTree(pair.target)
    spacing = float(np.median(np.asarray(tree.query(pair.target, 2)[0])[:, 1]))
    away, nearest = map(np.asarray, tree.query(transform(pair.truth, pair.source)))
    close = np.flatnonzero(away <= SAME * spacing)
    return np.stack([close, nearest[close]], axis=1)

"""What resampling by the response keeps, and the invariants of two scans (Fig. resample, Fig. featVis).

The paper shows pictures. Here figures stand beside them: how much larger the response of the kept points is than that
of all points, and how well the features of corresponding points of two scans agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from graphreg.bench.measured_parts import PAPER_METHOD, SYNTHETIC_SCANS
from graphreg.bench.pair_pictures import SCALE_BAR, SIZE, upright
from graphreg.bench.pairs import Pair, pair_of, points_of
from graphreg.clouds import Floats
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import graph_invariants
from graphreg.features.response import inliers, intensity, resample
from graphreg.poses import transform
from graphreg.registration import register
from graphreg.reports.pictures import BLUE, GREY, ORANGE, Coloured, Image, colour_map, panels
from graphreg.reports.previews import FRONT

TITLE = "Resampling and invariants"
PARTS = (*PAPER_METHOD, *SYNTHETIC_SCANS)
REAL = ("dragon_24_to_0", "bunny_045_to_000")
SYNTHETIC = ("synthetic_dragon_30", "synthetic_hare_30")
QUICK = ("synthetic_hare_30",)
SHARES = (0.5, 0.1, 0.01)
# Largest distance of corresponding points in the true pose, in point spacings of the target.
MAX_DISTANCE = 0.5


@dataclass(frozen=True)
class Job:
    """One pair of scans."""

    pair: str
    points: int | None


def jobs(data: Path | None, quick: bool = False) -> list[Job]:
    """Return the jobs."""
    pairs = QUICK if quick else (*(REAL if data is not None else ()), *SYNTHETIC)
    return [Job(pair, points_of(pair, quick)) for pair in pairs]


def measure(job: Job, data: Path | None) -> Iterator[dict[str, Any]]:
    """Yield a row for each figure."""
    pair = pair_of(job.pair, data, job.points)
    response = intensity(pair.target)
    everything = float(np.median(response[inliers(pair.target)]))
    for share in SHARES:
        kept = resample(pair.target, share)
        yield {
            "pair": job.pair,
            "figure": f"median response of the {share:.0%} kept, over that of all points",
            "value": float(np.median(response[kept])) / everything,
        }
    from scipy.stats import spearmanr  # a second to import, for every command and experiment

    corresponding = _corresponding_points(pair)
    for name, feature in (("response intensity", intensity), ("V_g", _variation)):
        of_source, of_target = feature(pair.source), feature(pair.target)
        yield {
            "pair": job.pair,
            "figure": f"rank correlation of {name} between corresponding points",
            "value": float(spearmanr(of_source[corresponding[:, 0]], of_target[corresponding[:, 1]]).statistic),
        }


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return statements about the results, one a line."""
    return [
        "response intensity: distance of a point from the mean of its neighbours; resampling removes outliers, then "
        "keeps the points of largest response",
        "rank correlation: Spearman's, 1 where both scans order their points alike, 0 without any relation; "
        f"corresponding: within {MAX_DISTANCE:g} point spacings in the true pose",
    ]


def pictures(data: Path | None, quick: bool) -> dict[str, Image]:
    """Return rendered scans by the names of their files."""
    names = QUICK if quick else REAL if data is not None else SYNTHETIC
    first, last = (pair_of(name, data, points_of(name, quick)) for name in (names[0], names[-1]))
    return {"resampling": _resampled(first), "resampling_invariants": _invariants(last)}


def _resampled(pair: Pair) -> Image:
    points = transform(upright(pair.target), pair.target)
    scenes: list[list[Coloured]] = [[(points, GREY)]]
    scenes += [[(points[resample(pair.target, share)], BLUE)] for share in SHARES]
    captions = [f"all {len(points):,} points", *(f"{share:.0%} of largest response" for share in SHARES)]
    return panels(scenes, captions, FRONT, SIZE, point_size=2.5, scale_bar=SCALE_BAR)


def _invariants(pair: Pair) -> Image:
    frame = upright(pair.target)
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
    captions = ["initial pose", "V_g of the source, aligned", "V_g of the target", "registered as published"]
    return panels(scenes, captions, FRONT, SIZE, scale_bar=SCALE_BAR)


def _variation(points: Floats) -> Floats:
    """V_g, the first of the invariants."""
    return np.asarray(graph_invariants(neighbour_graph(points))[:, 0])


def _corresponding_points(pair: Pair) -> NDArray[np.int64]:
    """Indices (n, 2) of points of source and target that coincide in the true pose."""
    tree = cKDTree(pair.target)
    spacing = float(np.median(np.asarray(tree.query(pair.target, 2)[0])[:, 1]))
    distance, nearest = map(np.asarray, tree.query(transform(pair.truth, pair.source)))
    close = np.flatnonzero(distance <= MAX_DISTANCE * spacing)
    return np.stack([close, nearest[close]], axis=1)

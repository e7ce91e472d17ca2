"""The response of each point to the graph: intensity, outliers, resampling (Def. 1, Thm. 1, Sec. III-B to III-D).

    I(x_i) = |x_i - sum_j A_ij x_j|^2

is what the Haar-like filter leaves of the coordinates: how far a point stands off the mean of its neighbours. It does
not change under rigid motion, it is large at edges and corners, and largest for points that belong to no surface.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats, Mask, as_cloud
from graphreg.errors import InputError
from graphreg.features.graphs import Graph, neighbour_graph


def intensity(points: Any, k: int = 10, threads: int | None = None) -> Floats:
    """The point response intensity I(x), in squared units of the data, one number for each row of `points`.

    Infinite for a point without a neighbour nearer than the farthest of its k (all at the same distance): it has no row
    in A. NaN for rows that are not finite.
    """
    cloud = as_cloud(points, "points")
    return cloud.restore(response_of(neighbour_graph(cloud, k, threads)), np.nan)


def inliers(points: Any, alpha: float = 5.2, k: int = 10, threads: int | None = None) -> Mask:
    """Which points to keep: those with I(x) <= alpha * MAD(I), the X84 rule. False for rows that are not finite.

    alpha = 5.2 is the paper's advice where nothing is known of the outliers. The rule also drops the sharpest edges,
    the rims of a scan, and parts that are far sparser than most of it (a lidar's distance): they stand off their
    neighbours as outliers do.
    """
    cloud = as_cloud(points, "points")
    graph = neighbour_graph(cloud, k, threads)
    return cloud.restore(within_x84(response_of(graph), alpha, rounding_of(graph.points)), False)


def resample(
    points: Any,
    fraction: float,
    *,
    method: Literal["top", "proportional"] = "top",
    alpha: float | None = 5.2,
    k: int = 10,
    seed: int = 0,
    threads: int | None = None,
) -> NDArray[np.int64]:
    """Choose the points that matter: indices into `points`, ascending.

    fraction  share of the points to choose, 0 < fraction <= 1; the paper takes 0.1 to 0.5
    method    "top": those with the highest response; "proportional": drawn without replacement, the chance of each in
              proportion to its response, so that flat parts are thinned out but not emptied
    alpha     points beyond alpha * MAD are outliers by the X84 rule and not chosen; None to choose among all
    seed      of the draw
    """
    if not 0 < fraction <= 1:
        raise InputError(f"fraction: expected more than 0 and at most 1, got {fraction!r}")
    if method not in ("top", "proportional"):
        raise InputError(f"method: expected 'top' or 'proportional', got {method!r}")
    cloud = as_cloud(points, "points")
    graph = neighbour_graph(cloud, k, threads)
    response = response_of(graph)
    eligible = np.arange(len(response))
    if alpha is not None:
        eligible = eligible[within_x84(response, alpha, rounding_of(graph.points))]
    count = min(len(eligible), max(1, round(fraction * len(response))))
    if method == "top":
        ranked = np.argsort(-response[eligible], kind="stable")
    else:
        # A race in which the waiting time of each is exponential, at a rate of its response: the first to arrive are a
        # draw without replacement. Those without any response arrive last.
        waiting = np.random.default_rng(seed).exponential(size=len(eligible))
        with np.errstate(divide="ignore"):
            ranked = np.argsort(waiting / response[eligible], kind="stable")
    chosen = np.sort(eligible[ranked[:count]])
    return np.flatnonzero(cloud.kept)[chosen]


def response_of(graph: Graph) -> Floats:
    """I(x) of every point of a graph (Definition 1)."""
    return _core.response(graph.points, graph.neighbours, graph.order, graph.threads)


def median_absolute_deviation(values: Floats) -> float:
    """MAD: the median of the distances to the median."""
    return float(np.median(np.abs(values - np.median(values))))


def within_x84(response: Floats, alpha: float, rounding: float = 0.0) -> Mask:
    """The X84 rule: I <= alpha * MAD(I). What is not finite is beyond.

    rounding  of the coordinates: a response that it alone can make is none, so that the points of a perfect plane or
              line, where MAD is nothing but rounding, are all kept
    """
    if not alpha > 0:
        raise InputError(f"alpha: expected a positive number, got {alpha!r}")
    finite = np.isfinite(response)
    if not finite.any():
        return finite
    limit = max(alpha * median_absolute_deviation(response[finite]), rounding**2)
    return finite & (response <= limit)


def rounding_of(points: Floats) -> float:
    """How much rounding can move the mean of some points: a few units in the last place of the largest coordinate."""
    return float(8 * np.spacing(max(points.max(), -points.min())))

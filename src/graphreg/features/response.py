"""The response intensity of points, outlier removal and resampling (Def. 1, Thm. 1, Sec. III-B to III-D).

    I(x_i) = |x_i - sum_j A_ij x_j|^2

is the squared response of the coordinates to the Haar-like filter I - A: the squared distance of a point to the
weighted mean of its neighbours. Rigid transforms do not change it (Theorem 1). It is large at edges and corners, and
largest for outliers.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.argument_checks import check_choice, check_integer, check_positive, is_number, shown
from graphreg.clouds import Floats, Mask, as_cloud
from graphreg.errors import InputError
from graphreg.features.graphs import Graph, neighbour_graph
from graphreg.features.volume_outliers import volume_inliers

EQUAL_RESPONSES = 1e-9
"""Share by which the square roots of equal responses may differ (chosen: far above rounding)."""


def intensity(points: Any, k: int = 10, threads: int | None = None) -> Floats:
    """Compute the point response intensity I(x) (Definition 1).

    Parameters
    ----------
    points : (N, 3) array_like
    k : int, default 10
        Number of neighbours in the graph.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    (N,) ndarray of float64
        In squared units of the data. Infinite for points whose k neighbours are all at the same distance (they have no
        row in A), NaN for rows that are not finite.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> grid = np.stack(np.meshgrid(range(9), range(9), [0.0]), axis=-1).reshape(-1, 3)
    >>> grid[40, 2] = 2.0  # one point above the plane
    >>> response = graphreg.intensity(grid)
    >>> int(response.argmax()), bool(np.isclose(response[40], 4.0))
    (40, True)
    """
    cloud = as_cloud(points, "points")
    return cloud.restore(response_intensity(neighbour_graph(cloud, k, threads)), np.nan)


def inliers(
    points: Any,
    alpha: float = 5.2,
    k: int = 10,
    threads: int | None = None,
    *,
    rule: Literal["x84", "volume"] = "x84",
) -> Mask:
    """Detect outliers and return the mask of all other points: by the paper's rule, or by one that spares clean scans.

    "x84", the paper's rule (Sec. III-C): a point is an inlier where I(x) <= alpha * MAD(I), with the median absolute
    deviation MAD. It also removes the sharpest edges, the boundary of a scan, and parts that are far sparser than most
    of it (distant lidar returns): like outliers, they are far from the mean of their neighbours.

    "volume": a point is an outlier where its neighbours fill a much larger volume than on the surfaces of the cloud,
    and, if there are such points, where it is far above the planes of its neighbours for the noise of the cloud.
    Edges, borders and sparse parts are kept. `graphreg clean` and reports use it.

    Parameters
    ----------
    points : (N, 3) array_like
    alpha : float, default 5.2
        Threshold of "x84" in units of MAD; 5.2 is the paper's choice where nothing is known about the outliers.
    k : int, default 10
        Number of neighbours in the graph.
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.
    rule : {"x84", "volume"}, default "x84"

    Returns
    -------
    (N,) ndarray of bool
        False for outliers and for rows that are not finite.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> sphere = np.random.default_rng(0).normal(size=(2000, 3))
    >>> sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    >>> cloud = np.vstack([sphere, [[5.0, 0.0, 0.0]]])
    >>> bool(graphreg.inliers(cloud)[-1])
    False
    >>> kept = graphreg.inliers(cloud, rule="volume")
    >>> bool(kept[-1]), bool(kept[:-1].mean() > 0.99)
    (False, True)
    """
    check_choice("rule", rule, ("x84", "volume"))
    check_positive("alpha", alpha, infinite=True)
    cloud = as_cloud(points, "points")
    graph = neighbour_graph(cloud, k, threads)
    if rule == "volume":
        return cloud.restore(volume_inliers(graph), False)
    return cloud.restore(x84_inliers(response_intensity(graph), alpha, rounding_error(graph.points)), False)


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
    """Resample a cloud by its response intensity (Sec. III-D, IV-A).

    Parameters
    ----------
    points : (N, 3) array_like
    fraction : float
        Share of the points to select, 0 < fraction <= 1. The paper uses 0.1 to 0.5.
    method : {"top", "proportional"}, default "top"
        "top" selects the points with the highest response; of responses that are equal up to rounding, those that come
        first. "proportional" samples without replacement, with probabilities proportional to the response: flat parts
        become sparse, but do not vanish.
    alpha : float or None, default 5.2
        Points beyond alpha * MAD are outliers by the X84 rule (see `inliers`) and are not selected. None: no outlier
        removal.
    k : int, default 10
        Number of neighbours in the graph.
    seed : int, default 0
        Seed of "proportional".
    threads : int, optional
        Number of threads, by default all. The result does not depend on it.

    Returns
    -------
    (M,) ndarray of int64
        Indices into `points`, ascending.

    Examples
    --------
    >>> import graphreg, numpy as np
    >>> points = np.random.default_rng(0).normal(size=(1000, 3))
    >>> rows = graphreg.resample(points, 0.2)
    >>> points[rows].shape
    (200, 3)
    """
    if not (is_number(fraction) and 0 < fraction <= 1):
        raise InputError(f"fraction: expected more than 0 and at most 1, got {shown(fraction)}")
    check_choice("method", method, ("top", "proportional"))
    check_integer("seed", seed)
    if alpha is not None:
        check_positive("alpha", alpha, infinite=True)
    cloud = as_cloud(points, "points")
    chosen = sample_by_response(neighbour_graph(cloud, k, threads), fraction, method, alpha, seed)
    return np.flatnonzero(cloud.kept)[chosen]


def sample_by_response(
    graph: Graph, fraction: float, method: Literal["top", "proportional"], alpha: float | None, seed: int
) -> NDArray[np.int64]:
    """Do what `resample` does for the points of a graph; the indices are those of its points."""
    response = response_intensity(graph)
    eligible = np.arange(len(response))
    if alpha is not None:
        eligible = eligible[x84_inliers(response, alpha, rounding_error(graph.points))]
    count = min(len(eligible), max(1, round(fraction * len(response))))
    if method == "top":
        return np.asarray(eligible[_highest(response[eligible], count, rounding_error(graph.points))])
    # Weighted sampling without replacement: exponential waiting times whose rates are the weights, smallest first
    # (Efraimidis, Spirakis 2006). Points whose response is no more than rounding come last, in random order.
    waiting = np.random.default_rng(seed).exponential(size=len(eligible))
    rates = np.where(response[eligible] > rounding_error(graph.points) ** 2, response[eligible], 0.0)
    with np.errstate(divide="ignore"):
        ranked = np.lexsort((waiting, waiting / rates))
    return np.sort(eligible[ranked[:count]])


def _highest(response: Floats, count: int, rounding: float) -> NDArray[np.int64]:
    """Rows of the `count` highest responses, ascending; of those equal to the last up to rounding, the first ones.

    On a raster many responses are equal, and rounding would choose among them.
    """
    lengths = np.sqrt(response)
    last = np.partition(lengths, len(lengths) - count)[len(lengths) - count] if count else np.inf
    above = lengths > last * (1 + EQUAL_RESPONSES) + rounding
    equal = np.flatnonzero(~above & (lengths >= last * (1 - EQUAL_RESPONSES) - rounding))
    above[equal[: count - np.count_nonzero(above)]] = True
    return np.flatnonzero(above)


def response_intensity(graph: Graph) -> Floats:
    """Compute I(x) of all points of a graph (Definition 1).

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    (N,) ndarray of float64
        Infinite for isolated points.
    """
    return _core.response(graph.points, graph.neighbours, graph.order, graph.threads)


def median_absolute_deviation(values: Floats) -> float:
    """Return MAD, the median of the absolute deviations from the median.

    Parameters
    ----------
    values : (N,) ndarray

    Returns
    -------
    float
    """
    return float(np.median(np.abs(values - np.median(values))))


def x84_inliers(response: Floats, alpha: float, rounding: float = 0.0) -> Mask:
    """Apply the X84 rule I <= alpha * MAD(I) (Sec. III-C).

    Parameters
    ----------
    response : (N,) ndarray
        I(x). Values that are not finite are outliers, and do not count for MAD.
    alpha : float
        Threshold in units of MAD.
    rounding : float, default 0
        Rounding error of the coordinates (`rounding_error`). A response that rounding alone can cause is never an
        outlier: on a perfect plane or line MAD itself is rounding, and all points are kept.

    Returns
    -------
    (N,) ndarray of bool
    """
    check_positive("alpha", alpha, infinite=True)
    finite = np.isfinite(response)
    if not finite.any():
        return finite
    limit = max(alpha * median_absolute_deviation(response[finite]), rounding**2)
    return finite & (response <= limit)


def rounding_error(points: Floats) -> float:
    """Bound the rounding error of the mean of a few points: 8 units in the last place of the largest coordinate.

    Parameters
    ----------
    points : (N, 3) ndarray

    Returns
    -------
    float
        In the unit of the data.
    """
    return float(8 * np.spacing(max(points.max(), -points.min())))

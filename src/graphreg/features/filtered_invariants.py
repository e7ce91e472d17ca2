"""Invariants of the graph at several scales, comparable between two clouds: the paper's features for other methods.

V_g and the curvature (Thm. 2) describe the ten neighbours of a point, and noise changes them. The low-pass filter
h(A) = A^l (Eq. 2) averages such a signal over l steps along the graph,

    f_l = A^l s,    s = (sum_j sqrt(W_ij) |n_i - n_j|^2, c)

so that a larger l describes a wider neighbourhood, with less noise. Neither the graph nor the signal changes under a
rigid transform, hence f_l does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats
from graphreg.features.graphs import Graph
from graphreg.features.invariant_features import graph_invariants, rank_features


@dataclass(frozen=True)
class FilterParameters:
    """Constants of the filtered invariants.

    Attributes
    ----------
    neighbours : int
        k of the graph (the paper's).
    powers : tuple of int
        Each l, ascending (chosen: on synthetic scans they distinguish corresponding points from others best).
    components : int
        Principal components that two clouds are compared by (chosen): the others are mostly noise.
    """

    neighbours: int = 10
    powers: tuple[int, ...] = (1, 4, 16)
    components: int = 3


FILTERS = FilterParameters()


def filtered_invariants(graph: Graph) -> Floats:
    """Compute normal variation and curvature of each point after A^l, for every l of `FILTERS.powers`.

    Parameters
    ----------
    graph : Graph

    Returns
    -------
    (N, 2 L) ndarray
        Two columns for each l.
    """
    signal = graph_invariants(graph)[:, 1:]
    columns, applied = [], 0
    for power in FILTERS.powers:
        signal = graph.filter(signal, (*[0.0] * (power - applied), 1.0))
        applied = power
        columns.append(signal)
    return np.hstack(columns)


def comparable_invariants(source: Graph, target: Graph) -> tuple[Floats, Floats]:
    """Compute invariants of two clouds that can be compared: |f_i - g_j| is small for points that correspond.

    Each filtered invariant is replaced by its rank among the points of both clouds, and the ranks by their first
    principal components, so that no unit, outlier or repetition of the same information weighs more than the rest.

    Parameters
    ----------
    source, target : Graph

    Returns
    -------
    f, g : (N, F) and (M, F) ndarray
        Centred; the RMS distance of the points of both clouds from the mean is 1, unless all are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from graphreg.datasets import synthetic
    >>> from graphreg.features.graphs import neighbour_graph
    >>> pair = synthetic.pair("hare", 0.0, points=1000)
    >>> f, g = comparable_invariants(neighbour_graph(pair.source), neighbour_graph(pair.target))
    >>> f.shape[1], bool(np.isclose(np.mean(np.vstack([f, g]) ** 2) * 3, 1))
    (3, True)
    """
    ranks = rank_features(np.vstack([filtered_invariants(source), filtered_invariants(target)]))
    centred = ranks - ranks.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    features = centred @ vectors[:, ::-1][:, : FILTERS.components]
    spread = float(np.sqrt((features**2).sum(axis=1).mean()))
    f, g = np.split(features / (spread or 1.0), [len(source.points)])
    return f, g

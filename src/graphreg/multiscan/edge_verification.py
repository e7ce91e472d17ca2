"""Verification of edges of the pose graph where one scan alone connects two parts of it.

A wrong edge contradicts others only around loops, and where as many wrong edges as right ones close a loop, their
number does not tell which are wrong. Edges of one scan to several neighbours are no independent evidence either: where
it resembles what it does not show, it does so to all of them. Surfaces tell: at a wrong edge scans of one part come to
lie on scans of the other, and these pairs do not register from there.

So where the pose graph without one scan is not connected, each part that this scan connects to the rest is put to the
test by witnesses: pairs of a scan near it in this part and one near it in the others, which overlap in the present
poses. With p the confidence of each of the edges between this scan and the part, the log-odds that they are right are

    sum over edges of log p / (1 - p) + sum over witnesses of log P(outcome | right) / P(outcome | wrong)
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from graphreg.multiscan.pose_graph import connected_groups
from graphreg.multiscan.retrieval import Pair


def log_odds(probability: Any) -> Any:
    """Return log p / (1 - p) of a number or an array."""
    return np.log(probability / (1 - probability))


@dataclass(frozen=True)
class VerificationParameters:
    """Constants of the verification of edges. All are chosen."""

    # Probability that a pair which overlaps in the present poses registers from there, where these are right: of
    # fragments of a room it is 0.9, of sparse LiDAR scans, whose ground overlaps anywhere, 0.4. And where they are
    # wrong.
    registers_if_right: float = 0.4
    registers_if_wrong: float = 0.01
    # Witnesses of a part, at most; how many edges away from the scan theirs are, at most.
    witnesses: int = 12
    hops: int = 2
    # Confidence of an edge that counts at most, since the verdict knows one pair only.
    most_confidence: float = 0.999

    def log_odds(self, confidences: Collection[float], outcomes: Collection[bool]) -> float:
        """Log-odds that edges of these confidences are right, given whether the witnesses register."""
        registered, failed = sum(outcomes), len(outcomes) - sum(outcomes)
        for_right = registered * np.log(self.registers_if_right) + failed * np.log(1 - self.registers_if_right)
        for_wrong = registered * np.log(self.registers_if_wrong) + failed * np.log(1 - self.registers_if_wrong)
        return float(log_odds(np.minimum(list(confidences), self.most_confidence)).sum() + for_right - for_wrong)


VERIFICATION = VerificationParameters()


@dataclass(frozen=True)
class Connection:
    """What a single scan connects to a part of the pose graph.

    Attributes
    ----------
    scan : int
    edges : tuple of (int, int)
        Its edges to this part.
    near, others : tuple of int
        Scans of this part, and of all others, a few edges from it.
    """

    scan: int
    edges: tuple[Pair, ...]
    near: tuple[int, ...]
    others: tuple[int, ...]


def weakest_connections(
    confidences: dict[Pair, float], parameters: VerificationParameters = VERIFICATION
) -> list[Connection]:
    """Return the connections that depend on a single scan, but for the most trusted one of each such scan.

    Parameters
    ----------
    confidences : dict of (int, int) to float
        Of the edges that are used.
    parameters : VerificationParameters, default VERIFICATION

    Returns
    -------
    list of Connection

    Examples
    --------
    Scan 3 alone connects scan 4 to a triangle of scans:

    >>> triangle = {(1, 0): 0.99, (2, 0): 0.99, (2, 1): 0.99, (3, 1): 0.99, (3, 2): 0.99}
    >>> [(found.scan, found.edges) for found in weakest_connections({**triangle, (4, 3): 0.9})]
    [(3, ((4, 3),))]
    """
    near: dict[int, set[int]] = {}
    for a, b in confidences:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    count = 1 + max(near, default=-1)
    found = []
    for scan in sorted(near):
        others = [pair for pair in confidences if scan not in pair]
        parts = [set(group) for group in connected_groups(others, count)]
        sides = [side for part in parts if (side := near[scan] & part)]
        if len(sides) < 2:
            continue
        edges = [tuple(pair for pair in confidences if scan in pair and side & set(pair)) for side in sides]
        trust = [parameters.log_odds([confidences[pair] for pair in mine], ()) for mine in edges]
        around = [_within(near, side, scan, parameters.hops - 1) for side in sides]
        for number in np.argsort(trust, kind="stable")[:-1].tolist():
            rest = set[int]().union(*(scans for other, scans in enumerate(around) if other != number))
            found.append(Connection(scan, edges[number], tuple(sorted(around[number])), tuple(sorted(rest))))
    return found


def witnesses_of(
    connection: Connection,
    overlap: Callable[[int, int], float],
    least: float,
    parameters: VerificationParameters = VERIFICATION,
) -> list[Pair]:
    """Return the pairs of scans beside a connection that overlap most in the present poses.

    Parameters
    ----------
    connection : Connection
    overlap : callable
        (source, target) -> share of the source that overlaps the target in the present poses.
    least : float
        Pairs that overlap less are no witnesses.
    parameters : VerificationParameters, default VERIFICATION

    Returns
    -------
    list of (int, int)
        The later scan of each pair first.
    """
    pairs = sorted((max(pair), min(pair)) for pair in product(connection.near, connection.others))
    shares = {pair: overlap(*pair) for pair in pairs}
    ranked = sorted((pair for pair in pairs if shares[pair] >= least), key=lambda pair: (-shares[pair], pair))
    return ranked[: parameters.witnesses]


def _within(near: dict[int, set[int]], start: set[int], without: int, hops: int) -> set[int]:
    """Scans at most so many edges from some of them, on paths that avoid one scan."""
    reached = set(start)
    for _ in range(hops):
        reached |= {other for scan in reached for other in near[scan]} - {without}
    return reached

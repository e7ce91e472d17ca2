"""Verification of edges of the pose graph: do the scans around an edge fit each other as it says?

A wrong edge contradicts others only around loops, and where as many wrong edges as right ones close a loop, their
number does not tell which are wrong. Surfaces do: at a wrong edge, scans next to one end come to lie on scans next to
the other, and these pairs do not register from there. So each edge that no short loop confirms is put to the test by
its witnesses: pairs of scans, one at each end or connected to it, that overlap in the present poses. With p the
confidence of the edge, the log-odds that it is right are

    log p / (1 - p) + sum over its witnesses of log P(outcome | right) / P(outcome | wrong)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from graphreg.multiscan.retrieval import Pair


@dataclass(frozen=True)
class VerificationParameters:
    """Constants of the verification of edges. All are chosen."""

    # Probability that a pair which overlaps in the present poses registers from there, where these are right: on
    # 3DMatch fragments it is 0.9, on sparse LiDAR scans, whose ground overlaps anywhere, 0.4. And where they are wrong.
    registers_if_right: float = 0.4
    registers_if_wrong: float = 0.01
    # Witnesses of an edge, at most; and the confidence that counts at most, since the verdict knows one pair only.
    witnesses: int = 12
    most_confidence: float = 0.999

    @property
    def failure(self) -> float:
        """Log-odds of a witness that does not register."""
        return float(np.log((1 - self.registers_if_right) / (1 - self.registers_if_wrong)))

    @property
    def success(self) -> float:
        """Log-odds of a witness that registers."""
        return float(np.log(self.registers_if_right / self.registers_if_wrong))


VERIFICATION = VerificationParameters()


def unconfirmed_pairs(used: Sequence[Pair]) -> list[Pair]:
    """Return the edges that are part of no loop of up to four edges.

    Parameters
    ----------
    used : sequence of (int, int)
        Pairs of scans that edges join.

    Returns
    -------
    list of (int, int)

    Examples
    --------
    >>> unconfirmed_pairs([(1, 0), (2, 1), (2, 0), (3, 2)])
    [(3, 2)]
    """
    near = _neighbours(used)
    joined = {frozenset(pair) for pair in used}
    return [
        (a, b)
        for a, b in used
        if not any(frozenset((c, d)) in joined for c, d in _around(near, (a, b)) if c != d) and not (near[a] & near[b])
    ]


def witnesses_of(
    edge: Pair,
    used: Sequence[Pair],
    overlap: Callable[[int, int], float],
    least: float,
    parameters: VerificationParameters = VERIFICATION,
) -> list[Pair]:
    """Return the pairs of scans around an edge that overlap most in the present poses.

    Parameters
    ----------
    edge : (int, int)
    used : sequence of (int, int)
        All pairs of scans that edges join.
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
    around = {(max(pair), min(pair)) for pair in _around(_neighbours(used), edge) if pair[0] != pair[1]}
    shares = {pair: overlap(*pair) for pair in around}
    ranked = sorted((pair for pair in around if shares[pair] >= least), key=lambda pair: (-shares[pair], pair))
    return ranked[: parameters.witnesses]


def is_refuted(
    confidence: float, outcomes: Collection[bool], parameters: VerificationParameters = VERIFICATION
) -> bool:
    """Return whether an edge is more probably wrong than right.

    Parameters
    ----------
    confidence : float
        Of the edge.
    outcomes : collection of bool
        Whether each of its witnesses registers from the present poses.
    parameters : VerificationParameters, default VERIFICATION

    Returns
    -------
    bool

    Examples
    --------
    >>> is_refuted(0.98, [False] * 10), is_refuted(0.98, [False] * 5), is_refuted(0.98, [True] + [False] * 10)
    (True, False, False)
    """
    p = min(confidence, parameters.most_confidence)
    evidence = sum(parameters.success if outcome else parameters.failure for outcome in outcomes)
    return bool(np.log(p / (1 - p)) + evidence < 0)


def _neighbours(used: Sequence[Pair]) -> dict[int, set[int]]:
    near: dict[int, set[int]] = {}
    for a, b in used:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    return near


def _around(near: dict[int, set[int]], edge: Pair) -> list[Pair]:
    """Pairs of scans at or next to the ends of an edge, without the edge itself."""
    a, b = edge
    return [pair for pair in product((near[a] | {a}) - {b}, (near[b] | {b}) - {a}) if pair != edge]

"""Verification of edges: which connections depend on one scan, who is asked about them, and what refutes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.multiscan.edge_verification import VERIFICATION, Connection, weakest_connections, witnesses_of

confidences = st.floats(0.8, 1.0)


def mesh(first: int, count: int) -> list[tuple[int, int]]:
    """All pairs of some scans."""
    return [(first + b, first + a) for b in range(count) for a in range(b)]


def weakest(*edges: tuple[int, int], doubted: tuple[int, int] | None = None) -> list[tuple[int, tuple[object, ...]]]:
    found = weakest_connections({edge: 0.8 if edge == doubted else 0.99 for edge in edges})
    return [(each.scan, each.edges) for each in found]


@given(count=st.integers(3, 12))
def test_in_a_ring_or_a_mesh_no_connection_depends_on_one_scan(count: int) -> None:
    assert weakest(*((b, b - 1) for b in range(1, count)), (count - 1, 0)) == []
    assert weakest(*mesh(0, count)) == []


def test_a_bridge_depends_on_each_of_its_ends() -> None:
    found = weakest(*mesh(0, 4), (4, 3), *mesh(4, 4))
    assert found == [(3, ((4, 3),)), (4, ((4, 3),))]


def test_both_edges_of_one_scan_are_one_connection() -> None:
    assert weakest(*mesh(0, 4), (4, 3), (4, 2), *mesh(4, 4)) == [(4, ((4, 3), (4, 2)))]
    assert weakest(*mesh(0, 4), (4, 3), (5, 2), *mesh(4, 4)) == []


def test_of_the_connections_of_a_scan_the_least_trusted_are_tested() -> None:
    chain = ((1, 0), (2, 1), (3, 2))
    assert weakest(*chain, doubted=(2, 1)) == [(1, ((2, 1),)), (2, ((2, 1),))]


def test_witnesses_are_near_the_scan_and_overlap_most() -> None:
    chain = {(b, b - 1): 0.99 for b in range(1, 10)}
    (found,) = [each for each in weakest_connections(chain | {(5, 4): 0.8}) if each.scan == 5]
    assert (found.near, found.others) == ((3, 4), (6, 7))
    shares = {(6, 4): 0.5, (7, 4): 0.7, (6, 3): 0.1}
    assert witnesses_of(found, lambda a, b: shares.get((a, b), 0.0), 0.3) == [(7, 4), (6, 4)]
    many = Connection(0, ((1, 0),), tuple(range(1, 9)), tuple(range(9, 20)))
    assert len(witnesses_of(many, lambda a, b: 1.0, 0.3)) == VERIFICATION.witnesses


@given(confidence=confidences, failures=st.integers(0, 30), successes=st.integers(0, 3))
def test_log_odds_follow_confidence_and_witnesses(confidence: float, failures: int, successes: int) -> None:
    outcomes = [False] * failures + [True] * successes
    odds = VERIFICATION.log_odds([confidence], outcomes)
    assert (
        VERIFICATION.log_odds([confidence], [*outcomes, False])
        < odds
        < VERIFICATION.log_odds([confidence], [*outcomes, True])
    )
    assert VERIFICATION.log_odds([0.8], outcomes) <= odds < VERIFICATION.log_odds([confidence] * 2, outcomes)


@pytest.mark.parametrize("confidence", [0.8, 1.0])
def test_a_few_failures_refute_no_edge(confidence: float) -> None:
    """Pairs that overlap little often do not register although the poses are right."""
    assert VERIFICATION.log_odds([confidence], [False] * 2) > 0
    assert VERIFICATION.log_odds([confidence], [False] * 20) < 0

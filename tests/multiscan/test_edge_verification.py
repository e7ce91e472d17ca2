"""Verification of edges: which are put to the test, by which pairs, and what refutes them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreg.multiscan.edge_verification import VERIFICATION, is_refuted, unconfirmed_pairs, witnesses_of

confidences = st.floats(0.8, 1.0)


@given(count=st.integers(3, 12))
def test_loops_of_up_to_four_edges_confirm_each_other(count: int) -> None:
    ring = [(b, a) for a, b in pairwise(range(count))] + [(count - 1, 0)]
    assert unconfirmed_pairs(ring) == ([] if count <= 4 else ring)


def test_a_bridge_between_two_meshes_is_unconfirmed() -> None:
    left, right = [(1, 0), (2, 0), (2, 1)], [(4, 3), (5, 3), (5, 4)]
    assert unconfirmed_pairs([*left, (3, 2), *right]) == [(3, 2)]


def test_witnesses_are_the_pairs_around_an_edge_that_overlap_most() -> None:
    used = [(1, 0), (2, 1), (3, 2), (4, 3)]
    shares = {(3, 1): 0.5, (4, 2): 0.7, (4, 1): 0.1}
    found = witnesses_of((3, 2), used, lambda a, b: shares.get((a, b), 0.0), 0.3)
    assert found == [(4, 2), (3, 1)]
    # Of scans that are not connected to the edge, none is asked for.
    asked = set()
    witnesses_of((3, 2), used, lambda a, b: float(asked.add((a, b)) or 0.0), 0.3)
    assert all(0 not in pair for pair in asked)


@given(confidence=confidences, failures=st.integers(0, 30))
def test_failures_refute_the_more_the_less_an_edge_is_trusted(confidence: float, failures: int) -> None:
    assert not is_refuted(confidence, [])
    if is_refuted(confidence, [False] * failures):
        assert is_refuted(confidence, [False] * (failures + 1))
        assert is_refuted(0.8, [False] * failures)
        # A witness that registers weighs as much as several that do not.
        balance = int(-VERIFICATION.success // VERIFICATION.failure)
        assert balance > 3
        assert not is_refuted(confidence, [*[False] * min(failures, balance), True])


@pytest.mark.parametrize("confidence", [0.8, 1.0])
def test_a_few_failures_refute_no_edge(confidence: float) -> None:
    """Pairs that overlap little often do not register although the poses are right."""
    assert not is_refuted(confidence, [False] * 2)

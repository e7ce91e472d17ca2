"""Pairwise registration: edges, attempts, progress, and the information matrix of an edge."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.body_scans import body_scans, foreign_scan
from tests.support.strategies import seeds

import graphreg
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.metrics import angular_error
from graphreg.multiscan import pairwise
from graphreg.multiscan.pairwise import (
    PairwiseParameters,
    PairwiseRegistration,
    centroid,
    edge_from_result,
)
from graphreg.poses import adjoint, inverse, pose
from graphreg.registration import Result

NAMES = ("a", "b", "foreign")


@lru_cache
def scans() -> tuple[PreprocessedCloud, ...]:
    """Two scans of one body, 40 degrees apart, and one of another."""
    return tuple(graphreg.prepare(cloud) for cloud in (body_scans()[0][0], body_scans()[0][3], foreign_scan()))


@lru_cache
def result() -> Result:
    return graphreg.register(scans()[1], scans()[0])


@pytest.mark.slow
def test_every_pair_has_an_edge_and_successful_ones_connect_scans() -> None:
    calls: list[tuple[int, int]] = []
    registration = PairwiseRegistration(scans(), NAMES, progress=lambda done, total: calls.append((done, total)))
    assert registration.groups == ((0,), (1,), (2,))
    registration.register([(1, 0), (2, 0)])
    assert list(registration.edges) == [(1, 0), (2, 0)]
    assert registration.edges[1, 0].success
    assert not registration.edges[2, 0].success
    assert registration.edges[2, 0].information is None
    assert registration.groups == ((0, 1), (2,))
    registration.register([(2, 1)])
    assert calls == [(1, 2), (2, 2), (3, 3)]


def test_of_many_scans_none_keeps_what_was_computed_after_its_last_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "PAIRWISE", PairwiseParameters(cached_scans=2))
    many = tuple(replace(scan, _cache={("voxel sizes",): 0}) for scan in scans())
    kept: list[list[bool]] = []
    registration = PairwiseRegistration(
        many, NAMES, progress=lambda *_: kept.append([bool(scan._cache) for scan in many])
    )
    monkeypatch.setattr(pairwise, "register", lambda *_, **__: result())
    registration.register([(1, 0), (2, 1)])
    assert set(registration.edges) == {(1, 0), (2, 1)}
    # The scan in the middle is needed twice.
    assert sum(kept[0]) == 2
    assert kept[0][1]
    assert not any(kept[1])


@given(seed=seeds, count=st.integers(2, 30))
def test_the_order_by_locality_has_the_same_pairs_and_a_chain_in_a_row(seed: int, count: int) -> None:
    order = np.random.default_rng(seed).permutation(count)
    chain = [(int(max(pair)), int(min(pair))) for pair in itertools.pairwise(order)]
    found = pairwise._by_locality(sorted(chain), count)
    assert sorted(found) == sorted(chain)
    for one, other in itertools.pairwise(found):
        assert set(one) & set(other)


@pytest.mark.slow
def test_from_poses_a_pair_is_refined() -> None:
    """The foreign scan is registered nowhere; the true poses of the others are kept."""
    truth = np.stack([body_scans()[1][0], body_scans()[1][3], np.eye(4)])
    registration = PairwiseRegistration(scans(), NAMES)
    registration.register([(1, 0)], poses=truth)
    assert registration.edges[1, 0].success
    assert angular_error(registration.edges[1, 0].transformation, inverse(truth[0]) @ truth[1]) < 0.5


def test_a_failed_attempt_does_not_replace_an_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = [replace(result(), success=False, reason="first"), result(), replace(result(), success=False)]
    reasons = []
    registration = PairwiseRegistration(scans(), NAMES)
    for attempt in attempts:
        monkeypatch.setattr(pairwise, "register", lambda *_, attempt=attempt, **__: attempt)
        registration.register([(1, 0)])
        reasons.append((registration.edges[1, 0].success, registration.edges[1, 0].reason))
    assert reasons == [(False, "first"), (True, result().reason), (True, result().reason)]


def test_a_scan_that_cannot_be_registered_is_named() -> None:
    noise = graphreg.prepare(np.eye(3)[[0, 1, 2]])
    registration = PairwiseRegistration([scans()[0], noise], ["a", "three points"])
    registration.register([(1, 0)])
    edge = registration.edges[1, 0]
    assert not edge.success
    assert edge.reason.startswith("three points: ")
    assert np.isnan(edge.transformation).all()


def test_an_error_in_a_callback_stops_the_registration() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PairwiseRegistration(scans(), NAMES, progress=stop).register([(1, 0)])


def test_information_is_about_the_centroid_of_the_target() -> None:
    """A covariance about another centre is the same uncertainty, so that it gives the same edge."""
    target = scans()[0]
    edge = edge_from_result((1, 0), result(), target, exact := PairwiseParameters(covariance_floor=0.0))
    assert edge.information is not None
    assert np.array_equal(edge.information, edge.information.T)
    assert np.linalg.eigvalsh(edge.information).min() > 0
    assert np.array_equal(edge.rotation_centre, centroid(target))
    assert result().covariance is not None
    offset = np.array([0.3, -0.2, 0.1])
    change = adjoint(pose(np.eye(3), -offset))
    elsewhere = replace(result(), centre=result().centre + offset, covariance=change @ result().covariance @ change.T)
    again = edge_from_result((1, 0), elsewhere, target, exact)
    assert again.information is not None
    scale = np.sqrt(np.outer(*2 * [np.diag(edge.information)]))
    np.testing.assert_allclose(again.information / scale, edge.information / scale, atol=1e-6)


def test_the_covariance_is_inflated() -> None:
    target = scans()[0]
    plain, inflated = (
        edge_from_result((1, 0), result(), target, PairwiseParameters(factor, 0.0)).information for factor in (1.0, 3.0)
    )
    assert plain is not None
    assert inflated is not None
    np.testing.assert_allclose(9 * inflated, plain, rtol=1e-6, atol=1e-9 * plain.max())

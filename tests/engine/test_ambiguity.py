"""Ambiguity: poses that fit equally well are no success; details that break a symmetry decide."""

from __future__ import annotations

import numpy as np
import pytest

import graphreg
from graphreg.datasets import ambiguous_scenes
from graphreg.engine.ambiguity import AMBIGUITY, least_difference
from graphreg.engine.evidence import EVIDENCE
from graphreg.engine.hypotheses import SEARCH
from graphreg.metrics import rmsd
from graphreg.result import Result


def registered(name: str, seed: int = 0) -> tuple[Result, ambiguous_scenes.AmbiguousPair]:
    pair = ambiguous_scenes.pair(name, seed=seed)
    return graphreg.register(pair.source, pair.target), pair


def diagonal(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cube", "tower", "box grid", "parked cars"])
def test_a_pose_that_others_fit_as_well_as_is_ambiguous(name: str) -> None:
    found, pair = registered(name)
    assert not found.success
    assert found.reason.startswith("ambiguous: ")
    similar = [other for other in found.alternatives if other.score >= EVIDENCE.ambiguous_similarity]
    assert f"{len(similar) + 1} poses fit equally well" in found.reason
    assert ("at least" in found.reason) == (len(similar) + 1 == SEARCH.max_candidates)
    assert found.runner_up is found.alternatives[0].transformation
    # It is one of those that fit, all the same.
    errors = [rmsd(found.transformation, each, pair.source) for each in pair.equivalent]
    assert min(errors) < 0.02 * diagonal(pair.target)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stairs", "box 4 %"])
@pytest.mark.parametrize("seed", [0, 4])
def test_a_scene_that_repeats_itself_is_no_success_although_all_of_it_overlaps(name: str, seed: int) -> None:
    found, _ = registered(name, seed)
    assert not found.success
    assert found.overlap > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plate with a boss", "cylinder with a mark", "identical objects"])
def test_a_small_feature_decides_in_most_samples_and_never_wrongly(name: str) -> None:
    decided = []
    for seed in range(5):
        found, pair = registered(name, seed)
        error = rmsd(found.transformation, pair.T_target_source, pair.source)
        decided.append(found.success)
        assert not found.success or error < 0.02 * diagonal(pair.target)
    assert sum(decided) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uniform noise", "gaussian noise"])
def test_noise_is_no_success(name: str) -> None:
    for seed in range(2):
        assert not registered(name, seed)[0].success


def test_alternatives_survive_json() -> None:
    pair = ambiguous_scenes.pair("cube", points=1500)
    found = graphreg.register(pair.source, pair.target)
    again = Result.from_json(found.to_json())
    assert len(again.alternatives) == len(found.alternatives) > 0
    for one, other in zip(again.alternatives, found.alternatives, strict=True):
        np.testing.assert_array_equal(one.transformation, other.transformation)
        assert one.score == other.score


def test_the_difference_that_refutes_grows_with_the_count() -> None:
    assert least_difference(0) == AMBIGUITY.least
    assert least_difference(10) < least_difference(100) < least_difference(1000)
    assert least_difference(10_000) == AMBIGUITY.share * 10_000

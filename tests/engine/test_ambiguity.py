"""Ambiguity: poses that fit equally well are no success; details that break a symmetry decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import graphreg
from graphreg.datasets import ambiguous_scenes
from graphreg.engine.ambiguity import AMBIGUITY, PoseDetails, least_difference, surfels_off_the_surface
from graphreg.engine.evidence import EVIDENCE, PairEvidence
from graphreg.engine.hypotheses import SEARCH
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.pyramid import build_pyramids, to_pyramid_frames
from graphreg.metrics import rmsd
from graphreg.poses import pose
from graphreg.result import Result


def registered(name: str, seed: int = 0) -> tuple[Result, ambiguous_scenes.AmbiguousPair]:
    pair = ambiguous_scenes.pair(name, seed=seed)
    return graphreg.register(pair.source, pair.target), pair


def diagonal(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("cube", 0), ("tower", 0), ("box grid", 2), ("parked cars", 0)])
def test_a_pose_that_others_fit_as_well_as_is_ambiguous(name: str, seed: int) -> None:
    found, pair = registered(name, seed)
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
@pytest.mark.parametrize(("name", "seed"), [("stairs", 4), ("box 4 %", 0)])
def test_a_scene_that_repeats_itself_is_no_success_although_all_of_it_overlaps(name: str, seed: int) -> None:
    found, _ = registered(name, seed)
    assert not found.success
    assert found.overlap > 0.8


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plate with a boss", "cylinder with a mark", "identical objects"])
def test_a_small_feature_decides_in_most_samples_and_never_wrongly(name: str) -> None:
    decided = []
    for seed in range(3):
        found, pair = registered(name, seed)
        error = rmsd(found.transformation, pair.T_target_source, pair.source)
        decided.append(found.success)
        assert not found.success or error < 0.02 * diagonal(pair.target)
    assert sum(decided) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["uniform noise", "gaussian noise"])
def test_noise_is_no_success(name: str) -> None:
    assert not registered(name)[0].success


def test_the_first_pose_is_compared_although_it_has_hardly_any_information() -> None:
    rng = np.random.default_rng(196)
    source, target = rng.normal(size=(rng.integers(12, 60), 3)), rng.normal(size=(12, 3))
    assert not graphreg.register(source, target).success


@pytest.mark.slow
def test_alternatives_survive_json() -> None:
    pair = ambiguous_scenes.pair("cube", points=1500)
    found = graphreg.register(pair.source, pair.target)
    again = Result.from_json(found.to_json())
    assert len(again.alternatives) == len(found.alternatives) > 0
    for one, other in zip(again.alternatives, found.alternatives, strict=True):
        np.testing.assert_array_equal(one.transformation, other.transformation)
        assert one.score == other.score


def floor_and_wall(wall: bool) -> PreprocessedCloud:
    """A floor that ends at a wall; the scan may have missed the wall."""
    steps = np.arange(0, 2, 0.02)
    a, b = (each.ravel() for each in np.meshgrid(steps, steps))
    points = np.stack([a, b, 0.05 * np.sin(9 * a) * np.sin(7 * b)], axis=1)
    return preprocess(np.vstack([points, np.stack([np.full_like(a, 2), a, b], axis=1)]) if wall else points, "points")


def test_what_only_one_scan_saw_beyond_the_border_of_the_other_is_not_off_its_surface() -> None:
    with_wall, without = floor_and_wall(True), floor_and_wall(False)
    pair = PairEvidence(*build_pyramids(with_wall, without))
    T = to_pyramid_frames(np.eye(4), pair.source, pair.target)
    assert surfels_off_the_surface(pair, T) == 0
    raised = to_pyramid_frames(pose(np.eye(3), [0, 0, 2 * pair.target.fine_voxel]), pair.source, pair.target)
    assert surfels_off_the_surface(pair, raised) > 0.5 * len(pair.target.fine)


def test_the_difference_that_refutes_grows_with_the_count() -> None:
    assert least_difference(0) == AMBIGUITY.least
    assert least_difference(10) < least_difference(100) < least_difference(1000)
    assert least_difference(10_000) == AMBIGUITY.share * 10_000


FITS = PoseDetails(off=(10, 2), compared=(2000, 800), seen_through=0.0)


@pytest.mark.parametrize(
    "worse",
    [
        PoseDetails(off=(100, 20), compared=(2000, 800), seen_through=0.0),
        PoseDetails(off=(200, 40), compared=(4000, 1600), seen_through=0.0),
        PoseDetails(off=(10, 2), compared=(2000, 800), seen_through=0.3),
    ],
    ids=["off the surface", "off the surface, overlaps more", "seen through"],
)
def test_details_refute_a_pose_at_which_more_is_unexplained(worse: PoseDetails) -> None:
    assert FITS.refute(worse)
    assert not worse.refute(FITS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FITS, FITS),
        (FITS, PoseDetails(off=(20, 4), compared=(4000, 1600), seen_through=0.0)),
        (replace(FITS, seen_through=0.3), PoseDetails(off=(100, 20), compared=(2000, 800), seen_through=0.0)),
        (replace(FITS, off=(100, 2)), replace(FITS, off=(0, 40))),
    ],
    ids=["equal", "as much, of more overlap", "free space contradicts", "fine and coarse contradict each other"],
)
def test_details_that_agree_or_contradict_each_other_refute_neither(one: PoseDetails, other: PoseDetails) -> None:
    assert not one.refute(other)
    assert not other.refute(one)

"""The verdict: evidence, observability, confidence."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import Floats, random_transform, small_pair, small_result, small_scan

import graphreg
from graphreg.datasets import synthetic
from graphreg.engine.evidence import Evidence, PairEvidence
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.pyramid import build_pyramids, to_pyramid_frames
from graphreg.engine.verdict import VERDICT, confidence_of, judge_outcome, probability_of
from graphreg.method_interface import Outcome
from graphreg.metrics import rmsd
from graphreg.poses import inverse, pose, rotation_from_vector, transform

COUNT = 6000
NOISE = 0.003
MOVED = random_transform(3, 2.0)


def outcome(source: Floats, target: Floats, T: Floats) -> Outcome:
    return Outcome(T, (), {}, 0.001, source, target)


@pytest.fixture(scope="module")
def hare() -> Floats:
    return small_scan("hare")


@pytest.fixture(scope="module")
def pair() -> synthetic.Pair:
    return small_pair("casting")


def plane(rng: np.random.Generator) -> Floats:
    return np.column_stack([rng.uniform(-1, 1, (COUNT, 2)), np.zeros(COUNT)])


def sphere(rng: np.random.Generator) -> Floats:
    directions = rng.normal(size=(COUNT, 3))
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def cylinder(rng: np.random.Generator) -> Floats:
    angle = rng.uniform(0, 2 * np.pi, COUNT)
    return np.column_stack([0.5 * np.cos(angle), 0.5 * np.sin(angle), rng.uniform(-2, 2, COUNT)])


def two_walls(rng: np.random.Generator) -> Floats:
    along, up = rng.uniform(0, 1, (2, COUNT))
    first = rng.random(COUNT) < 0.5
    return np.column_stack([np.where(first, along, 0), np.where(first, 0, along), up])


def axes_of(directions: tuple[str, ...], verb: str) -> list[Floats]:
    found = (re.fullmatch(rf"{verb} \((.*)\)", said) for said in directions)
    return [np.array(list(map(float, match[1].split(", ")))) for match in found if match]


def test_a_cloud_registered_to_itself_is_certain(hare: Floats) -> None:
    verdict = judge_outcome(outcome(hare, hare, np.eye(4)))
    assert verdict.success
    assert verdict.confidence > 0.99
    assert verdict.evidence.overlap == 1
    assert verdict.evidence.inlier_rmse < 1e-12
    assert verdict.evidence.inliers == verdict.evidence.correspondences > 1000
    assert verdict.observability is not None
    assert verdict.observability.degenerate_directions == ()


def test_clouds_without_overlap(hare: Floats) -> None:
    verdict = judge_outcome(outcome(hare, hare, pose(np.eye(3), [10.0, 0, 0])))
    assert (verdict.success, verdict.confidence, verdict.evidence.overlap) == (False, 0, 0)
    assert np.isnan(verdict.evidence.inlier_rmse)
    assert verdict.observability is None
    assert verdict.reason == "not registered: the clouds do not overlap"


def test_overlap_is_the_share_of_surfels_inside_the_target(hare: Floats) -> None:
    """Of a cloud, and the same cloud cut off by a plane."""
    x, y = build_pyramids(
        preprocess(hare, "source"), preprocess(hare[hare[:, 0] < np.quantile(hare[:, 0], 0.6)], "target")
    )
    pair = PairEvidence(x, y)
    evidence, projected = pair.gather(to_pyramid_frames(np.eye(4), x, y), 1.0)
    place = transform(inverse(x.T_local_cloud), x.fine.points * x.fine_voxel)
    inside = place[:, 0] < np.quantile(hare[:, 0], 0.6)
    # Surfels on the rim may count for either side.
    assert abs(evidence.overlap - inside.mean()) < 0.03
    assert (projected == inside).mean() > 0.97
    shifted, _ = pair.gather(to_pyramid_frames(pose(np.eye(3), [0.0, 0.0, 0.5 * y.fine_voxel]), x, y), 1.0)
    assert evidence.inlier_rmse < shifted.inlier_rmse < 0.5 * y.fine_voxel


def test_probability_grows_with_the_evidence() -> None:
    some = Evidence(
        overlap=0.3,
        inlier_rmse=0.1,
        correspondences=100,
        inliers=10,
        information=300.0,
        inlier_information=25.0,
        nearest_inliers=60,
        tightness=0.4,
        spread=20.0,
        floating=0.02,
        seen_through=0.1,
        floating_in_clutter=0.2,
        variety=0.05,
        margin=1.0,
        similarity=0.3,
    )
    assert 0 < probability_of(some) < 1
    more = {
        "nearest_inliers": 200, "tightness": 0.8, "spread": 90.0, "floating_in_clutter": 0.1, "seen_through": 0.0,
        "variety": 0.2, "margin": 2.0, "similarity": 0.0,
    }  # fmt: skip
    for name, value in more.items():
        assert probability_of(replace(some, **{name: value})) > probability_of(some), name
    # A pose far below the runner-up: no overflow.
    assert 0 <= probability_of(replace(some, margin=-1e9)) < probability_of(some)


@given(st.floats(0, 1), st.booleans(), st.lists(st.floats(0, 1), max_size=3), st.floats(0, 1))
def test_a_pose_that_is_not_determined_is_no_success(
    probability: float, degenerate: bool, alternatives: list[float], another: float
) -> None:
    confidence = confidence_of(probability, degenerate, alternatives)
    assert 0 <= confidence <= probability
    assert confidence < VERDICT.success or not (degenerate or alternatives)
    # A further pose that fits equally well never makes it more certain, and one that is certain refutes it.
    assert confidence_of(probability, degenerate, [*alternatives, another]) <= confidence
    assert degenerate or confidence_of(probability, False, [*alternatives, 1.0]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("apart", [3.0, 30.0, 120.0])
def test_a_wrong_pose_is_no_success(pair: synthetic.Pair, apart: float) -> None:
    centre = pair.target.mean(axis=0)
    rotation = rotation_from_vector(np.radians(apart) * np.array([0.6, 0.0, 0.8]))
    wrong = pose(rotation, centre - rotation @ centre) @ pair.T_target_source
    assert judge_outcome(outcome(pair.source, pair.target, pair.T_target_source)).success
    verdict = judge_outcome(outcome(pair.source, pair.target, wrong))
    assert not verdict.success
    assert verdict.confidence < 0.5
    (differs,) = re.findall("misaligned: a pose that differs by ([0-9.]+)° ", verdict.reason)
    assert abs(float(differs) - apart) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("T", "noise"), [(np.eye(4), 0.0), (MOVED, NOISE)], ids=["level", "askew and noisy"])
@pytest.mark.parametrize(
    ("body", "rotations", "slides"),
    [
        (plane, [[0, 0, 1]], [[1, 0, 0], [0, 1, 0]]),
        (cylinder, [[0, 0, 1]], [[0, 0, 1]]),
        (two_walls, [], [[0, 0, 1]]),
    ],
)
def test_degenerate_directions_are_named(body, rotations, slides, T: Floats, noise: float) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    source, target = (body(rng) + noise * rng.normal(size=(COUNT, 3)) for _ in range(2))
    result = graphreg.register(source, transform(T, target))
    assert not result.success
    assert result.confidence <= 0.4
    assert len(result.degenerate_directions) == len(rotations) + len(slides)
    for verb, expected in (("rotation about", rotations), ("translation along", slides)):
        found = axes_of(result.degenerate_directions, verb)
        assert len(found) == len(expected)
        # They are printed with two digits, and noise tilts them. Of two, any basis of their plane will do.
        space = np.array(expected, float).reshape(-1, 3) @ T[:3, :3].T
        for axis in found:
            assert np.linalg.norm(space @ axis) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("noise", [0.0, NOISE])
def test_the_rotation_of_a_sphere_is_unconstrained(noise: float) -> None:
    rng = np.random.default_rng(0)
    source, target = (sphere(rng) + noise * rng.normal(size=(COUNT, 3)) for _ in range(2))
    result = graphreg.register(source, transform(MOVED, target))
    assert result.degenerate_directions == ("rotation about any axis",)
    assert not result.success
    assert result.confidence <= 0.4
    # The mean of the directions is off by 1 / sqrt(3 * 6000) = 0.0075 along each axis: four times that.
    np.testing.assert_allclose(result.centre, MOVED[:3, 3], atol=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "other"), [("casting", "dragon"), ("hand", "hare"), ("room", "hand")])
def test_different_objects_are_not_registered(name: str, other: str) -> None:
    clouds = [small_scan(each)[::4] for each in (name, other)]
    # Scaled to one size, which would distinguish them.
    result = graphreg.register(*(cloud / np.ptp(cloud, axis=0).max() for cloud in clouds))
    assert not result.success
    assert result.confidence < 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("name", "axis"), [("dragon", 0), ("casting", 1)])
def test_halves_without_overlap_are_not_registered(name: str, axis: int) -> None:
    points = small_scan(name)[::3]
    middle = np.median(points[:, axis])
    result = graphreg.register(points[points[:, axis] < middle], points[points[:, axis] > middle])
    assert not result.success
    assert result.confidence < 0.5


@pytest.mark.slow
def test_covariance_is_symmetric_positive_definite_and_has_the_unit(pair: synthetic.Pair) -> None:
    here = small_result("casting")
    assert here.covariance is not None
    np.testing.assert_allclose(
        here.covariance, here.covariance.T, rtol=1e-9, atol=1e-9 * np.diag(here.covariance).min()
    )
    assert np.linalg.eigvalsh(here.covariance / np.outer(*[np.sqrt(np.diag(here.covariance))] * 2)).min() > 0
    there = graphreg.register(1000 * pair.source, 1000 * pair.target)
    unit = np.repeat([1.0, 1000.0], 3)
    np.testing.assert_allclose(there.covariance, here.covariance * np.outer(unit, unit), rtol=1e-6)
    np.testing.assert_allclose(there.centre, 1000 * here.centre, rtol=1e-9)


@pytest.mark.slow
def test_covariance_and_centre_are_in_the_targets_frame(pair: synthetic.Pair) -> None:
    here = small_result("casting")
    for moved_source in (np.eye(4), random_transform(8, 1.0)):
        moved = graphreg.register(transform(moved_source, pair.source), transform(MOVED, pair.target))
        np.testing.assert_allclose(moved.centre, transform(MOVED, here.centre[None])[0], atol=1e-9)
        rotation = np.kron(np.eye(2), MOVED[:3, :3])
        expected = rotation @ here.covariance @ rotation.T
        size = np.sqrt(np.diag(expected))
        np.testing.assert_allclose(moved.covariance / np.outer(size, size), expected / np.outer(size, size), atol=1e-6)
    # The centroid of the overlap, which is most of the source.
    off = transform(pair.T_target_source, pair.source).mean(axis=0) - here.centre
    assert np.linalg.norm(off) < 0.1 * np.ptp(pair.target, axis=0).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["casting", "hare"])
def test_covariance_agrees_with_the_errors(name: str) -> None:
    """Errors over samples of points and noise: rotation about the centre, and translation of the centre."""
    surfels = synthetic.scan(name, points=2 * COUNT, noise=0.0).points
    size = np.ptp(surfels, axis=0).max()
    errors, variances = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noisy = surfels + 1e-3 * size * rng.normal(size=surfels.shape)
        sampled = rng.random(len(surfels)) < 0.5
        found = graphreg.register(transform(inverse(MOVED), noisy[sampled]), noisy[~sampled])
        off = found.transformation @ inverse(MOVED)
        twist = off[:3, :3] - off[:3, :3].T
        translation = transform(off, found.centre[None])[0] - found.centre
        errors.append([twist[2, 1] / 2, twist[0, 2] / 2, twist[1, 0] / 2, *translation])
        variances.append(np.diag(found.covariance))
    ratio = np.sqrt(np.mean(np.square(errors), axis=0) / np.mean(variances, axis=0))
    assert (ratio > 1 / 3).all()
    assert (ratio < 3).all()


@pytest.mark.slow
def test_poses_of_other_methods_are_judged_by_the_same_evidence(pair: synthetic.Pair) -> None:
    good = graphreg.register(pair.source, pair.target, method="graphreg-paper", init=pair.T_target_source)
    assert good.success
    size = np.ptp(pair.target, axis=0).max()
    assert rmsd(good.transformation, pair.T_target_source, pair.source) < 0.01 * size
    far = pose(rotation_from_vector([0, 2.5, 0]), np.zeros(3))
    assert not graphreg.register(pair.source, pair.target, method="graphreg-paper", init=far).success

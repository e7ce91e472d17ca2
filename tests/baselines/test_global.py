"""FGR, TEASER++ and Super4PCS: their parts, any starting pose, and where each breaks down."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import random_cloud, random_transform, seeds

import graphreg
import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun
from graphreg.baselines.fgr import FgrSettings, align_matches
from graphreg.baselines.fpfh_correspondences import feature_matches
from graphreg.baselines.super4pcs import (
    PairTable,
    Super4pcsSettings,
    congruent_sets,
    crossings,
    draw_base,
    trials,
)
from graphreg.baselines.teaser import TeaserSettings, align_robustly, rotations, truncated_mean, truncation_weights
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error, rmsd
from graphreg.poses import inverse, rotation_from_vector, transform


@pytest.fixture(scope="module")
def body() -> np.ndarray:
    points = graphreg.voxel_downsample(synthetic.scan("hare", points=6000).points, 0.003)
    return points - points.mean(axis=0)


@pytest.mark.parametrize("method", ["fgr", "teaser", "super4pcs"])
@pytest.mark.parametrize("seed", [1, 2])
def test_any_starting_pose_will_do(method: str, seed: int) -> None:
    pair = synthetic.pair("hare", 20.0, points=8000)
    moved = random_transform(seed, 1.0)
    result = graphreg.register(transform(moved, pair.source), pair.target, method=method)
    truth = pair.T_target_source @ inverse(moved)
    assert angular_error(result.transformation, truth) < 2
    assert rmsd(result.transformation, truth, transform(moved, pair.source)) < 2 * result.settings["voxel"]
    assert result.success


def test_the_matches_of_an_exact_copy_are_right(body: np.ndarray) -> None:
    """Rounding moves a few angles from one bin to the next, and can make another point look more alike."""
    run = BaselineRun(transform(random_transform(1, 1.0), body), body, 0, None, 2, None)
    found = feature_matches(run, 5.0)
    assert len(found) > 0.9 * len(body)
    assert (found[:, 0] == found[:, 1]).mean() > 0.99


def matches(share_wrong: float, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A thousand points, where they went, and the motion; some went anywhere."""
    rng = np.random.default_rng(seed)
    x = random_cloud("blob", 1000, seed)
    motion = random_transform(seed + 1, 1.0)
    y = transform(motion, x) + noise * rng.uniform(-1, 1, x.shape)
    wrong = rng.permutation(1000)[: int(share_wrong * 1000)]
    y[wrong] = rng.normal(size=(len(wrong), 3)) * 3
    return x, y, motion


def run_on(x: np.ndarray, y: np.ndarray) -> BaselineRun:
    """A run whose own clouds do not matter: its voxel is 0.02."""
    return BaselineRun(x, y, 0.02, np.eye(4), 2, None)


def found_by(run: BaselineRun) -> np.ndarray:
    return run.outcome().transformation


@pytest.mark.parametrize("share_wrong", [0.0, 0.5, 0.7])
def test_fgr_gets_over_wrong_matches(share_wrong: float) -> None:
    x, y, motion = matches(share_wrong, 0.0, 0)
    run = run_on(x, y)
    origin = run.outcome().target.mean(axis=0)
    align_matches(run, x - origin, y - origin, 10.0, FgrSettings())
    # A wrong match pulls by r (mu / (mu + r^2))^2, which for r of a hundred times the distance is 1e-8 of r.
    assert rmsd(found_by(run), motion, x) < 1e-5


def test_fgr_breaks_down_where_nearly_all_matches_are_wrong() -> None:
    x, y, motion = matches(0.98, 0.0, 0)
    run = run_on(x, y)
    origin = run.outcome().target.mean(axis=0)
    align_matches(run, x - origin, y - origin, 10.0, FgrSettings())
    assert rmsd(found_by(run), motion, x) > 0.1


@pytest.mark.parametrize(("share_wrong", "noise"), [(0.0, 0.0), (0.9, 0.0), (0.98, 0.0), (0.9, 0.01), (0.98, 0.01)])
def test_teaser_gets_over_almost_nothing_but_wrong_matches(share_wrong: float, noise: float) -> None:
    x, y, motion = matches(share_wrong, noise, 0)
    run = run_on(x, y)
    origin = run.outcome().target.mean(axis=0)
    align_robustly(run, x - origin, y - origin, TeaserSettings())
    right = 1000 * (1 - share_wrong)
    # Noise averages out over the right matches; wrong ones within the bound of a right place are too few to count.
    assert rmsd(found_by(run), motion, x) < 1e-9 + 6 * noise / np.sqrt(right)


def test_teaser_takes_the_motion_that_most_matches_agree_on() -> None:
    """Where more matches agree on a wrong motion than on the right one, as with a part that is there twice."""
    x, y, motion = matches(0.0, 0.0, 0)
    wrong = random_transform(7, 1.0)
    for share, answer in ((0.4, motion), (0.6, wrong)):
        mixed = y.copy()
        mixed[: int(share * 1000)] = transform(wrong, x[: int(share * 1000)])
        run = run_on(x, mixed)
        origin = run.outcome().target.mean(axis=0)
        align_robustly(run, x - origin, mixed - origin, TeaserSettings())
        assert rmsd(found_by(run), answer, x) < 1e-9


@given(seeds, st.floats(0.01, 1.0))
def test_the_truncated_mean_is_the_best_of_all(seed: int, bound: float) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=20) * 0.1, rng.uniform(-3, 3, rng.integers(0, 60))]) + 1e3

    def cost(m: float) -> float:
        return float(np.minimum((values - m) ** 2, bound**2).sum())

    found = cost(truncated_mean(values, bound))
    assert all(found <= cost(m) + 1e-9 for m in np.linspace(values.min(), values.max(), 2001))


def test_teaser_with_few_of_its_matches(body: np.ndarray) -> None:
    moved = transform(random_transform(3, 0.1), body)
    result = graphreg.register(moved, body, method="teaser", voxel=0, max_matches=100)
    assert rmsd(result.transformation, inverse(random_transform(3, 0.1)), moved) < 0.003


def test_graduated_weights_go_from_soft_to_hard() -> None:
    squared = np.linspace(0, 4, 401)
    soft, hard = truncation_weights(squared, 1.0, 0.1), truncation_weights(squared, 1.0, 1e6)
    assert ((soft > 0) & (soft < 1)).mean() > 0.8
    np.testing.assert_array_equal(hard[squared < 0.999], 1)
    np.testing.assert_array_equal(hard[squared > 1.001], 0)
    assert (np.diff(soft) <= 0).all()


def test_rotations_end_at_the_truncated_minimum() -> None:
    """Half of the pairs are wrong: the rotation is the one that fits the others exactly."""
    rng = np.random.default_rng(0)
    before = rng.normal(size=(300, 3))
    turn = rotation_from_vector([0.5, -1.0, 2.0])
    after = before @ turn.T
    after[150:] = rng.normal(size=(150, 3))
    *_, (rotation, cost) = rotations(before, after, 0.01, 100, 1.4)
    np.testing.assert_allclose(rotation, turn, atol=1e-9)
    assert cost == pytest.approx(150 * 0.01**2, rel=0.05)


@given(seeds, st.integers(0, 12), st.floats(0.1, 1.5))
def test_the_largest_consistent_set_of_few_matches(seed: int, count: int, tolerance: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, count, 3))
    lengths = [np.linalg.norm(points[:, None] - points[None], axis=2) for points in (a, b)]
    agree = np.abs(lengths[0] - lengths[1]) <= tolerance
    largest = next(
        size
        for size in range(count, -1, -1)
        if any(agree[np.ix_(some, some)].all() for some in combinations(range(count), size))
    )
    members, proven = _core.largest_consistent_set(a, b, tolerance, 10_000, 2)
    assert proven
    assert len(members) == largest
    assert agree[np.ix_(members, members)].all()


def test_a_search_that_is_cut_short_says_so() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 200, 3))
    members, proven = _core.largest_consistent_set(a, b, 1.0, 1, 1)
    assert not proven
    assert len(members) >= 3
    longer, _ = _core.largest_consistent_set(a, b, 1.0, 100_000, 1)
    assert len(longer) >= len(members)


def test_crossings_of_segments() -> None:
    """Diagonals of a square that cross at a third and a half, and the same with a gap."""
    four = np.array([[0.0, 0, 0], [3, 0, 0], [1, -1, 0], [1, 1, 0]])
    lifted = four + np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0.5], [0, 0, 0.5]])
    found = crossings(np.stack([four, lifted]))
    np.testing.assert_allclose(found.first, 1 / 3)
    np.testing.assert_allclose(found.second, 1 / 2)
    np.testing.assert_allclose(found.gap, [0, 0.5], atol=1e-12)


def test_a_base_is_wide_and_its_segments_cross() -> None:
    points = random_cloud("box", 400, 0)
    for seed in range(10):
        base = draw_base(points, 1.5, np.random.default_rng(seed))
        assert len(set(base.tolist())) == 4
        sides = [np.linalg.norm(points[i] - points[j]) for i, j in combinations(base.tolist(), 2)]
        assert 0.2 < min(sides) <= max(sides) <= 1.5
        assert crossings(points[base][None]).gap[0] < 0.1


def test_congruent_sets_hold_the_base_itself() -> None:
    points = random_cloud("blob", 120, 0)
    table = PairTable(points)
    for seed in range(5):
        base = draw_base(points, 3.0, np.random.default_rng(seed))
        sets = congruent_sets(points[base], points, table, 1e-9)
        assert base.tolist() in sets.tolist()
        loose = congruent_sets(points[base], points, table, 0.05)
        lengths = [
            np.linalg.norm(points[loose[:, i]] - points[loose[:, j]], axis=1)
            - np.linalg.norm(points[base[i]] - points[base[j]])
            for i, j in combinations(range(4), 2)
        ]
        assert np.abs(lengths).max() <= 0.05


def test_pairs_of_a_length() -> None:
    points = random_cloud("blob", 60, 0)
    lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(lengths, np.nan)
    found = PairTable(points).apart(1.0, 0.1)
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, np.argwhere(np.abs(lengths - 1) <= 0.1).tolist()))


def test_more_bases_are_drawn_for_less_overlap() -> None:
    assert trials(Super4pcsSettings(overlap=1.0)) == 1
    assert trials(Super4pcsSettings(overlap=0.5)) == 72  # log(0.01) / log(1 - 0.5^4) = 71.4
    assert trials(Super4pcsSettings(overlap=0.2)) == 100


def test_super4pcs_as_the_paper_leaves_it(body: np.ndarray) -> None:
    moved = transform(random_transform(3, 0.1), body)
    rough, fine = (graphreg.register(moved, body, method="super4pcs", voxel=0, refinement=steps) for steps in (0, 50))
    truth = inverse(random_transform(3, 0.1))
    assert rmsd(fine.transformation, truth, moved) < rmsd(rough.transformation, truth, moved) < 0.02
    energies = [step.energy for step in rough.history]
    assert energies == sorted(energies, reverse=True)


def test_super4pcs_needs_overlap(body: np.ndarray) -> None:
    """Halves of a body that share a tenth of it: hardly a base lies in what they share, and other poses bring as many
    points together. Of two thirds that share half, the pose is found."""
    motion = random_transform(3, 0.1)
    for low, high, right in ((0.45, 0.55, False), (0.25, 0.75, True)):
        left, beyond = np.quantile(body[:, 0], [low, high])
        source, target = transform(inverse(motion), body[body[:, 0] < beyond]), body[body[:, 0] > left]
        result = graphreg.register(source, target, method="super4pcs", voxel=0, overlap=0.2)
        off = rmsd(result.transformation, motion, source)
        assert off < 0.003 if right else off > 0.03


def test_another_seed_is_another_draw(body: np.ndarray) -> None:
    pair = synthetic.pair("hare", 20.0, points=4000)
    for method in ("fgr", "super4pcs"):
        one, other = (graphreg.register(pair.source, pair.target, method=method, seed=seed) for seed in (0, 1))
        assert one.transformation.tobytes() != other.transformation.tobytes()


@pytest.mark.parametrize(
    ("method", "settings", "told"),
    [
        ("fgr", {"radius": 0.0}, "radius: expected a positive"),
        ("fgr", {"similarity": 1.0}, "similarity: expected a number from 0"),
        ("teaser", {"noise_bound": 0.0}, "noise_bound: expected a positive"),
        ("teaser", {"max_matches": 0}, "max_matches: expected a whole number"),
        ("super4pcs", {"overlap": 0.0}, "overlap: expected a share"),
        ("super4pcs", {"refinement": -1}, "refinement: expected a whole number from 0 on"),
    ],
)
def test_settings_that_cannot_be_used(body: np.ndarray, method: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{told}"):
        graphreg.register(body, body, method=method, **settings)

"""Network adjustment: reported covariance and the spread over simulated surveys, outliers, groups, and targets."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.strategies import random_transform

from graphreg.clouds import Floats
from graphreg.multiscan.network_adjustment import AdjustedNetwork, Sightings, adjust_network, place_groups
from graphreg.multiscan.pose_graph import inverses
from graphreg.multiscan.pose_graph_optimisation import free_steps, retract
from graphreg.poses import PoseGraph, inverse, rotation_from_vector

SCANS, SURVEYS = 5, 100
# Standard deviations of a pair, radians and metres, and of a coordinate of a point.
PAIR_SIGMA, POINT_SIGMA = np.repeat([4e-4, 5e-3], 3), 4e-3
LEVELLED = (False, False, True, True, True, True)


def survey(seed: int, dof: tuple[bool, ...] = (True,) * 6) -> tuple[PoseGraph, Sightings, Floats]:
    """Scans along a street, pairs of neighbours, four control points, two targets; all with noise. And the truth."""
    rng, fixed = np.random.default_rng(seed), np.random.default_rng(7)
    truth = np.tile(np.eye(4), (SCANS, 1, 1))
    for number, angle in enumerate(fixed.uniform(-3, 3, SCANS)):
        tilt = fixed.uniform(-0.3, 0.3, 2) * np.array(dof[:2])
        truth[number, :3, :3] = rotation_from_vector(np.array([0, 0, angle])) @ rotation_from_vector(
            np.array([*tilt, 0.0])
        )
        truth[number, :3, 3] = [12.0 * number, fixed.normal(), 1.5]
    world = np.array([[-6, 5, 0], [20, -6, 4], [50, 6, 1], [30, 3, 8], [9, 7, 2], [33, -5, 3]], np.float64)
    sees = [(0, 0), (1, 1), (2, 1), (4, 2), (3, 3), (2, 3), (0, 4), (1, 4), (2, 5), (3, 5)]
    scans, points = np.array(sees).T
    inside = inverses(truth)[scans]
    positions = np.einsum("kij,kj->ki", inside[:, :3, :3], world[points]) + inside[:, :3, 3]
    positions += POINT_SIGMA * rng.normal(size=positions.shape)
    pairs = np.array([(1, 0), (2, 1), (3, 2), (4, 3), (2, 0), (4, 2)])
    noise = PAIR_SIGMA * rng.normal(size=(len(pairs), 6)) * dof
    exact = inverses(truth)[pairs[:, 1]] @ truth[pairs[:, 0]]
    # A small transform after Z.
    after = retract(np.tile(np.eye(4), (len(pairs), 1, 1)), noise)
    information = np.tile(np.diag(PAIR_SIGMA**-2.0), (len(pairs), 1, 1))
    graph = PoseGraph(truth, pairs, after @ exact, information)
    known = np.where(np.arange(6)[:, None] < 4, world, np.nan)
    names = tuple("ABCDST")
    sightings = Sightings(names, known, scans, points, positions, np.full(len(sees), POINT_SIGMA))
    return graph, sightings, truth


@lru_cache
def adjusted(dof: tuple[bool, ...]) -> tuple[list[AdjustedNetwork], Floats]:
    """All surveys, and the errors of their poses in the steps of `retract`, (SURVEYS, SCANS, 6)."""
    results, errors = [], []
    for seed in range(SURVEYS):
        graph, sightings, truth = survey(seed, dof)
        found = adjust_network(graph, free_steps(np.zeros(SCANS, bool), dof), sightings)
        small = inverses(truth) @ found.poses
        turned = np.stack([small[:, 2, 1], small[:, 0, 2], small[:, 1, 0]], axis=1)
        results.append(found)
        errors.append(np.concatenate([turned, small[:, :3, 3]], axis=1))
    return results, np.array(errors)


@pytest.mark.slow
@pytest.mark.parametrize("dof", [(True,) * 6, LEVELLED])
def test_the_reported_covariance_is_the_spread_over_simulated_surveys(dof: tuple[bool, ...]) -> None:
    results, errors = adjusted(dof)
    free = np.array(dof)
    assert np.abs(errors[:, :, ~free]).max(initial=0.0) < 1e-12
    covariance = results[0].covariances[:, free][:, :, free]
    deviations = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    spread = np.sqrt((errors[:, :, free] ** 2).mean(axis=0))
    # The root mean square of 100 normal numbers has a standard deviation of 7 %; the largest of 30, 3.1 times that.
    assert np.abs(spread / deviations - 1).max() < 0.25
    statistic = np.einsum("sni,nij,snj->sn", errors[:, :, free], np.linalg.inv(covariance), errors[:, :, free])
    # The mean of chi-squared over 100 surveys; the five scans are correlated.
    assert np.abs(statistic.mean(axis=0) / free.sum() - 1).max() < 4 * np.sqrt(2 / free.sum() / SURVEYS)


@pytest.mark.slow
def test_the_variance_factor_is_one_and_right_points_are_seldom_outliers() -> None:
    results, _ = adjusted((True,) * 6)
    redundancy = results[0].redundancy
    assert redundancy == 6 * 6 + 3 * 10 - 6 * SCANS - 3 * 2
    factors = np.array([found.sigma0**2 for found in results if found.used.all()])
    assert abs(factors.mean() - 1) < 4 * np.sqrt(2 / redundancy / SURVEYS)
    # A thousand sightings, each called an outlier with probability 0.001.
    assert sum(int((~found.used).sum()) for found in results) <= 6


@pytest.mark.parametrize("wrong", [1, 3, 5])
def test_a_gross_error_is_found_and_does_not_move_the_poses(wrong: int) -> None:
    graph, sightings, _ = survey(3)
    free = free_steps(np.zeros(SCANS, bool))
    others = np.arange(len(sightings.sigma)) != wrong
    positions = sightings.positions.copy()
    positions[wrong] += [0.0, 0.25, 0.0]
    found = adjust_network(graph, free, replace(sightings, positions=positions))
    assert not found.used[wrong]
    assert found.probabilities[wrong] < 1e-6
    part = {name: getattr(sightings, name)[others] for name in ("scans", "points", "positions", "sigma")}
    without = adjust_network(graph, free, replace(sightings, **part))
    np.testing.assert_allclose(found.poses, without.poses, atol=1e-6)


def test_a_fixed_scan_has_its_pose_and_no_deviation() -> None:
    graph, sightings, truth = survey(1)
    fixed = np.arange(SCANS) == 2
    found = adjust_network(graph, free_steps(fixed), sightings)
    assert np.array_equal(found.poses[2], truth[2])
    assert not found.covariances[2].any()
    loose = adjust_network(graph, free_steps(np.zeros(SCANS, bool)), sightings)
    variances = [np.diagonal(each.covariances, axis1=1, axis2=2)[:, 3:].sum(axis=1) for each in (found, loose)]
    assert (variances[0] < variances[1]).all()


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_joined_by_common_points_and_brought_into_the_world(seed: int) -> None:
    truth = survey(seed)[2]
    rng = np.random.default_rng(seed)
    world = rng.uniform(-20, 20, (9, 3))
    # Points 0 to 3 are known and seen by the first group, 3 to 8 seen by both; nobody sees scan 4.
    sees = [(0, 0), (0, 1), (1, 2), (1, 3), *((scan, point) for scan in (1, 2) for point in range(3, 9)), (3, 8)]
    scans, points = np.array(sees).T
    positions = np.einsum("kij,kj->ki", inverses(truth)[scans, :3, :3], world[points]) + inverses(truth)[scans, :3, 3]
    known = np.where(np.arange(9)[:, None] < 4, world, np.nan)
    seen = Sightings(tuple("abcdefghi"), known, scans, points, positions, np.full(len(sees), 0.01))
    groups = ((0, 1), (2, 3), (4,))
    moved = truth.copy()
    for number, group in enumerate(groups):
        moved[list(group)] = inverse(random_transform(10 * seed + number, 5.0)) @ truth[list(group)]
    placed = place_groups(moved, groups, np.zeros(SCANS, bool), seen)
    assert placed.in_world
    assert placed.groups == ((0, 1, 2, 3),)
    assert placed.agreeing.all()
    np.testing.assert_allclose(placed.poses[:4], truth[:4], atol=1e-9)
    # Without world coordinates the groups are joined all the same, in a frame of their own.
    tied = place_groups(moved, groups, np.zeros(SCANS, bool), replace(seen, world=np.full_like(world, np.nan)))
    assert not tied.in_world
    assert tied.groups == ((0, 1, 2, 3),)
    np.testing.assert_allclose(inverse(tied.poses[0]) @ tied.poses[3], inverse(truth[0]) @ truth[3], atol=1e-9)
    # A fixed scan brings its whole group.
    fixed = np.arange(SCANS) == 3
    start = moved.copy()
    start[2:4] = truth[2:4]
    assert place_groups(start, groups, fixed, replace(seen, world=np.full_like(world, np.nan))).groups == tied.groups

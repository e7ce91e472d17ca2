"""Many scans: all placed, foreign ones named, and what must not matter does not."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.support.strategies import Floats, random_transform

import graphreg
from graphreg import InputError, Multiway
from graphreg.clouds import as_cloud, extent
from graphreg.datasets import synthetic
from graphreg.metrics import angular_error
from graphreg.multiscan.multiview_refinement import refine_multiview
from graphreg.multiscan.pose_graph import squared_errors
from graphreg.multiscan.pose_graph_optimisation import optimise, retract
from graphreg.multiscan.retrieval import retrieval_surfels, scan_similarity
from graphreg.poses import inverse, transform

# Views around a hare, half a turn of it, in an order that is not theirs.
ORDER = (2, 0, 3, 1)


@lru_cache
def views() -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Scans of one body, each in a pose of its own, and the truth x_world = P x_scan."""
    made = list(synthetic.sequence("hare", 4, 40, points=6000))
    motions = [random_transform(number, 1.0) for number in ORDER]
    scans = tuple(transform(motion, made[n].points) for n, motion in zip(ORDER, motions, strict=True))
    return scans, tuple(made[n].pose @ inverse(motion) for n, motion in zip(ORDER, motions, strict=True))


@lru_cache
def stranger() -> Floats:
    return synthetic.scan("casting", points=6000).points


@lru_cache
def found() -> Multiway:
    return graphreg.multiway(views()[0])


def assert_placed(
    result: Multiway, group: tuple[int, ...], scans: tuple[Floats, ...], truth: tuple[Floats, ...]
) -> None:
    """Every pose within half a degree and half a hundredth of the size."""
    assert result.groups == (group,)
    assert np.array_equal(result.poses[group[0]], np.eye(4))
    for scan in group:
        right = inverse(truth[group[0]]) @ truth[scan]
        middle = scans[scan].mean(axis=0)[None]
        off = np.linalg.norm(transform(result.poses[scan], middle) - transform(right, middle))
        assert angular_error(result.poses[scan], right) < 0.5
        assert off < 0.005 * extent(scans[scan])


def test_scans_in_any_order_and_pose_are_placed() -> None:
    result = found()
    assert_placed(result, (0, 1, 2, 3), *views())
    assert result.success
    assert result.left_out == {}
    assert {edge.used for edge in result.edges if edge.success} == {True}


def test_the_same_bits_for_any_number_of_threads() -> None:
    again = graphreg.multiway(views()[0], threads=1)
    assert np.array_equal(again.poses, found().poses)
    assert [edge.reason for edge in again.edges] == [edge.reason for edge in found().edges]


def test_a_foreign_scan_is_left_out_and_named() -> None:
    scans, truth = views()
    mixed = (stranger(), *scans)
    names = ("other", "a", "b", "c", "d")
    calls: list[tuple[int, int]] = []
    result = graphreg.multiway(mixed, names=names, progress=lambda done, total: calls.append((done, total)))
    assert_placed(result, (1, 2, 3, 4), mixed, (np.eye(4), *truth))
    assert not result.success
    assert list(result.left_out) == ["other"]
    assert "not" in result.left_out["other"]
    assert np.isnan(result.poses[0]).all()
    # Each pair is told when it is done, one after the other.
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert calls[-1][0] == calls[-1][1]


def test_groups_that_do_not_meet_have_frames_of_their_own() -> None:
    scans, _ = views()
    elsewhere = transform(random_transform(8, 1.0), stranger())
    result = graphreg.multiway([scans[0], stranger(), scans[3], elsewhere])
    assert result.groups == ((0, 2), (1, 3))
    assert not result.success
    assert result.left_out == {}
    assert np.array_equal(result.poses[[0, 1]], np.tile(np.eye(4), (2, 1, 1)))
    assert angular_error(result.poses[3], inverse(random_transform(8, 1.0))) < 0.5


def test_scans_far_from_the_origin_lose_nothing() -> None:
    scans, _ = views()
    away = np.array([4e5, 5.4e6, 300.0])
    shift = np.eye(4)
    shift[:3, 3] = away
    result = graphreg.multiway([scan + away for scan in scans])
    for scan in range(4):
        back = inverse(shift) @ result.poses[scan] @ shift
        # Coordinates of millions have nine digits after the point; a turn of 1e-9 shifts what is 5e6 off by 5e-3.
        assert angular_error(back, found().poses[scan]) < 0.05
        middle = scans[scan].mean(axis=0)[None]
        np.testing.assert_allclose(transform(back, middle), transform(found().poses[scan], middle), atol=2e-4)


def test_its_graph_says_of_the_poses_what_the_edges_do() -> None:
    """Weights are about the origin of each target there, about its middle here: alike to first order."""
    result = found()
    edges = [edge for edge in result.edges if edge.information is not None]
    for edge, squared in zip(edges, squared_errors(result.graph), strict=True):
        off = inverse(result.poses[edge.target]) @ result.poses[edge.source] @ inverse(edge.transformation)
        shift = transform(off, edge.rotation_centre[None])[0] - edge.rotation_centre
        turn = Rotation.from_matrix(off[:3, :3]).as_rotvec()
        error = np.concatenate([turn, shift])
        # What is of second order in the turn shifts the middle by no more than this.
        most = turn @ turn * np.linalg.norm(edge.rotation_centre) + np.linalg.norm(turn) * np.linalg.norm(shift)
        apart = np.sqrt(squared) - np.sqrt(error @ edge.information @ error)
        assert abs(apart) <= most * np.sqrt(np.linalg.norm(edge.information[3:, 3:], 2)) + 1e-9
    again = optimise(result.graph)
    assert again.used.tolist() == [edge.used for edge in edges]


def test_the_merged_cloud_tells_whose_each_point_is() -> None:
    scans, _ = views()
    shaded = [as_cloud(scan, attributes={"shade": np.full(len(scan), n)}) for n, scan in enumerate(scans)]
    result = replace(found(), clouds=tuple(shaded))
    merged = result.merged()
    assert len(merged) == sum(map(len, scans))
    assert np.array_equal(merged.attributes["shade"], merged.attributes["scan"])
    third = merged.select(merged.attributes["scan"] == 2)
    assert np.array_equal(third.points, transform(result.poses[2], scans[2]))
    assert len(result.merged(voxel=0.01)) < len(merged) / 4


def test_scans_of_one_body_are_more_alike_than_others() -> None:
    scans = [graphreg.prepare(cloud) for cloud in (*views()[0], stranger())]
    alike = scan_similarity(retrieval_surfels(scans)[0])
    np.testing.assert_allclose(alike, alike.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(alike), 1, atol=1e-6)
    assert min(row[np.arange(5) != number].argmax() != 4 for number, row in enumerate(alike[:4]))


def test_scans_come_to_rest_where_their_surfaces_do() -> None:
    """From poses that are a little off, each by a motion of its own; the first stays."""
    clouds, truth = views()
    scans = [graphreg.prepare(cloud) for cloud in clouds]
    pairs = [(3, 0), (2, 0), (3, 1), (2, 1), (1, 0), (3, 2)]
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(4, 6)) * np.repeat([2e-3, 2e-4], 3)  # about a tenth of a degree, a fifth of a millimetre
    steps[0] = 0
    off = retract(np.array(truth), steps)
    settled = refine_multiview(scans, off, pairs)
    again = refine_multiview(scans, np.array(truth), pairs, threads=2)
    np.testing.assert_allclose(settled[0], truth[0], atol=1e-12)
    for n in range(1, 4):
        middle = clouds[n].mean(axis=0)[None]

        def gap(a: Floats, b: Floats, middle: Floats = middle) -> float:
            return float(np.linalg.norm(transform(a, middle) - transform(b, middle)))

        # Noise of 0.1 mm on thousands of points leaves some hundredths of a millimetre.
        assert gap(settled[n], truth[n]) < 5e-5 < gap(off[n], truth[n])
        assert gap(settled[n], again[n]) < 1e-5
    assert np.array_equal(refine_multiview(scans, off, []), off)


def test_a_scan_with_most_points_on_one_near_thing_is_placed() -> None:
    """From so near a lamp in a room that half of the points lie on it."""
    made = list(synthetic.sequence("room", 4, 12, viewpoint=84, points=10000))
    motions = [random_transform(number, 1.0) for number in range(4)]
    scans = tuple(transform(motion, scan.points) for motion, scan in zip(motions, made, strict=True))
    truth = tuple(scan.pose @ inverse(motion) for motion, scan in zip(motions, made, strict=True))
    assert_placed(graphreg.multiway(scans), (0, 1, 2, 3), scans, truth)


@pytest.mark.parametrize(
    ("clouds", "names", "told"),
    [
        ([np.zeros((20, 3))], None, "clouds: expected a list of at least two, got 1"),
        ("scans", None, "clouds: expected a list of at least two, got str"),
        ([np.zeros((20, 3))] * 2, ["a", "a"], "names: expected 2 different ones, got a, a"),
        ([np.zeros((20, 3)), np.zeros((4, 3))], ["a", "b"], "b: has 4 points, but at least 11 are needed"),
        ([np.zeros((20, 3)), np.eye(3)[[0, 1, 2] * 5]], ["a", "b"], "a: has 1 distinct points, but at least 11"),
        ([np.zeros((20, 3)), "text"], ["a", "b"], "b: expected an"),
    ],
)
def test_bad_input_is_named(clouds: object, names: list[str] | None, told: str) -> None:
    with pytest.raises(InputError, match=told):
        graphreg.multiway(clouds, names=names)  # type: ignore[arg-type]


def test_a_scan_without_a_surface_does_not_stop_the_others() -> None:
    scans, _ = views()
    fog = np.random.default_rng(0).normal(size=(3000, 3))
    result = graphreg.multiway([scans[0], fog, scans[3]], names=("a", "fog", "b"))
    assert result.groups == ((0, 2),)
    assert "fog" in result.left_out

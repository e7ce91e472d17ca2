"""Instances among candidates: one a place, told from chance by the drop of the scores; equivalent poses are one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from graphreg.clouds import Floats
from graphreg.datasets import clutter
from graphreg.engine.part_candidates import are_equivalent, find_instances
from graphreg.engine.part_search import Part, PartCandidates, prepare_part
from graphreg.engine.preprocessing import preprocess
from graphreg.engine.symmetry import Symmetry, rotation_about

NONE = Symmetry(np.eye(4)[None], np.empty((0, 3)))


@cache
def part() -> Part:
    cloud = preprocess(clutter.table("bracket", objects=1, spacing=0.05).part, "part")
    return prepare_part(cloud, cloud, 600)[0]


def at(*places: float) -> Floats:
    """Poses at places along x, in radii of the part."""
    poses = np.tile(np.eye(4), (len(places), 1, 1))
    poses[:, 0, 3] = np.array(places) * part().radius
    return poses


def candidates(places: list[float], scores: list[float]) -> PartCandidates:
    return PartCandidates(at(*places), np.array(scores), len(places))


def test_there_is_one_instance_a_place() -> None:
    found = find_instances(part(), candidates([0, 0.2, 5], [0.9, 0.8, 0.4]), NONE, 2)
    assert [instance.score for instance in found] == [0.9, 0.4]


def test_an_instance_does_not_contradict_another_but_chance_does() -> None:
    found = find_instances(part(), candidates([0, 5, 10, 15], [0.8, 0.78, 0.4, 0.39]), NONE, 3)
    assert [instance.runner_up_score for instance in found] == [0.4, 0.4, 0.8]
    assert found[0].score_ratio == pytest.approx(0.5)


def test_without_other_places_nothing_contradicts_the_instances() -> None:
    found = find_instances(part(), candidates([0, 5, 10], [0.8, 0.78, 0.77]), NONE, 5)
    assert [instance.runner_up for instance in found] == [None, None, None]
    assert find_instances(part(), candidates([], []), NONE, 3) == []


def test_a_symmetry_makes_poses_equivalent() -> None:
    half_turn = rotation_about(np.array([0, 0, np.pi]), part().centre)
    symmetric = Symmetry(np.array([np.eye(4), half_turn]), np.empty((0, 3)))
    assert are_equivalent(half_turn, np.eye(4), part(), symmetric)
    assert not are_equivalent(half_turn, np.eye(4), part(), NONE)
    assert not are_equivalent(at(3)[0], np.eye(4), part(), symmetric)


def test_a_turn_about_the_axis_of_revolution_is_equivalent_and_a_tilt_is_not() -> None:
    revolution = Symmetry(np.eye(4)[None], np.array([[0.0, 0, 1]]))
    turned, tilted, reversed_ = (
        rotation_about(np.array(vector), part().centre) for vector in ([0, 0, 1.0], [1.0, 0, 0], [np.pi, 0, 0])
    )
    assert are_equivalent(turned, np.eye(4), part(), revolution)
    assert not are_equivalent(tilted, np.eye(4), part(), revolution)
    assert not are_equivalent(reversed_, np.eye(4), part(), revolution)
    both_ways = Symmetry(np.array([np.eye(4), reversed_]), revolution.axes)
    assert are_equivalent(reversed_, np.eye(4), part(), both_ways)
    assert are_equivalent(tilted, np.eye(4), part(), Symmetry(np.eye(4)[None], np.eye(3)))

"""The laws of SE(3), and what is no rigid motion."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import graphreg
from graphreg.poses import adjoint, as_pose, inverse, nearest_rotation, pose, rotation_from_vector, transform
from tests.support.strategies import random_cloud, random_transform, transforms

Floats = NDArray[np.float64]
vectors = st.tuples(*[st.floats(-3, 3)] * 3).map(np.array)


@given(transforms, transforms)
def test_group(a: Floats, b: Floats) -> None:
    points = random_cloud("blob", 20, 0)
    scale = 1 + np.abs(a[:3, 3]).max() + np.abs(b[:3, 3]).max()
    rounding = 32 * np.finfo(float).eps * scale
    np.testing.assert_allclose(transform(a @ b, points), transform(a, transform(b, points)), rtol=0, atol=rounding)
    np.testing.assert_allclose(inverse(a) @ a, np.eye(4), rtol=0, atol=rounding)
    np.testing.assert_allclose(inverse(a @ b), inverse(b) @ inverse(a), rtol=0, atol=rounding)


@given(vectors)
def test_rodrigues(vector: Floats) -> None:
    rotation = rotation_from_vector(vector)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(rotation @ vector, vector, atol=1e-14)
    np.testing.assert_allclose(rotation @ rotation, rotation_from_vector(2 * vector), atol=1e-13)


def test_small_turns_are_not_lost() -> None:
    rotation = rotation_from_vector([1e-12, 0, 0])
    assert rotation[2, 1] == 1e-12
    assert np.array_equal(rotation_from_vector([0, 0, 0]), np.eye(3))


@given(transforms, st.floats(0, 1e-5))
def test_a_pose_with_few_digits_is_accepted_and_straightened(motion: Floats, error: float) -> None:
    rough = motion.copy()
    rough[:3, :3] += error * np.random.default_rng(0).uniform(-1, 1, (3, 3))
    straight = as_pose(rough)
    np.testing.assert_allclose(straight[:3, :3] @ straight[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(straight[:3, :3]) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(straight, motion, atol=2 * error + 1e-12)


def exponential(twist: Floats) -> Floats:
    """exp of a twist (rotation vector, translation) by its series."""
    (x, y, z), matrix = twist[:3], np.zeros((4, 4))
    matrix[:3] = [[0, -z, y, twist[3]], [z, 0, -x, twist[4]], [-y, x, 0, twist[5]]]
    return np.asarray(expm(matrix))


@given(transforms.filter(lambda motion: np.abs(motion[:3, 3]).max() < 10), vectors, vectors)
def test_the_adjoint_expresses_a_twist_in_another_frame(motion: Floats, rotation: Floats, translation: Floats) -> None:
    twist = np.concatenate([rotation, translation])
    moved = motion @ exponential(twist) @ inverse(motion)
    np.testing.assert_allclose(exponential(adjoint(motion) @ twist), moved, atol=1e-10)


@given(transforms, transforms)
def test_the_adjoint_is_a_homomorphism(a: Floats, b: Floats) -> None:
    scale = 1 + np.abs(a[:3, 3]).max() + np.abs(b[:3, 3]).max()
    both = adjoint(np.stack([a, b]))
    np.testing.assert_allclose(both[0] @ both[1], adjoint(a @ b), rtol=0, atol=64 * np.finfo(float).eps * scale)


@given(vectors, vectors, vectors)
def test_the_adjoint_of_a_translation_moves_the_rotation_centre(centre: Floats, shift: Floats, twist: Floats) -> None:
    """The velocity w x (p - c) + v of a point is the same whichever the centre c."""
    rotation, translation = np.split(adjoint(pose(np.eye(3), shift)) @ [*twist, 1, 2, 3], 2)
    point = np.array([0.3, -0.7, 1.1])
    velocity = np.cross(twist, point - centre) + np.arange(1, 4)
    np.testing.assert_allclose(np.cross(rotation, point - (centre - shift)) + translation, velocity, atol=1e-12)


def test_the_nearest_rotation_is_never_a_reflection() -> None:
    for seed in range(50):
        rotation = nearest_rotation(np.random.default_rng(seed).normal(size=(3, 3)))
        assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.eye(3), r"shape \(3, 3\)"),
        ("identity", "str"),
        (None, "NoneType|shape"),
        (2 * np.eye(4), "last row"),
        (pose(2 * np.eye(3), [0, 0, 0]), "scale"),
        (pose(np.diag([1, 1, -1]), [0, 0, 0]), "reflection"),
        (np.full((4, 4), np.nan), "finite"),
    ],
)
def test_what_is_no_pose(value: object, told: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^init: expected.*({told})"):
        as_pose(value)


def test_motions_drawn_are_rigid() -> None:
    np.testing.assert_allclose(as_pose(random_transform(3, 10.0)), random_transform(3, 10.0), atol=1e-14)

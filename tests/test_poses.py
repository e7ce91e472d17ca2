"""The group laws of SE(3), the fit of a rigid transform, and matrices that are no rigid transform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.linalg import expm

import graphreg
from graphreg.clouds import as_cloud
from graphreg.poses import (
    adjoint,
    as_pose,
    as_similarity,
    fit_rigid_transform,
    fit_similarity,
    inverse,
    inverse_similarity,
    nearest_rotation,
    pose,
    principal_frame,
    rotation_from_vector,
    scale_of,
    split_similarity,
    transform,
    transform_cloud,
)
from tests.support.strategies import clouds, random_cloud, random_transform, seeds, transforms

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


def test_small_rotations_are_not_rounded_away() -> None:
    rotation = rotation_from_vector([1e-12, 0, 0])
    assert rotation[2, 1] == 1e-12
    assert np.array_equal(rotation_from_vector([0, 0, 0]), np.eye(3))


@given(transforms, st.floats(0, 1e-5))
def test_a_pose_with_few_digits_is_accepted_and_made_orthogonal(transformation: Floats, error: float) -> None:
    rough = transformation.copy()
    rough[:3, :3] += error * np.random.default_rng(0).uniform(-1, 1, (3, 3))
    exact = as_pose(rough)
    np.testing.assert_allclose(exact[:3, :3] @ exact[:3, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(exact[:3, :3]) == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(exact, transformation, atol=2 * error + 1e-12)


def exponential(twist: Floats) -> Floats:
    """exp of a twist (rotation vector, translation) by its series."""
    (x, y, z), matrix = twist[:3], np.zeros((4, 4))
    matrix[:3] = [[0, -z, y, twist[3]], [z, 0, -x, twist[4]], [-y, x, 0, twist[5]]]
    return np.asarray(expm(matrix))


@given(transforms.filter(lambda T: np.abs(T[:3, 3]).max() < 10), vectors, vectors)
def test_the_adjoint_expresses_a_twist_in_another_frame(T: Floats, rotation: Floats, translation: Floats) -> None:
    twist = np.concatenate([rotation, translation])
    moved = T @ exponential(twist) @ inverse(T)
    np.testing.assert_allclose(exponential(adjoint(T) @ twist), moved, atol=1e-10)


@given(transforms, transforms)
def test_the_adjoint_is_a_homomorphism(a: Floats, b: Floats) -> None:
    scale = 1 + np.abs(a[:3, 3]).max() + np.abs(b[:3, 3]).max()
    both = adjoint(np.stack([a, b]))
    np.testing.assert_allclose(both[0] @ both[1], adjoint(a @ b), rtol=0, atol=64 * np.finfo(float).eps * scale)


@given(vectors, vectors, vectors)
def test_the_adjoint_of_a_translation_moves_the_rotation_centre(centre: Floats, offset: Floats, twist: Floats) -> None:
    """The velocity w x (p - c) + v of a point is the same whichever the centre c."""
    rotation, translation = np.split(adjoint(pose(np.eye(3), offset)) @ [*twist, 1, 2, 3], 2)
    point = np.array([0.3, -0.7, 1.1])
    velocity = np.cross(twist, point - centre) + np.arange(1, 4)
    np.testing.assert_allclose(np.cross(rotation, point - (centre - offset)) + translation, velocity, atol=1e-12)


def test_the_nearest_rotation_is_never_a_reflection() -> None:
    for seed in range(50):
        rotation = nearest_rotation(np.random.default_rng(seed).normal(size=(3, 3)))
        assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-12)


@given(transforms, seeds)
def test_the_fit_of_exact_correspondences_is_their_transform(truth: Floats, seed: int) -> None:
    source = random_cloud("blob", 20, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 1, 20)
    found = fit_rigid_transform(source, transform(truth, source), weights)
    np.testing.assert_allclose(found, truth, atol=1e-11 * (1 + np.abs(truth[:3, 3]).max()))


@given(seeds, vectors)
def test_no_small_transform_improves_the_fit(seed: int, direction: Floats) -> None:
    """The minimum of sum_i w_i |T x_i - y_i|^2, of correspondences that fit no transform exactly."""
    rng = np.random.default_rng(seed)
    source, target, weights = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)), rng.uniform(0.1, 1, 12)
    found = fit_rigid_transform(source, target, weights)

    def cost(matrix: Floats) -> float:
        return float(weights @ ((transform(matrix, source) - target) ** 2).sum(axis=1))

    rotated = pose(rotation_from_vector(1e-3 * direction), [0, 0, 0]) @ found
    moved = pose(np.eye(3), 1e-3 * direction) @ found
    assert cost(found) <= min(cost(rotated), cost(moved)) + 1e-12


@given(clouds)
def test_in_its_principal_frame_a_cloud_is_centred_and_uncorrelated(points: Floats) -> None:
    frame = principal_frame(points)
    np.testing.assert_allclose(as_pose(frame), frame, atol=1e-12)
    moved = transform(frame, points) / np.ptp(points)
    covariance = moved.T @ moved / len(moved)
    np.testing.assert_allclose(moved.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-12)
    assert (np.diff(np.diag(covariance)) >= -1e-12).all()


def test_normals_rotate_with_their_cloud_and_other_attributes_stay() -> None:
    points = random_cloud("surface", 50, 0)
    normals = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    cloud = as_cloud(
        points, attributes={**dict(zip(("nx", "ny", "nz"), normals.T, strict=True)), "time": np.arange(50)}
    )
    transformation = random_transform(2, 5.0)
    moved = transform_cloud(transformation, cloud)
    rotated = np.stack([moved.attributes[name] for name in ("nx", "ny", "nz")], axis=1)
    assert rotated.dtype == np.float32
    assert np.array_equal(moved.points, transform(transformation, points))
    np.testing.assert_allclose(rotated, normals @ transformation[:3, :3].T, atol=1e-6)
    assert np.array_equal(moved.attributes["time"], np.arange(50))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.eye(3), r"shape \(3, 3\)"),
        ("identity", "str"),
        (None, "NoneType|shape"),
        (2 * np.eye(4), "last row"),
        (pose(2 * np.eye(3), [0, 0, 0]), "scale"),
        (pose(np.diag([1, 1, -1]), [0, 0, 0]), "reflection"),
        (np.full((4, 4), np.nan), "finite"),
        (pose([[1e200, 1e200, 0], [1e200, -1e200, 0], [0, 0, 1]], [0, 0, 0]), "scale"),
        ([[10**400] * 4] * 4, "list"),
    ],
)
def test_what_is_no_pose_is_refused(value: object, message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^init: expected.*({message})"):
        as_pose(value)


def test_sampled_transforms_are_rigid() -> None:
    np.testing.assert_allclose(as_pose(random_transform(3, 10.0)), random_transform(3, 10.0), atol=1e-14)


@pytest.mark.parametrize("scale", [1e-6, 0.3, 1.0, 1.00001, 7.0, 1e150])
def test_a_similarity_is_split_inverted_and_accepted(scale: float) -> None:
    rigid = random_transform(5, 2.0)
    similarity = pose(scale * rigid[:3, :3], rigid[:3, 3])
    found, rest = split_similarity(similarity)
    assert found == pytest.approx(scale, rel=1e-12)
    np.testing.assert_allclose(rest, rigid, atol=1e-12)
    np.testing.assert_allclose(as_similarity(similarity), similarity, rtol=1e-12)
    points = random_cloud("surface", 20, 1)
    back = transform(inverse_similarity(similarity), transform(similarity, points))
    # The translation is rounded to the last digits of itself, and then divided by the scale.
    np.testing.assert_allclose(back, points, atol=1e-11 * max(1.0, 1 / scale))


def test_rigid_transforms_are_as_they_were() -> None:
    rigid = random_transform(6, 2.0)
    assert np.array_equal(as_similarity(rigid), as_pose(rigid))
    assert np.array_equal(inverse_similarity(rigid), inverse(rigid))
    rounded = rigid.round(5)
    assert np.array_equal(as_similarity(rounded), as_pose(rounded))


@pytest.mark.parametrize(
    "linear",
    [np.zeros((3, 3)), -np.eye(3), np.diag([1.0, 2.0, 3.0]), np.ones((3, 3)), np.diag([2.0, 2.0, -2.0])],
)
def test_what_is_no_similarity_is_refused(linear: Floats) -> None:
    with pytest.raises(graphreg.InputError, match="^init: expected"):
        as_similarity(pose(linear, np.zeros(3)))


@given(st.integers(0, 2**20), st.floats(0.01, 100))
def test_the_fitted_similarity_of_exact_correspondences_is_theirs(seed: int, scale: float) -> None:
    rigid = random_transform(seed, 1.0)
    truth = pose(scale * rigid[:3, :3], rigid[:3, 3])
    points = random_cloud("surface", 30, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 1, 30)
    fitted = fit_similarity(points, transform(truth, points), weights)
    np.testing.assert_allclose(fitted, truth, rtol=0, atol=1e-9 * max(scale, 1))
    limited = fit_similarity(points, transform(truth, points), limits=(2 * scale, 3 * scale))
    assert scale_of(limited) == pytest.approx(2 * scale)


def test_normals_of_a_scaled_cloud_keep_their_length() -> None:
    normals = np.tile([0.0, 0.0, 1.0], (5, 1))
    cloud = as_cloud(random_cloud("surface", 5, 0), attributes=dict(zip(("nx", "ny", "nz"), normals.T, strict=True)))
    moved = transform_cloud(pose(3 * np.eye(3), np.zeros(3)), cloud)
    np.testing.assert_allclose(moved.points, 3 * cloud.points)
    np.testing.assert_allclose(moved.attributes["nz"], 1.0)

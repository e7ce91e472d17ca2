"""A rigid body under forces: pure translation, pure rotation, kinetic energy, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud, random_transform, seeds

from graphreg.paper.dynamics import RigidStep, centre_of_mass, rigid_step
from graphreg.poses import transform

EPS = float(np.finfo(np.float64).eps)
Body = tuple[Floats, Floats, Floats]


def make_body(points: Floats, seed: int, away: float) -> Body:
    """Points, masses, and forces that rotate the body by about a radian; its centre is up to `away` sizes off."""
    rng = np.random.default_rng(seed)
    size = float(np.abs(points).max())
    mass = rng.uniform(0.1, 2, len(points))
    forces = mass[:, None] * rng.normal(size=points.shape) * size
    return points + away * size * rng.uniform(-1, 1, 3), mass, forces


bodies = st.builds(make_body, clouds, seeds, st.sampled_from([0.0, 1.0, 100.0]))


def lengths(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def rounding(points: Floats, mass: Floats, forces: Floats) -> tuple[float, float]:
    """Bounds of the rounding errors of translation and rotation.

    The error of a sum of N numbers is at most N eps times the sum of their absolute values. Arms have the rounding
    errors of the points and of the centre, multiplied by the forces in the torque, by masses and arms in the inertia.
    """
    arms = points - centre_of_mass(points, mass)
    inertia = float(mass @ lengths(arms) ** 2)
    steps = (len(points) + 10) * EPS
    arm_off = steps * float(lengths(points).max())
    force = float(lengths(forces).sum())
    torque = float((lengths(arms) * lengths(forces)).sum())
    torque_off = arm_off * force + steps * torque
    inertia_off = 2 * arm_off * float(mass @ lengths(arms)) + steps * inertia
    return steps * force / mass.sum(), (torque_off + torque * inertia_off / inertia) / inertia


@given(bodies, seeds)
def test_a_uniform_field_causes_no_rotation(body: Body, seed: int) -> None:
    points, mass, _ = body
    field = np.random.default_rng(seed).normal(size=3)
    forces = mass[:, None] * field
    step = rigid_step(points, mass, forces)
    translation_off, rotation_off = rounding(points, mass, forces)
    np.testing.assert_allclose(step.translation, field / 2, rtol=0, atol=translation_off)
    np.testing.assert_allclose(step.rotation, 0, atol=rotation_off)


@given(bodies)
def test_balanced_forces_cause_no_translation(body: Body) -> None:
    points, mass, forces = body
    forces = forces - mass[:, None] * forces.sum(0) / mass.sum()
    step = rigid_step(points, mass, forces)
    np.testing.assert_allclose(step.translation, 0, atol=rounding(points, mass, forces)[0])
    assert lengths(step.rotation) > 0


@given(bodies, st.floats(0.01, 3), seeds)
def test_a_flat_body_rotates_as_a_wheel(body: Body, speed: float, seed: int) -> None:
    points, mass, _ = body
    # Only for a flat body and its axle is the paper's J the moment of inertia.
    points = points * [1, 1, 0]
    arms = points - centre_of_mass(points, mass)
    axle = np.array([0, 0, speed])
    rotation = random_transform(seed, 0)[:3, :3]
    points, axle, forces = points @ rotation.T, rotation @ axle, mass[:, None] * np.cross(axle, arms) @ rotation.T
    step = rigid_step(points, mass, forces)
    translation_off, rotation_off = rounding(points, mass, forces)
    inertia = float(mass @ lengths(arms) ** 2)
    # the forces are computed from arms that are rounded
    forces_off = len(points) * EPS * speed * float(lengths(points).max())
    np.testing.assert_allclose(step.rotation, axle / 2, rtol=0, atol=2 * rotation_off)
    np.testing.assert_allclose(step.translation, 0, atol=translation_off + forces_off)
    assert step.energy == pytest.approx(inertia * speed**2 / 2, rel=1e-9)


@given(bodies)
def test_step_and_energy_are_those_of_equations_8_to_11(body: Body) -> None:
    points, mass, forces = body
    total = sum(mass)
    centre = sum(m * p for m, p in zip(mass, points, strict=True)) / total
    force, torque, inertia = np.zeros(3), np.zeros(3), 0.0
    for p, m, f in zip(points, mass, forces, strict=True):
        x, y, z = p - centre
        force += f
        torque += [y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0]]
        inertia += m * (x**2 + y**2 + z**2)
    acceleration, angular = force / total, torque / inertia
    translation_off, rotation_off = (2 * off for off in rounding(points, mass, forces))  # this sum is rounded as well
    step = rigid_step(points, mass, forces)
    np.testing.assert_allclose(step.translation, acceleration / 2, rtol=0, atol=translation_off)
    np.testing.assert_allclose(step.rotation, angular / 2, rtol=0, atol=rotation_off)
    energy = total * sum(acceleration**2) / 2 + inertia * sum(angular**2) / 2
    off = 4 * total * translation_off * lengths(acceleration) + 4 * inertia * rotation_off * lengths(angular)
    assert step.energy == pytest.approx(energy, rel=1e-9, abs=off)
    assert isinstance(step.energy, float)


@given(bodies, st.floats(0, 50))
def test_the_step_is_a_rigid_transform(body: Body, temperature: float) -> None:
    points, mass, forces = body
    step = rigid_step(points, mass, forces)
    centre = centre_of_mass(points, mass)
    transformation = step.transform(centre, temperature)
    rotation = transformation[:3, :3]
    assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(transformation[3], [0, 0, 0, 1])
    moved = transform(transformation, points)
    before, after = (np.sqrt(twins.squared_distances(p, p)) for p in (points, moved))
    reach = max(float(np.abs(points).max()), float(np.abs(moved).max()))
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=20 * EPS * reach)
    # the body rotates about its centre of mass, which moves by the translation
    moved_centre = transform(transformation, centre[None])[0]
    np.testing.assert_allclose(moved_centre, centre + temperature * step.translation, rtol=0, atol=20 * EPS * reach)


@given(bodies)
def test_the_step_at_temperature_zero_is_the_identity(body: Body) -> None:
    points, mass, forces = body
    transformation = rigid_step(points, mass, forces).transform(centre_of_mass(points, mass), 0.0)
    np.testing.assert_array_equal(transformation, np.eye(4))


@given(seeds, st.floats(0, 3.1), st.floats(0, 1))
def test_the_temperature_scales_angle_and_translation(seed: int, angle: float, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    axis, translation, centre = rng.normal(size=(3, 3))
    axis /= lengths(axis)
    transformation = RigidStep(translation, angle * axis, 0.0).transform(centre, temperature)
    assert np.trace(transformation[:3, :3]) == pytest.approx(1 + 2 * np.cos(temperature * angle), abs=1e-14)
    np.testing.assert_allclose(transformation[:3, :3] @ axis, axis, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        transform(transformation, centre[None])[0] - centre, temperature * translation, rtol=0, atol=1e-14
    )


@given(seeds, st.integers(2, 60), st.integers(1, 60), st.sampled_from([0.3, 1.0, 5.0]))
def test_the_potential_falls_by_temperature_times_energy(seed: int, sources: int, targets: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    points, others = random_cloud("blob", sources, seed), random_cloud("blob", targets, seed + 1) + 3
    mass, other_mass = rng.uniform(0.1, 2, sources), rng.uniform(0.1, 2, targets)
    none = np.empty((sources, 0)), np.empty((targets, 0))
    field = twins.pair_forces(points, others, *none, other_mass, False, scale)[0]
    centre = centre_of_mass(points, mass)
    step = rigid_step(points, mass, mass[:, None] * field)

    def potential(positions: Floats) -> float:
        return -float(mass @ (twins.squared_distances(positions, others) + scale**2) ** -0.5 @ other_mass)

    # U(T) = U(0) - T E to first order. The second derivative of 1 / (d^2 + s^2)^(1/2) is at most 2 / s^3, no point
    # moves further than T (|phi| + |sigma| |arm|), and an arc departs from its tangent by (T |sigma|)^2 |arm| / 2.
    arms, angle = lengths(points - centre), float(lengths(step.rotation))
    paths = float(lengths(step.translation)) + angle * arms
    second = float(mass @ (other_mass.sum() / scale**3 * paths**2 + lengths(field) * angle**2 * arms / 2))
    temperature = min(1.0, step.energy / (2 * second))
    fall = potential(points) - potential(transform(step.transform(centre, temperature), points))
    off = 4 * (sources + targets) * EPS * abs(potential(points))
    assert fall == pytest.approx(temperature * step.energy, rel=0, abs=second * temperature**2 + off)
    assert off < temperature * step.energy / 4
    assert fall > 0


@given(bodies, st.integers(-60, 60))
def test_scaling_masses_and_forces_changes_the_energy_alone(body: Body, power: int) -> None:
    points, mass, forces = body
    factor = 2.0**power
    step, other = rigid_step(points, mass, forces), rigid_step(points, factor * mass, factor * forces)
    np.testing.assert_array_equal(other.translation, step.translation)
    np.testing.assert_array_equal(other.rotation, step.rotation)
    assert other.energy == factor * step.energy


@given(bodies, seeds, st.sampled_from([0.0, 1.0, 100.0]))
def test_steps_are_equivariant_under_rigid_transforms(body: Body, seed: int, away: float) -> None:
    points, mass, forces = body
    transformation = random_transform(seed, away * float(np.abs(points).max()))
    rotation = transformation[:3, :3]
    moved = transform(transformation, points), mass, forces @ rotation.T
    step, other = rigid_step(*body), rigid_step(*moved)
    (translation_off, rotation_off), (other_translation_off, other_rotation_off) = rounding(*body), rounding(*moved)
    np.testing.assert_allclose(
        other.translation, rotation @ step.translation, rtol=0, atol=translation_off + other_translation_off
    )
    np.testing.assert_allclose(other.rotation, rotation @ step.rotation, rtol=0, atol=rotation_off + other_rotation_off)
    assert other.energy == pytest.approx(step.energy, rel=1e-8)


@given(bodies, st.floats(0, 2))
def test_steps_commute_with_rigid_transforms(body: Body, temperature: float) -> None:
    points, mass, forces = body
    transformation = random_transform(len(points), float(np.abs(points).max()))
    moved = transform(transformation, points)
    here = rigid_step(points, mass, forces).transform(centre_of_mass(points, mass), temperature)
    there = rigid_step(moved, mass, forces @ transformation[:3, :3].T).transform(
        centre_of_mass(moved, mass), temperature
    )
    reach = float(np.abs(points).max()) + float(np.abs(moved).max())
    expected = transform(transformation, transform(here, points))
    off = 4 * (rounding(points, mass, forces)[1] + len(points) * EPS) * (1 + temperature) * reach
    np.testing.assert_allclose(transform(there, moved), expected, rtol=0, atol=off)


@given(bodies)
def test_the_first_moment_about_the_centre_of_mass_is_zero(body: Body) -> None:
    points, mass, _ = body
    moment = mass @ (points - centre_of_mass(points, mass))
    off = (len(points) + 10) * EPS * float(mass.sum()) * float(np.abs(points).max())
    np.testing.assert_allclose(moment, 0, atol=2 * off)

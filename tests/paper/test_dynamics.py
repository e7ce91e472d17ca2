"""A body under forces: what only shifts, what only turns, and where the energy comes from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import Floats, clouds, random_cloud, random_transform, seeds

from graphreg.paper.dynamics import Step, centre_of_mass, rigid_step
from graphreg.poses import transform

EPS = float(np.finfo(np.float64).eps)
Body = tuple[Floats, Floats, Floats]


def make_body(points: Floats, seed: int, away: float) -> Body:
    """Points, masses, and forces that turn it by about a radian; its centre is `away` of its sizes from the origin."""
    rng = np.random.default_rng(seed)
    size = float(np.abs(points).max())
    mass = rng.uniform(0.1, 2, len(points))
    forces = mass[:, None] * rng.normal(size=points.shape) * size
    return points + away * size * rng.uniform(-1, 1, 3), mass, forces


bodies = st.builds(make_body, clouds, seeds, st.sampled_from([0.0, 1.0, 100.0]))


def lengths(vectors: Floats) -> Floats:
    return np.asarray(np.linalg.norm(vectors, axis=-1))


def rounding(points: Floats, mass: Floats, forces: Floats) -> tuple[float, float]:
    """How far shift and turn may be off.

    A sum of N numbers is off by N eps of its absolute terms at most. Arms carry the rounding of the points and of the
    centre: the forces multiply it in the torque, the masses and arms in the inertia.
    """
    arms = points - centre_of_mass(points, mass)
    inertia = float(mass @ lengths(arms) ** 2)
    steps = (len(points) + 10) * EPS
    arm_off = steps * float(lengths(points).max())
    push = float(lengths(forces).sum())
    torque = float((lengths(arms) * lengths(forces)).sum())
    torque_off = arm_off * push + steps * torque
    inertia_off = 2 * arm_off * float(mass @ lengths(arms)) + steps * inertia
    return steps * push / mass.sum(), (torque_off + torque * inertia_off / inertia) / inertia


@given(bodies, seeds)
def test_a_uniform_field_only_shifts(body: Body, seed: int) -> None:
    points, mass, _ = body
    field = np.random.default_rng(seed).normal(size=3)
    forces = mass[:, None] * field
    step = rigid_step(points, mass, forces)
    shift_off, turn_off = rounding(points, mass, forces)
    np.testing.assert_allclose(step.shift, field / 2, rtol=0, atol=shift_off)
    np.testing.assert_allclose(step.turn, 0, atol=turn_off)


@given(bodies)
def test_forces_in_balance_only_turn(body: Body) -> None:
    points, mass, forces = body
    forces = forces - mass[:, None] * forces.sum(0) / mass.sum()
    step = rigid_step(points, mass, forces)
    np.testing.assert_allclose(step.shift, 0, atol=rounding(points, mass, forces)[0])
    assert lengths(step.turn) > 0


@given(bodies, st.floats(0.01, 3), seeds)
def test_a_flat_body_turns_as_a_wheel(body: Body, speed: float, seed: int) -> None:
    points, mass, _ = body
    # Only for a flat body and its axle is the paper's J the moment of inertia.
    points = points * [1, 1, 0]
    arms = points - centre_of_mass(points, mass)
    axle = np.array([0, 0, speed])
    turned = random_transform(seed, 0)[:3, :3]
    points, axle, forces = points @ turned.T, turned @ axle, mass[:, None] * np.cross(axle, arms) @ turned.T
    step = rigid_step(points, mass, forces)
    shift_off, turn_off = rounding(points, mass, forces)
    inertia = float(mass @ lengths(arms) ** 2)
    # the forces themselves come from arms that are rounded
    made_off = len(points) * EPS * speed * float(lengths(points).max())
    np.testing.assert_allclose(step.turn, axle / 2, rtol=0, atol=2 * turn_off)
    np.testing.assert_allclose(step.shift, 0, atol=shift_off + made_off)
    assert step.energy == pytest.approx(inertia * speed**2 / 2, rel=1e-9)


@given(bodies)
def test_energy_is_what_each_sum_says(body: Body) -> None:
    points, mass, forces = body
    total = sum(mass)
    centre = sum(m * p for m, p in zip(mass, points, strict=True)) / total
    force, torque, inertia = np.zeros(3), np.zeros(3), 0.0
    for p, m, f in zip(points, mass, forces, strict=True):
        x, y, z = p - centre
        force += f
        torque += [y * f[2] - z * f[1], z * f[0] - x * f[2], x * f[1] - y * f[0]]
        inertia += m * (x**2 + y**2 + z**2)
    acceleration, spin = force / total, torque / inertia
    shift_off, turn_off = (2 * off for off in rounding(points, mass, forces))  # this sum is rounded as well
    step = rigid_step(points, mass, forces)
    np.testing.assert_allclose(step.shift, acceleration / 2, rtol=0, atol=shift_off)
    np.testing.assert_allclose(step.turn, spin / 2, rtol=0, atol=turn_off)
    energy = total * sum(acceleration**2) / 2 + inertia * sum(spin**2) / 2
    off = 4 * total * shift_off * lengths(acceleration) + 4 * inertia * turn_off * lengths(spin)
    assert step.energy == pytest.approx(energy, rel=1e-9, abs=off)
    assert isinstance(step.energy, float)


@given(bodies, st.floats(0, 50))
def test_the_motion_is_rigid(body: Body, temperature: float) -> None:
    points, mass, forces = body
    step = rigid_step(points, mass, forces)
    centre = centre_of_mass(points, mass)
    motion = step.motion(centre, temperature)
    rotation = motion[:3, :3]
    assert np.linalg.det(rotation) == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(motion[3], [0, 0, 0, 1])
    moved = transform(motion, points)
    before, after = (np.sqrt(twins.squared_distances(p, p)) for p in (points, moved))
    reach = max(float(np.abs(points).max()), float(np.abs(moved).max()))
    np.testing.assert_allclose(after, before, rtol=1e-12, atol=20 * EPS * reach)
    # the body turns about its centre, which goes where the shift takes it
    place = transform(motion, centre[None])[0]
    np.testing.assert_allclose(place, centre + temperature * step.shift, rtol=0, atol=20 * EPS * reach)


@given(bodies)
def test_nothing_moves_at_absolute_zero(body: Body) -> None:
    points, mass, forces = body
    motion = rigid_step(points, mass, forces).motion(centre_of_mass(points, mass), 0.0)
    np.testing.assert_array_equal(motion, np.eye(4))


@given(seeds, st.floats(0, 3.1), st.floats(0, 1))
def test_the_temperature_scales_angle_and_way(seed: int, angle: float, temperature: float) -> None:
    rng = np.random.default_rng(seed)
    axis, shift, centre = rng.normal(size=(3, 3))
    axis /= lengths(axis)
    motion = Step(shift, angle * axis, 0.0).motion(centre, temperature)
    assert np.trace(motion[:3, :3]) == pytest.approx(1 + 2 * np.cos(temperature * angle), abs=1e-14)
    np.testing.assert_allclose(motion[:3, :3] @ axis, axis, rtol=0, atol=1e-14)
    np.testing.assert_allclose(transform(motion, centre[None])[0] - centre, temperature * shift, rtol=0, atol=1e-14)


@given(seeds, st.integers(2, 60), st.integers(1, 60), st.sampled_from([0.3, 1.0, 5.0]))
def test_falling_pays_for_the_energy(seed: int, sources: int, targets: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    points, others = random_cloud("blob", sources, seed), random_cloud("blob", targets, seed + 1) + 3
    mass, other_mass = rng.uniform(0.1, 2, sources), rng.uniform(0.1, 2, targets)
    none = np.empty((sources, 0)), np.empty((targets, 0))
    felt = twins.pair_forces(points, others, *none, other_mass, False, scale)[0]
    centre = centre_of_mass(points, mass)
    step = rigid_step(points, mass, mass[:, None] * felt)

    def potential(places: Floats) -> float:
        return -float(mass @ (twins.squared_distances(places, others) + scale**2) ** -0.5 @ other_mass)

    # U(T) = U(0) - T E to first order. The second derivative of 1 / (d^2 + s^2)^(1/2) is at most 2 / s^3, no point
    # moves further than T (|phi| + |sigma| |arm|), and an arc leaves its tangent by (T |sigma|)^2 |arm| / 2.
    arms, turn = lengths(points - centre), float(lengths(step.turn))
    ways = float(lengths(step.shift)) + turn * arms
    bend = float(mass @ (other_mass.sum() / scale**3 * ways**2 + lengths(felt) * turn**2 * arms / 2))
    temperature = min(1.0, step.energy / (2 * bend))
    fall = potential(points) - potential(transform(step.motion(centre, temperature), points))
    off = 4 * (sources + targets) * EPS * abs(potential(points))
    assert fall == pytest.approx(temperature * step.energy, rel=0, abs=bend * temperature**2 + off)
    assert off < temperature * step.energy / 4
    assert fall > 0


@given(bodies, st.integers(-60, 60))
def test_a_heavier_body_under_larger_forces_moves_the_same(body: Body, power: int) -> None:
    points, mass, forces = body
    factor = 2.0**power
    step, other = rigid_step(points, mass, forces), rigid_step(points, factor * mass, factor * forces)
    np.testing.assert_array_equal(other.shift, step.shift)
    np.testing.assert_array_equal(other.turn, step.turn)
    assert other.energy == factor * step.energy


@given(bodies, seeds, st.sampled_from([0.0, 1.0, 100.0]))
def test_a_moved_body_under_turned_forces_moves_alike(body: Body, seed: int, away: float) -> None:
    points, mass, forces = body
    motion = random_transform(seed, away * float(np.abs(points).max()))
    turned = motion[:3, :3]
    moved = transform(motion, points), mass, forces @ turned.T
    step, other = rigid_step(*body), rigid_step(*moved)
    (shift_off, turn_off), (other_shift_off, other_turn_off) = rounding(*body), rounding(*moved)
    np.testing.assert_allclose(other.shift, turned @ step.shift, rtol=0, atol=shift_off + other_shift_off)
    np.testing.assert_allclose(other.turn, turned @ step.turn, rtol=0, atol=turn_off + other_turn_off)
    assert other.energy == pytest.approx(step.energy, rel=1e-8)


@given(bodies, st.floats(0, 2))
def test_a_turned_body_takes_the_turned_step(body: Body, temperature: float) -> None:
    points, mass, forces = body
    motion = random_transform(len(points), float(np.abs(points).max()))
    moved = transform(motion, points)
    here = rigid_step(points, mass, forces).motion(centre_of_mass(points, mass), temperature)
    there = rigid_step(moved, mass, forces @ motion[:3, :3].T).motion(centre_of_mass(moved, mass), temperature)
    reach = float(np.abs(points).max()) + float(np.abs(moved).max())
    expected = transform(motion, transform(here, points))
    off = 4 * (rounding(points, mass, forces)[1] + len(points) * EPS) * (1 + temperature) * reach
    np.testing.assert_allclose(transform(there, moved), expected, rtol=0, atol=off)


@given(bodies)
def test_the_centre_of_mass_has_no_moment(body: Body) -> None:
    points, mass, _ = body
    moment = mass @ (points - centre_of_mass(points, mass))
    off = (len(points) + 10) * EPS * float(mass.sum()) * float(np.abs(points).max())
    np.testing.assert_allclose(moment, 0, atol=2 * off)

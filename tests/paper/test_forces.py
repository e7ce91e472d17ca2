"""Pair forces against their numpy twin, and the laws of physics that they obey."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import twins
from tests.support.strategies import CLOUD_KINDS, Floats, random_cloud, random_transform, seeds

from graphreg.paper.forces import ForceLaw, PairForces, Particles, pair_forces
from graphreg.poses import transform

UNIT = 2.0**-24

laws = st.sampled_from(list(ForceLaw))
scales = st.sampled_from([0.03, 0.5, 1.0, 20.0])


def single(values: Floats) -> Floats:
    return np.asarray(np.float32(values), np.float64)


def make_particles(kind: str, count: int, features: int, seed: int) -> Particles:
    """Values that single precision represents exactly."""
    rng = np.random.default_rng(seed)
    return Particles(
        single(random_cloud(kind, count, seed)),
        single(rng.uniform(0.1, 3, count)),
        single(rng.uniform(0, 1, (count, features))),
    )


def make_pair(kind: str, sources: int, targets: int, features: int, seed: int) -> tuple[Particles, Particles]:
    """Two systems; for odd seeds one particle of each coincides with one of the other."""
    source = make_particles(kind, sources, features, seed)
    target = make_particles(kind, targets, features, seed + 1)
    if seed % 2:
        source.points[0] = target.points[-1]
    return source, target


pairs = st.builds(
    make_pair,
    st.sampled_from(CLOUD_KINDS),
    st.integers(1, 50),
    st.sampled_from([1, 7, 8, 9, 100]),
    st.sampled_from([0, 1, 2, 4]),
    seeds,
)


def lone(position: Floats, features: Floats | tuple[float, ...] = (), mass: float = 1.0) -> Particles:
    return Particles(np.asarray(position, np.float64).reshape(1, 3), np.array([mass]), np.reshape(features, (1, -1)))


def plain(particles: Particles) -> Particles:
    """The particles with unit mass and without charge."""
    return Particles(particles.points, np.ones(len(particles)), np.empty((len(particles), 0)))


def twin(source: Particles, target: Particles, law: ForceLaw, scale: float) -> tuple[Floats, Floats, Floats, Floats]:
    return twins.pair_forces(
        source.points, target.points, source.features, target.features, target.mass, law is ForceLaw.GAUSSIAN, scale
    )


def bits(result: PairForces) -> tuple[bytes, bytes]:
    return result.forces.tobytes(), result.weights.tobytes()


@given(pairs, laws, scales)
def test_forces_are_the_sum_over_all_pairs(pair: tuple[Particles, Particles], law: ForceLaw, scale: float) -> None:
    found = pair_forces(*pair, law, scale)
    forces, weights, forces_off, weights_off = twin(*pair, law, scale)
    assert found.forces.shape == (len(pair[0]), 3)
    assert found.weights.shape == (len(pair[0]),)
    assert (np.abs(found.forces - forces) <= forces_off).all()
    assert (np.abs(found.weights - weights) <= weights_off).all()


@given(st.floats(0, 100), st.floats(1, 1000))
def test_the_gaussian_agrees_with_its_twin_at_every_distance(distance: float, scale: float) -> None:
    pair = lone([0, 0, 0]), lone([float(np.float32(distance * scale)), 0, 0])
    _, weights, _, off = twin(*pair, ForceLaw.GAUSSIAN, scale)
    found = pair_forces(*pair, ForceLaw.GAUSSIAN, scale).weights
    assert 0 <= found[0] <= 1 + 8 * UNIT
    assert abs(found - weights)[0] <= off[0]


@given(pairs, laws, scales, st.sampled_from([0, 1, 2, 4]), st.floats(0, 1))
def test_particles_with_equal_features_attract_as_without_charge(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, features: int, value: float
) -> None:
    source, target = pair
    same = [Particles(p.points, p.mass, np.full((len(p), features), value)) for p in (source, target)]
    without = [Particles(p.points, p.mass, np.empty((len(p), 0))) for p in (source, target)]
    assert bits(pair_forces(same[0], same[1], law, scale)) == bits(pair_forces(without[0], without[1], law, scale))


@given(pairs, laws, scales, st.booleans())
def test_particles_with_opposite_features_repel_as_much(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, swapped: bool
) -> None:
    source, target = pair
    zeros, ones = (np.full((len(p), 1), float(swapped != own)) for p, own in ((source, False), (target, True)))
    attracted = pair_forces(
        Particles(source.points, source.mass, zeros), Particles(target.points, target.mass, 1 - ones), law, scale
    )
    repelled = pair_forces(
        Particles(source.points, source.mass, zeros), Particles(target.points, target.mass, ones), law, scale
    )
    np.testing.assert_array_equal(repelled.forces, -attracted.forces)
    np.testing.assert_array_equal(repelled.weights, -attracted.weights)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_charge_of_one_feature_runs_from_1_to_minus_1(mine: float, other: float) -> None:
    charge = pair_forces(lone([0, 0, 0], (mine,)), lone([0, 0, 0], (other,)), ForceLaw.GAUSSIAN, 1.0).weights[0]
    # features of up to 1 are rounded by u / 2 each, their difference by u: 2 u, of which the charge has 4 times as much
    assert charge == pytest.approx(1 - 2 * (mine - other) ** 2, abs=(4 * 2 + 9) * UNIT)
    assert abs(charge) <= 1


@given(seeds, st.floats(1e-3, 1e3), st.floats(0.1, 10), st.sampled_from([2.0, 3.0, 10.0]))
def test_gravity_falls_with_the_square_of_the_distance(seed: int, distance: float, mass: float, further: float) -> None:
    direction = np.random.default_rng(seed).normal(size=3)
    direction /= np.linalg.norm(direction)
    here = lone([0, 0, 0])
    # this softening changes forces by 1.5e-10 of themselves
    near, far = (
        pair_forces(here, lone(length * direction, (), mass), ForceLaw.INVERSE_SQUARE, distance * 1e-5).forces[0]
        for length in (distance, further * distance)
    )
    # 24 u for the kernel as in its twin; positions, to the power of -2, and masses are rounded too
    np.testing.assert_allclose(near, mass / distance**2 * direction, rtol=0, atol=30 * UNIT * mass / distance**2)
    assert np.linalg.norm(near) == pytest.approx(further**2 * np.linalg.norm(far), rel=2 * 30 * UNIT)


@given(pairs, laws, scales)
def test_twice_the_size_is_a_quarter_of_the_force(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float
) -> None:
    larger = [Particles(2 * p.points, p.mass, p.features) for p in pair]
    small, large = pair_forces(*pair, law, scale), pair_forces(larger[0], larger[1], law, 2 * scale)
    force, weight = (0.25, 0.125) if law is ForceLaw.INVERSE_SQUARE else (2.0, 1.0)
    # the same bits, except where the smallest numbers lose some
    tiny = float(np.finfo(np.float32).tiny)
    np.testing.assert_allclose(large.forces, force * small.forces, rtol=0, atol=tiny)
    np.testing.assert_allclose(large.weights, weight * small.weights, rtol=0, atol=tiny)


@given(pairs, laws, scales)
def test_every_action_has_its_reaction(pair: tuple[Particles, Particles], law: ForceLaw, scale: float) -> None:
    source, target = (Particles(p.points, np.ones(len(p)), p.features) for p in pair)
    one = Particles(source.points[:1], source.mass[:1], source.features[:1])
    other = Particles(target.points[:1], target.mass[:1], target.features[:1])
    np.testing.assert_array_equal(
        pair_forces(one, other, law, scale).forces, -pair_forces(other, one, law, scale).forces
    )
    action, reaction = pair_forces(source, target, law, scale), pair_forces(target, source, law, scale)
    _, _, action_off, weights_off = twin(source, target, law, scale)
    _, _, reaction_off, weights_back_off = twin(target, source, law, scale)
    off = np.abs(action.forces.sum(0) + reaction.forces.sum(0))
    assert (off <= action_off.sum(0) + reaction_off.sum(0)).all()
    assert abs(action.weights.sum() - reaction.weights.sum()) <= weights_off.sum() + weights_back_off.sum()


@given(pairs, laws, scales, st.sampled_from([0.25, 2.0, 1024.0]))
def test_forces_are_proportional_to_the_mass_of_the_target_alone(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, factor: float
) -> None:
    source, target = pair
    heavier = Particles(target.points, factor * target.mass, target.features)
    expected, found = pair_forces(source, target, law, scale), pair_forces(source, heavier, law, scale)
    tiny = len(target) * float(np.finfo(np.float32).tiny) * 100 * max(1, factor)  # where the smallest numbers lose bits
    np.testing.assert_allclose(found.forces, factor * expected.forces, rtol=0, atol=tiny)
    np.testing.assert_allclose(found.weights, factor * expected.weights, rtol=0, atol=tiny)
    other = Particles(source.points, factor * source.mass, source.features)
    assert bits(pair_forces(other, target, law, scale)) == bits(expected)


@given(pairs, laws, scales)
def test_a_particle_without_mass_exerts_no_force(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float
) -> None:
    source, target = pair
    more = Particles(
        np.concatenate([target.points, source.points]),
        np.concatenate([target.mass, np.zeros(len(source))]),
        np.concatenate([target.features, source.features]),
    )
    found, expected = pair_forces(source, more, law, scale), pair_forces(source, target, law, scale)
    np.testing.assert_array_equal(found.forces, expected.forces)
    np.testing.assert_array_equal(found.weights, expected.weights)


@given(pairs, seeds, st.sampled_from([0.2, 0.5, 5.0]))
def test_weighted_means_are_in_the_convex_hull_of_the_targets(
    pair: tuple[Particles, Particles], seed: int, width: float
) -> None:
    source, target = plain(pair[0]), Particles(pair[1].points, pair[1].mass, np.empty((len(pair[1]), 0)))
    offsets = target.points[None] - source.points[:, None]
    reach = float(np.linalg.norm(offsets, axis=-1).max()) or 1.0
    means = pair_forces(source, target, ForceLaw.GAUSSIAN, width * reach).weighted_means(source.points)
    # A mean with the kernel's own weights: only offsets, products and the two sums are rounded.
    off = (2 * (len(target) / 8 + 1) + 3) * UNIT * reach * np.sqrt(3)
    directions = np.concatenate([np.eye(3), -np.eye(3), np.random.default_rng(seed).normal(size=(20, 3))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    assert ((means @ directions.T) <= (target.points @ directions.T).max(0) + off).all()


@given(pairs)
def test_the_weighted_mean_of_a_wide_gaussian_is_the_centre_of_mass(pair: tuple[Particles, Particles]) -> None:
    source, target = plain(pair[0]), Particles(pair[1].points, pair[1].mass, np.empty((len(pair[1]), 0)))
    reach = float(np.linalg.norm(target.points[None] - source.points[:, None], axis=-1).max()) or 1.0
    means = pair_forces(source, target, ForceLaw.GAUSSIAN, 1e4 * reach).weighted_means(source.points)
    centre = target.mass @ target.points / target.mass.sum()
    # the least weight is exp(-5e-9), which is less than rounding; 8 u for each exponential
    off = (2 * (len(target) / 8 + 1) + 3 + 2 * 8) * UNIT * reach
    np.testing.assert_allclose(means, np.broadcast_to(centre, means.shape), rtol=0, atol=off)


@pytest.mark.parametrize("law", ForceLaw)
@pytest.mark.parametrize("features", [0, 1, 4])
def test_any_number_of_threads_gives_the_same_bits(law: ForceLaw, features: int) -> None:
    source, target = make_pair("surface", 701, 3001, features, 5)
    expected = bits(pair_forces(source, target, law, 0.1, threads=1))
    for threads in (2, 5):
        assert bits(pair_forces(source, target, law, 0.1, threads)) == expected


@given(pairs, laws, scales, seeds)
def test_source_particles_exert_no_force_on_each_other(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, seed: int
) -> None:
    source, target = pair
    some = np.random.default_rng(seed).integers(0, len(source), 5)
    whole = pair_forces(source, target, law, scale)
    part = pair_forces(Particles(source.points[some], source.mass[some], source.features[some]), target, law, scale)
    assert bits(part) == bits(PairForces(whole.forces[some], whole.weights[some]))


@given(pairs, laws, scales, st.tuples(*[st.integers(-64, 64)] * 3))
def test_a_common_translation_without_rounding_changes_no_bit(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, translation: tuple[int, int, int]
) -> None:
    grid = [Particles(np.round(p.points * 1024) / 1024, p.mass, p.features) for p in pair]
    moved = [Particles(p.points + np.array(translation), p.mass, p.features) for p in grid]
    expected, found = pair_forces(grid[0], grid[1], law, scale), pair_forces(moved[0], moved[1], law, scale)
    np.testing.assert_array_equal(found.forces, expected.forces)
    np.testing.assert_array_equal(found.weights, expected.weights)


@given(pairs, laws, st.sampled_from([0.5, 1.0, 20.0]), seeds, st.sampled_from([0.0, 1.0, 30.0]))
def test_forces_are_equivariant_under_a_common_rigid_transform(
    pair: tuple[Particles, Particles], law: ForceLaw, scale: float, seed: int, distance: float
) -> None:
    transformation = random_transform(seed, distance)
    moved = [Particles(single(transform(transformation, p.points)), p.mass, p.features) for p in pair]
    found = pair_forces(moved[0], moved[1], law, scale)
    forces, weights, _, _ = twin(*pair, law, scale)
    _, _, forces_off, weights_off = twin(moved[0], moved[1], law, scale)
    # Rounding moves both ends of an offset d by up to sqrt(3) u times the largest coordinate. The slope of the weight w
    # is at most 3 |d| / (d^2 + s^2) w < 1.5 / s^4 in the one law and |d| / s^2 w < 0.61 / s in the other; that of w d
    # is at most w + |d| times as much.
    displacement = 2 * np.sqrt(3) * UNIT * max(float(np.abs(p.points).max()) for p in moved)
    steepest = 1.5 / scale**4 if law is ForceLaw.INVERSE_SQUARE else 0.61 / scale
    highest = 1 / scale**3 if law is ForceLaw.INVERSE_SQUARE else 1.0
    source, target = pair
    unlike = ((target.features[None] - source.features[:, None]) ** 2).sum(-1)
    most = target.mass * (1 + 2 * unlike / np.sqrt(max(1, source.features.shape[1])))
    lengths = np.linalg.norm(target.points[None] - source.points[:, None], axis=-1)
    weights_change = displacement * steepest * most.sum(1)
    forces_change = displacement * (most * (highest + steepest * lengths)).sum(1)
    assert (np.abs(found.weights - weights) <= weights_off + weights_change).all()
    assert (np.abs(found.forces - forces @ transformation[:3, :3].T) <= forces_off + forces_change[:, None]).all()


# For a process of its own, with limited memory.
MANY = """
import resource
import numpy as np
from graphreg.paper.forces import ForceLaw, Particles, pair_forces

rng = np.random.default_rng(0)
both = [Particles(rng.normal(size=(8000, 3)), np.ones(8000), rng.random((8000, 1))) for _ in range(2)]
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
for law in ForceLaw:
    pair_forces(*both, law, 0.1)
try:
    np.ones((8000, 8000), np.int8)
except MemoryError:
    print("a byte for each pair is too much")
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux has it")
def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    done = subprocess.run([sys.executable, "-c", MANY], capture_output=True, text=True, timeout=600)
    assert (done.stdout, done.stderr) == ("a byte for each pair is too much\n", "")


def test_features_and_masses_must_match_the_particles() -> None:
    with pytest.raises(ValueError, match="belong together"):
        pair_forces(lone([0, 0, 0], (1.0,)), lone([0, 0, 0], (1.0, 2.0)), ForceLaw.GAUSSIAN, 1.0)
    with pytest.raises(ValueError, match="belong together"):
        pair_forces(lone([0, 0, 0]), Particles(np.zeros((2, 3)), np.ones(1), np.empty((2, 0))), ForceLaw.GAUSSIAN, 1.0)


@pytest.mark.parametrize("features", [(), (0.5, 0.5)])
def test_coincident_particles_exert_no_force_on_each_other(features: tuple[float, ...]) -> None:
    here = lone([1, 2, 3], features)
    found = pair_forces(here, here, ForceLaw.INVERSE_SQUARE, 1e-30)
    assert np.isfinite(found.weights).all()
    np.testing.assert_array_equal(found.forces, 0)


def test_empty_sets_of_particles() -> None:
    none = Particles(np.empty((0, 3)), np.empty(0), np.empty((0, 0)))
    for law in ForceLaw:
        assert pair_forces(none, lone([1, 2, 3]), law, 1.0).forces.shape == (0, 3)
        assert not pair_forces(lone([1, 2, 3]), none, law, 1.0).forces.any()

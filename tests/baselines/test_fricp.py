"""FRICP: Welsch's function, Anderson acceleration."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import graphreg
from graphreg.baselines.fricp import AndersonAcceleration, FricpSettings
from graphreg.metrics import rmsd

SPACING = 0.003  # of the clouds
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]


def test_acceleration_without_memory_takes_the_plain_step() -> None:
    acceleration = AndersonAcceleration(0)
    for x, g in ((1.0, 2.0), (2.0, 2.5), (2.5, 2.7)):
        assert acceleration.next(np.array([x]), np.array([g])).tolist() == [g]


def test_acceleration_solves_a_linear_iteration_in_as_many_steps_as_unknowns() -> None:
    rng = np.random.default_rng(0)
    matrix = 0.3 * rng.normal(size=(4, 4))
    offset = rng.normal(size=4)
    fixed = np.linalg.solve(np.eye(4) - matrix, offset)
    acceleration, x = AndersonAcceleration(5), np.zeros(4)
    for _ in range(6):
        x = acceleration.next(x, matrix @ x + offset)
    np.testing.assert_allclose(x, fixed, atol=1e-8)


def test_acceleration_converges_to_where_plain_steps_do(partial_overlap: Pair) -> None:
    source, target, _ = partial_overlap
    plain, fast = (
        graphreg.register(source, target, method="fricp", voxel=0, init=np.eye(4), memory=memory, tolerance=1e-9)
        for memory in (0, 5)
    )
    assert rmsd(plain.transformation, fast.transformation, source) < 1e-4 * SPACING
    assert len(fast.history) < len(plain.history)


def test_welschs_function_registers_partial_overlap(partial_overlap: Pair) -> None:
    """The weight of a correspondence at a distance of one spacing is exp(-27 / 2), about 1e-6, not zero."""
    source, target, truth = partial_overlap
    result = graphreg.register(source, target, method="fricp", voxel=0, init=np.eye(4))
    assert rmsd(result.transformation, truth, source) < 1e-3 * SPACING


def test_the_objective_falls_for_each_scale(partial_overlap: Pair) -> None:
    """A smaller scale raises the objective; for one scale it must not rise."""
    source, target, _ = partial_overlap
    one_scale = graphreg.register(
        source, target, method="fricp", voxel=0, init=np.eye(4), first_scale=1e-9, last_scale=3.0
    )
    energies = [step.energy for step in one_scale.history]
    assert len(energies) > 3
    assert all(after <= before + 1e-15 for before, after in pairwise(energies))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decay": 1.0}, "decay: expected a number from 0"),
        ({"memory": -1}, "memory: expected a whole number from 0 on"),
        ({"first_scale": 0}, "first_scale: expected a positive"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(graphreg.InputError, match=f"^{message}"):
        replace(FricpSettings(), **settings)

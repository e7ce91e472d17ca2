"""The settings of the published method, and its constants."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from tests.support.strategies import small_pair

import graphreg
from graphreg.paper.forces import Particles
from graphreg.paper.published import (
    CONSTANTS,
    PIPL,
    PaperSettings,
    _clamp_length,
    _sample,
    register_published,
)

WRONG: dict[str, tuple[object, ...]] = {
    "k": (1, 2.5, "ten", True, None),
    "alpha": (0, -1.0, np.nan, "5", None),
    "voxel": (0, -1.0, np.inf, "fine", True),
    "particles": (0, 10.5, "all", False),
    "max_iterations": (0, 2.5, None),
    "beta": (0, 1, -0.5, "slow", None),
    "temperature": (0, -1, np.nan, "hot"),
    "accept_rate": (-0.1, 1.1, "half", None),
    "softening": (0, -1, None),
    "masses": (1, 0.0, "yes", None),
    "charges": (1, 0.0, "no", None),
    "annealing": ("quick", True, None),
    "epsilon": (0, -1e-5, None),
}


def test_every_setting_is_validated() -> None:
    assert set(WRONG) == {field.name for field in fields(PaperSettings)}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_is_an_error_that_names_the_setting(name: str) -> None:
    for value in WRONG[name]:
        with pytest.raises(graphreg.InputError, match=f"^{name}: expected .*, got "):
            replace(PaperSettings(), **{name: value})


def test_numpy_scalars_are_accepted() -> None:
    settings = PaperSettings(k=np.int64(8), beta=np.float32(0.5), masses=np.bool_(False))  # type: ignore[arg-type]
    assert settings.required_points == 9


def test_pipl_differs_in_masses_charges_and_annealing_alone() -> None:
    assert replace(PIPL, masses=True, charges=True, annealing="adaptive") == PaperSettings()


@pytest.mark.slow
def test_the_voxel_size_is_a_two_hundredth_of_the_extent_by_default() -> None:
    pair = small_pair("hare")
    found = register_published(pair.source, pair.target, PaperSettings(max_iterations=1))
    again = register_published(pair.source, pair.target, PaperSettings(max_iterations=1, voxel=found.voxel))
    assert again.voxel == found.voxel
    assert np.array_equal(again.source, found.source)
    diagonal = max(np.linalg.norm(np.ptp(cloud, axis=0)) for cloud in (pair.source, pair.target))
    assert 0.5 * diagonal < CONSTANTS.voxels * found.voxel < 1.1 * diagonal


def test_samples_take_every_particle_in_turn() -> None:
    particles = Particles(np.arange(30.0).reshape(10, 3), np.ones(10), np.empty((10, 0)))
    taken = [_sample(particles, iteration, 4, np.eye(4)).points[:, 0] / 3 for iteration in range(5)]
    assert np.concatenate(taken).tolist() == [*range(10), *range(10)]
    assert len(_sample(particles, 0, 100, np.eye(4))) == 10


@pytest.mark.parametrize(("length", "clamped"), [(0.0, 0.0), (1e-9, 1.0), (3.0, 3.0), (1e9, 10.0)])
def test_steps_are_clamped_to_one_to_ten_units(length: float, clamped: float) -> None:
    direction = np.array([2.0, -1.0, 2.0]) / 3
    np.testing.assert_allclose(_clamp_length(length * direction), clamped * direction, rtol=1e-14)

"""The standing figure: its bones are in its body, and its sides have nearly one shape."""

from __future__ import annotations

import numpy as np

from graphreg.datasets.deformed_bodies import sample_implicit
from graphreg.datasets.mannequin import figure_bones, standing_figure
from graphreg.nonrigid.symmetries import approximate_symmetries


def test_bones_are_in_the_body_and_carried_by_earlier_ones() -> None:
    body, bones = standing_figure(1), figure_bones(1)
    for number, bone in enumerate(bones):
        assert -1 <= bone.parent < number or number == 0
        assert (body.field(bone.ends) < -0.9 * bone.radii.min()).all()
    assert len({bone.name for bone in bones}) == len(bones)


def test_a_rotation_exchanges_its_sides() -> None:
    points, _ = sample_implicit(standing_figure(0), 1500, np.random.default_rng(0))
    (symmetry,) = approximate_symmetries(points / np.linalg.norm(np.ptp(points, axis=0)))
    assert np.allclose(symmetry[:3, :3], np.diag([-1, -1, 1]), atol=0.1)

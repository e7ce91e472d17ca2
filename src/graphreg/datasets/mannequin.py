"""A standing figure whose limbs move: the bones that carry its surface, and the surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from graphreg.clouds import Floats
from graphreg.datasets.bodies import MILLIMETRE
from graphreg.datasets.implicit_surfaces import ImplicitSurface, SmoothUnion


@dataclass(frozen=True, eq=False)
class Bone:
    """A part of the figure: a capsule that rotates about its start, with what it carries.

    Attributes
    ----------
    name : str
    parent : int
        Number of the bone that carries this one; -1 for the torso.
    ends : (2, 3) ndarray
    radii : (2,) ndarray
    """

    name: str
    parent: int
    ends: Floats
    radii: Floats


def standing_figure(variant: int) -> ImplicitSurface:
    """A standing figure, 170 mm tall, with its arms stretched out: from the front it looks much like from behind."""
    shape = SmoothUnion(2.0)
    for bone in figure_bones(variant):
        shape.add_capsules(bone.ends / MILLIMETRE, bone.radii / MILLIMETRE)
    shape.add_ellipsoid([0, 11, 78], [2, 3, 3.5])
    shape.add_ellipsoid([0, 9, 22], [10, 8, 14])
    field = shape.field()
    return ImplicitSurface(lambda points: field(points / MILLIMETRE) * MILLIMETRE, 125 * MILLIMETRE)


def figure_bones(variant: int) -> list[Bone]:
    """Bones of the figure, each after the one that carries it, in metres."""
    rng = np.random.default_rng([variant, 5])
    bones: list[Bone] = []

    def add(name: str, parent: str, ends: ArrayLike, radii: ArrayLike) -> None:
        carrier = [bone.name for bone in bones].index(parent) if parent else -1
        bones.append(Bone(name, carrier, np.array(ends) * MILLIMETRE, np.array(radii) * MILLIMETRE))

    add("torso", "", [[0, 0, 10], [0, 0, 52]], [14, 17])
    add("hips", "torso", [[-9, 0, 5], [9, 0, 5]], [13, 13])
    add("neck", "torso", [[0, 0, 58], [0, 0, 70]], [5.5, 5.5])
    add("head", "neck", [[0, 1, 76], [0, 1, 82]], [10, 9.5])
    arm, leg = rng.uniform(0.9, 1.1, 2)
    for side, sign in (("left", -1), ("right", 1)):
        elbow, wrist, tip = (20 + arm * length for length in (25, 48, 60))
        add(f"{side} upper arm", "torso", [[sign * 20, 0, 52], [sign * elbow, 0, 47]], [5.5, 4.5])
        add(f"{side} forearm", f"{side} upper arm", [[sign * elbow, 0, 47], [sign * wrist, 2, 43]], [4.5, 3.3])
        add(f"{side} hand", f"{side} forearm", [[sign * wrist, 2, 43], [sign * tip, 3, 41]], [3.5, 3])
        knee, ankle = -40 * leg, -80 * leg
        add(f"{side} thigh", "hips", [[sign * 10, 0, 0], [sign * 13, 0, knee]], [8.5, 6])
        add(f"{side} shin", f"{side} thigh", [[sign * 13, 0, knee], [sign * 14, -1, ankle]], [5.5, 4])
        add(f"{side} foot", f"{side} shin", [[sign * 14, -2, ankle - 4], [sign * 16, 14, ankle - 5]], [4.5, 4])
    return bones

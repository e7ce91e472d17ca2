"""The settings of our own method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import MethodSettings

FREEDOMS = ("rx", "ry", "rz", "x", "y", "z")


@dataclass(frozen=True)
class EngineSettings(MethodSettings):
    """What can be tuned. Nothing has to be.

    k, alpha  neighbours in the graph; limit of the X84 rule
    voxel     side of the fine cells, in the unit of the data; by default one that suits the clouds. Coarse ones are at
              least as wide
    points    how many points of each cloud are looked at; of more, so many are drawn
    dof       what the motion may do, some of rx ry rz x y z: turn about and shift along the target's axes, for instance
              ("rz", "x", "y", "z") for scans that are level; turns about all axes, one or none. With `init` it is the
              motion after that pose. By default all
    weights   of the source's points, or a pair for both clouds (None: all alike); positive
    """

    k: int = 10
    alpha: float = 5.2
    voxel: float | None = None
    points: int = 40_000
    dof: tuple[str, ...] | None = None
    weights: tuple[Floats | None, Floats | None] | None = None

    def __post_init__(self) -> None:
        number, whole = (int, float, np.number), (int, np.integer)
        for name, kinds in (("k", whole), ("alpha", number), ("points", whole)):
            value = getattr(self, name)
            if not (isinstance(value, kinds) and value > 0):
                described = "whole number" if kinds is whole else "number"
                raise InputError(f"{name}: expected a positive {described}, got {value!r}")
        if self.k < 2:
            raise InputError(f"k: expected at least 2 neighbours, got {self.k}")
        if self.voxel is not None and not (isinstance(self.voxel, number) and 0 < self.voxel < np.inf):
            raise InputError(f"voxel: expected a positive length, got {self.voxel!r}")
        if self.dof is not None:
            object.__setattr__(self, "dof", _freedoms(self.dof))

    @property
    def required_points(self) -> int:
        return self.k + 1


def _freedoms(names: Any) -> tuple[str, ...]:
    chosen = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    if (
        not isinstance(chosen, (tuple, list, set, frozenset))
        or not chosen
        or any(name not in FREEDOMS for name in chosen)
    ):
        raise InputError(f"dof: expected some of {', '.join(FREEDOMS)}, got {names!r}")
    if sum(name in chosen for name in FREEDOMS[:3]) == 2:
        raise InputError(f"dof: turns about all axes, one or none are possible, got {names!r}")
    return tuple(name for name in FREEDOMS if name in chosen)

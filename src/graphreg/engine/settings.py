"""The settings of our own method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import MethodSettings, Scale
from graphreg.robust.losses import Loss

DOF_NAMES = ("rx", "ry", "rz", "x", "y", "z")
"""Degrees of freedom: rotations about and translations along the target's axes."""


@dataclass(frozen=True)
class EngineSettings(MethodSettings):
    """Settings of method "graphreg". None has to be chosen.

    Attributes
    ----------
    k : int, default 10
        Neighbours in the nearest-neighbour graph; at least 2.
    alpha : float, default 5.2
        Limit of the X84 rule: voxels with a response above alpha * MAD are outliers.
    voxel : float, optional
        Size of the fine voxels, in the unit of the data. By default it follows from the spacing and size of both
        clouds. Coarse voxels are never smaller.
    points : int, default 40_000
        Points sampled at random from each larger cloud.
    dof : sequence of str, optional
        Degrees of freedom of the transform, some of "rx", "ry", "rz", "x", "y", "z": rotations about and translations
        along the target's axes. ("rz", "x", "y", "z") suits levelled scans. Rotations about three axes, one or none
        are possible. With an initial pose they apply to the correction of that pose. By default all six.
    weights : (N,) array or pair of arrays, optional
        Positive weights of the source's points, or of both clouds' (None for uniform weights).
    scale : bool or pair of float, default False
        Whether the source has an unknown scale, or the smallest and the largest that it can have. Not together with
        `dof`. Voxels are then in the unit of the target.
    loss : str or Loss, optional
        A robust loss of the residuals in fine refinement: "l1", "huber", "tukey" and others, or a `graphreg.Loss`. By
        default weights fall with the distance of correspondences. Not together with `dof` or `scale`.
    """

    k: int = 10
    alpha: float = 5.2
    voxel: float | None = None
    points: int = 40_000
    dof: tuple[str, ...] | None = None
    weights: tuple[Floats | None, Floats | None] | None = None
    scale: Scale = False
    loss: Loss | None = None

    def __post_init__(self) -> None:
        self._require_count("k", least=2)
        self._require("a positive number", lambda value: value > 0, "alpha")
        self._require_count("points")
        if self.voxel is not None:
            self._require_positive("voxel")
        if self.dof is not None:
            object.__setattr__(self, "dof", _dof_names(self.dof))
        self._require_scale()
        if self.scale and self.dof is not None:
            raise InputError(f"scale: cannot be estimated with degrees of freedom, got dof={self.dof!r}")
        self._require_loss()
        if self.loss is not None and (self.scale or self.dof is not None):
            raise InputError(f"loss: cannot be combined with dof or scale, got {self.loss!r}")

    @property
    def required_points(self) -> int:
        return self.k + 1

    @property
    def free(self) -> tuple[bool, ...]:
        """Which of the six degrees of freedom the transform has, in the order of `DOF_NAMES`."""
        return tuple(self.dof is None or name in self.dof for name in DOF_NAMES)


def _dof_names(names: Any) -> tuple[str, ...]:
    chosen = tuple(names.replace(",", " ").split()) if isinstance(names, str) else names
    if (
        not isinstance(chosen, (tuple, list, set, frozenset))
        or not chosen
        or any(name not in DOF_NAMES for name in chosen)
    ):
        raise InputError(f"dof: expected some of {', '.join(DOF_NAMES)}, got {names!r}")
    if sum(name in chosen for name in DOF_NAMES[:3]) == 2:
        raise InputError(f"dof: expected rotations about three axes, one or none, got {names!r}")
    return tuple(name for name in DOF_NAMES if name in chosen)

"""What is known of a survey beforehand: degrees of freedom, initial poses, fixed scans, control points and targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from graphreg.argument_checks import shown
from graphreg.clouds import Floats, Mask, as_floats
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.files.control_points import ControlPoint
from graphreg.multiscan.georeferencing import closed_dof
from graphreg.multiscan.network_adjustment import NO_SIGHTINGS, Sightings
from graphreg.poses import as_pose, inverse

# Chosen: initial poses may differ by this much more than the degrees of freedom let them, in radians and as a share of
# the largest coordinate; text files round.
DOF_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False)
class SurveyInputs:
    """What is known of the scans of a survey beforehand.

    Attributes
    ----------
    poses : (N, 4, 4) ndarray
        Initial poses, NaN where there is none.
    fixed : (N,) ndarray of bool
        Scans that stay at their initial pose.
    dof : tuple of str, or None
        Degrees of freedom of each pose.
    sightings : Sightings
        Control points and targets.
    """

    poses: Floats
    fixed: Mask
    dof: tuple[str, ...] | None
    sightings: Sightings

    @property
    def has_pose(self) -> Mask:
        """Scans with an initial pose, (N,) of bool."""
        return np.asarray(np.isfinite(self.poses).all(axis=(1, 2)))

    @property
    def start(self) -> Floats:
        """Initial poses (N, 4, 4), the identity where there is none."""
        return np.where(self.has_pose[:, None, None], self.poses, np.eye(4))

    @property
    def free(self) -> tuple[bool, ...]:
        """Which of the six degrees of freedom a pose has."""
        return EngineSettings(dof=self.dof).free

    def of_scans(self, chosen: Sequence[int]) -> SurveyInputs:
        """What is known of some of the scans, which get the numbers 0, 1, ..."""
        number = np.full(len(self.poses), -1)
        number[list(chosen)] = np.arange(len(chosen))
        seen = self.sightings
        mine = number[seen.scans] >= 0
        sightings = replace(
            seen,
            scans=number[seen.scans][mine],
            points=seen.points[mine],
            positions=seen.positions[mine],
            sigma=seen.sigma[mine],
        )
        return replace(self, poses=self.poses[list(chosen)], fixed=self.fixed[list(chosen)], sightings=sightings)


def checked_survey(names: Sequence[str], init: Any, fixed: Any, dof: Any, control: Any) -> SurveyInputs:
    """Validate these arguments of `multiway`.

    Parameters
    ----------
    names : sequence of str
        Of the scans.
    init, fixed, dof, control
        As in `multiway`.

    Returns
    -------
    SurveyInputs

    Raises
    ------
    InputError
    """
    staying = np.zeros(len(names), bool)
    if isinstance(fixed, (str, bytes)) or not isinstance(fixed, Iterable):
        raise InputError(f"fixed: expected a list of names or numbers of scans, got {fixed!r}")
    staying[[scan_number(scan, names, "fixed") for scan in fixed]] = True
    poses = np.full((len(names), 4, 4), np.nan)
    # A fixed scan without an initial pose is in the frame of the world already.
    poses[staying] = np.eye(4)
    if init is not None:
        poses = _initial_poses(init, names, staying)
    free = closed_dof(dof)
    if any(free[:3]) and not all(free[3 + axis] for axis in range(3) if sum(free[:3]) > free[axis]):
        raise InputError(f"dof: expected the translations across an axis of rotation as well, got {dof}")
    _require_dof(poses, names, free, dof)
    return SurveyInputs(poses, staying, EngineSettings(dof=dof).dof, _sightings(control, names))


def scan_number(wanted: Any, names: Sequence[str], argument: str) -> int:
    """The number of a scan: of its number, its name, or its file name without the suffix.

    Parameters
    ----------
    wanted : int or str
    names : sequence of str
        Of all scans.
    argument : str
        For messages.

    Returns
    -------
    int

    Raises
    ------
    InputError
        If it is none of the scans, or several.

    Examples
    --------
    >>> scan_number("hall", ["yard.e57", "hall.e57"], "fixed")
    1
    """
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool) and 0 <= wanted < len(names):
        return int(wanted)
    # Anything else, an array for one, may not compare with a name.
    numbered = list(enumerate(names)) if isinstance(wanted, str) else []
    found = [number for number, name in numbered if name == wanted]
    found = found or [number for number, name in numbered if wanted in (PurePath(name).name, PurePath(name).stem)]
    if len(found) != 1:
        problem = "several scans have the name" if found else "expected the name of a scan, got"
        raise InputError(f"{argument}: {problem} {shown(wanted)}; the scans are {', '.join(names)}")
    return found[0]


def _initial_poses(init: Any, names: Sequence[str], fixed: Mask) -> Floats:
    poses: Floats = as_floats(init, "init", "4x4 matrices of numbers").copy()
    if poses.shape != (len(names), 4, 4):
        raise InputError(f"init: expected {len(names)} poses, one for each scan, got shape {poses.shape}")
    for number, name in enumerate(names):
        if np.isnan(poses[number]).all():
            if fixed[number]:
                raise InputError(f"init: {name} is fixed, but has no pose")
        else:
            as_pose(poses[number], f"init[{number}]")
    return poses


def _require_dof(poses: Floats, names: Sequence[str], free: tuple[bool, ...], dof: Any) -> None:
    """Poses must differ by what is free alone, else the degrees of freedom of pairs would not be those of poses."""
    known = np.flatnonzero(np.isfinite(poses).all(axis=(1, 2)))
    for number in known[1:].tolist():
        T = inverse(poses[known[0]]) @ poses[number]
        turning = np.array(free[:3])
        kept = ~turning if not turning.any() else (turning if turning.sum() == 1 else np.zeros(3, bool))
        turned = float(np.abs((T[:3, :3] - np.eye(3))[:, kept]).max(initial=0.0))
        moved = float(np.abs(T[:3, 3][~np.array(free[3:])]).max(initial=0.0))
        if turned > DOF_TOLERANCE or moved > DOF_TOLERANCE * float(np.abs(poses[known][:, :3, 3]).max()):
            first = names[known[0]]
            raise InputError(f"init: the poses of {first} and {names[number]} differ by more than dof {dof} lets them")


def _sightings(control: Any, names: Sequence[str]) -> Sightings:
    if control is None:
        return NO_SIGHTINGS
    if isinstance(control, (str, bytes)) or not isinstance(control, Iterable):
        raise InputError(f"control: expected a list of ControlPoint, got {type(control).__name__}")
    scans: list[int] = []
    sigmas: list[float] = []
    positions: list[tuple[float, float, float]] = []
    world: dict[str, tuple[float, float, float] | None] = {}
    labels: list[str] = []
    for row in control:
        if not isinstance(row, ControlPoint):
            raise InputError(f"control: expected ControlPoint, got {type(row).__name__}")
        if row.sigma is None:
            raise InputError(f"control: {row.name} has no sigma, expected its standard deviation in the unit of scans")
        before = world.get(row.name)
        if before is not None and row.world is not None and before != row.world:
            raise InputError(f"control: {row.name} has two world coordinates, {before} and {row.world}")
        world[row.name] = before or row.world
        scans.append(scan_number(row.scan, names, f"control: {row.name}"))
        sigmas.append(row.sigma)
        positions.append(row.point)
        labels.append(row.name)
    number = {name: each for each, name in enumerate(world)}
    return Sightings(
        tuple(world),
        np.array([(np.nan,) * 3 if each is None else each for each in world.values()]).reshape(-1, 3),
        np.array(scans, np.intp),
        np.array([number[label] for label in labels], np.intp),
        np.array(positions, np.float64).reshape(-1, 3),
        np.array(sigmas, np.float64),
    )

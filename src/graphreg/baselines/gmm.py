"""GMM: both clouds as Gaussian mixtures, moved until the L2 distance of the mixtures is smallest.

B. Jian, B. C. Vemuri: Robust point set registration using Gaussian mixture models. IEEE TPAMI 33(8), 2011.

With every point the centre of a Gaussian of width s, a rigid motion changes only the mixed term of the integral of
(f - g)^2, so that minimised over T is

    -1/(N M) sum_ij exp(-|y_j - T x_i|^2 / (4 s^2))

by a quasi-Newton method over quaternion and shift, for falling widths s. Each width has its own local minima.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.mixtures import back_to_lengths, in_spatial_order, unit_of
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import pose, transform
from graphreg.voxels import voxel_downsample

# The bounds Lb and Ub of the paper's comparison: four for the quaternion, three for the shift.
BOUNDS = [(-10.0, 10.0)] * 4 + [(-400.0, 400.0)] * 3
# Of the objective, relative: many sums in single precision, added up in double. Smaller changes mean nothing.
ROUNDING = 1e-9
# Under a Gaussian, points within a cell of so many widths look like their mean.
CELL = 0.5


@dataclass(frozen=True)
class GmmSettings(BaselineSettings):
    """Settings of GMM.

    scales          widths s, one after the other, in units of the clouds' spread (normalize of the paper's comparison,
                    which leaves the widths open). For all but the last, the clouds are thinned out to what a width can
                    tell apart
    max_iterations  max_iter of the paper's comparison, for each width
    """

    scales: tuple[float, ...] = (0.5, 0.2, 0.1, 0.05, 0.02)
    max_iterations: int = 100

    def __post_init__(self) -> None:
        self._require_count("max_iterations")
        try:
            held = bool(self.scales) and all(0 < scale < np.inf for scale in self.scales)
        except TypeError:
            held = False
        if not held:
            raise InputError(f"scales: expected one or more positive numbers, got {self.scales!r}")


class _Stopped(Exception):
    """The caller has told the optimiser to stop."""


def register_gmm(
    source: Floats,
    target: Floats,
    settings: GmmSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Nothing is drawn at random: the seed changes nothing. The energy in the history falls for each width."""
    from scipy import optimize

    minimize: Any = optimize.minimize  # its stubs know no array of unknown length
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    unit = unit_of(run.source, run.target)
    whole = [in_spatial_order(cloud, threads) / unit for cloud in (run.source, run.target)]
    run.described()
    at = np.array([1.0, 0, 0, 0, 0, 0, 0])
    for scale in settings.scales:
        clouds = whole
        if scale != settings.scales[-1] and CELL * scale * unit > run.voxel:
            clouds = [voxel_downsample(cloud, CELL * scale, threads) for cloud in whole]
        overlap = Overlap(clouds[0], clouds[1], scale, threads)
        # Relative to where it begins, so that the optimiser's own limits fit every width.
        first = overlap(at)[0] or 1.0

        relative = partial(_relative, overlap=overlap, first=abs(first))

        def told(at: Floats, overlap: Overlap = overlap) -> None:
            if run.step(back_to_lengths(motion_of(at), unit), overlap(at)[0]):
                raise _Stopped

        try:
            found = minimize(
                relative, at, jac=True, method="L-BFGS-B", bounds=BOUNDS, callback=told,
                options={"maxiter": settings.max_iterations, "ftol": ROUNDING, "gtol": 0.0},
            )  # fmt: skip
        except _Stopped:
            break
        at = found.x
    return run.outcome()


def _relative(at: Floats, overlap: Overlap, first: float) -> tuple[float, Floats]:
    value, slope = overlap(at)
    return value / first, slope / first


class Overlap:
    """The objective and its slope over (quaternion, shift); remembers the last place it was asked for."""

    def __init__(self, source: Floats, target: Floats, scale: float, threads: int) -> None:
        self._source = source
        self._target = np.ascontiguousarray(target, np.float32)
        self._mass = np.ones(len(target), np.float32)
        # Two Gaussians of width s that are integrated over make one of sqrt(2) s.
        self._width = float(np.sqrt(2) * scale)
        self._threads = threads
        self._last: tuple[bytes, tuple[float, Floats]] | None = None

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        key = at.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._compute(at)
        return self._last[1]

    def _compute(self, at: Floats) -> tuple[float, Floats]:
        moved = np.ascontiguousarray(transform(motion_of(at), self._source), np.float32)
        weights, forces = _core.gaussian_forces(moved, self._target, self._mass, self._width, self._threads)
        pairs = len(self._source) * len(self._target)
        lift = -1 / (pairs * self._width**2)
        by_rotation = lift * forces.T @ self._source
        by_shift = lift * forces.sum(axis=0)
        length = float(np.linalg.norm(at[:4]))
        unit = at[:4] / length
        by_quaternion = np.array([(by_rotation * part).sum() for part in _rotation_slopes(unit)])
        # A longer quaternion is the same rotation.
        by_quaternion = (by_quaternion - unit * (unit @ by_quaternion)) / length
        return -float(weights.sum()) / pairs, np.concatenate([by_quaternion, by_shift])


def motion_of(at: Floats) -> Floats:
    """The motion for a quaternion (w, x, y, z) of any length and a shift."""
    w, x, y, z = at[:4] / np.linalg.norm(at[:4])
    rotation = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return pose(rotation, at[4:])


def _rotation_slopes(unit: Floats) -> list[Floats]:
    """The derivatives of the matrix above by w, x, y and z."""
    w, x, y, z = unit
    return [
        2 * np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]),
        2 * np.array([[0, y, z], [y, -2 * x, -w], [z, w, -2 * x]]),
        2 * np.array([[-2 * y, x, w], [x, 0, z], [-w, z, -2 * y]]),
        2 * np.array([[-2 * z, -w, x], [w, -2 * z, y], [x, y, 0]]),
    ]

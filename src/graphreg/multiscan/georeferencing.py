"""absolute_orientation(): the transform between two frames from points that are known in both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from graphreg.argument_checks import check_flag, check_number, shown
from graphreg.clouds import Floats, Mask, as_floats
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.multiscan.data_snooping import SIGNIFICANCE, PointResiduals, consistent_points
from graphreg.poses import cross_matrices, nearest_rotation

# Chosen: points whose extent across a line is below this share of that along it are collinear.
COLLINEAR = 1e-6
# Minimal samples at most in the robust start. Chosen: with half of the points wrong, one of eight samples of three is
# right, so that none of these is wrong with probability 1e-58.
MAX_SAMPLES = 1000
# Rounding errors of residuals, as a share of the largest coordinate. Chosen.
ROUNDING = 64 * np.finfo(float).eps
# Median of chi-squared with three degrees of freedom, and its value that is exceeded with probability 0.001. Derived.
CHI2_MEDIAN, CHI2_LIMIT = 2.366, 16.27


@dataclass(frozen=True, eq=False)
class AbsoluteOrientation:
    """Result of `absolute_orientation`.

    Attributes
    ----------
    transformation : (4, 4) ndarray
        x_target = T x_source; with `scale` its upper left block is s R.
    scale : float
        s; 1 unless it was estimated.
    residuals : (N, 3) ndarray
        Target less transformed source, of all points.
    used : (N,) ndarray of bool
        False for outliers, which do not count.
    covariance : (7, 7) ndarray
        Of rotations about the target's x, y, z axes through `centre` (radians), translations along them, and the
        relative scale, all applied after T; zero for what was not estimated.
    centre : (3,) ndarray
        Weighted mean of the points in use, in the target's frame.
    sigma0 : float
        Square root of the variance factor: residuals over what `sigma` lets expect; without `sigma`, the estimated
        standard deviation of a coordinate.
    redundancy : int
        Number of coordinates in use, less that of the unknowns.
    """

    transformation: Floats
    scale: float
    residuals: Floats
    used: Mask
    covariance: Floats
    centre: Floats
    sigma0: float
    redundancy: int


def absolute_orientation(
    source_points: Any,
    target_points: Any,
    *,
    sigma: Any = None,
    scale: bool = False,
    dof: str | Sequence[str] | None = None,
    significance: float | None = SIGNIFICANCE,
) -> AbsoluteOrientation:
    """Estimate the transform between two frames from points that are known in both, such as control points.

    It minimises sum_i |y_i - (s R x_i + t)|^2 / sigma_i^2 in closed form (Kabsch, Horn). Points that contradict the
    others are outliers and do not count: they are found by data snooping from a robust start (least median of squares).

    Parameters
    ----------
    source_points, target_points : (N, 3) array_like
        The points x_i and y_i, in correspondence by row. At least three that are not on one line.
    sigma : float or (N,) array_like, optional
        Standard deviation of a coordinate of y_i - T x_i, in the unit of the data. By default equal for all points, and
        estimated from the residuals.
    scale : bool, default False
        Whether to estimate the scale s as well.
    dof : sequence of str, optional
        Degrees of freedom, as in `register`; ("rz", "x", "y", "z") between levelled frames, for which two points are
        enough.
    significance : float or None, default 0.001
        Probability at which a right point is called an outlier; None uses all points.

    Returns
    -------
    AbsoluteOrientation

    Raises
    ------
    InputError
        If there are too few points, they are coincident or collinear, or another argument cannot be used.

    References
    ----------
    B. K. P. Horn, Closed-form solution of absolute orientation using unit quaternions, JOSA A 4(4), 1987.
    W. Baarda, A testing procedure for use in geodetic networks, Netherlands Geodetic Commission 2(5), 1968.

    Examples
    --------
    >>> import numpy as np
    >>> import graphreg
    >>> scanner = np.array([[0.0, 0, 0], [8, 0, 1], [0, 6, 2], [7, 5, 0], [3, 2, 4]])
    >>> world = scanner @ [[0, 1, 0], [-1, 0, 0], [0, 0, 1]] + [500, 200, 30]
    >>> world[4] += [0, 0, 0.5]
    >>> found = graphreg.absolute_orientation(scanner, world, sigma=0.005)
    >>> found.transformation[:3, 3].round(6)
    array([500., 200.,  30.])
    >>> found.used
    array([ True,  True,  True,  True, False])
    """
    source, target = _checked_points(source_points, target_points)
    deviations = _checked_sigma(sigma, len(source))
    free = closed_dof(dof)
    estimated = (*free, check_flag("scale", scale))
    if significance is not None:
        check_number("significance", significance, 0.0, 1.0)
    _require_determined(source, target, free)
    # About the means, so that large coordinates lose no digits.
    origin = [np.where(free[3:], points.mean(axis=0), 0.0) for points in (source, target)]
    x, y = source - origin[0], target - origin[1]
    rounding = float((ROUNDING * max(np.abs(source).max(), np.abs(target).max())) ** 2) or np.finfo(float).tiny
    adjust = partial(_point_residuals, x, y, deviations, estimated, rounding if sigma is None else None)
    used = np.ones(len(x), bool)
    if significance is not None:
        start = _robust_start(x, y, deviations, estimated, rounding)
        if _determined(x[start], free) and _determined(y[start], free):
            used = start
        used, _ = consistent_points(partial(_while_determined, adjust, x, y, free), used, significance)
        _require_determined(source[used], target[used], free)
    found = adjust(used)
    linear, translation = _fit(x, y, used / deviations**2, estimated)
    factor = found.squared_sum / found.redundancy if found.redundancy else np.nan
    design, centre = _design(x @ linear.T + translation, used / deviations**2, estimated)
    covariance = _cofactors(design, used / deviations**2, estimated) * (1.0 if sigma is not None else factor)
    T = np.eye(4)
    T[:3, :3] = linear
    T[:3, 3] = origin[1] + translation - linear @ origin[0]
    return AbsoluteOrientation(
        T,
        float(np.cbrt(np.linalg.det(linear))) if scale else 1.0,
        found.residuals,
        used,
        covariance,
        centre + origin[1],
        float(np.sqrt(factor)),
        found.redundancy,
    )


def closed_dof(dof: str | Sequence[str] | None) -> tuple[bool, ...]:
    """Which of the rotations about x, y, z and translations along them are free, for transforms that can be composed.

    Parameters
    ----------
    dof : sequence of str or None
        As in `register`.

    Returns
    -------
    tuple of six bool

    Raises
    ------
    InputError
        Where two such transforms, one after the other, may be none: a rotation about z leads from x to y.

    Examples
    --------
    >>> closed_dof("rz,x,y,z")
    (False, False, True, True, True, True)
    """
    free = EngineSettings(dof=dof).free  # type: ignore[arg-type]
    turning, moving = free[:3], free[3:]
    across = [moving[axis] for axis in range(3) if sum(turning) > turning[axis]]
    if any(across) and not all(across):
        raise InputError(f"dof: a rotation leads from one axis to another, expected translations along both, got {dof}")
    return free


def _checked_points(source_points: Any, target_points: Any) -> tuple[Floats, Floats]:
    arrays = []
    for name, value in (("source_points", source_points), ("target_points", target_points)):
        points = as_floats(value, name, "points (N, 3)")
        if points.ndim != 2 or points.shape[1] != 3:
            raise InputError(f"{name}: expected shape (N, 3), got {points.shape}")
        if not np.isfinite(points).all():
            raise InputError(f"{name}: expected finite numbers, got {shown(points)}")
        arrays.append(points)
    if len(arrays[0]) != len(arrays[1]):
        raise InputError(f"target_points: expected {len(arrays[0])} as in source_points, got {len(arrays[1])}")
    return arrays[0], arrays[1]


def _checked_sigma(sigma: Any, count: int) -> Floats:
    if sigma is None:
        return np.ones(count)
    values = as_floats(sigma, "sigma", "a number or one for each point")
    if values.shape not in ((), (count,)):
        raise InputError(f"sigma: expected a number or {count}, got shape {values.shape}")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(f"sigma: expected positive numbers, got {shown(sigma)}")
    return np.asarray(np.broadcast_to(values, (count,)), np.float64)


def _require_determined(source: Floats, target: Floats, free: tuple[bool, ...]) -> None:
    rotations = sum(free[:3])
    needed = (1, 2, 3, 3)[rotations]
    if len(source) < needed:
        raise InputError(f"source_points: expected at least {needed} that agree with each other, got {len(source)}")
    for name, points in (("source_points", source), ("target_points", target)):
        if not _determined(points, free):
            along = "xyz"[free.index(True)] if rotations == 1 else ""
            wrong = f"on one line along {along}" if along else "coincident or collinear"
            expected = f"two beside each other, seen along {along}" if along else "three that are not on one line"
            raise InputError(f"{name}: all {len(points)} are {wrong}, expected {expected}")


def _determined(points: Floats, free: tuple[bool, ...]) -> bool:
    """Whether the points have an extent that shows the rotations."""
    rotations = sum(free[:3])
    if rotations == 0:
        return len(points) >= 1
    if len(points) < (3 if rotations == 3 else 2):
        return False
    centred = points - points.mean(axis=0)
    if rotations == 1:
        across = np.delete(centred, free.index(True), axis=1)
        return bool(np.linalg.norm(across) > COLLINEAR * np.linalg.norm(points - points[0]))
    values = np.linalg.svd(centred, compute_uv=False)
    return bool(values[1] > COLLINEAR * values[0])


def _fit(x: Floats, y: Floats, weights: Floats, estimated: tuple[bool, ...]) -> tuple[Floats, Floats]:
    """s R and t of the weighted least-squares fit, (..., 3, 3) and (..., 3), for x and y (..., N, 3)."""
    moving = np.array(estimated[3:6])
    share = (weights / weights.sum(axis=-1, keepdims=True))[..., None, :]
    x_mean, y_mean = np.where(moving, share @ x, 0.0), np.where(moving, share @ y, 0.0)
    a, b = x - x_mean, y - y_mean
    correlation = b.swapaxes(-1, -2) @ (a * share.swapaxes(-1, -2))
    turning = estimated[:3]
    if all(turning):
        rotation = nearest_rotation(correlation)
    elif any(turning):
        axis = turning.index(True)
        u, v = (axis + 1) % 3, (axis + 2) % 3
        cosine, sine = correlation[..., u, u] + correlation[..., v, v], correlation[..., v, u] - correlation[..., u, v]
        length = np.maximum(np.hypot(cosine, sine), np.finfo(float).tiny)
        rotation = np.zeros(correlation.shape)
        rotation[..., axis, axis] = 1
        rotation[..., u, u] = rotation[..., v, v] = cosine / length
        rotation[..., v, u] = sine / length
        rotation[..., u, v] = -sine / length
    else:
        rotation = np.broadcast_to(np.eye(3), correlation.shape)
    if estimated[6]:
        spread = (share @ (a**2).sum(axis=-1, keepdims=True))[..., 0, 0]
        factor = np.einsum("...ij,...ij->...", rotation, correlation) / np.maximum(spread, np.finfo(float).tiny)
        rotation = rotation * np.maximum(factor, np.finfo(float).tiny)[..., None, None]
    return rotation, (y_mean - x_mean @ rotation.swapaxes(-1, -2))[..., 0, :]


def _design(fitted: Floats, weights: Floats, estimated: tuple[bool, ...]) -> tuple[Floats, Floats]:
    """Derivatives of the fitted points by rotations, translations and scale about their weighted mean, (N, 3, 7)."""
    # Where a translation is not free, the transform is about the target's origin.
    centre = np.where(estimated[3:6], weights @ fitted / weights.sum(), 0.0)
    offsets = fitted - centre
    identities = np.broadcast_to(np.eye(3), (len(fitted), 3, 3))
    design = np.concatenate([-cross_matrices(offsets), identities, offsets[:, :, None]], axis=2)
    return np.where(estimated, design, 0.0), centre


def _cofactors(design: Floats, weights: Floats, estimated: tuple[bool, ...]) -> Floats:
    """Inverse of the normal equations of what is estimated, (7, 7); zero elsewhere."""
    normal = np.einsum("n,nki,nkj->ij", weights, design, design)
    rows = np.flatnonzero(estimated)
    result = np.zeros((7, 7))
    result[np.ix_(rows, rows)] = np.linalg.inv(normal[np.ix_(rows, rows)])
    return result


def _point_residuals(
    x: Floats, y: Floats, deviations: Floats, estimated: tuple[bool, ...], least_factor: float | None, used: Mask
) -> PointResiduals:
    weights = used / deviations**2
    linear, translation = _fit(x, y, weights, estimated)
    fitted = x @ linear.T + translation
    design, _ = _design(fitted, weights, estimated)
    of_fit = design @ _cofactors(design, weights, estimated) @ design.transpose(0, 2, 1)
    own = deviations[:, None, None] ** 2 * np.eye(3)
    covariances = own + np.where(used, -1.0, 1.0)[:, None, None] * of_fit
    squared = float((weights * ((y - fitted) ** 2).sum(axis=1)).sum())
    redundancy = 3 * int(np.count_nonzero(used)) - sum(estimated)
    return PointResiduals(y - fitted, covariances, deviations**2, squared, redundancy, least_factor)


def _while_determined(
    adjust: partial[PointResiduals], x: Floats, y: Floats, free: tuple[bool, ...], used: Mask
) -> PointResiduals:
    _require_determined(x[used], y[used], free)
    return adjust(used)


def _robust_start(x: Floats, y: Floats, deviations: Floats, estimated: tuple[bool, ...], rounding: float) -> Mask:
    """Points that agree with the minimal sample of the least median of squared residuals.

    The scale of what agrees follows from that median (Rousseeuw 1984).
    """
    count, size = len(x), (1, 2, 3, 3)[sum(estimated[:3])]
    if count <= size + 1:
        return np.ones(count, bool)
    if comb(count, size) <= MAX_SAMPLES:
        samples = np.array(list(combinations(range(count), size)))
    else:
        rng = np.random.default_rng(0)
        samples = np.array([rng.choice(count, size, replace=False) for _ in range(MAX_SAMPLES)])
    linear, translation = _fit(x[samples], y[samples], deviations[samples] ** -2, estimated)
    fitted = x @ linear.swapaxes(-1, -2) + translation[:, None]
    squared = ((y - fitted) ** 2).sum(axis=2) / deviations**2
    middle = (count + size + 1) // 2
    medians = np.partition(squared, middle - 1, axis=1)[:, middle - 1]
    best = int(np.argmin(medians))
    scale = medians[best] / CHI2_MEDIAN * (1 + 5 / (count - size)) ** 2
    return np.asarray(squared[best] <= np.maximum(CHI2_LIMIT * scale, rounding / deviations**2))

"""Observability: the covariance of a pose, and degenerate directions that the surfaces do not constrain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.evidence import in_fine_voxels
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.poses import adjoint, inverse, pose, rotation_from_vector, transform


@dataclass(frozen=True)
class ObservabilityParameters:
    """Constants of the covariance and of degenerate directions.

    Attributes
    ----------
    kernel : float
        Width of the robust kernel, in voxels; chosen as in the last step of refinement.
    least_information : float
        A direction is degenerate if its share of the information of the coarse surfels is smaller; chosen.
    information_of_noise : float
        Noise in normals feigns information: this times the fourth power of the residual in coarse voxels is added to
        the limit; chosen.
    inflation : tuple of float
        (a, b, c): surfels do not have independent errors, least of all where noise is as wide as the voxels. The
        variance is inflated by 10^(a + b r), r the median roughness in coarse voxels, and at least by c. Fitted on
        pairs of synthetic scans with noise of 0 to 1.4 % of their size; `graphreg bench confidence` prints the fit,
        cross-validates it over objects and scenes, and shows the ratio of errors to covariance.
    most_roughness : float
        Roughness beyond which nothing was fitted, in coarse voxels.
    """

    kernel: float = 0.5
    least_information: float = 0.002
    information_of_noise: float = 6.0
    inflation: tuple[float, float, float] = (-0.5, 8.0, 3.0)
    most_roughness: float = 0.5


OBSERVABILITY = ObservabilityParameters()


@dataclass(frozen=True, eq=False)
class Observability:
    """How well the surfaces determine a pose.

    Attributes
    ----------
    centre : (3,) ndarray
        Centroid of the overlap, in the target's frame.
    covariance : (6, 6) ndarray
        Of the pose: rotations about the x, y, z axes through `centre` (radians), then translations along them (unit
        of the data), both applied after the transform, in the target's frame.
    degenerate_directions : tuple of str
        Rotations and translations that the surfaces do not constrain, in words.
    correlated : (7, 7) ndarray or None
        With a scale, the covariance that follows from residuals which neighbouring surfels share, before its factor;
        see `scale_observability`.
    """

    centre: Floats
    covariance: Floats
    degenerate_directions: tuple[str, ...]
    correlated: Floats | None = None


def observability_of(
    source: SurfelPyramid,
    target: SurfelPyramid,
    T: Floats,
    overlapping: Mask,
    free: tuple[bool, ...],
    threads: int = 1,
) -> Observability | None:
    """Analyse the normal equations at a pose; None where no surfels with agreeing normals are close.

    Parameters
    ----------
    source, target : SurfelPyramid
    T : (4, 4) ndarray
        Transform between the pyramids, translation in coarse voxels.
    overlapping : (N,) ndarray of bool
        Fine surfels of the source that overlap the target.
    free : tuple of six bool
        Degrees of freedom of the transform.
    threads : int, default 1
    """
    close = in_fine_voxels(T, target)
    information, _, weight, squared = target.fine.grid.equations(
        close, source.fine.points, source.fine.normals, source.fine.importance, OBSERVABILITY.kernel, threads
    )
    if not weight > 0:
        return None
    centre = transform(close, source.fine.points[overlapping]).mean(axis=0)
    T_cloud_local = inverse(target.T_local_cloud)
    information = _about_centre(information, centre, T_cloud_local, free)
    unit = np.repeat([1.0, target.fine_voxel], 3)
    floor = np.trace(information) * np.where(free, 1e-12, 1.0)
    variance = np.linalg.inv(information + np.diag(floor)) * (squared / np.count_nonzero(overlapping))
    inflation = inflation_of(median_roughness(source, target), OBSERVABILITY.inflation)
    covariance = np.where(np.outer(free, free), variance * np.outer(unit, unit) * inflation, 0.0)
    return Observability(
        transform(T_cloud_local, centre[None] * target.fine_voxel)[0],
        covariance,
        _degenerate_directions(source, target, T, free, threads),
    )


def median_roughness(source: SurfelPyramid, target: SurfelPyramid) -> float:
    """Return the median roughness of the coarse surfels of both clouds, in coarse voxels."""
    return float(np.median(np.concatenate([source.coarse.roughness, target.coarse.roughness])))


def inflation_of(roughness: float, constants: Sequence[float] | Floats) -> float:
    """Return the inflation of the variance, max(10^(a + b r), c), for constants (a, b, c)."""
    constant, slope, least = constants
    return float(max(10 ** (constant + slope * min(roughness, OBSERVABILITY.most_roughness)), least))


def _about_centre(information: Floats, centre: Floats, T_cloud_local: Floats, free: tuple[bool, ...]) -> Floats:
    """From rotations about the origin to rotations about the centre, and to the target's own axes."""
    change = np.kron(np.eye(2), T_cloud_local[:3, :3]) @ adjoint(pose(np.eye(3), centre)).T
    return np.where(np.outer(free, free), change @ information @ change.T, 0.0)


@dataclass(frozen=True, eq=False)
class _Information:
    """Information of the coarse surfels about the centre of the overlap, along the target's axes, in units of length.

    Coarse surfels, because the normals of fine ones have more noise.
    """

    relative: Floats  # to the largest possible
    limit: float  # below which a direction is degenerate
    centre: Floats  # in coarse voxels
    radius: float


def _coarse_information(
    source: SurfelPyramid, target: SurfelPyramid, T: Floats, free: tuple[bool, ...], threads: int
) -> _Information | None:
    x = source.coarse
    information, _, weight, squared = target.coarse.grid.equations(
        T, x.points, x.normals, x.importance, OBSERVABILITY.kernel, threads
    )
    moved = transform(T, x.points)
    overlap = moved[target.coarse.grid.nearest(moved, 1.0, threads) >= 0]
    if not weight > 0 or not len(overlap):
        return None
    centre = overlap.mean(axis=0)
    radius = float(np.sqrt(((overlap - centre) ** 2).sum(axis=1).mean())) or 1.0
    information = _about_centre(information, centre, inverse(target.T_local_cloud), free)
    scale = np.repeat([1 / radius, 1.0], 3)
    # Directions that are not free are constrained.
    relative = information * np.outer(scale, scale) / weight + np.diag(1.0 - np.array(free))
    residual = float(np.sqrt(squared / weight))
    limit = OBSERVABILITY.least_information + OBSERVABILITY.information_of_noise * residual**4
    return _Information(relative, limit, centre, radius)


def degenerate_steps(
    source: SurfelPyramid, target: SurfelPyramid, T: Floats, free: tuple[bool, ...], distance: float, threads: int = 1
) -> list[tuple[Floats, Floats]]:
    """Return, for each degenerate direction, the pose moved along it by a distance, forwards and backwards.

    Poses are between the pyramids, lengths in coarse voxels.
    """
    known = _coarse_information(source, target, T, free, threads)
    if known is None:
        return []
    values, vectors = np.linalg.eigh(known.relative)
    axes = target.T_local_cloud[:3, :3]

    def moved(direction: Floats) -> Floats:
        rotation = rotation_from_vector(axes @ direction[:3] * distance / known.radius)
        translation = known.centre - rotation @ known.centre + axes @ direction[3:] * distance
        return np.asarray(pose(rotation, translation) @ T)

    return [(moved(v), moved(-v)) for value, v in zip(values, vectors.T, strict=True) if value < known.limit]


def _degenerate_directions(
    source: SurfelPyramid, target: SurfelPyramid, T: Floats, free: tuple[bool, ...], threads: int
) -> tuple[str, ...]:
    """The degenerate directions in words."""
    known = _coarse_information(source, target, T, free, threads)
    if known is None:
        return ()
    relative, limit = known.relative, known.limit
    values, vectors = np.linalg.eigh(relative)
    if values[0] >= limit:
        return ()
    found = []
    for kind, part in (("rotation about", slice(0, 3)), ("translation along", slice(3, 6))):
        lengths, axes = np.linalg.eigh(relative[part, part])
        loose = [axis for length, axis in zip(lengths, axes.T, strict=True) if length < limit]
        if len(loose) == 3:
            found.append(f"{kind} any axis")
        else:
            found += [f"{kind} {_axis(axis)}" for axis in loose]
    return tuple(found) or (f"rotation about {_axis(vectors[:3, 0])} off the centre",)


def _axis(direction: Floats) -> str:
    length = float(np.linalg.norm(direction)) or 1.0
    signed = direction / length * (1 if direction[np.argmax(np.abs(direction))] > 0 else -1)
    return f"({', '.join(f'{entry:.2f}' for entry in signed + 0.0)})"

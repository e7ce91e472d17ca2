"""Observability: the covariance of a pose, and degenerate directions that the surfaces do not constrain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphreg.clouds import Floats, Mask
from graphreg.engine.evidence import in_fine_voxels
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.poses import adjoint, inverse, pose, transform


@dataclass(frozen=True)
class ObservabilityParameters:
    """Constants of the covariance and of degenerate directions.

    Attributes
    ----------
    kernel : float
        Width of the robust kernel, in fine voxels; chosen as in the last step of refinement.
    least_information : float
        A direction is degenerate if its share of the information is smaller; chosen.
    information_of_noise : float
        Noise in normals feigns information: this times the fourth power of the residual in voxels is added to the
        limit; chosen.
    inflation : tuple of float
        (a, b, c): surfels do not have independent errors, least of all where noise is as wide as the voxels. The
        variance is inflated by 10^(a + b r), r the median roughness in coarse voxels, and at least by c. Fitted on
        pairs of synthetic scans with noise of 0 to 1.4 % of their size; `graphreg bench confidence` prints the fit,
        cross-validates it over objects and scenes, and shows the ratio of errors to covariance.
    most_roughness : float
        Roughness beyond which nothing was fitted, in coarse voxels.
    """

    kernel: float = 0.5
    least_information: float = 0.005
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
    """

    centre: Floats
    covariance: Floats
    degenerate_directions: tuple[str, ...]


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
    overlap = transform(close, source.fine.points[overlapping])
    centre = overlap.mean(axis=0)
    radius = float(np.sqrt(((overlap - centre) ** 2).sum(axis=1).mean())) or 1.0
    # From rotations about the origin to rotations about the centre, and to the target's own axes. Directions that are
    # not free are constrained.
    about = adjoint(pose(np.eye(3), centre))
    T_cloud_local = inverse(target.T_local_cloud)
    change = np.kron(np.eye(2), T_cloud_local[:3, :3]) @ about.T
    information = np.where(np.outer(free, free), change @ information @ change.T, 0.0)
    scale = np.repeat([1 / radius, 1.0], 3)
    relative = information * np.outer(scale, scale) / weight + np.diag(1.0 - np.array(free))
    residual = float(np.sqrt(squared / weight))
    limit = OBSERVABILITY.least_information + OBSERVABILITY.information_of_noise * residual**4
    unit = np.repeat([1.0, target.fine_voxel], 3)
    floor = np.trace(information) * np.where(free, 1e-12, 1.0)
    variance = np.linalg.inv(information + np.diag(floor)) * (squared / np.count_nonzero(overlapping))
    inflation = inflation_of(median_roughness(source, target), OBSERVABILITY.inflation)
    covariance = np.where(np.outer(free, free), variance * np.outer(unit, unit) * inflation, 0.0)
    return Observability(
        transform(T_cloud_local, centre[None] * target.fine_voxel)[0], covariance, _degenerate(relative, limit)
    )


def median_roughness(source: SurfelPyramid, target: SurfelPyramid) -> float:
    """Return the median roughness of the coarse surfels of both clouds, in coarse voxels."""
    return float(np.median(np.concatenate([source.coarse.roughness, target.coarse.roughness])))


def inflation_of(roughness: float, constants: Sequence[float] | Floats) -> float:
    """Return the inflation of the variance, max(10^(a + b r), c), for constants (a, b, c)."""
    constant, slope, least = constants
    return float(max(10 ** (constant + slope * min(roughness, OBSERVABILITY.most_roughness)), least))


def _degenerate(relative: Floats, limit: float) -> tuple[str, ...]:
    """The directions in which the information, relative to the largest possible, is below a limit."""
    values, vectors = np.linalg.eigh(relative)
    if values[0] >= limit:
        return ()
    found = []
    for kind, part in (("rotation about", slice(0, 3)), ("translation along", slice(3, 6))):
        lengths, axes = np.linalg.eigh(relative[part, part])
        free = [axis for length, axis in zip(lengths, axes.T, strict=True) if length < limit]
        if len(free) == 3:
            found.append(f"{kind} any axis")
        else:
            found += [f"{kind} {_axis(axis)}" for axis in free]
    return tuple(found) or (f"rotation about {_axis(vectors[:3, 0])} off the centre",)


def _axis(direction: Floats) -> str:
    length = float(np.linalg.norm(direction)) or 1.0
    signed = direction / length * (1 if direction[np.argmax(np.abs(direction))] > 0 else -1)
    return f"({', '.join(f'{entry:.2f}' for entry in signed + 0.0)})"

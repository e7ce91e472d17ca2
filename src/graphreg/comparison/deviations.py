"""deviation(): how far each point of a cloud is from a reference, and figures of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.argument_checks import check_positive
from graphreg.clouds import Cloud, Floats, Mask, as_cloud, as_mesh, loaded
from graphreg.comparison.cloud_distance import PoseUncertainty, cloud_distances
from graphreg.meshes.mesh_distance import mesh_distances
from graphreg.poses import NORMAL_ATTRIBUTES, as_similarity, transform
from graphreg.result import Result
from graphreg.threads import thread_count

PERCENTILES = (1, 5, 25, 50, 75, 95, 99)


@dataclass(frozen=True, eq=False)
class Deviation:
    """What `deviation` returns. To numpy it is its distances.

    Attributes
    ----------
    distances : (N,) ndarray
        Of each row of the cloud from the reference, in the unit of the data; NaN where a row is not finite.
    signed : bool
        Whether negative distances are on the inside, against the normals of the reference; else all are positive.
    tolerance : float or None
        The tolerance that was passed.
    level_of_detection : (N,) ndarray or None
        What a distance from a cloud must exceed to be a change, at 95 % confidence; None where the reference is a mesh.
    """

    distances: Floats
    signed: bool
    tolerance: float | None
    level_of_detection: Floats | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.distances, dtype, copy=copy is not False)

    def __len__(self) -> int:
        return len(self.distances)

    @property
    def finite(self) -> Floats:
        """The distances of the rows that are finite."""
        return self.distances[np.isfinite(self.distances)]

    @property
    def rms(self) -> float:
        """Root-mean-square distance."""
        return float(np.sqrt(np.mean(self.finite**2)))

    @property
    def mean(self) -> float:
        """Mean distance; of signed ones, the bias."""
        return float(np.mean(self.finite))

    @property
    def percentiles(self) -> dict[int, float]:
        """Percentiles 1, 5, 25, 50, 75, 95 and 99 of the distances."""
        values = np.percentile(self.finite, PERCENTILES)
        return {share: float(value) for share, value in zip(PERCENTILES, values, strict=True)}

    @property
    def significant(self) -> Mask | None:
        """Which distances (N,) exceed their level of detection; None where the reference is a mesh."""
        if self.level_of_detection is None:
            return None
        return np.abs(self.distances) > self.level_of_detection

    def within(self, tolerance: float) -> float:
        """Return the share of points at most `tolerance` from the reference.

        Parameters
        ----------
        tolerance : float
            In the unit of the data.

        Returns
        -------
        float
        """
        check_positive("tolerance", tolerance)
        return float(np.mean(np.abs(self.finite) <= tolerance))

    def summary(self) -> dict[str, Any]:
        """Return the figures that `to_json` writes."""
        significant = self.significant
        return {
            "points": len(self.finite),
            "not_finite": len(self.distances) - len(self.finite),
            "signed": self.signed,
            "mean": self.mean,
            "rms": self.rms,
            "percentiles": {str(share): value for share, value in self.percentiles.items()},
            "largest": float(np.abs(self.finite).max()),
            "tolerance": self.tolerance,
            "within_tolerance": None if self.tolerance is None else self.within(self.tolerance),
            "significant": None if significant is None else float(significant.sum() / len(self.finite)),
        }

    def to_json(self) -> str:
        """Return the figures, without the distances, as JSON text."""
        return json.dumps(self.summary())


def deviation(
    cloud: Any,
    reference: Any,
    *,
    transformation: Any = None,
    tolerance: float | None = None,
    threads: int | None = None,
) -> Deviation:
    """Measure how far each point of a cloud is from a reference.

    From a mesh, the distance is exact: to the closest point of all triangles, and signed where their orientation is
    consistent. From a cloud, it is that of M3C2: between the local planes of both, along the normal of the reference,
    with its level of detection; signed where the reference has normals (attributes nx, ny, nz).

    Parameters
    ----------
    cloud : (N, 3) array_like or path
        Points, anything that holds points, or the name of a file.
    reference : Mesh, (M, 3) array_like or path
        A mesh, also one of trimesh or Open3D, or a cloud, in the same unit; or the name of a file.
    transformation : Result or (4, 4) array_like, optional
        Of the cloud to the reference; by default they are in the same frame. The covariance of a result counts in the
        level of detection.
    tolerance : float, optional
        The largest distance that is accepted, in the unit of the data.
    threads : int, optional
        Number of threads, by default all; the result does not depend on it.

    Returns
    -------
    Deviation

    Raises
    ------
    InputError
        Where an argument cannot be used.

    Examples
    --------
    >>> import graphreg
    >>> square = graphreg.Mesh([[0, 0, 0], [9, 0, 0], [9, 9, 0], [0, 9, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> found = graphreg.deviation([[1, 1, 0.5], [2, 3, -0.25], [13, 12, 0]], square, tolerance=0.5)
    >>> found.distances
    array([ 0.5 , -0.25,  5.  ])
    >>> round(found.within(0.5), 2)
    0.67
    """
    scan = as_cloud(cloud, "cloud")
    workers = thread_count(threads)
    if tolerance is not None:
        check_positive("tolerance", tolerance)
    points = scan.points
    if transformation is not None:
        points = transform(as_similarity(transformation, "transformation"), points)
    level = None
    reference = loaded(reference)
    mesh = as_mesh(reference, "reference")
    if mesh is not None:
        distances, signed = mesh_distances(mesh, points, workers)
    else:
        surface = as_cloud(reference, "reference")
        normals = _normals_of(surface)
        distances, level = cloud_distances(points, surface.points, normals, _uncertainty_of(transformation), workers)
        signed = normals is not None
        level = scan.restore(level, np.nan)
    return Deviation(scan.restore(distances, np.nan), signed, tolerance, level)


def _normals_of(cloud: Cloud) -> Floats | None:
    for names in NORMAL_ATTRIBUTES:
        if all(name in cloud.attributes and cloud.attributes[name].ndim == 1 for name in names):
            return np.stack([cloud.attributes[name] for name in names], axis=1).astype(np.float64)
    return None


def _uncertainty_of(transformation: Any) -> PoseUncertainty | None:
    if not isinstance(transformation, Result) or transformation.covariance is None or transformation.centre is None:
        return None
    return PoseUncertainty(transformation.covariance, transformation.centre)

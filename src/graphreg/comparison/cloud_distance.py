"""Distance of a cloud from the surface that another one samples, with its level of detection (M3C2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.errors import InputError

# Points that are compared together.
BLOCK_POINTS = 1 << 14
# Of a plane.
PARAMETERS = 3


@dataclass(frozen=True)
class LocalSurfaceSettings:
    """How the local surface of a cloud is estimated.

    Attributes
    ----------
    neighbours : int
        Nearest points that a plane is fitted to. Chosen: M3C2 asks for at least 4, and 30 for a normal distribution.
    quantile : float
        Of the normal distribution: 1.96 for a level of 95 %. Derived.
    """

    neighbours: int = 20
    quantile: float = 1.96


LOCAL_SURFACE = LocalSurfaceSettings()


@dataclass(frozen=True, eq=False)
class PoseUncertainty:
    """The covariance of a pose, see `Result.covariance`, and the point that its rotations are about."""

    covariance: Floats
    centre: Floats

    def along(self, points: Floats, normals: Floats) -> Floats:
        """Standard deviation (N,) of the position of points along normals."""
        arms = points - self.centre
        scaling = np.einsum("ni,ni->n", arms, normals)[:, None]
        jacobian = np.hstack([np.cross(arms, normals), normals, scaling])[:, : len(self.covariance)]
        variances = np.einsum("ni,ni->n", jacobian @ self.covariance, jacobian)
        return np.asarray(np.sqrt(np.maximum(variances, 0)))


def cloud_distances(
    points: Floats, reference: Floats, normals: Floats | None, uncertainty: PoseUncertainty | None, threads: int
) -> tuple[Floats, Floats]:
    """Distance of each point from the local surface of a reference cloud.

    About each point a plane is fitted to the nearest points of the reference, and another to the nearest points of its
    own cloud. With n the normal of the first, the distance is n . (m_1 - m_2), between the means m of the two, and its
    level of detection 1.96 (sqrt(s_1^2 / n_1 + s_2^2 / n_2) + s_reg), with the roughness s of each plane, the number
    n_i of its points, and the standard deviation s_reg of the registration along n.

    Parameters
    ----------
    points : (N, 3) ndarray
    reference : (M, 3) ndarray
    normals : (M, 3) ndarray or None
        Normals of the reference, which give the distances their sign; without them, all are positive.
    uncertainty : PoseUncertainty or None
        Of the registration of the points; none where it is None.
    threads : int

    Returns
    -------
    distances, level_of_detection : (N,) ndarray

    References
    ----------
    D. Lague, N. Brodu, J. Leroux, Accurate 3D comparison of complex topography with terrestrial laser scanner:
    application to the Rangitikei canyon (N-Z), ISPRS Journal 82, 2013, Eq. 1.
    """
    for name, cloud in (("cloud", points), ("reference", reference)):
        if len(cloud) <= PARAMETERS:
            raise InputError(f"{name}: has {len(cloud)} points, but at least {PARAMETERS + 1} are needed")
    origin = reference.mean(axis=0)
    points, reference = points - origin, reference - origin
    if uncertainty is not None:
        uncertainty = PoseUncertainty(uncertainty.covariance, uncertainty.centre - origin)
    trees = _core.Tree(np.ascontiguousarray(points), threads), _core.Tree(np.ascontiguousarray(reference), threads)
    distances, level = np.empty(len(points)), np.empty(len(points))
    for begin in range(0, len(points), BLOCK_POINTS):
        rows = slice(begin, begin + BLOCK_POINTS)
        queries = np.ascontiguousarray(points[rows])
        own, _, own_variance, _ = _planes(trees[0], points, queries, threads)
        other, along, variance, nearest = _planes(trees[1], reference, queries, threads)
        offset = np.einsum("ni,ni->n", own - other, along)
        if normals is None:
            distances[rows] = np.abs(offset)
        else:
            distances[rows] = np.where(np.einsum("ni,ni->n", along, normals[nearest]) < 0, -offset, offset)
        registration = 0.0 if uncertainty is None else uncertainty.along(queries, along)
        level[rows] = LOCAL_SURFACE.quantile * (np.sqrt(own_variance + variance) + registration)
    return distances, level


def _planes(
    tree: _core.Tree, points: Floats, queries: Floats, threads: int
) -> tuple[Floats, Floats, Floats, np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """Planes of the points nearest to each query: means, unit normals, variances of the means, and nearest points."""
    count = min(LOCAL_SURFACE.neighbours, len(points))
    indices, _ = tree.nearest(queries, count, threads)
    members = points[indices]
    means = members.mean(axis=1)
    offsets = members - means[:, None]
    eigenvalues, vectors = np.linalg.eigh(np.einsum("nki,nkj->nij", offsets, offsets))
    variances = np.maximum(eigenvalues[:, 0], 0) / (count - PARAMETERS) / count
    return means, vectors[:, :, 0], variances, indices[:, 0]

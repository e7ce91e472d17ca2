"""Attraction between the clouds: the paper's forces over correspondences, and distances to surfaces.

Each is an energy of the positions of the particles with a quadratic bound that touches it there, so that what lowers
the bound lowers the energy (majorise, minimise).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.nonrigid.elastic_energy import Bound
from graphreg.nonrigid.working_cloud import Indices, WorkingCloud

LEAST_COSINE = 0.5
"""Of the normals of a pair that attract each other (chosen)."""
TANGENTIAL = 0.1
"""tau: how much a distance along the surface counts beside one across it (chosen)."""


class Attraction(Protocol):
    """An energy of the positions (N, 3) and unit normals (N, 3) of the particles."""

    def energy(self, positions: Floats, normals: Floats) -> float:
        """Return the energy."""
        ...

    def bound(self, positions: Floats, normals: Floats) -> Bound:
        """Return a quadratic that is nowhere below the energy, and equal to it at these positions, up to a constant."""
        ...


@dataclass(frozen=True, eq=False)
class CoulombAttraction:
    """The paper's potential over correspondences C (Eq. 12 to 14), with the softening length s,

        E = -s sum_C k_ij / sqrt(|y_j - p_i|^2 + s^2) / sum_C k_ij.

    The charges k_ij are from 0 to 1, so that all forces attract: repulsion has no quadratic bound. The bound gives each
    particle the weights w_ij = k_ij / (r^2 + s^2)^(3/2) and the resting point sum_j w_ij y_j / sum_j w_ij. As s falls,
    correspondences that the deformation contradicts lose their weight.

    Attributes
    ----------
    particles : (C,) ndarray of int
        i.
    points : (C, 3) ndarray
        y_j.
    charges : (C,) ndarray
        k_ij, at least one of them positive.
    softening : float
        s.
    """

    particles: Indices
    points: Floats
    charges: Floats
    softening: float

    def energy(self, positions: Floats, normals: Floats) -> float:
        """Return E."""
        return -float((self.charges / self._softened(positions)).sum() * self.softening / self.charges.sum())

    def bound(self, positions: Floats, normals: Floats) -> Bound:
        """Return the quadratic bound of E."""
        weights = self.charges / self._softened(positions) ** 3 * (self.softening / (2 * self.charges.sum()))
        total = np.bincount(self.particles, weights, len(positions))
        pulls = _sum_rows(self.particles, weights[:, None] * self.points, len(positions))
        return Bound(total[:, None, None] * np.eye(3), pulls)

    def _softened(self, positions: Floats) -> Floats:
        squared = ((positions[self.particles] - self.points) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(squared + self.softening**2))


@dataclass(frozen=True, eq=False)
class SurfaceAttraction:
    """Robust distances of each particle from the target's surface, and of each target point from the particles.

        E = 1/N sum_i rho(d_i^2) + 1/M sum_j rho(d_j^2),   rho(d^2) = d^2 / (s^2 + d^2),
        d^2 = (n.(p - y))^2 + tau |p - y|^2

    with the nearest target point y and its normal n of each particle p, and the nearest particle of each target point.
    Pairs whose normals differ by more than 60 degrees count as infinitely far, and so do particles whose nearest target
    point is at the boundary of the scan: the surface continues there, unseen. rho (Geman, McClure) is concave in d^2,
    so its tangent is a bound; what has no counterpart within a few s is hardly attracted.

    Attributes
    ----------
    target : WorkingCloud
        With normals of the sign of the source's.
    tree : Tree
        Of its points.
    scale : float
        s.
    threads : int
    """

    target: WorkingCloud
    tree: _core.Tree
    scale: float
    threads: int

    def energy(self, positions: Floats, normals: Floats) -> float:
        """Return E."""
        total = 0.0
        for rows, columns, count in self._pairs(positions, normals):
            squared = self._squared(positions[rows], columns)
            total += float((squared / (self.scale**2 + squared)).sum() + count - len(rows)) / count
        return total

    def bound(self, positions: Floats, normals: Floats) -> Bound:
        """Return the quadratic bound of E."""
        metrics, pulls = np.zeros((len(positions), 9)), np.zeros((len(positions), 3))
        for rows, columns, count in self._pairs(positions, normals):
            weights = self.scale**2 / (self.scale**2 + self._squared(positions[rows], columns)) ** 2 / count
            directions = self.target.normals[columns]
            metric = directions[:, :, None] * directions[:, None, :] + TANGENTIAL * np.eye(3)
            metric *= weights[:, None, None]
            pull = np.einsum("nij,nj->ni", metric, self.target.points[columns])
            metrics += _sum_rows(rows, metric.reshape(-1, 9), len(positions))
            pulls += _sum_rows(rows, pull, len(positions))
        return Bound(metrics.reshape(-1, 3, 3), pulls)

    def _squared(self, positions: Floats, columns: Indices) -> Floats:
        offset = positions - self.target.points[columns]
        across = np.einsum("ij,ij->i", offset, self.target.normals[columns])
        return np.asarray(across**2 + TANGENTIAL * (offset**2).sum(axis=1))

    def _pairs(self, positions: Floats, normals: Floats) -> Iterator[tuple[Indices, Indices, int]]:
        """Particles and target points: from each particle, then from each target point; and how many there could be."""
        count, others = len(positions), len(self.target)
        columns = self.tree.nearest(positions, 1, self.threads)[0][:, 0].astype(np.intp)
        yield *self._agreeing(np.arange(count), columns, normals, ~self.target.boundary[columns]), count
        tree = _core.Tree(positions, self.threads)
        rows = tree.nearest(self.target.points, 1, self.threads)[0][:, 0].astype(np.intp)
        yield *self._agreeing(rows, np.arange(others), normals, np.ones(others, bool)), others

    def _agreeing(self, rows: Indices, columns: Indices, normals: Floats, valid: Mask) -> tuple[Indices, Indices]:
        cosine = np.einsum("ij,ij->i", normals[rows], self.target.normals[columns])
        kept = valid & (cosine > LEAST_COSINE)
        return rows[kept], columns[kept]


@dataclass(frozen=True, eq=False)
class SumOfAttractions:
    """Several attractions that act together."""

    parts: tuple[Attraction, ...]

    def energy(self, positions: Floats, normals: Floats) -> float:
        """Return the sum of the energies."""
        return sum(part.energy(positions, normals) for part in self.parts)

    def bound(self, positions: Floats, normals: Floats) -> Bound:
        """Return the sum of the bounds."""
        bounds = [part.bound(positions, normals) for part in self.parts]
        metrics = np.sum([bound.metrics for bound in bounds], axis=0)
        return Bound(metrics, np.sum([bound.pulls for bound in bounds], axis=0))


def _sum_rows(rows: Indices, values: Floats, count: int) -> Floats:
    """Sums (count, F) of the values (N, F) that belong to each row."""
    return np.column_stack([np.bincount(rows, column, count) for column in values.T])

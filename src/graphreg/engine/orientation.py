"""Orientation of normals: signs that vary as little as possible over the neighbour graph.

A fitted plane has a normal without a sign. On a scan all visible surfaces face the sensor, wherever it stood; its
position is inferred from the signs themselves: towards the true viewpoint, no normal contradicts its neighbours. On a
closed body the centroid is such a viewpoint. Seen from in front and from behind, a surface is equally consistent, so a
rule decides for the whole cloud: normals point away from the centroid on average.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.surfels import Surfels


@dataclass(frozen=True, eq=False)
class Orientation:
    """The rule that orients all normals of a cloud.

    Attributes
    ----------
    viewpoint : (3,) ndarray
        In the unit of the data, in the cloud's local frame.
    towards : bool
        Whether normals point towards the viewpoint or away from it.
    """

    viewpoint: Floats
    towards: bool

    def apply(self, surfels: Surfels, voxel: float) -> Surfels:
        """Return surfels, their lengths in voxels of this size, with oriented normals."""
        facing = np.einsum("ij,ij->i", surfels.normals, self.viewpoint / voxel - surfels.points) >= 0
        flipped = (facing != self.towards)[:, None]
        return replace(surfels, normals=np.where(flipped, -surfels.normals, surfels.normals))

    def reversed(self) -> Orientation:
        """Return the rule that gives every normal the other sign."""
        return replace(self, towards=not self.towards)


def infer_orientation(surfels: Surfels, voxel: float = 1.0, threads: int = 1) -> Orientation:
    """Infer how to orient the normals of a cloud from its surfels, whose lengths are in voxels of this size."""
    viewpoint = _core.infer_viewpoint(surfels.points, surfels.normals, surfels.neighbours, threads)
    orientation = Orientation(viewpoint * voxel, towards=True)
    facing = orientation.apply(surfels, voxel)
    radial = facing.points - facing.points.mean(axis=0)
    # Distant surfels decide on most scans, near ones on few; the square root stands between both.
    length = np.sqrt(np.linalg.norm(radial, axis=1))
    outward = np.einsum("ij,ij->i", facing.normals, radial) / np.maximum(length, 1e-9)
    return orientation if outward.sum() >= 0 else orientation.reversed()


def orient_normals(surfels: Surfels, threads: int = 1) -> Surfels:
    """Return the surfels with oriented normals."""
    return infer_orientation(surfels, threads=threads).apply(surfels, 1.0)

"""Approximate symmetries of a body: rotations by 180 degrees that map it nearly onto itself.

A standing figure has much the same shape in front and behind. A deformation that takes its left arm for the right one
then has hardly more energy than the right deformation. So the body is also deformed from where each symmetry takes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.nonrigid.deformation_graph import DeformationGraph, Motion
from graphreg.nonrigid.warps import Frame, GraphWarp, motion_after
from graphreg.poses import pose, transform


@dataclass(frozen=True)
class SymmetryParameters:
    """Constants of approximate symmetries; all chosen.

    Attributes
    ----------
    near : float
        Distance within which a point of the rotated body overlaps the body, in extents.
    least_overlap : float
        Share of the points that do, at least.
    """

    near: float = 0.05
    least_overlap: float = 0.8


SYMMETRIES = SymmetryParameters()


def approximate_symmetries(points: Floats, threads: int = 1) -> list[Floats]:
    """Return the rotations by 180 degrees about principal axes that map a body nearly onto itself.

    Parameters
    ----------
    points : (N, 3) ndarray
        Lengths in extents.
    threads : int, default 1

    Returns
    -------
    list of (4, 4) ndarray

    Examples
    --------
    >>> sides = [np.linspace(-half, half, 20) for half in (0.5, 0.3, 0.1)]
    >>> box = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 3)
    >>> wedge = box[np.abs(box[:, 1]) < 0.3 * (0.5 - box[:, 0])]
    >>> len(approximate_symmetries(box)), len(approximate_symmetries(wedge))
    (3, 1)
    """
    centre = points.mean(axis=0)
    tree = _core.Tree(points, threads)
    found = []
    for axis in np.linalg.eigh(np.cov((points - centre).T))[1].T:
        rotation = 2 * np.outer(axis, axis) - np.eye(3)
        symmetry = pose(rotation, centre - rotation @ centre)
        squared = tree.nearest(transform(symmetry, points), 1, threads)[1][:, 0]
        if (squared < SYMMETRIES.near**2).mean() >= SYMMETRIES.least_overlap:
            found.append(symmetry)
    return found


def after_symmetry(graph: DeformationGraph, motion: Motion, symmetry: Floats) -> Motion:
    """Return the motion that first rotates the body by a symmetry, and then moves it as another motion does.

    Parameters
    ----------
    graph : DeformationGraph
    motion : Motion
    symmetry : (4, 4) ndarray

    Returns
    -------
    Motion
        Every node is where the other motion takes what the symmetry maps it to.
    """
    rotations = np.repeat(symmetry[None, :3, :3], len(graph.nodes), axis=0)
    warp = GraphWarp(Frame(np.zeros(3), np.zeros(3), 1.0), graph, motion)
    return motion_after(warp, Motion(transform(symmetry, graph.nodes), rotations), graph.spacing)

"""Poses of upright scenes: what stands on the ground of one scan is correlated with what stands on that of the other.

A rotating sensor sees the same wall with other rings from 15 m away, and few descriptors survive that. What does is the
plan of the scene: the main plane of both scans is aligned, and for each rotation about its normal the plans, images of
the directions that steep surfels face, are correlated over all translations by the fast Fourier transform.

Lengths are in coarse voxels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.engine.surfels import Surfels
from graphreg.poses import inverse, pose, transform


@dataclass(frozen=True)
class UprightParameters:
    """Constants of the correlation; all chosen. Lengths in coarse voxels.

    Attributes
    ----------
    parallel, perpendicular : float
        Normals are parallel to a direction above this cosine, and perpendicular to it below that.
    tested : int
        Normals that are tested for the vertical direction; it is parallel and perpendicular to most.
    least_ground : float
        Share of the surfels that are parallel to the main plane and close to it, in an upright scene;
    least_steep : int
        and surfels that stand on it.
    thickness, height : float
        Of the main plane; surfels higher above it or deeper below it stand on it
    steepness : float
        if their normals have a smaller cosine with the vertical.
    cell, blur : float
        Size of the cells of a plan, and standard deviation of the Gaussian that it is smoothed with.
    turn : float
        Step of the rotation, as the distance that it moves what is far away.
    border : float
        Share of the steep surfels that are on the plan; a few are far away.
    peaks, separation : int
        Maxima of the correlation at each rotation, and cells between them.
    """

    parallel: float = 0.95
    perpendicular: float = 0.15
    tested: int = 256
    least_ground: float = 0.08
    least_steep: int = 30
    thickness: float = 2.0
    height: float = 2.0
    steepness: float = 0.5
    cell: float = 1.5
    blur: float = 0.9
    turn: float = 1.6
    border: float = 0.95
    peaks: int = 4
    separation: int = 2


UPRIGHT = UprightParameters()


def upright_poses(source: Surfels, target: Surfels) -> Floats:
    """Return (P, 4, 4) poses that align the main planes of two upright scenes, and what stands on them.

    None where one of the scenes is not upright.
    """
    on_source, on_target = _on_ground(source), _on_ground(target)
    if on_source is None or on_target is None:
        return np.empty((0, 4, 4))
    from scipy import fft

    (T_ground_source, moving), (T_ground_target, fixed) = on_source, on_target
    near, far = sorted(float(np.abs(plan.points).max()) for plan in (moving, fixed))
    # Wider than what is on the plans: translations by more than half of it are taken for negative ones.
    size = int(fft.next_fast_len(int(3 * far / UPRIGHT.cell) + 1))
    frequencies = np.fft.fftfreq(size)
    squared = frequencies[:, None] ** 2 + frequencies**2
    smooth = np.exp(-2 * (np.pi * UPRIGHT.blur / UPRIGHT.cell) ** 2 * squared).astype(np.float32)
    image = fft.fft2(fixed.image(size)) * smooth
    poses = []
    for angle in np.arange(0, 2 * np.pi, UPRIGHT.turn / max(near, 1.0)):
        turned = moving.turned(angle)
        correlation = fft.ifft2(np.conj(fft.fft2(turned.image(size))) * image).real
        cosine, sine = np.cos(angle), np.sin(angle)
        rotation = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
        for shift in _peaks(correlation):
            translation = np.append(shift * UPRIGHT.cell + fixed.centre, 0.0) - rotation @ np.append(moving.centre, 0.0)
            poses.append(pose(rotation, translation))
    return np.asarray(inverse(T_ground_target) @ np.array(poses) @ T_ground_source)


@dataclass(frozen=True, eq=False)
class _Plan:
    """Surfels that stand on the ground, seen from above.

    Attributes
    ----------
    points : (N, 2) ndarray
        Relative to the centre.
    directions : (N,) ndarray of complex
        That their normals face.
    centre : (2,) ndarray
    """

    points: Floats
    directions: NDArray[np.complex128]
    centre: Floats

    def turned(self, angle: float) -> _Plan:
        turn = np.exp(1j * angle)
        points = (self.points[:, 0] + 1j * self.points[:, 1]) * turn
        return _Plan(np.stack([points.real, points.imag], axis=1), self.directions * turn, self.centre)

    def image(self, size: int) -> NDArray[np.complex64]:
        """The direction in each cell, as long as the root of the number of surfels that face it."""
        cells = np.floor(self.points / UPRIGHT.cell).astype(np.int64) % size
        keys = cells[:, 0] * size + cells[:, 1]
        sums = np.bincount(keys, self.directions.real, size**2) + 1j * np.bincount(keys, self.directions.imag, size**2)
        return (sums / np.sqrt(np.maximum(np.abs(sums), 1e-9))).reshape(size, size).astype(np.complex64)


def _on_ground(surfels: Surfels) -> tuple[Floats, _Plan] | None:
    """The pose of the frame whose plane z = 0 is the ground, and what stands on it; None where nothing does."""
    up = _vertical(surfels.normals)
    heights = surfels.points @ up
    parallel = surfels.normals @ up > UPRIGHT.parallel
    if not parallel.any():
        return None
    ordered = np.sort(heights[parallel])
    counts = np.searchsorted(ordered, ordered + UPRIGHT.thickness) - np.arange(len(ordered))
    lowest = int(counts.argmax())
    if counts[lowest] < UPRIGHT.least_ground * len(surfels):
        return None
    ground = float(np.median(ordered[lowest : lowest + counts[lowest]]))
    across = np.cross(up, np.eye(3)[np.argmin(np.abs(up))])
    across /= np.linalg.norm(across)
    T_ground_local = pose(np.stack([across, np.cross(up, across), up]), [0, 0, -ground])
    points, normals = transform(T_ground_local, surfels.points), surfels.normals @ T_ground_local[:3, :3].T
    steep = (np.abs(normals[:, 2]) < UPRIGHT.steepness) & (np.abs(points[:, 2]) > UPRIGHT.height)
    if np.count_nonzero(steep) < UPRIGHT.least_steep:
        return None
    flat, faced = points[steep, :2], normals[steep, 0] + 1j * normals[steep, 1]
    centre = np.median(flat, axis=0)
    distance = np.linalg.norm(flat - centre, axis=1)
    near = distance <= np.quantile(distance, UPRIGHT.border)
    return T_ground_local, _Plan((flat - centre)[near], (faced / np.abs(faced))[near], centre)


def _vertical(normals: Floats) -> Floats:
    """The direction that many normals have, and to which many are perpendicular: those of the ground, and of walls."""
    tested = normals[:: -(-len(normals) // UPRIGHT.tested)]
    cosines = tested @ normals.T
    parallel = (cosines > UPRIGHT.parallel).sum(axis=1)
    perpendicular = (np.abs(cosines) < UPRIGHT.perpendicular).sum(axis=1)
    up = tested[np.argmax(parallel * perpendicular)]
    for _ in range(3):
        up = normals[normals @ up > UPRIGHT.parallel].sum(axis=0)
        up = up / max(float(np.linalg.norm(up)), 1e-300)  # surfels of a line have no normals
    return np.asarray(up)


def _peaks(correlation: NDArray[np.float32]) -> list[NDArray[np.intp]]:
    """Translations, in cells, at the largest maxima; those beyond half of the image are negative."""
    size, apart = len(correlation), np.arange(-UPRIGHT.separation, UPRIGHT.separation + 1)
    found = []
    for _ in range(UPRIGHT.peaks):
        place = np.array(np.unravel_index(correlation.argmax(), correlation.shape))
        found.append((place + size // 2) % size - size // 2)
        correlation[np.ix_(*((place[:, None] + apart) % size))] = -np.inf
    return found

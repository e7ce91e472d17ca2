"""Which scans may show the same place: one descriptor a scan, and how much alike each two are.

A scan is described by the descriptors of its pieces of surface, as the engine matches them, seen from farther off.
Descriptors of all scans are sorted into kinds (k-means); for each kind a scan keeps the direction in which its own lie
off the kind's middle (VLAD: Jegou, Douze, Schmid, Perez 2010). Two scans are alike by the cosine between these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors, orient_outward
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.surfels import Surfels, fit_surfels

# VoxelMoments are so many times as large as those that descriptors are matched in: wholes are compared, not corners.
COARSER = 4.0
# Kinds of descriptors, rounds of k-means, and descriptors of each scan that take part in it.
KINDS, ROUNDS, SHARE = 64, 6, 500


def surfels_of_scans(scans: Sequence[PreprocessedCloud], threads: int = 1) -> tuple[list[Surfels], float]:
    """Each scan as pieces of surface, in its own frame, in cells of one size for all; and that size."""
    cell = COARSER * float(np.median([scan.sides[0] for scan in scans]))
    return [orient_outward(fit_surfels(scan.local, cell, scan.weights, threads)) for scan in scans], cell


def scan_similarity(surfaces: Sequence[Surfels], threads: int = 1) -> Floats:
    """(N, N), symmetric: how much alike each two scans are, -1 to 1."""
    descriptors = [compute_descriptors(surface, threads).astype(np.float32) for surface in surfaces]
    kinds = _kinds(np.concatenate([each[:: -(-len(each) // SHARE)] for each in descriptors]))
    described = np.stack([_described(each, kinds) for each in descriptors])
    described -= described.mean(axis=0)
    described /= np.maximum(np.linalg.norm(described, axis=1, keepdims=True), 1e-12)
    return np.asarray(described @ described.T, np.float64)


def _kinds(descriptors: NDArray[np.float32]) -> NDArray[np.float32]:
    kinds: NDArray[np.float32] = descriptors[
        np.linspace(0, len(descriptors) - 1, min(KINDS, len(descriptors))).astype(int)
    ].copy()
    for _ in range(ROUNDS):
        nearest = _nearest(descriptors, kinds)
        for kind in range(len(kinds)):
            members = descriptors[nearest == kind]
            if len(members):
                kinds[kind] = members.mean(axis=0)
    return kinds


def _described(descriptors: NDArray[np.float32], kinds: NDArray[np.float32]) -> NDArray[np.float32]:
    nearest = _nearest(descriptors, kinds)
    off = np.zeros_like(kinds)
    np.add.at(off, nearest, descriptors - kinds[nearest])
    off /= np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-12)
    return np.asarray(off.ravel(), np.float32)


def _nearest(descriptors: NDArray[np.float32], kinds: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(np.argmin((kinds**2).sum(axis=1) - 2 * descriptors @ kinds.T, axis=1))

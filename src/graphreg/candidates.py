"""Which scans may show the same place: one descriptor a scan, and how much alike each two are.

A scan is described by the signatures of its pieces of surface, as the engine matches them, seen from farther off.
Signatures of all scans are sorted into kinds (k-means); for each kind a scan keeps the direction in which its own lie
off the kind's middle (VLAD: Jegou, Douze, Schmid, Perez 2010). Two scans are alike by the cosine between these.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.signatures import outward, signatures_of
from graphreg.surfaces import Surface, surface_of
from graphreg.views import Prepared

# Cells are so many times as large as those that signatures are matched in: wholes are compared, not corners.
COARSER = 4.0
# Kinds of signatures, rounds of k-means, and signatures of each scan that take part in it.
KINDS, ROUNDS, SHARE = 64, 6, 500


def surfaces_of(scans: Sequence[Prepared], threads: int = 1) -> tuple[list[Surface], float]:
    """Each scan as pieces of surface, in its own frame, in cells of one size for all; and that size."""
    cell = COARSER * float(np.median([scan.sides[0] for scan in scans]))
    return [outward(surface_of(scan.local, cell, scan.weights, threads)) for scan in scans], cell


def likeness(surfaces: Sequence[Surface], threads: int = 1) -> Floats:
    """(N, N), symmetric: how much alike each two scans are, -1 to 1."""
    signatures = [signatures_of(surface, threads).astype(np.float32) for surface in surfaces]
    kinds = _kinds(np.concatenate([each[:: -(-len(each) // SHARE)] for each in signatures]))
    described = np.stack([_described(each, kinds) for each in signatures])
    described -= described.mean(axis=0)
    described /= np.maximum(np.linalg.norm(described, axis=1, keepdims=True), 1e-12)
    return np.asarray(described @ described.T, np.float64)


def _kinds(signatures: NDArray[np.float32]) -> NDArray[np.float32]:
    kinds: NDArray[np.float32] = signatures[
        np.linspace(0, len(signatures) - 1, min(KINDS, len(signatures))).astype(int)
    ].copy()
    for _ in range(ROUNDS):
        nearest = _nearest(signatures, kinds)
        for kind in range(len(kinds)):
            members = signatures[nearest == kind]
            if len(members):
                kinds[kind] = members.mean(axis=0)
    return kinds


def _described(signatures: NDArray[np.float32], kinds: NDArray[np.float32]) -> NDArray[np.float32]:
    nearest = _nearest(signatures, kinds)
    off = np.zeros_like(kinds)
    np.add.at(off, nearest, signatures - kinds[nearest])
    off /= np.maximum(np.linalg.norm(off, axis=1, keepdims=True), 1e-12)
    return np.asarray(off.ravel(), np.float32)


def _nearest(signatures: NDArray[np.float32], kinds: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(np.argmin((kinds**2).sum(axis=1) - 2 * signatures @ kinds.T, axis=1))

"""Votes for the scale between two clouds, at a ladder of voxel sizes.

The sizes of two scans give their scale only roughly, since they overlap in part; their spacings give none. Descriptors
have a radius of a few voxels. So both clouds are described at a ladder of voxel sizes, each cloud in units of its own
size, and correspondences are looked for at each relation of the two: at the right one the descriptors match. There two
correct correspondences vote for the scale: by the length between them in the target over that in the source. Wrong ones
have lengths of any relation, and their votes spread over all scales.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.surfels import Surfels
from graphreg.features.edge_descriptors import Correspondences, mutual_correspondences


@dataclass(frozen=True)
class ScaleVoteParameters:
    """Constants of the vote; all chosen.

    Attributes
    ----------
    ladder : float
        Ratio of consecutive voxel sizes: descriptors bear half a step.
    least_surfels : int
        Steps at which a cloud has fewer surfels are left out.
    max_correspondences : int
        The most distinctive ones of a step vote.
    least_length : float
        Shorter lengths do not vote, in voxels: their relation is too inexact.
    angle : float
        The angles that both normals of a pair have with the line between them and with each other may differ by so
        much between the clouds, in radians.
    bin_width, kernel : float
        Of the histogram of log scale, and of the Gaussian that it is smoothed with.
    background : float
        Of a wider Gaussian, in log scale: smoothed with it, the histogram shows the votes that wrong correspondences
        cast.
    distinct : float
        Maxima are at least so far apart, in log scale.
    most : int
        Maxima that are looked for at most.
    """

    ladder: float = 1.25
    least_surfels: int = 50
    max_correspondences: int = 300
    least_length: float = 4.0
    angle: float = 0.3
    bin_width: float = 0.004
    kernel: float = 0.01
    background: float = 0.1
    distinct: float = 0.08
    most: int = 8


SCALE_VOTES = ScaleVoteParameters()

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class LadderStep:
    """Both clouds in voxels whose sizes have one relation.

    Attributes
    ----------
    source, target : SurfelPyramid
        With coarse surfels and descriptors in these voxels.
    correspondences : pair of index arrays
        Between them.
    """

    source: SurfelPyramid
    target: SurfelPyramid
    correspondences: Correspondences


@dataclass(frozen=True)
class Maximum:
    """A maximum of the histogram of votes.

    Attributes
    ----------
    log_scale : float
    excess : float
        Votes beyond those that wrong correspondences cast, in standard deviations of these.
    """

    log_scale: float
    excess: float


class ScaleLadder:
    """Two pyramids in coarse voxels of every relation of sizes."""

    def __init__(self, source: SurfelPyramid, target: SurfelPyramid, threads: int = 1) -> None:
        self._source, self._target, self._threads = source, target, threads

    def step(self, level: int) -> LadderStep | None:
        """Return the step with the target's voxels so many steps coarser, or the source's; None of too few surfels."""
        source, target = self._coarser(self._source, -level), self._coarser(self._target, level)
        if min(len(source.coarse), len(target.coarse)) < SCALE_VOTES.least_surfels:
            return None
        return LadderStep(source, target, mutual_correspondences(source.descriptors, target.descriptors, self._threads))

    def _coarser(self, pyramid: SurfelPyramid, level: int) -> SurfelPyramid:
        """The pyramid in coarse voxels so many steps larger; as it is where that is less than one."""
        if level <= 0:
            return pyramid
        voxel = pyramid.coarse_voxel * SCALE_VOTES.ladder**level
        coarse = pyramid.surfels(voxel, self._threads)
        return replace(
            pyramid, coarse=coarse, descriptors=compute_descriptors(coarse, self._threads), coarse_voxel=voxel
        )


def largest_maxima(ratios: Floats) -> list[Maximum]:
    """Return the scales that more pairs of correspondences vote for than would by chance, the clearest first.

    Wrong correspondences vote for all scales that the sizes of the clouds allow: a wide bump, below the narrow maximum
    of the right ones, and often higher.

    Parameters
    ----------
    ratios : (V,) ndarray
        The votes, log scales.
    """
    if not len(ratios):
        return []
    width, sigma = SCALE_VOTES.bin_width, SCALE_VOTES.kernel
    reach = int(np.ceil(3 * SCALE_VOTES.background / width))
    first = int(np.floor(ratios.min() / width)) - reach
    bins = np.floor(ratios / width).astype(int) - first
    counts = np.bincount(bins, minlength=int(bins.max()) + reach + 1).astype(float)
    offsets = np.arange(-reach, reach + 1) * width
    narrow, wide = (np.exp(-0.5 * (offsets / each) ** 2) for each in (sigma, SCALE_VOTES.background))
    usual = np.convolve(counts, wide * (narrow.sum() / wide.sum()), "same")
    excess = (np.convolve(counts, narrow, "same") - usual) / np.sqrt(usual + 1)
    apart = int(SCALE_VOTES.distinct / width)
    found = []
    for _ in range(SCALE_VOTES.most):
        best = int(np.argmax(excess))
        if excess[best] <= 0:
            break
        centre = (first + best + 0.5) * width
        # The mean shift of the votes around the maximum is finer than the bins.
        weights = np.exp(-0.5 * ((ratios - centre) / sigma) ** 2)
        found.append(Maximum(float(weights @ ratios / weights.sum()), float(excess[best])))
        excess[max(best - apart, 0) : best + apart + 1] = 0
    return found


def votes_of(step: LadderStep, threads: int = 1) -> Floats:
    """Return the logarithms of length in the target over length in the source, in voxels, of pairs that agree."""
    x, y = step.source, step.target
    i, j = step.correspondences
    best = np.arange(len(i))
    if len(i) > SCALE_VOTES.max_correspondences:
        ranks = _core.DescriptorRanks(x.descriptors, y.descriptors, threads)
        information = ranks.information(np.ascontiguousarray(i, np.int32), np.ascontiguousarray(j, np.int32))
        best = np.argsort(-information, kind="stable")[: SCALE_VOTES.max_correspondences]
    first, second = np.triu_indices(len(best), 1)
    a, b = (_Lines.between(cloud.coarse, rows[best], first, second) for cloud, rows in ((x, i), (y, j)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(b.lengths / a.lengths)
    chosen = np.flatnonzero(
        (np.minimum(a.lengths, b.lengths) > SCALE_VOTES.least_length) & (np.abs(ratios) < np.log(SCALE_VOTES.ladder))
    )
    differences: Floats = a.angles(chosen) - b.angles(chosen)
    agree = (np.abs(differences) < SCALE_VOTES.angle).all(axis=0)
    return np.asarray(ratios[chosen[agree]])


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines between pairs of surfels."""

    offsets: Floats
    lengths: Floats
    normals: tuple[Floats, Floats]

    @staticmethod
    def between(surfels: Surfels, rows: Rows, first: Rows, second: Rows) -> _Lines:
        points, normals = surfels.points[rows], surfels.normals[rows]
        offsets = points[second] - points[first]
        return _Lines(offsets, np.linalg.norm(offsets, axis=1), (normals[first], normals[second]))

    def angles(self, rows: Rows) -> Floats:
        """(3, K): of both normals with the line, and with each other."""
        direction = self.offsets[rows] / self.lengths[rows, None]
        first, second = (normals[rows] for normals in self.normals)
        pairs = (first, direction), (second, direction), (first, second)
        cosines = np.stack([np.einsum("ij,ij->i", a, b) for a, b in pairs])
        return np.asarray(np.arccos(np.clip(cosines, -1, 1)))

"""Scale hypotheses: what pairs of correspondences say about the scale between two clouds.

The sizes of two scans give their scale only roughly, since they overlap in part; their spacings give none. Descriptors
have a radius of a few voxels. So both clouds are described at a ladder of voxel sizes, each cloud in units of its own
size, and correspondences are looked for at each relation of the two: at the right one the descriptors match. There two
correct correspondences vote for the scale: by the length between them in the target over that in the source. Wrong ones
have lengths of any relation, and their votes spread over all scales.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.pyramid import SurfelPyramid, build_pyramids
from graphreg.engine.settings import EngineSettings
from graphreg.engine.surfels import Surfels
from graphreg.features.edge_descriptors import Descriptors, mutual_correspondences


@dataclass(frozen=True)
class ScaleVoteParameters:
    """Constants of the vote; all chosen.

    Attributes
    ----------
    ladder : float
        Ratio of consecutive voxel sizes: descriptors bear half a step.
    steps : int
        Steps of the ladder to either side of the relation of the clouds' sizes.
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
    distinct : float
        Maxima are at least so far apart, in log scale: inexact correspondences make lower ones beside a maximum.
    most : int
        Scales that are returned at most.
    clear_votes, clear_ratio : float
        The ladder is climbed no further once the first scale has so many votes, and so many times those of the second.
    """

    ladder: float = 1.25
    steps: int = 5
    least_surfels: int = 50
    max_correspondences: int = 300
    least_length: float = 4.0
    angle: float = 0.3
    bin_width: float = 0.004
    kernel: float = 0.01
    distinct: float = 0.2
    most: int = 3
    clear_votes: float = 200.0
    clear_ratio: float = 3.0


SCALE_VOTES = ScaleVoteParameters()

Rows = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class ScaleHypothesis:
    """A scale of the source, and the votes for it: pairs of correspondences, smoothed."""

    scale: float
    votes: float


def propose_scales(
    source: PreprocessedCloud,
    target: PreprocessedCloud,
    settings: EngineSettings,
    limits: tuple[float, float],
    threads: int = 1,
) -> list[ScaleHypothesis]:
    """Return the scales that most pairs of correspondences vote for, most votes first; at least one.

    Parameters
    ----------
    source, target : PreprocessedCloud
    settings : EngineSettings
    limits : pair of float
        Smallest and largest scale.
    threads : int, default 1
    """
    rough = float(np.clip(target.voxel_sizes.coarse / source.voxel_sizes.coarse, *limits))
    x, y = build_pyramids(source.scaled(rough), target, None, settings.k, settings.alpha, threads)
    log_limits = np.log(np.maximum(limits, np.finfo(float).tiny)) - np.log(rough)
    ladders = _Ladder(x, threads), _Ladder(y, threads)
    step = float(np.log(SCALE_VOTES.ladder))
    ratios, found = np.empty(0), []
    for level in range(SCALE_VOTES.steps + 1):
        for sign in (1, -1) if level else (1,):
            offset = sign * level * step
            if log_limits[0] - step <= offset <= log_limits[1] + step:
                votes = offset + _votes(ladders[0].surfels(-sign * level), ladders[1].surfels(sign * level), threads)
                ratios = np.append(ratios, votes[(votes >= log_limits[0]) & (votes <= log_limits[1])])
        found = _maxima(ratios)
        # Not at the end of what the levels so far have covered: the next one may add as many votes.
        if is_clear(found) and abs(found[0].scale) <= (level + 0.5) * step:
            break
    return [ScaleHypothesis(rough * float(np.exp(each.scale)), each.votes) for each in found] or [
        ScaleHypothesis(rough, 0.0)
    ]


def is_clear(found: list[ScaleHypothesis]) -> bool:
    """Return whether the first scale has many votes, and far more than the second."""
    if not found or found[0].votes < SCALE_VOTES.clear_votes:
        return False
    return len(found) == 1 or found[0].votes > SCALE_VOTES.clear_ratio * found[1].votes


class _Ladder:
    """The surfels of a pyramid in coarser voxels, with descriptors."""

    def __init__(self, pyramid: SurfelPyramid, threads: int) -> None:
        self._pyramid, self._threads = pyramid, threads

    def surfels(self, level: int) -> tuple[Surfels, Descriptors]:
        """Return them in voxels so many steps coarser, or as they are where that is less than one."""
        pyramid = self._pyramid
        if level <= 0:
            return pyramid.coarse, pyramid.descriptors
        surfels = pyramid.surfels(pyramid.coarse_voxel * SCALE_VOTES.ladder**level, self._threads)
        return surfels, compute_descriptors(surfels, self._threads)


def _votes(source: tuple[Surfels, Descriptors], target: tuple[Surfels, Descriptors], threads: int) -> Floats:
    """Logarithms of length in the target over length in the source, both in their own voxels, of pairs that agree."""
    (x, from_source), (y, from_target) = source, target
    if min(len(x), len(y)) < SCALE_VOTES.least_surfels:
        return np.empty(0)
    i, j = mutual_correspondences(from_source, from_target, threads)
    best = np.arange(len(i))
    if len(i) > SCALE_VOTES.max_correspondences:
        ranks = _core.DescriptorRanks(from_source, from_target, threads)
        information = ranks.information(np.ascontiguousarray(i, np.int32), np.ascontiguousarray(j, np.int32))
        best = np.argsort(-information, kind="stable")[: SCALE_VOTES.max_correspondences]
    first, second = np.triu_indices(len(best), 1)
    a, b = (_Lines.between(cloud, rows[best], first, second) for cloud, rows in ((x, i), (y, j)))
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


def _maxima(ratios: Floats) -> list[ScaleHypothesis]:
    """The largest maxima of the smoothed histogram of the votes: their log scale, and their heights."""
    if not len(ratios):
        return []
    width, sigma = SCALE_VOTES.bin_width, SCALE_VOTES.kernel
    reach = int(np.ceil(3 * sigma / width))
    first = int(np.floor(ratios.min() / width)) - reach
    counts = np.bincount(np.floor(ratios / width).astype(int) - first, minlength=2 * reach + 1).astype(float)
    counts = np.concatenate([counts, np.zeros(reach)])
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * width / sigma) ** 2)
    heights = np.convolve(counts, kernel, "same")
    apart = int(SCALE_VOTES.distinct / width)
    found = []
    for _ in range(SCALE_VOTES.most):
        best = int(np.argmax(heights))
        if heights[best] <= 0:
            break
        centre = (first + best + 0.5) * width
        # The mean shift of the votes around the maximum is finer than the bins.
        weights = np.exp(-0.5 * ((ratios - centre) / sigma) ** 2)
        found.append(ScaleHypothesis(float(weights @ ratios / weights.sum()), float(heights[best])))
        heights[max(best - apart, 0) : best + apart + 1] = 0
    return found

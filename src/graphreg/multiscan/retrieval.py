"""Retrieval of candidate pairs: which scans may overlap, before and after their poses are known.

By appearance: descriptors of the surfels of all scans are clustered into visual words (k-means), and a scan is the
vector of the directions in which its descriptors deviate from each word (VLAD: Jegou, Douze, Schmid, Perez 2010). The
similarity of two scans is the cosine between their vectors. By geometric verification of the most similar ones: the
number of correspondences of their surfels that agree on one pose. And by geometry, once poses are known: the share of
surfels of one scan that have a surfel of the other nearby with a similar normal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.hypotheses import SEARCH
from graphreg.engine.orientation import orient_normals
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.features.edge_descriptors import Descriptors, mutual_correspondences
from graphreg.multiscan.pose_graph import Groups
from graphreg.poses import transform

Pair = tuple[int, int]
"""Numbers of source and target; the source is the later scan."""


@dataclass(frozen=True)
class RetrievalParameters:
    """Constants of the retrieval of candidate pairs. All are chosen."""

    # Voxel size over the one in which the engine matches descriptors: here all scans are compared.
    voxel_ratio: float = 2.0
    # Visual words, iterations of k-means, and descriptors of each scan that it is run on.
    words: int = 64
    kmeans_iterations: int = 6
    descriptors_per_scan: int = 500
    # Geometric verification: each scan with as many of those most similar to it.
    verified: int = 100
    # Up to this many scans all pairs are candidates; of more scans, each with this many others.
    exhaustive_up_to: int = 8
    partners: int = 6
    # Scans overlap if at least this share of surfels has a neighbour within this many voxels whose normal has at least
    # this cosine with its own.
    min_overlap: float = 0.3
    max_distance: float = 1.0
    min_cosine: float = 0.7


RETRIEVAL = RetrievalParameters()


def retrieval_surfels(
    scans: Sequence[PreprocessedCloud], threads: int = 1, parameters: RetrievalParameters = RETRIEVAL
) -> tuple[list[Surfels], float]:
    """Surfels of each scan in its local frame, in voxels of one size for all scans.

    Parameters
    ----------
    scans : sequence of PreprocessedCloud
    threads : int, default 1
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    surfels : list of Surfels
        Lengths are in voxels.
    voxel : float
        Size of a voxel, in the unit of the data.
    """
    voxel = parameters.voxel_ratio * float(np.median([scan.voxel_sizes.coarse for scan in scans]))
    return [orient_normals(fit_surfels(scan.local_points, voxel, scan.weights, threads)) for scan in scans], voxel


def scan_similarity(
    surfels: Sequence[Surfels], threads: int = 1, parameters: RetrievalParameters = RETRIEVAL
) -> Floats:
    """Similarity of each two scans: of many, the most similar ones by appearance are verified geometrically.

    Parameters
    ----------
    surfels : sequence of Surfels
        Of each scan.
    threads : int, default 1
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    (N, N) ndarray
        The cosine between the VLAD vectors less their mean, plus the number of correspondences that agree on one pose
        where these were verified. Symmetric.
    """
    with ThreadPoolExecutor(threads) as pool:
        descriptors = list(pool.map(compute_descriptors, surfels))
        words = visual_words(descriptors, parameters)
        vectors = centred_directions(np.stack(list(pool.map(lambda each: vlad_vector(each, words), descriptors))))
        similarity = np.asarray(vectors @ vectors.T, np.float64)
        if len(surfels) > parameters.exhaustive_up_to:
            pairs = most_similar_pairs(similarity, replace(parameters, partners=parameters.verified))
            counts = pool.map(
                lambda pair: agreeing_correspondences(*((surfels[scan], descriptors[scan]) for scan in pair)), pairs
            )
            for (a, b), count in zip(pairs, counts, strict=True):
                similarity[a, b] += count
                similarity[b, a] += count
    return similarity


def agreeing_correspondences(source: tuple[Surfels, Descriptors], target: tuple[Surfels, Descriptors]) -> int:
    """Return the largest number of mutual correspondences of two scans that agree on one pose.

    Parameters
    ----------
    source, target : (Surfels, Descriptors)
        Lengths in voxels.

    Returns
    -------
    int
    """
    (x, of_x), (y, of_y) = source, target
    i, j = mutual_correspondences(of_x, of_y)
    every = -(-len(i) // SEARCH.max_correspondences) or 1
    i, j = i[::every], j[::every]
    free = _core.DegreesOfFreedom([True] * 6, [0.0] * 3)
    _, support = _core.hypotheses(x.points[i], x.normals[i], y.points[j], y.normals[j], SEARCH.tolerance, 1, free, 1)
    return int(support.max(initial=0))


def centred_directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """VLAD vectors (N, K) less their mean, as unit vectors: their products are the similarities."""
    centred: NDArray[np.float32] = vectors - vectors.mean(axis=0)
    centred /= np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
    return centred


def most_similar_pairs(similarity: Floats, parameters: RetrievalParameters = RETRIEVAL) -> list[Pair]:
    """Candidate pairs by similarity: all pairs of few scans; of many, each scan with those most similar to it.

    Parameters
    ----------
    similarity : (N, N) ndarray
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    list of (int, int)
        In ascending order.
    """
    count = len(similarity)
    partners = count if count <= parameters.exhaustive_up_to else parameters.partners
    # A scan is no partner of itself: cosines differ by 2 at most.
    order = np.argsort(-(similarity - 3 * np.eye(count)), axis=1, kind="stable")[:, : min(partners, count - 1)]
    return sorted({(max(scan, other), min(scan, other)) for scan in range(count) for other in order[scan].tolist()})


def pairs_between_groups(
    similarity: Floats, groups: Groups, excluded: Collection[Pair] = (), parameters: RetrievalParameters = RETRIEVAL
) -> list[Pair]:
    """Candidate pairs that could join groups: for each group but the first, its most similar pairs with other groups.

    Parameters
    ----------
    similarity : (N, N) ndarray
    groups : tuple of tuple of int
        Scans that are connected already.
    excluded : collection of (int, int), default ()
        Pairs that are no candidates.
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    list of (int, int)
        In ascending order.
    """
    candidates: set[Pair] = set()
    for group in groups[1:]:
        outside = [scan for scan in range(len(similarity)) if scan not in group]
        pairs = [(max(a, b), min(a, b)) for a in group for b in outside]
        pairs = [pair for pair in pairs if pair not in excluded]
        candidates |= set(sorted(pairs, key=lambda pair: (-similarity[pair], pair))[: parameters.partners])
    return sorted(candidates)


def overlapping_pairs(
    surfels: Sequence[Surfels],
    voxel: float,
    poses: Floats,
    groups: Groups,
    excluded: Collection[Pair] = (),
    parameters: RetrievalParameters = RETRIEVAL,
) -> list[Pair]:
    """Candidate pairs by geometry: within each group, each scan with those that it overlaps most.

    Parameters
    ----------
    surfels : sequence of Surfels
        Of each scan, with lengths in voxels.
    voxel : float
        Size of a voxel, in the unit of the data.
    poses : (N, 4, 4) ndarray
        x_world = P x for the frame of each scan's surfels.
    groups : tuple of tuple of int
        Scans whose poses have a common frame.
    excluded : collection of (int, int), default ()
        Pairs that are no candidates.
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    list of (int, int)
        In ascending order.
    """
    placed = PlacedSurfels(surfels, voxel, poses, parameters)
    overlaps = {
        (source, target): overlap
        for group in groups
        for source, target in ((b, a) for a in group for b in group if a < b)
        if (source, target) not in excluded and (overlap := placed.overlap(source, target)) >= parameters.min_overlap
    }
    candidates: set[Pair] = set()
    for scan in range(len(surfels)):
        own = [pair for pair in overlaps if scan in pair]
        candidates |= set(sorted(own, key=lambda pair: (-overlaps[pair], pair))[: parameters.partners])
    return sorted(candidates)


class PlacedSurfels:
    """Surfels of all scans at poses, to compute overlaps.

    Parameters
    ----------
    surfels : sequence of Surfels
        Of each scan, with lengths in voxels.
    voxel : float
        Size of a voxel, in the unit of the data.
    poses : (N, 4, 4) ndarray
        x_world = P x for the frame of each scan's surfels.
    parameters : RetrievalParameters, default RETRIEVAL
    """

    def __init__(
        self, surfels: Sequence[Surfels], voxel: float, poses: Floats, parameters: RetrievalParameters = RETRIEVAL
    ) -> None:
        from scipy.spatial import cKDTree

        self._parameters, self._reach = parameters, parameters.max_distance * voxel
        self._points = [transform(pose, each.points * voxel) for pose, each in zip(poses, surfels, strict=True)]
        self._normals = [each.normals @ pose[:3, :3].T for pose, each in zip(poses, surfels, strict=True)]
        self._trees = [cKDTree(each) for each in self._points]
        # Bounding boxes: most pairs of many scans are far apart, and need no search.
        self._boxes = [(each.min(axis=0) - self._reach, each.max(axis=0) + self._reach) for each in self._points]

    def overlap(self, source: int, target: int) -> float:
        """Share of the source's surfels near one of the target with a similar normal; 0 where it is clearly too low."""
        low, high = self._boxes[target]
        points = self._points[source]
        inside = ((points >= low) & (points <= high)).all(axis=1)
        if np.mean(inside) < self._parameters.min_overlap:
            return 0.0
        distance, index = self._trees[target].query(points[inside], distance_upper_bound=self._reach)
        near = np.isfinite(distance)
        normals = self._normals[source][inside][near], self._normals[target][np.asarray(index)[near]]
        cosine = np.einsum("ij,ij->i", *normals)
        return float(np.count_nonzero(cosine > self._parameters.min_cosine) / len(points))


def visual_words(
    descriptors: Sequence[Descriptors], parameters: RetrievalParameters = RETRIEVAL
) -> NDArray[np.float32]:
    """Visual words: cluster centres of the descriptors of several scans by k-means, from evenly strided ones.

    Parameters
    ----------
    descriptors : sequence of (N, 96) ndarray
        Of the surfels of each scan.
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    (W, 96) ndarray
    """
    strided = [each[:: max(1, -(-len(each) // parameters.descriptors_per_scan))] for each in descriptors]
    sampled = np.concatenate(strided).astype(np.float32)
    count = min(parameters.words, len(sampled))
    words: NDArray[np.float32] = sampled[np.linspace(0, len(sampled) - 1, count).astype(int)].copy()
    for _ in range(parameters.kmeans_iterations):
        nearest = _nearest_words(sampled, words)
        for word in range(len(words)):
            members = sampled[nearest == word]
            if len(members):
                words[word] = members.mean(axis=0)
    return words


def vlad_vector(descriptors: Descriptors, words: NDArray[np.float32]) -> NDArray[np.float32]:
    """The VLAD vector of a scan: the sum of the deviations of its descriptors from each word, normalised for each."""
    values = descriptors.astype(np.float32)
    nearest = _nearest_words(values, words)
    deviations = np.zeros_like(words)
    np.add.at(deviations, nearest, values - words[nearest])
    deviations /= np.maximum(np.linalg.norm(deviations, axis=1, keepdims=True), 1e-12)
    return np.asarray(deviations.ravel(), np.float32)


def _nearest_words(descriptors: NDArray[np.float32], words: NDArray[np.float32]) -> NDArray[np.intp]:
    return np.asarray(np.argmin((words**2).sum(axis=1) - 2 * descriptors @ words.T, axis=1))

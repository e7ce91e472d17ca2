"""Retrieval of candidate pairs: which scans may overlap, before and after their poses are known.

By appearance: descriptors of the surfels of all scans are clustered into visual words (k-means), and a scan is the
vector of the directions in which its descriptors deviate from each word (VLAD: Jegou, Douze, Schmid, Perez 2010). The
similarity of two scans is the cosine between their vectors. By geometry, once poses are known: the share of surfels
of one scan that have a surfel of the other nearby with a similar normal.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphreg.clouds import Floats
from graphreg.engine.descriptors import compute_descriptors
from graphreg.engine.orientation import orient_normals
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.surfels import Surfels, fit_surfels
from graphreg.features.edge_descriptors import Descriptors
from graphreg.multiscan.pose_graph import Groups
from graphreg.poses import transform

Pair = tuple[int, int]
"""Numbers of source and target; the source is the later scan."""


@dataclass(frozen=True)
class RetrievalParameters:
    """Constants of the retrieval of candidate pairs. All are chosen."""

    # Voxel size over the one in which the engine matches descriptors: here whole scans are compared.
    voxel_ratio: float = 4.0
    # Visual words, iterations of k-means, and descriptors of each scan that it is run on.
    words: int = 64
    kmeans_iterations: int = 6
    descriptors_per_scan: int = 500
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
    """Similarity of each two scans: the cosine between their VLAD vectors, less the mean vector.

    Parameters
    ----------
    surfels : sequence of Surfels
        Of each scan.
    threads : int, default 1
    parameters : RetrievalParameters, default RETRIEVAL

    Returns
    -------
    (N, N) ndarray
        Symmetric, from -1 to 1.
    """
    descriptors = [compute_descriptors(each, threads) for each in surfels]
    words = visual_words(descriptors, parameters)
    vectors = centred_directions(np.stack([vlad_vector(each, words) for each in descriptors]))
    return np.asarray(vectors @ vectors.T, np.float64)


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
    from scipy.spatial import cKDTree

    points = [transform(pose, each.points * voxel) for pose, each in zip(poses, surfels, strict=True)]
    normals = [each.normals @ pose[:3, :3].T for pose, each in zip(poses, surfels, strict=True)]
    trees = [cKDTree(each) for each in points]
    # Bounding boxes: most pairs of many scans are far apart, and need no search.
    reach = parameters.max_distance * voxel
    boxes = [(each.min(axis=0) - reach, each.max(axis=0) + reach) for each in points]
    overlaps: dict[Pair, float] = {}
    for group in groups:
        for source, target in ((b, a) for a in group for b in group if a < b):
            low, high = boxes[target]
            inside = ((points[source] >= low) & (points[source] <= high)).all(axis=1)
            if (source, target) in excluded or np.mean(inside) < parameters.min_overlap:
                continue
            distance, index = trees[target].query(points[source], distance_upper_bound=reach)
            near = np.isfinite(distance)
            cosine = np.einsum("ij,ij->i", normals[source][near], normals[target][np.asarray(index)[near]])
            overlaps[source, target] = np.count_nonzero(cosine > parameters.min_cosine) / len(near)
    candidates: set[Pair] = set()
    for scan in range(len(surfels)):
        own = [pair for pair, overlap in overlaps.items() if scan in pair and overlap >= parameters.min_overlap]
        candidates |= set(sorted(own, key=lambda pair: (-overlaps[pair], pair))[: parameters.partners])
    return sorted(candidates)


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

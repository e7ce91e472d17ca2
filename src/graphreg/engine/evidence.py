"""Evidence: what both clouds say for a pose and against it.

information  surfels that the pose brings together have descriptors more similar than by chance; a wall, whose
             descriptors match every wall, says nothing
inliers      correspondences that the pose makes inliers, each weighted by how distinctive it is
overlap      the share of the source's surfels that are close to the target's, with normals that agree
floating     surfels of one cloud close in front of the other's surface, where that scan saw free space; at edges and in
             clutter, where surfaces in contact cross each other, some do at the right pose too
seen through surfels of one cloud anywhere in front of what the other scan saw from its viewpoint
variety      directions that the inliers' surfaces face: those of one wall leave it free to slide

One linear model of these ranks the candidates of the search. The verdict adds what is known of the final pose alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, Mask
from graphreg.engine.descriptors import nearest_correspondences
from graphreg.engine.free_space import seen_through
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.engine.surfels import Surfels
from graphreg.features.edge_descriptors import Correspondences
from graphreg.poses import transform


@dataclass(frozen=True)
class EvidenceParameters:
    """Constants of the evidence; chosen unless said otherwise.

    Attributes
    ----------
    contact_distance : float
        Surfels of a refined pose are in contact if they are closer, in coarse voxels.
    proposal_distance, proposal_step : float, int
        The same before refinement, and the step between the surfels that are then counted.
    facing_cosine : float
        Normals in contact agree above this cosine, and oppose each other below its negative.
    usual_contacts : float
        Contacts that are added to the denominator of shares: few contacts say little.
    usual_floating, usual_clutter : float
        Added to the floating surfels and to the contacts in clutter before these are compared.
    inlier_distance, inlier_cosine : float
        A pose makes a correspondence an inlier if it brings its surfels this close, in coarse voxels, with normals
        within 45 degrees.
    nearest_distances : tuple of float
        Surfels that are nearest neighbours in descriptor space are very close, close, and not far within these, in
        coarse voxels.
    usual_far : float
        Added to those that are not far: few say little.
    overlap_distance : float
        Fine surfels closer than this overlap, in fine voxels.
    reach : float
        Distance at which a surfel no longer counts for the overlap score, in coarse voxels.
    least_overlap : float
        Added to the overlap score before its logarithm is taken.
    ambiguous_similarity : float
        Another pose that fits so well beside a pose makes it ambiguous.
    refuting_share : float
        A pose at which this many more surfels float, as a share of contacts, is refuted by the other pose.
    weights : tuple of float
        Of log(1 + information), log(1 + inlier information), the logarithm of the overlap score and the share of
        floating surfels in the score that ranks candidates; chosen by trials on objects, rooms and LiDAR scans.
    support_weights : tuple of float
        Of log(1 + nearest inliers), tightness and log(1 + spread), which are added for the last few candidates: a
        quarter of their weight in the verdict; chosen.
    """

    contact_distance: float = 1.2
    proposal_distance: float = 2.0
    proposal_step: int = 5
    facing_cosine: float = 0.7
    usual_contacts: float = 40.0
    usual_floating: float = 20.0
    usual_clutter: float = 100.0
    inlier_distance: float = 2.0
    inlier_cosine: float = float(np.cos(np.radians(45)))
    nearest_distances: tuple[float, float, float] = (1.0, 1.5, 3.0)
    usual_far: float = 5.0
    overlap_distance: float = 1.5
    reach: float = 1.0
    least_overlap: float = 0.01
    ambiguous_similarity: float = 0.6
    refuting_share: float = 0.02
    weights: tuple[float, float, float, float] = (1.4, 1.3, 0.7, -65.0)
    support_weights: tuple[float, float, float] = (0.27, 0.39, 0.44)


EVIDENCE = EvidenceParameters()


@dataclass(frozen=True)
class Evidence:
    """What speaks for a pose.

    Attributes
    ----------
    overlap : float
        Share of the source's fine surfels that have a target surfel within 1.5 fine voxels.
    inlier_rmse : float
        Root-mean-square distance of these from the target's surface, in the unit of the data; NaN without overlap.
    correspondences : int
        Putative correspondences.
    inliers : int
        How many of them the pose makes inliers.
    information : float
        Sum over contacts of -log r - 1, r the rank of their descriptor distance: zero on average by chance.
    inlier_information : float
        Sum of the same over the inliers, as far as it is positive.
    nearest_inliers : int
        Nearest neighbours in descriptor space that the pose brings close, mutual or not.
    tightness : float
        How many of these are very close, as a share of those that are not far: near a wrong pose all distances are
        equally frequent.
    spread : float
        Variance of these along their second longest direction, in squared coarse voxels.
    floating : float
        Surfels in front of a surface of the other cloud, as a share of the contacts.
    seen_through : float
        Surfels in front of what the other scan saw in their direction, as a share of these and those that coincide
        with it.
    floating_in_clutter : float
        Floating surfels over contacts at edges and in clutter, where some float at the right pose too: those with
        normals that neither agree nor oppose each other, but no more than agree beyond that.
    variety : float
        How many of the nearest inliers face a third direction: the smallest eigenvalue of the second moment of their
        normals, 1/3 where they face all directions alike.
    margin : float
        Score of the pose above that of the best pose distinct from it; the largest that counts, if there is none.
    similarity : float
        How well the best of these poses fits beside it: 1, equally well.
    """

    overlap: float
    inlier_rmse: float
    correspondences: int
    inliers: int
    information: float
    inlier_information: float
    nearest_inliers: int
    tightness: float
    spread: float
    floating: float
    seen_through: float
    floating_in_clutter: float
    variety: float
    margin: float
    similarity: float


class PairEvidence:
    """Evidence for poses between two pyramids; translations in coarse voxels.

    Attributes
    ----------
    source, target : SurfelPyramid
    correspondences : pair of index arrays
        Putative correspondences between the coarse surfels: mutual nearest neighbours in descriptor space.
    nearest : pair of index arrays
        Nearest neighbours that need not be mutual.
    distinctiveness : (C,) ndarray
        Of each of them: -log r - 1, r the rank of its descriptor distance, as far as it is positive.
    """

    def __init__(self, source: SurfelPyramid, target: SurfelPyramid, threads: int = 1) -> None:
        self.source, self.target = source, target
        self.correspondences, self.nearest = nearest_correspondences(source.descriptors, target.descriptors, threads)
        self._ranks = _core.DescriptorRanks(source.descriptors, target.descriptors, threads)
        i, j = (np.ascontiguousarray(indices, np.int32) for indices in self.correspondences)
        self.distinctiveness = np.maximum(self._ranks.information(i, j).astype(np.float64) - 1, 0)
        self._mutual = _PairedSurfels.of(source.coarse, target.coarse, self.correspondences, self.distinctiveness)
        self._nearest = _PairedSurfels.of(source.coarse, target.coarse, self.nearest)

    def distinctive_correspondences(self, most: int) -> Correspondences:
        """Return the most distinctive pairs of nearest neighbours in descriptor space, mutual or not."""
        i, j = self.nearest
        information = self._ranks.information(np.ascontiguousarray(i, np.int32), np.ascontiguousarray(j, np.int32))
        best = np.argsort(-information, kind="stable")[:most]
        return i[best], j[best]

    def evaluate(self, poses: Floats, threads: int = 1, proposed: bool = False) -> PoseEvaluation:
        """Return the score of poses (P, 4, 4), and what it is made of; `proposed`: they are not refined yet."""
        poses = np.ascontiguousarray(poses)
        distance = EVIDENCE.proposal_distance if proposed else EVIDENCE.contact_distance
        contacts = self._contacts(poses, distance, threads, EVIDENCE.proposal_step if proposed else 1)
        overlaps = self.overlap_scores(poses, threads, distance / EVIDENCE.contact_distance)
        features = self._features(poses, contacts, overlaps, threads)
        return PoseEvaluation(
            features @ np.array(EVIDENCE.weights),
            overlaps,
            contacts.information,
            contacts.floating,
            np.zeros(len(poses), bool),
        )

    def ranking_features(self, poses: Floats, threads: int = 1) -> Floats:
        """Return (P, 7): what the weights and then the support weights of a score are of, for refined poses."""
        contacts = self._contacts(poses, EVIDENCE.contact_distance, threads)
        features = self._features(poses, contacts, self.overlap_scores(poses, threads), threads)
        return np.concatenate([features, self._support_features(poses, threads)], axis=1)

    def _features(self, poses: Floats, contacts: _Contacts, overlaps: Floats, threads: int) -> Floats:
        inliers = self._mutual.inliers(poses, (EVIDENCE.inlier_distance,), EVIDENCE.inlier_cosine, threads)
        features = (
            np.log1p(np.maximum(contacts.information, 0)),
            np.log1p(inliers.weights[:, 0]),
            np.log(overlaps + EVIDENCE.least_overlap),
            contacts.floating,
        )
        return np.stack(features, axis=1)

    def overlap_scores(self, poses: Floats, threads: int = 1, reach: float = EVIDENCE.reach) -> Floats:
        """Return (P,), from 0 to 1: the mean over source surfels of proximity times normal agreement."""
        x = self.source.coarse
        return self.target.coarse.grid.score(poses, x.points, x.normals, reach, threads)

    def gather(self, T: Floats, margin: float, similarity: float = 0.0, threads: int = 1) -> tuple[Evidence, Mask]:
        """Return the evidence for a pose, and which fine surfels of the source overlap the target."""
        x, y = self.source, self.target
        moved = transform(in_fine_voxels(T, y), x.fine.points)
        nearest = y.fine.grid.nearest(moved, EVIDENCE.overlap_distance, threads)
        overlapping = nearest >= 0
        overlap = float(overlapping.mean())
        offset = (moved - y.fine.points[nearest])[overlapping]
        residual = np.einsum("ij,ij->i", offset, y.fine.normals[nearest[overlapping]])
        contacts = self._contacts(T[None], EVIDENCE.contact_distance, threads)
        mutual = self._mutual.inliers(T[None], (EVIDENCE.inlier_distance,), EVIDENCE.inlier_cosine, threads)
        nearest_inliers = self._nearest_inliers(T[None], threads)
        evidence = Evidence(
            overlap=overlap,
            inlier_rmse=float(np.sqrt((residual**2).mean())) * y.fine_voxel if overlap else float("nan"),
            correspondences=len(self.correspondences[0]),
            inliers=int(mutual.counts[0, 0]),
            information=float(contacts.information[0]),
            inlier_information=float(mutual.weights[0, 0]),
            nearest_inliers=int(nearest_inliers.counts[0]),
            tightness=float(nearest_inliers.tightness[0]),
            spread=float(nearest_inliers.spread[0]),
            floating=float(contacts.floating[0]),
            seen_through=seen_through(x, y, T),
            floating_in_clutter=float(contacts.in_clutter[0]),
            variety=self._nearest.variety(T, EVIDENCE.nearest_distances[1], EVIDENCE.facing_cosine),
            margin=margin,
            similarity=similarity,
        )
        return evidence, overlapping

    def overlap_residuals(self, T: Floats, threads: int = 1) -> tuple[float, Floats]:
        """Return the distance within which surfels overlap, and how far those are from the target's surface.

        Their share is the overlap, and the root mean square of these residuals the inlier RMSE; unit of the data.
        """
        x, y = self.source, self.target
        moved = transform(in_fine_voxels(T, y), x.fine.points)
        nearest = y.fine.grid.nearest(moved, EVIDENCE.overlap_distance, threads)
        near = nearest[nearest >= 0]
        across = np.einsum("ij,ij->i", moved[nearest >= 0] - y.fine.points[near], y.fine.normals[near])
        return EVIDENCE.overlap_distance * y.fine_voxel, np.abs(across) * y.fine_voxel

    def faces(self, T: Floats, threads: int = 1) -> bool:
        """Return whether more normals agree than oppose each other where a pose brings surfels together."""
        grids = self.source.coarse.grid, self.target.coarse.grid
        counts = self._ranks.contacts(*grids, T[None], EVIDENCE.proposal_distance, EVIDENCE.facing_cosine, 1, threads)
        facing, opposing = counts[0, :2]
        return bool(facing >= opposing)

    def _contacts(self, poses: Floats, distance: float, threads: int, step: int = 1) -> _Contacts:
        grids = self.source.coarse.grid, self.target.coarse.grid
        counts = self._ranks.contacts(*grids, poses, distance, EVIDENCE.facing_cosine, step, threads)
        facing, opposing, crossing, in_front, behind, information = counts.T
        usual = facing + opposing + crossing + EVIDENCE.usual_contacts
        # Which side of its surfaces a scan saw is not known, only that it is the same everywhere.
        floating = np.minimum(in_front, behind)
        # Where fewer agree than not, there is no surface to be cluttered.
        clutter = np.clip(np.minimum(crossing, facing - opposing - crossing), 0, None)
        in_clutter = (floating + EVIDENCE.usual_floating) / (clutter + EVIDENCE.usual_clutter)
        return _Contacts(information, floating / usual, in_clutter)

    def add_support(self, poses: Floats, evaluation: PoseEvaluation, threads: int = 1) -> PoseEvaluation:
        """Return the evaluation with scores that count nearest neighbours in descriptor space, mutual or not, too."""
        support = self._support_features(poses, threads) @ np.array(EVIDENCE.support_weights)
        return replace(evaluation, scores=evaluation.scores + support)

    def _support_features(self, poses: Floats, threads: int) -> Floats:
        found = self._nearest_inliers(poses, threads)
        return np.stack([np.log1p(found.counts), found.tightness, np.log1p(found.spread)], axis=1)

    def _nearest_inliers(self, poses: Floats, threads: int) -> _NearestInliers:
        found = self._nearest.inliers(poses, EVIDENCE.nearest_distances, EVIDENCE.facing_cosine, threads)
        very_close, close, not_far = found.counts.T
        spread = np.linalg.eigvalsh(found.covariances[:, 1])[:, 1]
        return _NearestInliers(
            close, (very_close + 1) / (not_far + EVIDENCE.usual_far), np.where(close > 3, np.maximum(spread, 0.0), 0.0)
        )


@dataclass(frozen=True, eq=False)
class PoseEvaluation:
    """The evidence for several poses, each array (P,).

    Attributes
    ----------
    scores : ndarray
        The logarithm of their likelihood, up to a constant.
    overlaps : ndarray
        Overlap scores, from 0 to 1.
    information, floating : ndarray
        As in `Evidence`.
    refuted : ndarray of bool
        Those that details refute beside the first.
    """

    scores: Floats
    overlaps: Floats
    information: Floats
    floating: Floats
    refuted: Mask

    def select(self, rows: Any) -> PoseEvaluation:
        """Return the evaluation of some of the poses."""
        return PoseEvaluation(
            self.scores[rows],
            self.overlaps[rows],
            self.information[rows],
            self.floating[rows],
            self.refuted[rows],
        )

    def similarities(self) -> Floats:
        """Return how well each pose fits beside the first: by information and overlap, the smaller of both ratios.

        0 where surfels float that do not at the first pose: a small feature can refute a pose that fits otherwise.
        """
        ratios = np.minimum(
            np.maximum(self.information, 0) / max(float(self.information[0]), 1.0),
            self.overlaps / max(float(self.overlaps[0]), 1e-9),
        )
        refuted = self.floating > self.floating[0] + EVIDENCE.refuting_share
        return np.where(refuted | self.refuted, 0.0, ratios)


@dataclass(frozen=True, eq=False)
class _NearestInliers:
    counts: Floats
    tightness: Floats
    spread: Floats


@dataclass(frozen=True, eq=False)
class _Contacts:
    information: Floats
    floating: Floats
    in_clutter: Floats


@dataclass(frozen=True, eq=False)
class _Inliers:
    """Inliers of each pose within each distance: number and weight (P, D), covariance of positions (P, D, 3, 3)."""

    counts: Floats
    weights: Floats
    covariances: Floats


@dataclass(frozen=True, eq=False)
class _PairedSurfels:
    """Surfels of both clouds, pair by pair."""

    points: tuple[Floats, Floats]
    normals: tuple[Floats, Floats]
    weights: Floats

    @staticmethod
    def of(source: Surfels, target: Surfels, pairs: Correspondences, weights: Floats | None = None) -> _PairedSurfels:
        i, j = pairs
        return _PairedSurfels(
            (source.points[i], target.points[j]),
            (source.normals[i], target.normals[j]),
            np.ones(len(i)) if weights is None else weights,
        )

    def inliers(self, poses: Floats, distances: tuple[float, ...], min_cosine: float, threads: int) -> _Inliers:
        """Return which pairs each pose makes inliers: surfels closer than a distance, with normals that agree."""
        (x, y), (nx, ny) = self.points, self.normals
        sums = _core.inlier_sums(x, nx, y, ny, self.weights, poses, np.array(distances), min_cosine, threads)
        counts, first = sums[..., 0], sums[..., 2:5]
        second = sums[..., _SYMMETRIC]
        divisor = np.maximum(counts, 1.0)[..., None, None]
        products = first[..., :, None] * first[..., None, :] / divisor
        return _Inliers(counts, sums[..., 1], (second - products) / np.maximum(divisor - 1, 1.0))

    def variety(self, T: Floats, distance: float, min_cosine: float) -> float:
        """Return the smallest eigenvalue of the second moment of the normals of the inliers of a pose."""
        (x, y), (nx, ny) = self.points, self.normals
        close = np.linalg.norm(transform(T, x) - y, axis=1) <= distance
        close &= np.einsum("ij,ij->i", nx @ T[:3, :3].T, ny) >= min_cosine
        normals = ny[close]
        return float(np.linalg.eigvalsh(normals.T @ normals / max(len(normals), 1))[0].clip(0))


# Columns of the products xx, xy, yy, xz, yz, zz as a symmetric matrix.
_SYMMETRIC = np.array([[5, 6, 8], [6, 7, 9], [8, 9, 10]])


def in_fine_voxels(T: Floats, target: SurfelPyramid) -> Floats:
    """Return a transform with its translation in fine instead of coarse voxels."""
    fine: Floats = T.copy()
    fine[:3, 3] *= target.coarse_voxel / target.fine_voxel
    return fine

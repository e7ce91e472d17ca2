"""Poses of a small part in a large scene: descriptors vote for places, and each place is searched for poses.

match    the scene descriptors nearest to each of the part's, with normals of either sign
vote     each match leaves a circle for the part's centre; cells with most votes are places
propose  compatible matches at the places with most votes propose poses; the best of these are places to search
search   mutual correspondences with the surfels around a place propose more; the best are refined and scored

Lengths are in coarse voxels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.engine.evidence import EVIDENCE
from graphreg.engine.hypotheses import SEARCH
from graphreg.engine.pose_sets import box_corners, distinct_poses
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.engine.scene_index import (
    DescribedSurfels,
    SceneIndex,
    describe,
    fit_unsigned_surfels,
    flipped,
    index_scene,
)
from graphreg.engine.surfels import Surfels
from graphreg.engine.unsigned_normals import refine_unsigned, unsigned_scores
from graphreg.engine.voxel_sizes import on_part_ladder, part_voxel_size
from graphreg.features.edge_descriptors import mutual_correspondences
from graphreg.poses import transform


@dataclass(frozen=True)
class PartSearchParameters:
    """Constants of the search for a part; all chosen. Lengths in coarse voxels unless they are shares of the radius.

    Attributes
    ----------
    neighbours, probes : int
        Scene descriptors that are matched with each of the part's, and lists of the index that they are looked for in.
    directions : int
        Votes on the circle of a match.
    cell : float
        Size of the cells that votes are counted in, as a share of the part's radius.
    least_cell : float
        And at least.
    voted_places : int
        Places with most votes; at each,
    place_matches, place_proposals : int
        so many matches propose so many poses,
    scored_surfels : int
        which are scored with so many surfels of the part.
    places : int
        Places that are searched, beside the number of instances that are looked for;
    separation : float
        they are this share of the part's radius apart.
    margin : float
        Surfels of the scene within this share of the part's radius of a place are searched.
    max_refined : int
        Poses refined at each place.
    wide_places : int
        Places with most votes that are all searched, where the others did not lead to a pose.
    """

    neighbours: int = 6
    probes: int = 16
    directions: int = 16
    cell: float = 0.35
    least_cell: float = 2.0
    voted_places: int = 96
    place_matches: int = 384
    place_proposals: int = 12
    scored_surfels: int = 400
    places: int = 5
    separation: float = 0.35
    margin: float = 1.4
    max_refined: int = 6
    wide_places: int = 256


PART_SEARCH = PartSearchParameters()


@dataclass(frozen=True, eq=False)
class Part:
    """A part at the resolution that it is looked for with.

    Attributes
    ----------
    cloud : PreprocessedCloud
    voxel : float
        Voxel size, in the unit of the data.
    described : DescribedSurfels
    centre : (3,) ndarray
        Centroid of its surfels.
    radius : float
        Nearly all surfels are within this distance of the centre.
    """

    cloud: PreprocessedCloud
    voxel: float
    described: DescribedSurfels
    centre: Floats
    radius: float


@dataclass(frozen=True, eq=False)
class PartCandidates:
    """Refined poses of a part in a scene, best first, each distinct from those before it.

    Attributes
    ----------
    poses : (P, 4, 4) ndarray
        Between the local frames; translations in coarse voxels.
    scores : (P,) ndarray
        Overlap score of each pose, from 0 to 1.
    proposed : int
        Number of hypotheses.
    """

    poses: Floats
    scores: Floats
    proposed: int


@dataclass(frozen=True, eq=False)
class PartMatches:
    """Putative correspondences of a part with a scene.

    Attributes
    ----------
    part, scene : (M,) ndarray of int
        Indices of surfels.
    signs : (M,) ndarray
        Sign of the part's normal that makes the surfels alike.
    weights : (M,) ndarray
        By how much their descriptors are nearer than the next; next to nothing on a plane, which is like all planes.
    """

    part: NDArray[np.intp]
    scene: NDArray[np.int32]
    signs: Floats
    weights: Floats


def prepare_part(
    part: PreprocessedCloud, scene: PreprocessedCloud, count: int, threads: int = 1
) -> tuple[Part, SceneIndex]:
    """Return part and scene at the resolution at which the part has about `count` surfels, or fewer if it is rough."""
    voxel = part_voxel_size(part.local_points, count, scene.voxel_sizes)
    while True:
        surfels = fit_unsigned_surfels(part, voxel, threads)
        # Where points are dense in few places only, there are more surfels than expected.
        larger = on_part_ladder(voxel * float(np.sqrt(len(surfels) / count)))
        if larger <= voxel:
            break
        voxel = larger
    described = describe(surfels, threads)
    centre = surfels.points.mean(axis=0)
    radius = float(np.quantile(np.linalg.norm(surfels.points - centre, axis=1), 0.95))
    return Part(part, voxel, described, centre, radius), index_scene(scene, voxel, threads)


def search_part(part: Part, scene: SceneIndex, most: int, threads: int = 1) -> PartCandidates:
    """Search for poses of a part in a scene from any initial pose."""
    matches = match_part(part, scene, threads)
    voted = vote_for_places(part, scene, matches, PART_SEARCH.voted_places + most)
    proposed = propose_poses(part, scene, matches, voted, threads)
    places = proposed[:, :3, :3] @ part.centre + proposed[:, :3, 3]
    chosen = distinct_places(places, PART_SEARCH.separation * part.radius, PART_SEARCH.places + most)
    near = np.linalg.norm(places[:, None] - places[chosen], axis=2) <= PART_SEARCH.separation * part.radius
    found = [
        search_place(part, scene, places[place], proposed[near[:, number]], threads)
        for number, place in enumerate(chosen)
    ]
    return _best_first(part, found)


def search_widely(part: Part, scene: SceneIndex, threads: int = 1) -> PartCandidates:
    """Search every place with many votes, whatever matches propose there: slower, and misses less."""
    voted = vote_for_places(part, scene, match_part(part, scene, threads), PART_SEARCH.wide_places)
    return _best_first(part, [search_place(part, scene, place, np.empty((0, 4, 4)), threads) for place in voted])


def _best_first(part: Part, found: list[PartCandidates]) -> PartCandidates:
    """The candidates of several places as one."""
    if not found:
        return PartCandidates(np.empty((0, 4, 4)), np.empty(0), 0)
    poses = np.concatenate([candidates.poses for candidates in found])
    scores = np.concatenate([candidates.scores for candidates in found])
    order = np.argsort(-scores, kind="stable")
    corners = box_corners(part.described.surfels.points)
    kept = order[distinct_poses(poses[order], corners, SEARCH.distinct_pose, len(order))]
    return PartCandidates(poses[kept], scores[kept], sum(candidates.proposed for candidates in found))


def match_part(part: Part, scene: SceneIndex, threads: int = 1) -> PartMatches:
    """Return the surfels of the scene that are most like each surfel of the part, with normals of either sign."""
    k, descriptors = PART_SEARCH.neighbours, part.described.descriptors
    queries = np.concatenate([descriptors, flipped(descriptors)])
    found, distances = (
        # Both signs of a surfel side by side.
        np.concatenate(np.split(values, 2), axis=1)
        for values in scene.by_likeness.nearest(queries, k, PART_SEARCH.probes, threads)
    )
    distances = np.where(found < 0, np.inf, distances)
    order = np.argsort(distances, axis=1, kind="stable")[:, : k + 1]
    found, distances = (np.take_along_axis(values, order, axis=1) for values in (found, distances))
    signs = np.repeat([1.0, -1.0], k)[order]
    weights = np.maximum(distances[:, k:] - distances[:, :k], 0.0)
    rows, columns = np.nonzero(weights > 0)
    return PartMatches(rows, found[rows, columns], signs[rows, columns], weights[rows, columns])


def vote_for_places(part: Part, scene: SceneIndex, matches: PartMatches, most: int) -> Floats:
    """Return (P, 3) places of the part's centre in the scene, those with most votes first."""
    if not len(matches.part):
        return np.empty((0, 3))
    cell = max(PART_SEARCH.cell * part.radius, PART_SEARCH.least_cell)
    votes = _votes(part, scene.described.surfels, matches)
    cells = np.floor(votes / cell).astype(np.int64)
    low = cells.min(axis=(0, 1)) - 1
    shape = cells.max(axis=(0, 1)) - low + 2
    keys = np.ravel_multi_index(tuple(np.moveaxis(cells - low, 2, 0)), tuple(shape))
    # A match has one vote in a cell, however long its circle is there.
    voters = len(matches.part)
    once = np.unique(keys * voters + np.arange(voters))
    occupied, index = np.unique(once // voters, return_inverse=True)
    counts = _with_adjacent(occupied, np.bincount(index, matches.weights[once % voters]).astype(float), shape)
    positions = np.stack(np.unravel_index(occupied, tuple(shape)), axis=1) + low
    chosen: list[int] = []
    for number in np.argsort(-counts, kind="stable"):
        if len(chosen) == most:
            break
        if np.all(np.abs(positions[number] - positions[chosen]).max(axis=1) > 1):
            chosen.append(int(number))
    return np.asarray((positions[chosen] + 0.5) * cell)


def propose_poses(part: Part, scene: SceneIndex, matches: PartMatches, places: Floats, threads: int = 1) -> Floats:
    """Return (P, 4, 4) poses that compatible matches at places of the scene propose, by their overlap scores."""
    source, target = part.described.surfels, scene.described.surfels
    poses = [np.empty((0, 4, 4))]
    for place in places:
        offsets = target.points[matches.scene] - place
        near = np.flatnonzero(np.einsum("ij,ij->i", offsets, offsets) < (PART_SEARCH.margin * part.radius) ** 2)
        best = near[np.argsort(-matches.weights[near], kind="stable")[: PART_SEARCH.place_matches]]
        i, j, signs = matches.part[best], matches.scene[best], matches.signs[best]
        poses.append(_hypotheses(source, i, signs, target, j, PART_SEARCH.place_proposals, threads))
    proposed = np.concatenate(poses)
    rows = slice(None, None, -(-len(source) // PART_SEARCH.scored_surfels))
    scores = unsigned_scores(proposed, source, target, EVIDENCE.proposal_distance, threads, rows)
    return np.asarray(proposed[np.argsort(-scores, kind="stable")])


def distinct_places(places: Floats, distance: float, most: int) -> list[int]:
    """Return which of the places (P, 3), in their order, are farther than a distance from all before them."""
    chosen: list[int] = []
    for number, place in enumerate(places):
        if len(chosen) == most:
            break
        if np.all(np.linalg.norm(place - places[chosen], axis=1) > distance):
            chosen.append(number)
    return chosen


def search_place(part: Part, scene: SceneIndex, place: Floats, proposed: Floats, threads: int = 1) -> PartCandidates:
    """Search for poses of the part with its centre near a place in the scene; `proposed` are some to begin with."""
    rows = scene.surfels_around(place, PART_SEARCH.margin * part.radius, threads)
    if not len(rows):
        return PartCandidates(np.empty((0, 4, 4)), np.empty(0), 0)
    source, target = part.described.surfels, scene.described.surfels
    i, j, signs = _mutual_matches(part, scene, rows, threads)
    step = -(-len(i) // SEARCH.max_correspondences) or 1
    i, j, signs = i[::step], j[::step], signs[::step]
    poses = np.concatenate([_hypotheses(source, i, signs, target, j, SEARCH.max_proposals, threads), proposed])
    scores = unsigned_scores(poses, source, target, EVIDENCE.proposal_distance, threads)
    ranked = poses[np.argsort(-scores, kind="stable")]
    chosen = ranked[distinct_poses(ranked, box_corners(source.points), SEARCH.same_pose, PART_SEARCH.max_refined)]
    refined = np.concatenate(
        [
            refine_unsigned(chosen, source, target, kernel, EVIDENCE.proposal_distance, threads)
            for kernel in (SEARCH.wide_kernel, SEARCH.narrow_kernel)
        ]
    )
    return PartCandidates(refined, unsigned_scores(refined, source, target, EVIDENCE.reach, threads), len(poses))


def inlier_matches(part: Part, scene: SceneIndex, poses: list[Floats], threads: int = 1) -> tuple[int, int]:
    """Return how many mutual correspondences at a pose are inliers, of it or of one equivalent, and of how many."""
    centre = transform(poses[0], part.centre[None])[0]
    rows = scene.surfels_around(centre, PART_SEARCH.margin * part.radius, threads)
    if not len(rows):
        return 0, 0
    i, j, _ = _mutual_matches(part, scene, rows, threads)
    source, target = part.described.surfels, scene.described.surfels
    inliers = np.zeros(len(i), bool)
    for T in poses:
        near = np.linalg.norm(transform(T, source.points[i]) - target.points[j], axis=1) <= EVIDENCE.inlier_distance
        cosine = np.einsum("ij,ij->i", source.normals[i] @ T[:3, :3].T, target.normals[j])
        inliers |= near & (np.abs(cosine) >= EVIDENCE.inlier_cosine)
    return int(inliers.sum()), len(i)


def _mutual_matches(
    part: Part, scene: SceneIndex, rows: NDArray[np.int32], threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats]:
    """Mutual correspondences with some surfels of the scene: surfels of part and scene, sign of the part's normal."""
    descriptors = part.described.descriptors
    both = np.concatenate([descriptors, flipped(descriptors)])
    mutual, nearest = mutual_correspondences(both, scene.described.descriptors[rows], threads)
    return mutual % len(descriptors), rows[nearest], np.where(mutual < len(descriptors), 1.0, -1.0)


def _hypotheses(
    source: Surfels, i: NDArray[Any], signs: Floats, target: Surfels, j: NDArray[Any], most: int, threads: int
) -> Floats:
    """Poses that compatible correspondences propose, those with most support first."""
    return _core.hypotheses(
        source.points[i],
        source.normals[i] * signs[:, None],
        target.points[j],
        target.normals[j],
        SEARCH.tolerance,
        most,
        _core.DegreesOfFreedom([True] * 6, [0.0] * 3),
        threads,
    )[0]


def _votes(part: Part, scene: Surfels, matches: PartMatches) -> Floats:
    """(D, M, 3): points on the circle that each match leaves for the part's centre."""
    source = part.described.surfels
    offset = part.centre - source.points[matches.part]
    normals = source.normals[matches.part] * matches.signs[:, None]
    height = np.einsum("ij,ij->i", normals, offset)
    radius = np.linalg.norm(offset - height[:, None] * normals, axis=1)
    axis = scene.normals[matches.scene]
    u = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis), axis=1)])
    u /= np.maximum(np.linalg.norm(u, axis=1, keepdims=True), 1e-12)
    v = np.cross(axis, u)
    middle = scene.points[matches.scene] + height[:, None] * axis
    angles = np.linspace(0, 2 * np.pi, PART_SEARCH.directions, endpoint=False)[:, None, None]
    return np.asarray(middle + radius[:, None] * (np.cos(angles) * u + np.sin(angles) * v))


def _with_adjacent(keys: NDArray[np.int64], counts: Floats, shape: NDArray[np.int64]) -> Floats:
    """The counts of cells, with half of those of the 26 cells around each; keys ascend."""
    total = counts / 2
    for x, y, z in np.ndindex(3, 3, 3):
        wanted = keys + ((x - 1) * shape[1] + y - 1) * shape[2] + z - 1
        where = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        total += np.where(keys[where] == wanted, counts[where] / 2, 0.0)
    return np.asarray(total)

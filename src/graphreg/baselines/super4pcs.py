"""Super4PCS: four-point congruent sets.

N. Mellado, D. Aiger, N. J. Mitra: Super 4PCS: fast global pointcloud registration via smart indexing. Computer
Graphics Forum 33(5), 2014. D. Aiger, N. J. Mitra, D. Cohen-Or: 4-points congruent sets for robust pairwise surface
registration. ACM Transactions on Graphics 27(3), 2008.

    maximise over T    the share of source points with a target point within delta (largest common pointset, LCP)

A base is four almost coplanar points of the source. The two segments between them intersect, and rigid transforms
preserve the ratios in which the intersection divides both. Pairs of target points as far apart as the ends of the first
segment, and of the second, are looked up in a table sorted by length; those whose intersection points coincide form
sets that are congruent to the base. Each congruent set gives a transform, and the one with the largest LCP is taken.
Bases are sampled until one of them lies in the overlap with high probability.

Deviation from the paper: the table of pairs replaces its rasterised spheres, and ICP refines the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.alike_points import invariants_at
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate_closest_points, point_to_point, within_distance
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, transform
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True)
class Super4pcsConstants:
    """Constants of Super4PCS that are not settings (all chosen).

    Attributes
    ----------
    triangles : int
        Triangles sampled for a base, of which the one with the largest area is taken.
    congruent_sets : int
        Congruent sets of a base that are evaluated, at most: those whose lengths agree best.
    alike_sets : int
        The same with `features`: those whose points are most alike.
    preselection : int
        Every transform is first scored on each eighth point; the best eighth of them is scored on all points.
    min_separation : float
        Smallest distance of the fourth point of a base to the other three, as a share of the triangle's longest side.
    crossings : int
        Pairs of pairs that cross as those of a base do and are compared with it, about so many at most.
    crossing_sample : int
        Pairs that their number is estimated from.
    """

    triangles: int = 200
    congruent_sets: int = 200
    alike_sets: int = 50
    preselection: int = 8
    min_separation: float = 0.25
    crossings: int = 1_000_000
    crossing_sample: int = 500


CONSTANTS = Super4pcsConstants()


@dataclass(frozen=True)
class Super4pcsSettings(BaselineSettings):
    """Settings of Super4PCS.

    Parameters
    ----------
    overlap : float, default 0.5
        O: smallest share of the source that overlaps the target (the paper's comparison: 0.2 and 0.5). Bases are as
        wide as this share of the cloud, and the search ends at a transform with an LCP of this share.
    sample_size : int, default 500
        Approximate number of points that each cloud is downsampled to.
    delta : float, default 0.5
        Distance up to which points count for the LCP, in spacings of that sample.
    certainty : float, default 0.99
        Probability with which one of the sampled bases lies in the overlap.
    max_iterations : int, default 100
        Number of bases, at most.
    refinement : int, default 50
        Iterations of point-to-point ICP on correspondences within delta at the end; 0: none, as in the paper.
    """

    overlap: float = 0.5
    sample_size: int = 500
    delta: float = 0.5
    certainty: float = 0.99
    max_iterations: int = 100
    refinement: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_count("max_iterations")
        self._require_count("sample_size", least=4)
        self._require_count("refinement", least=0)
        self._require_overlap("overlap")
        self._require_positive("delta")
        self._require_share("certainty")


def register_super4pcs(
    source: Floats,
    target: Floats,
    settings: Super4pcsSettings,
    init: Floats | None = None,
    seed: int = 0,
    threads: int = 1,
    callback: Callback | None = None,
) -> Outcome:
    """Register by four-point congruent sets (Mellado, Aiger, Mitra 2014).

    The initial transform is only the first one to improve on. The history has an entry for each base, with the share of
    sampled source points without a target point within delta as energy; in the refinement the energy is the mean
    squared distance of correspondences.

    Parameters
    ----------
    source, target, settings, init, seed, threads, callback
        As in `graphreg.method_interface.RegistrationMethod`. The seed is that of the bases.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("hare", 10.0, points=2000)
    >>> flipped = pair.source * [1, -1, -1]  # a rotation by 180 degrees about the x axis
    >>> result = graphreg.register(flipped, pair.target, method="super4pcs", overlap=0.6)
    >>> result.success
    True
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    rng = np.random.default_rng(seed)
    x, source_spacing = _downsample_to(run.source, run.voxel, settings.sample_size, threads)
    y, target_spacing = _downsample_to(run.target, run.voxel, settings.sample_size, threads)
    delta = settings.delta * max(source_spacing, target_spacing)
    tree = _core.Tree(run.target, threads)
    table = PairTable(y)
    invariants = invariants_at(run, x, y) if settings.features else None
    run.finish_features()

    def common_pointset(candidates: Floats, points: Floats) -> Floats:
        """LCP of each transform (C, 4, 4)."""
        moved = np.concatenate([transform(candidate, points) for candidate in candidates])
        _, squared = tree.nearest(moved, 1, threads)
        return np.asarray((squared <= delta**2).reshape(len(candidates), -1).mean(axis=1))

    best = float(common_pointset(run.estimate[None], x)[0])
    width = settings.overlap * float(np.linalg.norm(np.ptp(x, axis=0)))
    for _ in range(required_bases(settings)):
        base = sample_base(x, width, rng)
        sets = congruent_sets(x[base], y, table, delta)
        if invariants is not None:
            unlike = ((invariants.source[base] - invariants.target[sets]) ** 2).sum(axis=(1, 2))
            sets = sets[np.argsort(unlike, kind="stable")[: CONSTANTS.alike_sets]]
        sets = sets[: CONSTANTS.congruent_sets]
        estimate = run.estimate
        if len(sets):
            candidates = fit_rigid_transform(np.broadcast_to(x[base], (len(sets), len(base), 3)), y[sets])
            rough = common_pointset(candidates, x[:: CONSTANTS.preselection])
            kept = np.argsort(-rough, kind="stable")[: len(candidates) // CONSTANTS.preselection + 1]
            candidates = candidates[kept]
            scores = common_pointset(candidates, x)
            if scores.max() > best:
                best, estimate = float(scores.max()), candidates[int(scores.argmax())]
        if run.record(estimate, 1 - best):
            return run.outcome()
        if best >= settings.overlap:
            break
    if settings.refinement:
        iterate_closest_points(
            run, ClosestPoints(run), point_to_point(run), within_distance(delta), settings.refinement, 0.0, run.estimate
        )
    return run.outcome()


def required_bases(settings: Super4pcsSettings) -> int:
    """Return the number of bases after which one has all four points in the overlap with the wanted certainty.

    Parameters
    ----------
    settings : Super4pcsSettings

    Returns
    -------
    int
        log(1 - certainty) / log(1 - overlap^4), rounded up, at most `max_iterations`.
    """
    all_in_overlap = settings.overlap**4
    needed = np.log1p(-settings.certainty) / np.log1p(-all_in_overlap) if all_in_overlap < 1 else 1
    return int(min(max(np.ceil(needed), 1), settings.max_iterations))


def _downsample_to(points: Floats, voxel: float, size: int, threads: int) -> tuple[Floats, float]:
    """Downsample to at most 1.2 `size` points; also returns the voxel size."""
    spacing, sample = voxel, points
    for _ in range(10):
        if len(sample) <= 1.2 * size:
            break
        # On a surface the number of points falls with the square of the voxel size.
        spacing *= float(np.sqrt(len(sample) / size))
        sample = voxel_downsample(points, spacing, threads)
    return sample, spacing


class PairTable:
    """All pairs of points of a sample, sorted by length.

    Parameters
    ----------
    points : (N, 3) ndarray
    """

    def __init__(self, points: Floats) -> None:
        one, other = np.triu_indices(len(points), 1)
        lengths = np.linalg.norm(points[one] - points[other], axis=1)
        order = np.argsort(lengths, kind="stable")
        self._lengths = lengths[order]
        self._pairs = np.column_stack([one, other])[order]

    def with_length(self, length: float, tolerance: float) -> NDArray[np.int64]:
        """Find the pairs with a length within a tolerance.

        Parameters
        ----------
        length, tolerance : float

        Returns
        -------
        (P, 2) ndarray of int64
            Rows of points; each pair in both directions.
        """
        first, last = np.searchsorted(self._lengths, [length - tolerance, length + tolerance])
        found = self._pairs[first:last]
        return np.concatenate([found, found[:, ::-1]])


class Intersections(NamedTuple):
    """Closest points of two segments each: their positions along the segments, 0 to 1, and their distance."""

    first: Floats
    second: Floats
    gap: Floats


def intersect_segments(sets: Floats) -> Intersections:
    """Find the closest points of the segments from point 0 to 1 and from point 2 to 3.

    Parameters
    ----------
    sets : (S, 4, 3) ndarray
        Sets of four points.

    Returns
    -------
    Intersections
        With arrays of length S.
    """
    # Fourth powers of lengths must not overflow; a power of two changes no other bit.
    scale = 2.0 ** np.frexp(np.abs(sets).max(initial=0.0))[1]
    sets = sets / scale
    u, v, w = sets[:, 1] - sets[:, 0], sets[:, 3] - sets[:, 2], sets[:, 0] - sets[:, 2]
    a, b, c, d, e = (np.einsum("ij,ij->i", one, other) for one, other in ((u, u), (u, v), (v, v), (u, w), (v, w)))
    tiny = np.finfo(float).tiny
    first = np.clip((b * e - c * d) / np.maximum(a * c - b * b, tiny), 0, 1)
    second = np.clip((b * first + e) / np.maximum(c, tiny), 0, 1)
    gap = np.linalg.norm(w + first[:, None] * u - second[:, None] * v, axis=1)
    return Intersections(first, second, gap * scale)


def sample_base(points: Floats, width: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample a wide base: a large triangle and a fourth point with which it is almost coplanar.

    Parameters
    ----------
    points : (N, 3) ndarray
    width : float
        Longest side of the triangle.
    rng : numpy.random.Generator

    Returns
    -------
    (4,) ndarray of int64
        Rows of `points`, ordered so that the segments from the first to the second and from the third to the fourth
        intersect as closely as possible.
    """
    triples = rng.integers(0, len(points), (CONSTANTS.triangles, 3))
    corners = points[triples]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    chosen = int(np.argmax(np.where(sides <= width, areas, -sides)))
    triple = triples[chosen]
    # The fourth point: not close to the others, and not farther from them than they are from each other.
    distances = np.linalg.norm(points[:, None] - points[triple][None], axis=2)
    separated = distances.min(axis=1) >= CONSTANTS.min_separation * sides[chosen]
    suitable = separated & (distances.max(axis=1) <= max(width, sides[chosen]))
    fourth = np.flatnonzero(suitable) if suitable.any() else np.arange(len(points))
    i, j, k = (np.full(len(fourth), corner) for corner in triple)
    bases = np.concatenate(
        [np.stack(four, axis=1) for four in ((i, j, k, fourth), (i, k, j, fourth), (j, k, i, fourth))]
    )
    return np.asarray(bases[int(np.argmin(intersect_segments(points[bases]).gap))])


def congruent_sets(base: Floats, points: Floats, table: PairTable, tolerance: float) -> NDArray[np.int64]:
    """Find sets of four points whose six distances are those of the base.

    Parameters
    ----------
    base : (4, 3) ndarray
    points : (N, 3) ndarray
    table : PairTable
        Of `points`.
    tolerance : float
        Largest difference of a distance.

    Returns
    -------
    (S, 4) ndarray of int64
        Rows of `points`, best first.
    """
    first, second, gap = (float(value[0]) for value in intersect_segments(base[None]))
    ab = table.with_length(float(np.linalg.norm(base[1] - base[0])), tolerance)
    cd = table.with_length(float(np.linalg.norm(base[3] - base[2])), tolerance)
    if not len(ab) or not len(cd):
        return np.empty((0, 4), np.int64)
    on_ab = points[ab[:, 0]] + first * (points[ab[:, 1]] - points[ab[:, 0]])
    on_cd = points[cd[:, 0]] + second * (points[cd[:, 1]] - points[cd[:, 0]])
    tree = _core.Tree(on_ab, 1)
    # Pairs of a base that is far from coplanar cross almost all others: then only some of them are compared.
    tested = on_cd[:: -(-len(cd) // CONSTANTS.crossing_sample)]
    crossings = len(tree.within(np.ascontiguousarray(tested), gap + tolerance, 1)[1]) / len(tested) * len(cd)
    stride = max(int(crossings / CONSTANTS.crossings), 1)
    cd, on_cd = cd[::stride], np.ascontiguousarray(on_cd[::stride])
    offsets, indices, _ = tree.within(on_cd, gap + tolerance, 1)
    crossing = np.repeat(np.arange(len(cd)), np.diff(offsets))
    sets = np.column_stack([ab[indices], cd[crossing]])
    error = np.zeros(len(sets))
    for i, j in ((0, 2), (0, 3), (1, 2), (1, 3), (0, 1), (2, 3)):
        expected = float(np.linalg.norm(base[i] - base[j]))
        lengths = np.linalg.norm(points[sets[:, i]] - points[sets[:, j]], axis=1)
        error = np.maximum(error, np.abs(lengths - expected))
        sets, error = sets[error <= tolerance], error[error <= tolerance]
    return np.asarray(sets[np.argsort(error, kind="stable")])

"""Super4PCS: four points of one cloud, and all sets of four in the other that are congruent to them.

N. Mellado, D. Aiger, N. J. Mitra: Super 4PCS: fast global pointcloud registration via smart indexing. Computer
Graphics Forum 33(5), 2014. D. Aiger, N. J. Mitra, D. Cohen-Or: 4-points congruent sets for robust pairwise surface
registration. ACM Transactions on Graphics 27(3), 2008.

    maximise over T    the share of source points that have a target point within delta (LCP)

A base is four points that lie almost in a plane. Where the line of two of them crosses that of the others, it divides
both segments in ratios that no rigid motion changes. Pairs of target points as far apart as the first two and as the
last two are looked up in a table sorted by length, and those whose crossing points meet are sets congruent to the base.
The motion that brings most points together wins; bases are drawn until it is likely that one lay in the overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphreg._core as _core
from graphreg.baselines.baseline_run import BaselineRun, BaselineSettings
from graphreg.baselines.closest_points import ClosestPoints, iterate, point_distance, within
from graphreg.clouds import Floats
from graphreg.method_interface import Callback, Outcome
from graphreg.poses import fit_rigid_transform, transform
from graphreg.voxels import voxel_downsample

# Of the triangles drawn, the one with the largest area becomes the base.
TRIANGLES = 200
# Congruent sets of a base that are looked at more closely, those whose lengths agree best.
CANDIDATES = 200
# A first look is taken at every so manieth point, a second at every so manieth motion, the best of them.
GLANCE = 8


@dataclass(frozen=True)
class Super4pcsSettings(BaselineSettings):
    """Settings of Super4PCS.

    overlap         O: share of the source that lies on the target, at least (the paper's comparison: 0.2 and 0.5).
                    Bases are as wide as this share of the cloud, and a motion that brings so many points together ends
                    it
    sample_size     points that each cloud is thinned out to, about
    delta           how far apart points may be and still count, in spacings of that sample
    certainty       bases are drawn until one lies in the overlap with this probability,
    max_iterations  but not more than so many
    refinement      steps of point-to-point ICP on pairs within delta at the end; 0: as the paper leaves it
    """

    overlap: float = 0.5
    sample_size: int = 500
    delta: float = 0.5
    certainty: float = 0.99
    max_iterations: int = 100
    refinement: int = 50

    def __post_init__(self) -> None:
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
    """Global: the start is only the first motion to beat. Bases are drawn at random.

    The energy in the history is the share of the sampled source points without a target point within delta, one entry
    a base that was tried; in the refinement, the mean squared distance of pairs.
    """
    run = BaselineRun(source, target, settings.voxel, init, threads, callback)
    rng = np.random.default_rng(seed)
    x, spacing = _sampled(run.source, run.voxel, settings.sample_size, threads)
    y, other = _sampled(run.target, run.voxel, settings.sample_size, threads)
    delta = settings.delta * max(spacing, other)
    tree = _core.Tree(run.target, threads)
    table = PairTable(y)
    run.described()

    def score(motions: list[Floats], points: Floats) -> Floats:
        """LCP of each motion."""
        moved = np.concatenate([transform(motion, points) for motion in motions])
        _, squared = tree.nearest(moved, 1, threads)
        return np.asarray((squared <= delta**2).reshape(len(motions), -1).mean(axis=1))

    best = float(score([run.motion], x)[0])
    width = settings.overlap * float(np.linalg.norm(np.ptp(x, axis=0)))
    for _ in range(trials(settings)):
        base = draw_base(x, width, rng)
        sets = congruent_sets(x[base], y, table, delta)
        motion = run.motion
        if len(sets):
            motions = [fit_rigid_transform(x[base], y[four]) for four in sets]
            # Few points tell which motions are worth looking at.
            glance = score(motions, x[::GLANCE])
            motions = [motions[i] for i in np.argsort(-glance, kind="stable")[: len(motions) // GLANCE + 1]]
            found = score(motions, x)
            if found.max() > best:
                best, motion = float(found.max()), motions[int(found.argmax())]
        if run.step(motion, 1 - best):
            return run.outcome()
        if best >= settings.overlap:
            break
    if settings.refinement:
        closest = ClosestPoints(run)
        iterate(run, closest, point_distance(run), within(delta), settings.refinement, 0.0, run.motion)
    return run.outcome()


def trials(settings: Super4pcsSettings) -> int:
    """So many bases until one has all four points in the overlap, as likely as wanted."""
    all_in = settings.overlap**4
    needed = np.log1p(-settings.certainty) / np.log1p(-all_in) if all_in < 1 else 1
    return int(min(max(np.ceil(needed), 1), settings.max_iterations))


def _sampled(points: Floats, voxel: float, size: int, threads: int) -> tuple[Floats, float]:
    """About so many points, evenly spread, and their spacing."""
    spacing, sample = voxel, points
    for _ in range(10):
        if len(sample) <= 1.2 * size:
            break
        # On a surface the number falls with the square of the spacing.
        spacing *= float(np.sqrt(len(sample) / size))
        sample = voxel_downsample(points, spacing, threads)
    return sample, spacing


class PairTable:
    """All pairs of a sample, sorted by how far apart they are."""

    def __init__(self, points: Floats) -> None:
        one, other = np.triu_indices(len(points), 1)
        lengths = np.linalg.norm(points[one] - points[other], axis=1)
        order = np.argsort(lengths, kind="stable")
        self._lengths = lengths[order]
        self._pairs = np.column_stack([one, other])[order]

    def apart(self, length: float, slack: float) -> NDArray[np.int64]:
        """(P, 2): pairs whose distance is within `slack` of `length`, each in both directions."""
        first, last = np.searchsorted(self._lengths, [length - slack, length + slack])
        found = self._pairs[first:last]
        return np.concatenate([found, found[:, ::-1]])


class Crossings(NamedTuple):
    """Where two segments come closest: the ratios in which these places divide them, and how far apart they are."""

    first: Floats
    second: Floats
    gap: Floats


def crossings(fours: Floats) -> Crossings:
    """Of the segments from point 0 to 1 and from 2 to 3, for (S, 4, 3) sets of four points."""
    along, across, apart = fours[:, 1] - fours[:, 0], fours[:, 3] - fours[:, 2], fours[:, 0] - fours[:, 2]
    a, b, c, d, e = (
        np.einsum("ij,ij->i", one, other)
        for one, other in ((along, along), (along, across), (across, across), (along, apart), (across, apart))
    )
    tiny = np.finfo(float).tiny
    first = np.clip((b * e - c * d) / np.maximum(a * c - b * b, tiny), 0, 1)
    second = np.clip((b * first + e) / np.maximum(c, tiny), 0, 1)
    gap = np.linalg.norm(apart + first[:, None] * along - second[:, None] * across, axis=1)
    return Crossings(first, second, gap)


def draw_base(points: Floats, width: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """(4,): a wide triangle with no side above `width`, and a fourth point, so ordered that the segments from the first
    to the second and from the third to the fourth cross as closely as can be."""
    triples = rng.integers(0, len(points), (TRIANGLES, 3))
    corners = points[triples]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    chosen = int(np.argmax(np.where(sides <= width, areas, -sides)))
    triple = triples[chosen]
    # The fourth point: not close to the others, and not farther from them than they are from each other.
    away = np.linalg.norm(points[:, None] - points[triple][None], axis=2)
    wide = (away.min(axis=1) >= 0.25 * sides[chosen]) & (away.max(axis=1) <= max(width, sides[chosen]))
    fourth = np.flatnonzero(wide) if wide.any() else np.arange(len(points))
    i, j, k = (np.full(len(fourth), corner) for corner in triple)
    bases = np.concatenate(
        [np.stack(four, axis=1) for four in ((i, j, k, fourth), (i, k, j, fourth), (j, k, i, fourth))]
    )
    return np.asarray(bases[int(np.argmin(crossings(points[bases]).gap))])


def congruent_sets(base: Floats, points: Floats, table: PairTable, slack: float) -> NDArray[np.int64]:
    """(S, 4): rows of `points` whose six distances are those of the base within `slack`, the best at first."""
    first, second, gap = (float(value[0]) for value in crossings(base[None]))
    ab = table.apart(float(np.linalg.norm(base[1] - base[0])), slack)
    cd = table.apart(float(np.linalg.norm(base[3] - base[2])), slack)
    if not len(ab) or not len(cd):
        return np.empty((0, 4), np.int64)
    one = points[ab[:, 0]] + first * (points[ab[:, 1]] - points[ab[:, 0]])
    other = points[cd[:, 0]] + second * (points[cd[:, 1]] - points[cd[:, 0]])
    offsets, indices, _ = _core.Tree(one, 1).within(other, gap + slack, 1)
    crossed = np.repeat(np.arange(len(cd)), np.diff(offsets))
    sets = np.column_stack([ab[indices], cd[crossed]])
    off = np.zeros(len(sets))
    for i, j in ((0, 2), (0, 3), (1, 2), (1, 3), (0, 1), (2, 3)):
        wanted = float(np.linalg.norm(base[i] - base[j]))
        lengths = np.linalg.norm(points[sets[:, i]] - points[sets[:, j]], axis=1)
        off = np.maximum(off, np.abs(lengths - wanted))
        sets, off = sets[off <= slack], off[off <= slack]
    return np.asarray(sets[np.argsort(off, kind="stable")[:CANDIDATES]])

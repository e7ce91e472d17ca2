"""The elastic method: the source deforms as a body on its graph, drawn by forces between the clouds.

The energy at a fixed softening is the attraction (`attraction`) plus a stiffness times the elastic energy
(`elastic_energy`). It is lowered step by step, from coarse to fine: on few nodes by the paper's forces over
correspondences and by wide surfaces, on more nodes by surfaces alone, as the softening falls to the point spacing.
Points without a counterpart are carried along by the elastic energy.

Runs that begin with a smooth displacement, by coherent point drift, end where others cannot: bending a joint costs it
nothing. The run with the lowest energy is taken. For each approximate symmetry of the body, its last coarse stages and
the fine ones are also run with that symmetry before its motion; again the lowest energy wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.nonrigid.attraction import Attraction, CoulombAttraction, SumOfAttractions, SurfaceAttraction
from graphreg.nonrigid.deformation_graph import (
    DeformationGraph,
    Motion,
    build_graph,
    carried,
    carried_points,
    embedding,
    moved_rigidly,
    node_spacing,
    refined,
)
from graphreg.nonrigid.drift import DRIFT, deform_by_drift
from graphreg.nonrigid.elastic_energy import StepSolver, elastic_energy, moved_by
from graphreg.nonrigid.local_correspondences import (
    CORRESPONDENCES,
    NO_CORRESPONDENCES,
    Correspondences,
    correspondences_within,
    describe,
    joined,
)
from graphreg.nonrigid.relaxation import Relaxation
from graphreg.nonrigid.symmetries import after_symmetry, approximate_symmetries
from graphreg.nonrigid.warps import Frame, GaussianWarp, motion_after
from graphreg.nonrigid.working_cloud import WorkingCloud


@dataclass(frozen=True)
class Stage:
    """Steps at a fixed softening; lengths in extents of the source, all chosen.

    Attributes
    ----------
    window : float
        Distance within which correspondences are looked for at the beginning; 0 for none.
    softening : float
        Of the forces over correspondences.
    scale : float
        Of the distances to surfaces; 0 for none.
    stiffness : float
        Of the elastic energy.
    """

    window: float
    softening: float
    scale: float
    stiffness: float


@dataclass(frozen=True)
class Level:
    """Stages on one deformation graph; all chosen.

    Attributes
    ----------
    nodes, particles, targets : int
        Number of nodes and of source and target points, about.
    steps : int
        Steps of a stage, at most.
    stages : tuple of Stage
    """

    nodes: int
    particles: int
    targets: int
    steps: int
    stages: tuple[Stage, ...]


COARSE = Level(
    150,
    1000,
    2000,
    4,
    (
        Stage(0.2, 0.3, 0.1, 10.0),
        Stage(0.2, 0.2, 0.08, 10.0),
        Stage(0.15, 0.1, 0.06, 8.0),
        Stage(0.15, 0.07, 0.05, 6.0),
        Stage(0.15, 0.05, 0.04, 6.0),
    ),
)
FINE = Level(400, 2500, 5000, 6, (Stage(0.1, 0.04, 0.03, 8.0), Stage(0.0, 0.0, 0.02, 8.0), Stage(0.0, 0.0, 0.015, 6.0)))
LOOSE = (Stage(0.3, 0.3, 0.0, 0.3), Stage(0.2, 0.2, 0.0, 0.3), Stage(0.15, 0.1, 0.0, 1.0))
"""Stages on the coarse graph that a second run begins with (chosen): drawn by correspondences alone, a part that has
turned does not stick to surfaces that it happens to be near to."""
PREFERENCE = 1.03
"""Factor of the energy of runs from other rigid transforms than the engine's best, where runs are compared (chosen)."""
NEARER_DRIFT = 0.05
"""Standard deviation that coherent point drift begins with on the fine graph, in units of the spread (chosen)."""
FOLLOWING = 2
"""The first coarse stage where a motion is known already: it begins near its end (chosen)."""
AFTER_SYMMETRY = 3
"""The first coarse stage after a symmetry of the body: there, too, the motion begins near its end (chosen)."""


@dataclass(frozen=True)
class StepParameters:
    """Constants of a step; all chosen.

    Attributes
    ----------
    damping : float
        In units of the energy for a displacement by an extent.
    shorter : float
        Factor of a step that would raise the energy.
    attempts : int
        Lengths of a step that are tried.
    tolerance : float
        A stage ends where a step lowers the energy by less than this share.
    """

    damping: float = 1e-3
    shorter: float = 0.4
    attempts: int = 6
    tolerance: float = 1e-4


STEPS = StepParameters()


@dataclass(frozen=True, eq=False)
class ElasticOutcome:
    """The motion of the finest graph, and how it came about.

    Attributes
    ----------
    graph : DeformationGraph
    motion : Motion
    history : tuple of Relaxation
    margin : float
        By what share the energy is higher from where a symmetry of the body takes it; infinite where it has none.
    """

    graph: DeformationGraph
    motion: Motion
    history: tuple[Relaxation, ...]
    margin: float


def deform_elastic(
    source: WorkingCloud,
    target: WorkingCloud,
    correspondences: Correspondences,
    starts: tuple[Floats, ...],
    before: Callable[[DeformationGraph], Motion] | None = None,
    stiffness: float = 1.0,
    threads: int = 1,
) -> ElasticOutcome:
    """Deform the source onto the target.

    Parameters
    ----------
    source, target : WorkingCloud
        Lengths in extents of the source.
    correspondences : Correspondences
        Of the clouds in any pose; those that are found as the source approaches the target are added.
    starts : tuple of (4, 4) ndarray
        Rigid transforms to begin with; the one that ends with the lowest energy of surfaces and strain on the coarse
        graph is taken.
    before : callable, optional
        The motion of a graph to begin with instead.
    stiffness : float, default 1
        Factor of the stiffness of all stages.
    threads : int, default 1

    Returns
    -------
    ElasticOutcome
    """
    coarse = _Relaxer(source, target, correspondences, COARSE, stiffness, threads)
    if before is not None:
        runs = [_Run(before(coarse.graph))]
    else:
        best, *others = (_Run(moved_rigidly(coarse.graph, T)) for T in starts)
        drifted = coarse.drifted(best, DRIFT.start)
        runs = [best, coarse.relaxed(best, LOOSE), drifted, *(replace(run, handicap=PREFERENCE) for run in others)]
    found = [coarse.best_of(runs, 0 if before is None else FOLLOWING)]
    # A motion that is known from the frame before tells the sides of the body.
    for symmetry in approximate_symmetries(source.points, threads) if before is None else ():
        run = _Run(after_symmetry(coarse.graph, found[0][0], symmetry))
        found.append(coarse.best_of([run], AFTER_SYMMETRY))
    fine = _Relaxer(source, target, correspondences, FINE, stiffness, threads)
    finished = []
    for motion, first in found:
        run = _Run(refined(coarse.graph, motion, fine.graph, threads))
        motion, second = fine.best_of([run, fine.drifted(run, NEARER_DRIFT)])
        finished.append((fine.last_energy(motion), motion, (*first, *second)))
    finished.sort(key=lambda each: each[0])
    energy, motion, history = finished[0]
    margin = finished[1][0] / max(energy, np.finfo(float).tiny) - 1 if len(finished) > 1 else np.inf
    return ElasticOutcome(fine.graph, fine.rigid_if_as_good(motion, starts), history, margin)


@dataclass(frozen=True, eq=False)
class _Run:
    """A motion, how it came about, and the factor of its energy where runs are compared."""

    motion: Motion
    history: tuple[Relaxation, ...] = ()
    handicap: float = 1.0


class _Relaxer:
    """The stages of one level."""

    def __init__(
        self,
        source: WorkingCloud,
        target: WorkingCloud,
        correspondences: Correspondences,
        level: Level,
        stiffness: float,
        threads: int,
    ) -> None:
        self.level, self.stiffness, self.threads = level, stiffness, threads
        self.particles, self.target = source.sample(level.particles), target.sample(level.targets)
        self.whole_target, self.described = target, describe(source, CORRESPONDENCES.radii, threads)
        self.correspondences = correspondences
        spacing = node_spacing(source.points, level.nodes, threads)
        self.graph = build_graph(self.particles.points, self.particles.normals, spacing, threads)
        self.solver = StepSolver(self.graph)
        self.tree = _core.Tree(self.target.points, threads)
        self.particle_tree = _core.Tree(self.particles.points, threads)
        self.described_embedding = embedding(self.graph, self.described.points, threads)

    def best_of(self, runs: list[_Run], first: int = 0) -> tuple[Motion, tuple[Relaxation, ...]]:
        """Relax runs in all stages from the first on; after each the better half of them is left, at last the best."""
        for stage in self.level.stages[first:]:
            runs = [self.relaxed(run, (stage,)) for run in runs]
            if len(runs) > 1:
                runs.sort(key=lambda run: run.handicap * self._surface_energy(stage, run.motion))
                runs = runs[: 1 if stage is self.level.stages[-1] else -(-len(runs) // 2)]
        return runs[0].motion, runs[0].history

    def relaxed(self, run: _Run, stages: tuple[Stage, ...]) -> _Run:
        """Relax a run in some stages."""
        for stage in stages:
            attraction, stiffness = self._attraction(stage, run.motion), self.stiffness * stage.stiffness
            if attraction is not None:
                motion, energies = relax(
                    self.solver, run.motion, self.particles.normals, attraction, stiffness, self.level.steps
                )
                done = Relaxation(len(self.graph.nodes), stage.scale, energies)
                run = replace(run, motion=motion, history=(*run.history, done))
        return run

    def drifted(self, run: _Run, width: float) -> _Run:
        """Move a run on by coherent point drift, which begins with Gaussians of a width."""
        moved = replace(self.particles, points=carried(self.graph, run.motion))
        drift = deform_by_drift(moved, self.target, np.eye(4), self.stiffness, self.threads, width)
        frame = Frame(np.zeros(3), np.zeros(3), 1.0)
        warp = GaussianWarp(frame, np.eye(4), drift.centres, drift.coefficients, drift.width)
        return replace(run, motion=motion_after(warp, run.motion, self.graph.spacing))

    def last_energy(self, motion: Motion) -> float:
        """The energy of surfaces and strain in the last stage."""
        return self._surface_energy(self.level.stages[-1], motion)

    def rigid_if_as_good(self, motion: Motion, starts: tuple[Floats, ...]) -> Motion:
        """The motion, or that of a rigid transform whose energy in the last stage is not higher."""
        last = self.level.stages[-1]
        attraction = self._surface(last, motion)
        motions = [motion, *(moved_rigidly(self.graph, T) for T in starts)]
        energies = [
            total_energy(self.graph, each, self.particles.normals, attraction, self.stiffness * last.stiffness)
            for each in motions
        ]
        # A rigid motion comes first among equals.
        return motions[int(np.argmin(energies[1:])) + 1] if min(energies[1:], default=np.inf) <= energies[0] else motion

    def _surface_energy(self, stage: Stage, motion: Motion) -> float:
        """The energy of surfaces and strain, without correspondences: these differ between motions."""
        surface, stiffness = self._surface(stage, motion), self.stiffness * stage.stiffness
        return total_energy(self.graph, motion, self.particles.normals, surface, stiffness)

    def _surface(self, stage: Stage, motion: Motion) -> SurfaceAttraction:
        facing = self._facing(self.target, stage, motion)
        return SurfaceAttraction(facing, self.tree, stage.scale, self.threads)

    def _facing(self, target: WorkingCloud, stage: Stage, motion: Motion) -> WorkingCloud:
        positions = carried(self.graph, motion)
        normals = rotated_normals(self.graph, motion, self.particles.normals)
        reach = (stage.scale or stage.softening) / 2
        return target.facing_surface(positions, normals, reach, self.threads)

    def _attraction(self, stage: Stage, motion: Motion) -> Attraction | None:
        parts: list[Attraction] = [self._surface(stage, motion)] if stage.scale else []
        found = self._correspondences(stage, motion)
        if len(found):
            matched = self.particle_tree.nearest(found.source, 1, self.threads)[0][:, 0].astype(np.intp)
            parts.append(CoulombAttraction(matched, found.target, found.charges, stage.softening))
        return SumOfAttractions(tuple(parts)) if parts else None

    def _correspondences(self, stage: Stage, motion: Motion) -> Correspondences:
        """Those of any pose, and those near each other at present; none where the stage has no window."""
        if not stage.window:
            return NO_CORRESPONDENCES
        moved = carried_points(self.graph, motion, self.described.points, *self.described_embedding)
        target = describe(self._facing(self.whole_target, stage, motion), CORRESPONDENCES.radii, self.threads)
        near = correspondences_within(self.described, moved, target, stage.window, self.threads)
        return joined(self.correspondences, near)


def rotated_normals(graph: DeformationGraph, motion: Motion, normals: Floats) -> Floats:
    """Normals of the particles, rotated with the node that carries most of each."""
    return np.asarray(np.einsum("nij,nj->ni", motion.rotations[graph.carriers[:, 0]], normals))


def total_energy(
    graph: DeformationGraph, motion: Motion, normals: Floats, attraction: Attraction, stiffness: float
) -> float:
    """Return the attraction's energy plus the stiffness times the elastic energy."""
    attracted = attraction.energy(carried(graph, motion), rotated_normals(graph, motion, normals))
    return attracted + stiffness * elastic_energy(graph, motion)


def relax(
    solver: StepSolver, motion: Motion, normals: Floats, attraction: Attraction, stiffness: float, steps: int
) -> tuple[Motion, tuple[float, ...]]:
    """Lower the total energy by damped implicit steps; each goes downhill, so that a short enough one lowers it.

    Parameters
    ----------
    solver : StepSolver
    motion : Motion
        To begin with.
    normals : (N, 3) ndarray
        Of the particles at rest.
    attraction : Attraction
    stiffness : float
    steps : int
        At most.

    Returns
    -------
    motion : Motion
    energies : tuple of float
        Before the first step, and after each: a step that would raise the energy is shortened, or not taken.
    """
    graph = solver.graph
    energies = [total_energy(graph, motion, normals, attraction, stiffness)]
    for _ in range(steps):
        positions = carried(graph, motion)
        bound = attraction.bound(positions, rotated_normals(graph, motion, normals))
        equations = solver.equations(motion, positions, bound, stiffness)
        change = solver.step(*equations, STEPS.damping)
        for _ in range(STEPS.attempts):
            trial = moved_by(motion, change)
            energy = total_energy(graph, trial, normals, attraction, stiffness)
            if energy < energies[-1]:
                break
            change = change * STEPS.shorter
        else:
            break
        motion = trial
        energies.append(energy)
        if energies[-2] - energy <= STEPS.tolerance * abs(energy):
            break
    return motion, tuple(energies)

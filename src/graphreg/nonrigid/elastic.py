"""The elastic method: the source deforms as a body on its graph, drawn by forces between the clouds.

The energy at a fixed softening is the attraction (`attraction`) plus a stiffness times the elastic energy
(`elastic_energy`). It is lowered step by step, from coarse to fine: on few nodes by the paper's forces over
correspondences and by wide surfaces, on more nodes by surfaces alone, as the softening falls to the point spacing.
Points without a counterpart are carried along by the elastic energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats
from graphreg.nonrigid.attraction import Attraction, CoulombAttraction, SumOfAttractions, SurfaceAttraction
from graphreg.nonrigid.deformation_graph import (
    DeformationGraph,
    Motion,
    build_graph,
    carried,
    moved_rigidly,
    node_spacing,
    refined,
)
from graphreg.nonrigid.elastic_energy import StepSolver, elastic_energy
from graphreg.nonrigid.local_correspondences import Correspondences
from graphreg.nonrigid.working_cloud import Indices, WorkingCloud


@dataclass(frozen=True)
class Stage:
    """Steps at a fixed softening; lengths in extents of the source, all chosen.

    Attributes
    ----------
    softening : float
        Of the forces over correspondences; 0 for none.
    scale : float
        Of the distances to surfaces.
    stiffness : float
        Of the elastic energy.
    """

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
        Stage(0.3, 0.1, 10.0),
        Stage(0.2, 0.08, 10.0),
        Stage(0.1, 0.06, 8.0),
        Stage(0.07, 0.05, 6.0),
        Stage(0.05, 0.04, 6.0),
    ),
)
FINE = Level(400, 2500, 5000, 6, (Stage(0.04, 0.03, 8.0), Stage(0.0, 0.02, 8.0), Stage(0.0, 0.015, 6.0)))
FOLLOWING = 2
"""The first coarse stage where a motion is known already: it begins near its end (chosen)."""


@dataclass(frozen=True)
class StepParameters:
    """Constants of a step; all chosen.

    Attributes
    ----------
    damping : float
        At the beginning of a stage, in units of the energy for a displacement by an extent.
    increase, decrease : float
        Factor of the damping after a step that would raise the energy, and divisor after one that lowers it.
    attempts : int
        Dampings that are tried.
    tolerance : float
        A stage ends where a step lowers the energy by less than this share.
    """

    damping: float = 1e-3
    increase: float = 10.0
    decrease: float = 5.0
    attempts: int = 6
    tolerance: float = 1e-4


STEPS = StepParameters()


@dataclass(frozen=True)
class Relaxation:
    """What a stage did.

    Attributes
    ----------
    nodes : int
        Number of nodes.
    scale : float
        Scale of the distances to surfaces, in the unit of the data.
    energies : tuple of float
        Before the first step and after each; never rising.
    """

    nodes: int
    scale: float
    energies: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ElasticOutcome:
    """The motion of the finest graph, and how it came about."""

    graph: DeformationGraph
    motion: Motion
    history: tuple[Relaxation, ...]


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
    starts : tuple of (4, 4) ndarray
        Rigid transforms to begin with; the one that ends with the lowest energy on the coarse graph is taken.
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
        begun = [(before(coarse.graph), FOLLOWING)]
    else:
        begun = [(moved_rigidly(coarse.graph, T), 0) for T in starts]
    runs = [coarse.run(motion, first) for motion, first in begun]
    best = min(runs, key=lambda run: run[1][-1].energies[-1])
    fine = _Relaxer(source, target, correspondences, FINE, stiffness, threads)
    motion, history = fine.run(refined(coarse.graph, best[0], fine.graph, threads))
    motion = fine.rigid_if_as_good(motion, starts)
    return ElasticOutcome(fine.graph, motion, (*best[1], *history))


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
        self.correspondences = correspondences
        spacing = node_spacing(source.points, level.nodes, threads)
        self.graph = build_graph(self.particles.points, self.particles.normals, spacing, threads)
        self.tree = _core.Tree(self.target.points, threads)
        self.matched: Indices = np.zeros(0, np.intp)
        if len(correspondences):
            tree = _core.Tree(self.particles.points, threads)
            self.matched = tree.nearest(correspondences.source, 1, threads)[0][:, 0].astype(np.intp)

    def run(self, motion: Motion, first: int = 0) -> tuple[Motion, tuple[Relaxation, ...]]:
        """Relax a motion in all stages from the first on."""
        solver, history = StepSolver(self.graph), []
        for stage in self.level.stages[first:]:
            attraction = self._attraction(stage, motion)
            stiffness = self.stiffness * stage.stiffness
            motion, energies = relax(solver, motion, self.particles.normals, attraction, stiffness, self.level.steps)
            history.append(Relaxation(len(self.graph.nodes), stage.scale, energies))
        return motion, tuple(history)

    def rigid_if_as_good(self, motion: Motion, starts: tuple[Floats, ...]) -> Motion:
        """The motion, or that of a rigid transform whose energy in the last stage is not higher."""
        last = self.level.stages[-1]
        attraction = self._attraction(last, motion)
        motions = [motion, *(moved_rigidly(self.graph, T) for T in starts)]
        energies = [
            total_energy(self.graph, each, self.particles.normals, attraction, self.stiffness * last.stiffness)
            for each in motions
        ]
        # A rigid motion comes first among equals.
        return motions[int(np.argmin(energies[1:])) + 1] if min(energies[1:], default=np.inf) <= energies[0] else motion

    def _attraction(self, stage: Stage, motion: Motion) -> Attraction:
        positions = carried(self.graph, motion)
        normals = rotated_normals(self.graph, motion, self.particles.normals)
        facing = self.target.facing_surface(positions, normals, stage.scale / 2, self.threads)
        surface = SurfaceAttraction(facing, self.tree, stage.scale, self.threads)
        if not stage.softening or not len(self.matched):
            return surface
        found = self.correspondences
        return SumOfAttractions(
            (CoulombAttraction(self.matched, found.target, found.charges, stage.softening), surface)
        )


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
    """Lower the total energy by damped implicit steps.

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
        Before the first step, and after each: a step that would raise the energy is damped more, or not taken.
    """
    graph, damping = solver.graph, STEPS.damping
    energies = [total_energy(graph, motion, normals, attraction, stiffness)]
    for _ in range(steps):
        positions = carried(graph, motion)
        bound = attraction.bound(positions, rotated_normals(graph, motion, normals))
        equations = solver.equations(motion, positions, bound, stiffness)
        for _ in range(STEPS.attempts):
            trial = solver.step(*equations, damping, motion)
            energy = total_energy(graph, trial, normals, attraction, stiffness)
            if energy < energies[-1]:
                break
            damping *= STEPS.increase
        else:
            break
        motion = trial
        energies.append(energy)
        damping /= STEPS.decrease
        if energies[-2] - energy <= STEPS.tolerance * abs(energy):
            break
    return motion, tuple(energies)

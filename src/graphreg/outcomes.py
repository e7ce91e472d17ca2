"""What every method tells while it runs, and hands over when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphreg.clouds import Floats
from graphreg.signatures import Matches
from graphreg.views import View


@dataclass(frozen=True)
class Iteration:
    """Where the registration stood after a step: what a callback gets, and the history holds.

    number          of the step, from 1
    transformation  (4, 4), in the caller's frame
    energy          what the method minimises, in its own unit
    temperature, accept_rate, rejected  of annealing, where the method has it
    """

    number: int
    transformation: Floats
    energy: float
    temperature: float | None = None
    accept_rate: float | None = None
    rejected: bool = False


Callback = Callable[[Iteration], bool | None]
"""Called after each step; returning True stops there."""


@dataclass(frozen=True)
class Outcome:
    """The motion found, how it came about, and what it was found on.

    voxel           side of the cells that the clouds were thinned out to
    source, target  these points
    views, matches  where the method has them: both clouds as pieces of surface, and which of these look alike
    hypotheses      how many poses were tried
    runner_up       the best pose that differs
    scores          of the best pose and of the runner-up
    free            what the motion may do: turn about x, y, z, shift along x, y, z
    rivalry         where only one pose was looked at: how close a runner-up is taken to be, 0 to 1
    """

    transformation: Floats
    history: tuple[Iteration, ...]
    timings: dict[str, float]
    voxel: float
    source: Floats
    target: Floats
    views: tuple[View, View] | None = None
    matches: Matches | None = None
    hypotheses: int = 1
    runner_up: Floats | None = None
    scores: tuple[float, ...] = ()
    rivalry: float = 0.5
    free: tuple[bool, ...] = (True,) * 6

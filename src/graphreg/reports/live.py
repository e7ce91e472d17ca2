"""A registration that is watched while it runs: started, paused, taken step by step, stopped, from a pose set by hand.

Nothing here knows how it is shown; `viewer` shows it in a browser.
"""

from __future__ import annotations

import itertools
import math
import threading
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import InputError
from graphreg.files import formats, write
from graphreg.files.output_file import atomic_write
from graphreg.method_interface import Iteration
from graphreg.paper.published import PaperSettings
from graphreg.poses import as_pose, transform
from graphreg.registration import METHODS, run_method
from graphreg.result import Result

# Faster, and nobody could follow: many registrations take less than a second.
USUAL_PACE = 20.0


class State(Enum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True)
class Choice:
    """What to run.

    method, seed  as `register` takes them
    beta          the cool-down rate, of methods that have one; None: the method's own
    from_here     start where the source stands; else where the method starts by itself
    """

    method: str = "graphreg"
    seed: int = 0
    beta: float | None = None
    from_here: bool = False


@dataclass(frozen=True, eq=False)
class Moment:
    """What there is to show.

    pose      (4, 4): where the source stands, x_target = T x_source
    by_hand   whether somebody put it there
    began     where it stood when the last run began
    steps     those that this run has taken
    stopping  whether it was told to stop before its end
    result    once it is done; of a run that was stopped, for where it stood then
    problem   why there is no result, in a sentence
    """

    state: State
    pose: Floats
    by_hand: bool
    began: Floats
    steps: tuple[Iteration, ...] = ()
    stopping: bool = False
    result: Result | None = None
    problem: str | None = None


class Live:
    """Runs `register` in a thread of its own, at the pace of those who watch. Safe to call from any thread."""

    def __init__(self, source: Any, target: Any, threads: int | None = None) -> None:
        self._clouds = as_cloud(source, "source"), as_cloud(target, "target")
        self._threads = threads
        self._changed = threading.Condition()
        self._moment = Moment(State.IDLE, np.eye(4), False, np.eye(4))
        self._allowed = 0.0
        self._pace = USUAL_PACE
        self._closed = False
        self._worker: threading.Thread | None = None

    @property
    def moment(self) -> Moment:
        with self._changed:
            return self._moment

    def wait_past(self, seen: Moment, timeout: float) -> Moment:
        """What there is to show, as soon as it is not this any more, or when so many seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._moment is not seen, timeout)
            return self._moment

    def pace(self, steps_a_second: float) -> None:
        """At most so many steps a second; from the next step on."""
        if not steps_a_second > 0:
            raise InputError(f"steps_a_second: expected a positive number, got {steps_a_second!r}")
        with self._changed:
            self._pace = steps_a_second

    def place(self, pose: Any) -> None:
        """Put the source there by hand. While a registration is under way it is not ours to move."""
        placed = as_pose(pose, "pose")
        with self._changed:
            if self._moment.state in (State.IDLE, State.DONE):
                self._show(Moment(State.IDLE, placed, True, self._moment.began))

    def start(self, choice: Choice | None = None) -> None:
        """Run, or go on where it was paused; what was chosen before a pause stays."""
        self._go(math.inf, choice)

    def step(self, choice: Choice | None = None) -> None:
        """Take one step more, then pause."""
        with self._changed:
            running_freely = self._moment.state is State.RUNNING and math.isinf(self._allowed)
            self._go(1 if running_freely else self._allowed + 1, choice)

    def pause(self) -> None:
        """Wait after the step that is being taken."""
        with self._changed:
            if self._moment.state is State.RUNNING and not self._ending():
                self._allowed = 0
                self._show(replace(self._moment, state=State.PAUSED))

    def stop(self) -> None:
        """End after the step that is being taken, with a verdict on where the source then stands."""
        with self._changed:
            if self._moment.state in (State.RUNNING, State.PAUSED):
                self._show(replace(self._moment, state=State.RUNNING, stopping=True))

    def close(self) -> None:
        """Stop for good, and wait until the thread has ended."""
        with self._changed:
            self._closed = True
            self.stop()
            worker = self._worker
        if worker is not None:
            worker.join()

    def _go(self, allowed: float, choice: Choice | None) -> None:
        with self._changed:
            if self._closed or self._ending():
                return
            self._allowed = allowed
            if self._moment.state in (State.RUNNING, State.PAUSED):
                self._show(replace(self._moment, state=State.RUNNING))
                return
            here = self._moment.pose
            self._show(Moment(State.RUNNING, here, False, here))
            chosen = choice or Choice()
            self._worker = threading.Thread(
                target=self._run, args=(chosen, here if chosen.from_here else None), name="registration", daemon=True
            )
            self._worker.start()

    def _run(self, choice: Choice, init: Floats | None) -> None:
        settings = {} if choice.beta is None else {"beta": choice.beta}
        found: Result | None = None
        problem: str | None = None
        try:
            found = run_method(
                *self._clouds,
                choice.method,
                settings,
                init=init,
                seed=choice.seed,
                threads=self._threads,
                callback=self._reached,
            )
        except InputError as refused:
            problem = str(refused)
        except Exception as unforeseen:  # in a thread nobody else would be told
            problem = f"{type(unforeseen).__name__}: {unforeseen}"
        with self._changed:
            pose = self._moment.pose if found is None else found.transformation
            self._allowed = 0
            self._show(replace(self._moment, state=State.DONE, pose=pose, result=found, problem=problem))

    def _reached(self, now: Iteration) -> bool:
        """The callback: show the step, and answer, as soon as there is an answer, whether it is enough."""
        with self._changed:
            self._allowed = max(self._allowed - 1, 0)
            state = State.RUNNING if self._allowed or self._moment.stopping else State.PAUSED
            steps = (*self._moment.steps, now)
            self._show(replace(self._moment, state=state, pose=now.transformation, steps=steps))
            self._changed.wait_for(lambda: self._moment.stopping, 1 / self._pace)
            self._changed.wait_for(lambda: self._moment.stopping or self._allowed > 0)
            return self._moment.stopping

    def _ending(self) -> bool:
        return self._moment.state is State.RUNNING and self._moment.stopping

    def _show(self, moment: Moment) -> None:
        self._moment = moment
        self._changed.notify_all()


def cool_down_rate(method: str) -> float | None:
    """The method's own beta, or None where it does not cool down."""
    settings = METHODS[method].settings
    return settings.beta if isinstance(settings, PaperSettings) else None


def save(result: Result, source: Cloud, matrix: Path, moved: Path) -> None:
    """Write the 4x4 matrix as text, and the source, moved, with all that its file said of each point."""
    with atomic_write(matrix) as output:
        np.savetxt(output.file, result.transformation, fmt="%.17g")
    write(moved, replace(source, points=transform(result.transformation, source.points)))


def free_names(source: Path, folder: Path) -> tuple[Path, Path]:
    """Names for the matrix and the moved source in a folder, after the source's file, that nothing there has yet."""
    suffix = source.suffix.lower()
    ending = suffix if suffix in formats() and formats()[suffix].writes else ".ply"
    for number in itertools.count(1):
        stem = source.stem if number == 1 else f"{source.stem}-{number}"
        names = folder / f"{stem}_T.txt", folder / f"{stem}_moved{ending}"
        if not any(name.exists() for name in names):
            break
    return names

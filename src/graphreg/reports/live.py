"""A registration under interactive control: started, paused, stepped, stopped, and started from a manual pose.

This module does not know how the registration is displayed; `viewer` displays it in a browser.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.argument_checks import check_positive
from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import InputError
from graphreg.files import formats, write
from graphreg.files.output_file import atomic_write
from graphreg.method_interface import Iteration
from graphreg.paper.published import PaperSettings
from graphreg.poses import as_pose, transform
from graphreg.registration import METHODS, run_method
from graphreg.result import Result
from graphreg.threads import thread_count

# Iterations a second: most registrations take less than a second and would be over before anyone could follow.
DEFAULT_RATE = 20.0


class State(Enum):
    """State of a `LiveRegistration`."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True)
class RunSettings:
    """Settings of a run.

    Attributes
    ----------
    method : str, default "graphreg"
    seed : int, default 0
        As for `register`.
    beta : float, optional
        Cool-down rate of a method with simulated annealing, by default the method's own.
    from_current_pose : bool, default False
        Use the current pose of the source as `init`, not the method's own initialisation.
    """

    method: str = "graphreg"
    seed: int = 0
    beta: float | None = None
    from_current_pose: bool = False


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What there is to display at one time.

    Attributes
    ----------
    state : State
    pose : (4, 4) ndarray
        Current pose of the source, x_target = T x_source.
    manual : bool
        Whether the pose was set by `LiveRegistration.set_pose`.
    start_pose : (4, 4) ndarray
        The pose when the last run was started.
    iterations : tuple of Iteration
        Of this run.
    stopping : bool
        Whether the run was stopped before its end.
    result : Result or None
        Of the finished run; of a run that was stopped, for its last pose.
    problem : str or None
        Why there is no result, in a sentence.
    """

    state: State
    pose: Floats
    manual: bool
    start_pose: Floats
    iterations: tuple[Iteration, ...] = ()
    stopping: bool = False
    result: Result | None = None
    problem: str | None = None


class LiveRegistration:
    """Runs `register` in a thread of its own, at a limited rate. All methods are thread-safe.

    Parameters
    ----------
    source, target : array_like or Cloud
        (N, 3) and (M, 3) points.
    threads : int, optional
        Number of threads, by default all.
    """

    def __init__(self, source: Any, target: Any, threads: int | None = None) -> None:
        self._clouds = as_cloud(source, "source"), as_cloud(target, "target")
        self._threads = thread_count(threads)
        self._changed = threading.Condition()
        self._snapshot = Snapshot(State.IDLE, np.eye(4), False, np.eye(4))
        self._allowed = 0.0
        self._rate = DEFAULT_RATE
        self._closed = False
        self._worker: threading.Thread | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The current state."""
        with self._changed:
            return self._snapshot

    def wait_for_change(self, last: Snapshot, timeout: float) -> Snapshot:
        """Return the current snapshot as soon as it is not `last`, or after `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._snapshot is not last, timeout)
            return self._snapshot

    def set_rate(self, rate: float) -> None:
        """Limit the iterations a second, from the next iteration on."""
        check_positive("rate", rate)
        with self._changed:
            self._rate = rate

    def set_pose(self, pose: Any) -> None:
        """Set the pose of the source; ignored while a registration is running or paused."""
        checked = as_pose(pose, "pose")
        with self._changed:
            if self._snapshot.state in (State.IDLE, State.DONE):
                self._publish(Snapshot(State.IDLE, checked, True, self._snapshot.start_pose))

    def start(self, settings: RunSettings | None = None) -> None:
        """Start a run, or continue a paused one with the settings that it was started with."""
        self._advance(math.inf, settings)

    def step(self, settings: RunSettings | None = None) -> None:
        """Run one more iteration, then pause."""
        with self._changed:
            unlimited = self._snapshot.state is State.RUNNING and math.isinf(self._allowed)
            self._advance(1 if unlimited else self._allowed + 1, settings)

    def pause(self) -> None:
        """Pause after the current iteration."""
        with self._changed:
            if self._snapshot.state is State.RUNNING and not self._is_ending():
                self._allowed = 0
                self._publish(replace(self._snapshot, state=State.PAUSED))

    def stop(self) -> None:
        """End the run after the current iteration, with a verdict on its pose."""
        with self._changed:
            if self._snapshot.state in (State.RUNNING, State.PAUSED):
                self._publish(replace(self._snapshot, state=State.RUNNING, stopping=True))

    def close(self) -> None:
        """Stop for good, and wait for the thread to end."""
        with self._changed:
            self._closed = True
            self.stop()
            worker = self._worker
        if worker is not None:
            worker.join()

    def _advance(self, allowed: float, settings: RunSettings | None) -> None:
        """Allow this many iterations; start a run where there is none."""
        with self._changed:
            if self._closed or self._is_ending():
                return
            self._allowed = allowed
            if self._snapshot.state in (State.RUNNING, State.PAUSED):
                self._publish(replace(self._snapshot, state=State.RUNNING))
                return
            pose = self._snapshot.pose
            self._publish(Snapshot(State.RUNNING, pose, False, pose))
            chosen = settings or RunSettings()
            init = pose if chosen.from_current_pose else None
            self._worker = threading.Thread(target=self._run, args=(chosen, init), name="registration", daemon=True)
            self._worker.start()

    def _run(self, settings: RunSettings, init: Floats | None) -> None:
        method_settings = {} if settings.beta is None else {"beta": settings.beta}
        result: Result | None = None
        problem: str | None = None
        try:
            result = run_method(
                *self._clouds,
                settings.method,
                method_settings,
                init=init,
                seed=settings.seed,
                threads=self._threads,
                callback=self._on_iteration,
            )
        except InputError as refused:
            problem = str(refused)
        except Exception as unexpected:  # nobody else would see an exception of this thread
            problem = f"{type(unexpected).__name__}: {unexpected}"
        with self._changed:
            pose = self._snapshot.pose if result is None else result.transformation
            self._allowed = 0
            self._publish(replace(self._snapshot, state=State.DONE, pose=pose, result=result, problem=problem))

    def _on_iteration(self, now: Iteration) -> bool:
        """The callback: publish the iteration, wait for permission to continue, and return whether to stop."""
        with self._changed:
            self._allowed = max(self._allowed - 1, 0)
            state = State.RUNNING if self._allowed or self._snapshot.stopping else State.PAUSED
            iterations = (*self._snapshot.iterations, now)
            self._publish(replace(self._snapshot, state=state, pose=now.transformation, iterations=iterations))
            self._changed.wait_for(lambda: self._snapshot.stopping, 1 / self._rate)
            self._changed.wait_for(lambda: self._snapshot.stopping or self._allowed > 0)
            return self._snapshot.stopping

    def _is_ending(self) -> bool:
        return self._snapshot.state is State.RUNNING and self._snapshot.stopping

    def _publish(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._changed.notify_all()


def default_beta(method: str) -> float | None:
    """Return the cool-down rate of a method's simulated annealing, or None where it has none."""
    settings = METHODS[method].settings
    return settings.beta if isinstance(settings, PaperSettings) else None


def save_result(result: Result, source: Cloud, matrix_path: Path, cloud_path: Path) -> None:
    """Write the 4x4 matrix as text, and the transformed source with all its attributes."""
    with atomic_write(matrix_path) as output:
        np.savetxt(output.file, result.transformation, fmt="%.17g")
    write(cloud_path, replace(source, points=transform(result.transformation, source.points)))


def unused_paths(source: Path, folder: Path) -> tuple[Path, Path]:
    """Return paths for the matrix and the transformed source, named after the source, that do not exist yet."""
    suffix = source.suffix.lower()
    ending = suffix if suffix in formats() and formats()[suffix].writes else ".ply"
    for number in itertools.count(1):
        stem = source.stem if number == 1 else f"{source.stem}-{number}"
        paths = folder / f"{stem}_T.txt", folder / f"{stem}_moved{ending}"
        # A link that leads nowhere yet would have the file written elsewhere.
        if not any(os.path.lexists(path) for path in paths):
            break
    return paths

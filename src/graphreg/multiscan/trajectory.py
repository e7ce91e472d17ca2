"""The result of LiDAR odometry: the pose of each frame, with its verdict."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphreg.clouds import Floats
from graphreg.feedback.notebooks import notebook_html
from graphreg.feedback.summaries import labelled
from graphreg.poses import inverse


@dataclass(frozen=True, eq=False)
class FrameResult:
    """Result of one frame.

    Attributes
    ----------
    pose : (4, 4) ndarray
        x_first = P x_frame, or x_map = P x_frame in a prior map. Without success, the constant-velocity prediction.
    success, confidence, reason : bool, float, str
        The verdict, as in `Result`.
    overlap : float
        Share of the frame that overlaps the target.
    target : str
        What the frame was registered to: "map" (the local map, or the prior one) or "previous frame"; "" for the first
        frame of odometry, and for a frame that could not be used.
    global_search : bool
        Whether it was registered from any pose, without a prediction.
    keyframe : bool
        Whether it was added to the local map.
    degenerate : bool
        Whether the surfaces leave a direction of the pose unconstrained, as in a corridor: then `success` is False.
    voxel : float
        Fine voxel size that was used; NaN for a frame that could not be used.
    number : int
        Of the frame in the input: with every=2 they are 0, 2, 4, ...
    name : str
        Of its file, or its number.
    points : int
        Number of points of the frame.
    seconds : float
        Run time without reading the file.
    stamp : float
        When the frame was recorded, in seconds; NaN where that is not known. Frames of a bag have it.
    """

    pose: Floats
    success: bool
    confidence: float
    reason: str
    overlap: float = 0.0
    target: str = ""
    global_search: bool = False
    keyframe: bool = False
    degenerate: bool = False
    voxel: float = float("nan")
    number: int = 0
    name: str = ""
    points: int = 0
    seconds: float = 0.0
    stamp: float = float("nan")


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop: two frames of the same place, of which the later one was registered to the earlier one.

    Attributes
    ----------
    source, target : int
        Numbers of the later and of the earlier frame.
    transformation : (4, 4) ndarray
        x_target = T x_source.
    confidence, overlap : float
        The verdict, as in `Result`.
    """

    source: int
    target: int
    transformation: Floats
    confidence: float
    overlap: float


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Result of `sequence` and `localise`.

    Attributes
    ----------
    steps : tuple of FrameResult
        One for each frame.
    map : (M, 3) ndarray or None
        Points of the global map, in the frame of the first scan; None unless keep_map=True.
    loops : tuple of Loop or None
        Loops that the poses and the map are corrected by; None unless loops=True.
    """

    steps: tuple[FrameResult, ...]
    map: Floats | None = None
    loops: tuple[Loop, ...] | None = None

    def __repr__(self) -> str:
        if not self.steps:
            return "not registered: no frames"
        failed = [step for step in self.steps if not step.success]
        worst = min(self.steps, key=lambda step: step.confidence)
        positions = self.poses[:, :3, 3]
        entries = {
            "length": f"{np.linalg.norm(np.diff(positions, axis=0), axis=1).sum():.6g}",
            "end": f"({', '.join(f'{value:.6g}' for value in positions[-1] + 0.0)})",
            "confidence": f"at least {worst.confidence:.2f}, in frame {worst.name}",
            "keyframes": f"{sum(step.keyframe for step in self.steps):,}",
            "searches": f"{sum(step.global_search for step in self.steps):,} frames by global search",
            "loops": "" if self.loops is None else loops_in_words(self),
            "failed": f"{len(failed):,}; the first is {failed[0].name}, {failed[0].reason}" if failed else "",
            "map": "" if self.map is None else f"{len(self.map):,} points",
            "time": f"{np.median([step.seconds for step in self.steps]):.3f} s a frame, without reading",
        }
        verdict = "not all registered" if failed else "registered"
        return labelled(f"{verdict}: {len(self.steps) - len(failed):,} of {len(self.steps):,} frames", entries)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @property
    def poses(self) -> Floats:
        """(N, 4, 4): x_first = P x_frame, or x_map = P x_frame in a prior map."""
        return np.array([step.pose for step in self.steps]).reshape(-1, 4, 4)

    @property
    def success(self) -> bool:
        """Whether there is at least one frame, and all were registered."""
        return bool(self.steps) and all(step.success for step in self.steps)


def loops_in_words(trajectory: Trajectory) -> str:
    """How many loops there are, and the one that closes most frames."""
    if not trajectory.loops:
        return "none found"
    names = {step.number: step.name for step in trajectory.steps}
    longest = max(trajectory.loops, key=lambda loop: loop.source - loop.target)
    least = min(loop.confidence for loop in trajectory.loops)
    return (
        f"{len(trajectory.loops):,}, the longest from {names[longest.source]} back to {names[longest.target]}; "
        f"confidence at least {least:.2f}"
    )


def relative_transforms(poses: Floats) -> list[Floats]:
    """Relative transforms between consecutive poses.

    Parameters
    ----------
    poses : (N, 4, 4) ndarray
        x_world = P x_frame.

    Returns
    -------
    list of (4, 4) ndarray
        N - 1 of them: x_k = T x_(k+1).
    """
    return [inverse(here) @ there for here, there in pairwise(poses)]

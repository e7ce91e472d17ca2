"""The settings of each method as keyword arguments, so that editors complete them and type checkers refuse others.

A test keeps these in step with the settings themselves, which have the defaults and their meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from graphreg.robust.influence_functions import LossName
from graphreg.robust.losses import Loss


class CommonOptions(TypedDict, total=False):
    """Options of every call of `register`."""

    init: Any
    seed: int
    threads: int | None
    callback: Any
    voxel: float | None


class EngineOptions(CommonOptions, total=False):
    """Options of method "graphreg"."""

    points: int | None
    dof: str | Sequence[str] | None
    weights: Any
    k: int | None
    alpha: float | None
    scale: bool | tuple[float, float] | None
    loss: Loss | LossName | None


class PaperOptions(CommonOptions, total=False):
    """Options of methods "graphreg-paper" and "pipl"."""

    k: int | None
    alpha: float | None
    particles: int
    max_iterations: int
    beta: float
    temperature: float
    accept_rate: float
    softening: float
    masses: bool
    charges: bool
    annealing: Literal["adaptive", "plain"]
    epsilon: float


class BaselineOptions(CommonOptions, total=False):
    """Options of every baseline."""

    features: bool


class IcpOptions(BaselineOptions, total=False):
    """Options of method "icp"."""

    max_iterations: int
    max_distance: float | None
    tolerance: float
    scale: bool | tuple[float, float] | None
    loss: Loss | LossName | None


class IcpKpOptions(BaselineOptions, total=False):
    """Options of method "icp-kp"."""

    max_iterations: int
    worst_rejection: float
    loss: Loss | LossName | None


class IcpKnOptions(BaselineOptions, total=False):
    """Options of method "icp-kn"."""

    max_iterations: int
    normal_neighbours: int
    worst_rejection: float
    loss: Loss | LossName | None


class TricpOptions(BaselineOptions, total=False):
    """Options of method "tricp"."""

    overlap: float | None
    smallest_overlap: float
    preference: float
    max_iterations: int
    tolerance: float
    loss: Loss | LossName | None


class FricpOptions(BaselineOptions, total=False):
    """Options of method "fricp"."""

    first_scale: float
    last_scale: float
    decay: float
    memory: int
    max_iterations: int
    tolerance: float
    loss: Loss | LossName | None


class GmmOptions(BaselineOptions, total=False):
    """Options of method "gmm"."""

    scales: tuple[float, ...]
    max_iterations: int


class CpdOptions(BaselineOptions, total=False):
    """Options of method "cpd"."""

    outliers: float
    max_iterations: int
    tolerance: float
    scale: bool | tuple[float, float] | None


class EcmOptions(BaselineOptions, total=False):
    """Options of method "ecm"."""

    max_iterations: int
    radius: float
    tolerance: float


class FgrOptions(BaselineOptions, total=False):
    """Options of method "fgr"."""

    radius: float
    max_distance: float
    max_iterations: int
    division: float
    similarity: float
    max_triangles: int


class TeaserOptions(BaselineOptions, total=False):
    """Options of method "teaser"."""

    radius: float
    noise_bound: float
    max_matches: int
    max_iterations: int
    factor: float
    scale: bool | tuple[float, float] | None


class Super4pcsOptions(BaselineOptions, total=False):
    """Options of method "super4pcs"."""

    overlap: float
    sample_size: int
    delta: float
    certainty: float
    max_iterations: int
    refinement: int

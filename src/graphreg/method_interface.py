"""The seam between `register` and the methods: settings go in, iterations are reported, an outcome comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from graphreg.argument_checks import check_choice, check_flag, is_integer, is_number, shown
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.robust.losses import as_loss


@dataclass(frozen=True)
class Iteration:
    """One iteration of a method: what a callback receives and what `Result.history` stores.

    Attributes
    ----------
    number : int
        Counted from 1.
    transformation : (4, 4) ndarray
        The current estimate, x_target = T x_source, in the caller's frame.
    energy : float
        The objective that the method minimises, in its own unit.
    temperature, accept_rate : float or None
        State of simulated annealing, where the method uses it.
    rejected : bool
        Whether annealing rejected this step.
    """

    number: int
    transformation: Floats
    energy: float
    temperature: float | None = None
    accept_rate: float | None = None
    rejected: bool = False


Callback = Callable[[Iteration], bool | None]
"""Called after each iteration; returning True stops the method there."""


@dataclass(frozen=True)
class Outcome:
    """What every method returns: the estimated transform and the points that it was estimated from.

    Attributes
    ----------
    transformation : (4, 4) ndarray
        x_target = T x_source.
    history : tuple of Iteration
    timings : dict of str to float
        Seconds of each stage.
    voxel : float
        Voxel size that the clouds were downsampled with, in the unit of the data.
    source, target : (N, 3) and (M, 3) ndarray
        The points after downsampling and removal of outliers.
    """

    transformation: Floats
    history: tuple[Iteration, ...]
    timings: dict[str, float]
    voxel: float
    source: Floats
    target: Floats


Scale = bool | tuple[float, float]
"""The setting `scale`: whether the transform has a scale, or its smallest and largest value."""

ANY_SCALE = (0.0, float("inf"))


def scale_limits(scale: Scale) -> tuple[float, float] | None:
    """Return the smallest and the largest scale of a setting; None where there is none to estimate."""
    return scale if isinstance(scale, tuple) else ANY_SCALE if scale else None


@dataclass(frozen=True)
class MethodSettings:
    """Base of the settings of every method: a frozen dataclass that validates its fields.

    A subclass lists its fields with defaults, and in `__post_init__` calls the `_require…` methods. Each raises an
    `InputError` that names the field, what it contained and what was expected.
    """

    @property
    def required_points(self) -> int:
        """The fewest points that a cloud must have: one more than the neighbours that planes are fitted to."""
        return 11

    def _require(self, expected: str, holds: Callable[[Any], bool], *names: str, whole: bool = False) -> None:
        """Refuse fields that are not numbers, or of which `holds` is not true."""
        for name in names:
            value = getattr(self, name)
            if not (is_integer(value) if whole else is_number(value)) or not holds(value):
                raise InputError(f"{name}: expected {expected}, got {shown(value)}")

    def _require_positive(self, *names: str) -> None:
        self._require("a positive number", lambda value: 0 < value < np.inf, *names)

    def _require_count(self, *names: str, least: int = 1) -> None:
        self._require(f"a whole number from {least} on", lambda value: value >= least, *names, whole=True)

    def _require_share(self, *names: str) -> None:
        self._require("a number from 0 to below 1", lambda value: 0 <= value < 1, *names)

    def _require_overlap(self, *names: str) -> None:
        self._require("a share above 0 and up to 1", lambda value: 0 < value <= 1, *names)

    def _require_flag(self, *names: str) -> None:
        for name in names:
            check_flag(name, getattr(self, name))

    def _require_scale(self, name: str = "scale") -> None:
        """Refuse what is neither True, False nor two positive numbers, the smaller first."""
        value = getattr(self, name)
        if isinstance(value, (bool, np.bool_)):
            object.__setattr__(self, name, bool(value))
            return
        limits = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else ()
        if len(limits) != 2 or not all(map(is_number, limits)) or not 0 < limits[0] <= limits[1] < np.inf:
            expected = "True, False, or the smallest and the largest scale"
            raise InputError(f"{name}: expected {expected}, got {shown(value)}")
        object.__setattr__(self, name, (float(limits[0]), float(limits[1])))

    def _require_loss(self, name: str = "loss") -> None:
        """Refuse what is neither None, a `Loss` nor the name of one, which is replaced by the loss."""
        if (value := getattr(self, name)) is not None:
            object.__setattr__(self, name, as_loss(value))

    def _require_choice(self, name: str, *choices: str) -> None:
        check_choice(name, getattr(self, name), choices)


SettingsIn = TypeVar("SettingsIn", bound=MethodSettings, contravariant=True)
Settings = TypeVar("Settings", bound=MethodSettings, covariant=True)


class RegistrationMethod(Protocol[SettingsIn]):
    """A function that registers two clouds.

    Parameters
    ----------
    source, target : (N, 3) and (M, 3) ndarray of float64
        Finite points, at least `settings.required_points` in each cloud.
    settings : MethodSettings
        The settings of the method.
    init : (4, 4) ndarray, optional
        Initial transform, x_target = T x_source. By default local methods start with the centroids aligned.
    seed : int, default 0
        Seed of everything that is sampled: the same seed gives the same bits.
    threads : int, default 1
        Number of threads. The result does not depend on it.
    callback : callable, optional
        Called after each iteration; returning True stops the method.

    Returns
    -------
    Outcome
    """

    def __call__(
        self,
        source: Floats,
        target: Floats,
        settings: SettingsIn,
        init: Floats | None = None,
        seed: int = 0,
        threads: int = 1,
        callback: Callback | None = None,
    ) -> Outcome: ...


@dataclass(frozen=True)
class Method(Generic[Settings]):
    """An entry of a table of methods.

    A table of type `dict[str, Method[MethodSettings]]` has methods with settings of different types. That is safe as
    long as `run` is called with `settings` of the same entry, or with a copy of them in which fields are replaced.

    Attributes
    ----------
    settings : MethodSettings
        The default settings.
    run : RegistrationMethod
        The function that registers.
    summary : str
        One line that `graphreg.methods()` shows.
    """

    settings: Settings
    run: RegistrationMethod[Settings]
    summary: str

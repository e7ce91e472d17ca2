"""locate(): a small cloud in a large one, from any pose, with every instance and every equivalent pose."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from graphreg.argument_checks import check_integer
from graphreg.clouds import Floats, as_rows
from graphreg.engine.coincident_points import without_coincident
from graphreg.engine.part_pipeline import LocatedPart, locate_part
from graphreg.engine.preprocessing import PreprocessedCloud, preprocess
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.feedback.progress_bars import Progress, progress_bar
from graphreg.registration import preview_sample, require_seed, result_fields
from graphreg.result import Alternative, Result
from graphreg.threads import thread_count

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Location(Result):
    """Where `locate` found the part: the result of registering it there, and the poses that are equivalent.

    Attributes
    ----------
    equivalent_poses : (K, 4, 4) ndarray
        The transformation, and those that its symmetry makes equal to it: 24 of a cube. Of a body of revolution only
        those that differ by more than a rotation about its axis.
    symmetry : str
        The symmetry of the part in words; empty where it has none.
    """

    equivalent_poses: Floats
    symmetry: str

    @classmethod
    def from_json(cls, text: str) -> Location:
        """Return the location that `to_json` wrote.

        Raises
        ------
        InputError
            Where the text is not what `to_json` writes.
        """
        location = cast(Location, super().from_json(text))
        try:
            poses = np.array(location.equivalent_poses, np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise InputError(f"text: equivalent_poses are no poses ({problem})") from problem
        if poses.ndim != 3 or poses.shape[1:] != (4, 4) or not len(poses) or not np.isfinite(poses).all():
            raise InputError(f"text: expected equivalent_poses of shape (K, 4, 4), finite, got {poses.shape}")
        if not isinstance(location.symmetry, str):
            raise InputError("text: symmetry is no text")
        return replace(location, equivalent_poses=poses)


def locate(
    part: Any,
    scene: Any,
    most: int = 1,
    *,
    seed: int = 0,
    threads: int | None = None,
    progress: bool | Progress | None = None,
) -> list[Location]:
    """Find a small cloud in a large one, from any pose.

    The resolution follows the part, however large the scene is.

    Parameters
    ----------
    part : (N, 3) array_like or path
        Points, anything that holds points, or the name of a file.
    scene : (M, 3) array_like, path, or PreprocessedCloud
        The same. What `prepare` returned keeps the index of the scene, so that further parts of similar size are
        located faster.
    most : int, default 1
        Instances of the part to find at most.
    seed : int, default 0
        Seed of all random sampling: the same seed gives the same bits.
    threads : int, optional
        Number of threads, by default all; the result does not depend on it.
    progress : bool, callable or bar of tqdm, optional
        True shows a bar with the time; a function is called as progress(0, 1), and at the end as progress(1, 1).

    Returns
    -------
    list of Location
        Best first. Those with `success` True; where there are none, the best pose found, if any, with the reason why it
        is no success. With `most=1` a second place that fits as well makes the first one ambiguous; with more, each
        instance counts. Symmetry of the part makes poses equivalent, and not ambiguous.

    Raises
    ------
    InputError
        If an argument cannot be used; it says which one, what it contained and what was expected.

    See Also
    --------
    register : two clouds of similar size.
    prepare : index a scene once for several parts.

    Examples
    --------
    >>> import numpy as np
    >>> import graphreg
    >>> from graphreg.datasets import synthetic
    >>> pair = synthetic.pair("casting", 20.0, points=5000)
    >>> near = np.linalg.norm(pair.source - pair.source[0], axis=1) < 0.4
    >>> found = graphreg.locate(pair.source[near], pair.target)
    >>> found[0].success
    True
    >>> bool(np.allclose(found[0].transformation, pair.T_target_source, atol=0.05))
    True
    """
    with progress_bar(progress, "locating") as show:
        if show is not None:
            show(0, 1)
        found = locate_with_evidence(part, scene, most, seed=seed, threads=threads)
        if show is not None:
            show(1, 1)
    return [location for location, _ in found]


def locate_with_evidence(
    part: Any,
    scene: Any,
    most: int = 1,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> list[tuple[Location, LocatedPart]]:
    """Do what `locate` does, and return with each location what the engine found."""
    began = time.perf_counter()
    check_integer("most", most, 1)
    require_seed(seed)
    settings = EngineSettings()
    small = _preprocessed(part, "part", settings, seed)
    large = _preprocessed(scene, "scene", settings, seed)
    whole, count = large.whole_cloud(), thread_count(threads)
    found, timings = locate_part(small, whole, int(most), settings, int(seed), count)
    timings["total"] = time.perf_counter() - began
    _log.debug("locate: %d poses in %.3f s (%s)", len(found), timings["total"], timings)
    return [(_location(instance, settings, seed, (small, large), timings), instance) for instance in found]


def _preprocessed(value: Any, name: str, settings: EngineSettings, seed: int) -> PreprocessedCloud:
    """A cloud with at most `settings.points` points of a part, and with all points of a scene."""
    if isinstance(value, PreprocessedCloud):
        preprocessed = replace(value, name=name)
    else:
        cloud = as_rows(value, name)
        most = settings.points if name == "part" else None
        used = without_coincident(cloud)
        preprocessed = preprocess(used.rows, name, None, most, seed)
        preprocessed = replace(preprocessed, dropped=cloud.dropped, coincident=len(cloud) - len(used))
    least = settings.required_points
    if len(preprocessed) < least:
        raise InputError(f"{name}: has {len(preprocessed)} distinct points, but at least {least} are needed")
    return preprocessed


def _location(
    found: LocatedPart,
    settings: EngineSettings,
    seed: int,
    clouds: tuple[PreprocessedCloud, PreprocessedCloud],
    timings: dict[str, float],
) -> Location:
    alternatives: tuple[Alternative, ...] = ()
    if found.runner_up is not None:
        alternatives = (Alternative(found.runner_up, found.scores[1] / max(found.scores[0], 1e-9)),)
    return Location(
        **result_fields(found.outcome, found.verdict, settings),
        hypotheses=found.hypotheses,
        alternatives=alternatives,
        runner_up=found.runner_up,
        scores=found.scores,
        timings=timings,
        method="graphreg",
        seed=seed,
        dropped=(clouds[0].dropped, clouds[1].dropped),
        coincident=(clouds[0].coincident, clouds[1].coincident),
        equivalent_poses=found.equivalent_poses,
        symmetry=found.symmetry,
        preview=(preview_sample(clouds[0]), preview_sample(clouds[1])),
    )

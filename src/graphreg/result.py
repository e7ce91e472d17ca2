"""The result of a registration."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphreg.argument_checks import shown
from graphreg.clouds import Floats
from graphreg.errors import InputError
from graphreg.feedback.notebooks import notebook_html
from graphreg.feedback.summaries import (
    labelled,
    matrix_lines,
    rotation_text,
    scale_text,
    translation_text,
)
from graphreg.method_interface import Iteration

Built = TypeVar("Built")
# Points of each cloud that a result keeps for pictures. Chosen: 0.4 MB for both.
PREVIEW_POINTS = 8_000


@dataclass(frozen=True, eq=False)
class Alternative:
    """Another pose that the search found.

    Attributes
    ----------
    transformation : (4, 4) ndarray
        x_target = T x_source.
    score : float
        How well it fits beside the pose of the result: 1, equally well; 0, it is refuted.
    """

    transformation: Floats
    score: float


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `register` returns: the transform, the verdict, and how it came about.

    To numpy, torch and JAX a result is its 4x4 matrix. Printed, it is at most twelve lines; a notebook shows them with
    a picture of both clouds before and after registration.

    Attributes
    ----------
    transformation : (4, 4) ndarray of float64
        x_target = T x_source, det(R) = +1; where a scale was estimated, T has s R in place of R.
    success : bool
        Whether the confidence is high enough and the pose is determined: no direction is degenerate, and no other pose
        fits equally well.
    confidence : float
        Probability that the pose is right, from 0 to 1.
    reason : str
        The verdict in one sentence.
    overlap : float
        Share of the source that overlaps the target: surfels that are nearer to a surfel of it than `overlap_distance`.
    inlier_rmse : float
        Root-mean-square distance of that part from the target's surface, in the unit of the data; NaN without overlap.
    overlap_distance : float
        In the unit of the data; NaN without overlap.
    residual_quantiles : tuple of float
        Quantiles of the distances that `inlier_rmse` is the root mean square of, in steps of 5 %, from the smallest to
        the largest; empty without overlap.
    covariance : (6, 6) or (7, 7) ndarray or None
        Of the pose: rotations about the x, y, z axes through `centre` (radians), then translations along them (unit of
        the data), both applied after the transform, in the target's frame; then, where "graphreg" estimated it, the
        logarithm of the scale, about `centre`. None where the clouds do not overlap.
    centre : (3,) ndarray or None
        Centroid of the overlap, in the target's frame.
    degenerate_directions : tuple of str
        Rotations, translations and "scale", where the surfaces do not constrain them, in words; empty where the
        transform is determined.
    hypotheses : int
        Number of poses proposed.
    alternatives : tuple of Alternative
        Other poses, each distinct from this one and from those before it, best first.
    runner_up : (4, 4) ndarray or None
        The first of these.
    scores : tuple of float
        Overlap scores of this pose and of the runner-up.
    timings : dict of str to float
        Seconds of each stage, and "total"; the stages sum to at most the total.
    method : str
    settings : dict
        Settings that were used; "voxel" is the voxel size that was chosen.
    seed : int
    dropped : tuple of int
        Rows of source and target that were not finite.
    coincident : tuple of int
        Points of source and target that were left out because they were in coincident clusters, such as the returns of
        a lidar at the sensor itself.
    history : tuple of Iteration
    scale : float
        Of the source, s; 1 where none was estimated.
    preview : pair of (K, 3) ndarray, or None
        Some points of source and target for pictures, 8,000 of each at most; None for a result that was read from JSON.
    """

    transformation: Floats
    success: bool
    confidence: float
    reason: str
    overlap: float
    inlier_rmse: float
    overlap_distance: float
    residual_quantiles: tuple[float, ...]
    covariance: Floats | None
    centre: Floats | None
    degenerate_directions: tuple[str, ...]
    hypotheses: int
    alternatives: tuple[Alternative, ...]
    runner_up: Floats | None
    scores: tuple[float, ...]
    timings: dict[str, float]
    method: str
    settings: dict[str, Any]
    seed: int
    dropped: tuple[int, int]
    coincident: tuple[int, int]
    history: tuple[Iteration, ...]
    scale: float
    preview: tuple[Floats, Floats] | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        pose = [
            "  transformation (x_target = T x_source)",
            *(f"  {line}" for line in matrix_lines(self.transformation)),
        ]
        rmse = "" if np.isnan(self.inlier_rmse) else f", inlier RMSE {self.inlier_rmse:.4g}"
        rotation = self.transformation[:3, :3] / self.scale  # 1 where none was estimated
        covariance = self.covariance if self.success else None  # a pose that is wrong has no uncertainty
        entries = {
            "confidence": f"{self.confidence:.2f}",
            "overlap": f"{100 * self.overlap:.0f} % of the source{rmse}",
            "scale": "" if self.scale == 1 else scale_text(self.scale, covariance),
            "rotation": rotation_text(rotation, covariance),
            "translation": translation_text(self.transformation, covariance, self.centre),
            "degenerate": "; ".join(self.degenerate_directions),
        }
        return "\n".join([labelled(self.reason, entries), *pose])

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the transformation, so that a result goes wherever numpy takes a 4x4 matrix."""
        return np.array(self.transformation, dtype, copy=copy is not False)

    def __dlpack__(self, **options: Any) -> Any:
        """Return the transformation by DLPack, for torch, JAX and others."""
        return self.transformation.copy().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        return self.transformation.__dlpack_device__()

    @property
    def residual_median(self) -> float:
        """Median distance of the overlap from the target's surface, in the unit of the data; NaN without overlap."""
        return self._residual_quantile(0.5)

    @property
    def residual_95(self) -> float:
        """Distance from the target's surface that 95 % of the overlap do not exceed; NaN without overlap."""
        return self._residual_quantile(0.95)

    def _residual_quantile(self, share: float) -> float:
        quantiles = self.residual_quantiles
        return quantiles[round(share * (len(quantiles) - 1))] if quantiles else float("nan")

    def to_json(self) -> str:
        """Return the result as JSON text, which `from_json` reads."""

        def plain(value: Any) -> Any:
            return value.tolist() if isinstance(value, np.ndarray) else asdict(value)

        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "preview"}
        for name in ("inlier_rmse", "overlap_distance"):
            if np.isnan(values[name]):
                values[name] = None  # JSON has no NaN
        return json.dumps(values, default=plain)

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Return the result that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        Result

        Raises
        ------
        InputError
            Where the text is not what `to_json` writes.
        """
        return from_json(text, _TYPES, lambda values: cls(**_converted(values), preview=None))


# Types of the fields that are the same in JSON.
_TYPES: dict[str, tuple[type, ...]] = {
    "success": (bool,),
    "confidence": (int, float),
    "reason": (str,),
    "overlap": (int, float),
    "inlier_rmse": (int, float, type(None)),
    "overlap_distance": (int, float, type(None)),
    "residual_quantiles": (list,),
    "degenerate_directions": (list,),
    "hypotheses": (int,),
    "timings": (dict,),
    "method": (str,),
    "settings": (dict,),
    "seed": (int,),
    "scale": (int, float),
}


def from_json(text: str, types: Mapping[str, tuple[type, ...]], build: Callable[[dict[str, Any]], Built]) -> Built:
    """Return the result that `to_json` wrote, of whichever class.

    Parameters
    ----------
    text : str
    types : mapping of str to tuple of types
        Of fields that must be there.
    build : callable
        From the values in JSON to the result; raises one of Python's errors where a value is missing or wrong.

    Returns
    -------
    object
        What `build` returned.

    Raises
    ------
    InputError
        Where the text is not what `to_json` writes.
    """
    try:
        values = json.loads(text)
        for name, expected in types.items():
            if not isinstance(values[name], expected):
                raise ValueError(f"{name} is {shown(values[name])}")
        return build(values)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError) as problem:
        raise InputError(f"text: expected what to_json wrote, got {shown(text)} ({problem})") from problem


def number_from_json(value: float | None) -> float:
    """Return a number, which is None in JSON where it is NaN."""
    return float("nan") if value is None else value


def _converted(values: dict[str, Any]) -> dict[str, Any]:
    if not all(isinstance(words, str) for words in values["degenerate_directions"]):
        raise ValueError(f"degenerate_directions is {shown(values['degenerate_directions'])}")
    size = 6 if values["covariance"] is None else len(values["covariance"])
    optional = {"covariance": (size, size), "centre": (3,), "runner_up": (4, 4)}
    if size not in (6, 7):
        raise ValueError(f"covariance is {shown(values['covariance'])}")
    return {
        **values,
        **{name: None if values[name] is None else _numbers(values[name], shape) for name, shape in optional.items()},
        "transformation": _numbers(values["transformation"], (4, 4)),
        "inlier_rmse": number_from_json(values["inlier_rmse"]),
        "overlap_distance": number_from_json(values["overlap_distance"]),
        "residual_quantiles": _series(values["residual_quantiles"]),
        "degenerate_directions": tuple(values["degenerate_directions"]),
        "scores": _series(values["scores"]),
        "timings": {stage: float(seconds) for stage, seconds in values["timings"].items()},
        "dropped": tuple(_numbers(values["dropped"], (2,)).astype(int).tolist()),
        "coincident": tuple(_numbers(values["coincident"], (2,)).astype(int).tolist()),
        "alternatives": tuple(
            Alternative(_numbers(each["transformation"], (4, 4)), float(each["score"]))
            for each in values["alternatives"]
        ),
        "history": tuple(
            Iteration(**{**step, "transformation": _numbers(step["transformation"], (4, 4))})
            for step in values["history"]
        ),
    }


def _numbers(value: Any, shape: tuple[int, ...]) -> Floats:
    array = np.array(value)
    if array.dtype.kind not in "iuf" or array.shape != shape:
        raise ValueError(f"{shown(value)} are no {shape} numbers")
    return array.astype(np.float64)


def _series(values: Any) -> tuple[float, ...]:
    return tuple(_numbers(values, (len(values),)).tolist())

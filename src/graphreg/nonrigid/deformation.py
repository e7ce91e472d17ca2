"""The result of a deformable registration."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from graphreg.clouds import Floats, as_cloud
from graphreg.nonrigid.relaxation import Relaxation
from graphreg.nonrigid.warps import Warp, warp_from_dict
from graphreg.result import from_json, number_from_json


@dataclass(frozen=True, eq=False)
class Deformation:
    """What `deform` returns: where the source's points go, the verdict, and how it came about.

    Attributes
    ----------
    points : (N, 3) ndarray of float64
        The source's points after the deformation, in the target's frame; NaN for rows that were not finite.
    success : bool
        Whether the confidence is high enough.
    confidence : float
        Probability that nine tenths of the points that the target shows are within a twentieth of the source's extent
        of where they belong; fitted to the elastic method on synthetic bodies.
    reason : str
        The verdict in one sentence.
    strain : (N,) ndarray
        Relative change of the distances around each point, root mean square: 0 where the source moves rigidly.
    overlap : float
        Share of the source that overlaps the target after the deformation.
    explained : float
        Share of the target, without isolated points, that the deformed source overlaps.
    inlier_rmse : float
        Root-mean-square distance of the source's overlapping part from the target's surface, in the unit of the data;
        NaN without overlap.
    transformation : (4, 4) ndarray
        The rigid transform that the deformation began with.
    history : tuple of Relaxation
        Energies of each stage; those of one stage never rise.
    timings : dict of str to float
        Seconds of each stage, and "total"; the stages sum to at most the total.
    method : str
    settings : dict
    seed : int
    dropped : tuple of int
        Rows of source and target that were not finite.
    warp : GraphWarp or GaussianWarp
        The deformation as a map of space, see `apply`.
    """

    points: Floats
    success: bool
    confidence: float
    reason: str
    strain: Floats
    overlap: float
    explained: float
    inlier_rmse: float
    transformation: Floats
    history: tuple[Relaxation, ...]
    timings: dict[str, float]
    method: str
    settings: dict[str, Any]
    seed: int
    dropped: tuple[int, int]
    warp: Warp

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the deformed points."""
        return np.array(self.points, dtype, copy=copy is not False)

    def apply(self, points: Any) -> Floats:
        """Deform any points near the source: vertices of its mesh, landmarks, a denser scan.

        Parameters
        ----------
        points : (M, 3) array_like
            In the source's frame.

        Returns
        -------
        (M, 3) ndarray
            In the target's frame; NaN for rows that are not finite.

        Examples
        --------
        >>> import graphreg
        >>> from graphreg.datasets import deformed_bodies
        >>> pair = deformed_bodies.deformed_pair("hare turning its head", points=200)
        >>> found = graphreg.deform(pair.source, pair.target)
        >>> found.apply(pair.source[:2]).shape
        (2, 3)
        """
        cloud = as_cloud(points)
        return cloud.restore(self.warp.apply(cloud.points), np.nan)

    def to_json(self) -> str:
        """Return the deformation as JSON text, which `from_json` reads."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        values["warp"] = self.warp.to_dict()
        values["history"] = [asdict(stage) for stage in self.history]
        for name in ("points", "strain", "transformation"):
            values[name] = _without_nan(values[name])
        if np.isnan(self.inlier_rmse):
            values["inlier_rmse"] = None  # JSON has no NaN
        return json.dumps(values)

    @classmethod
    def from_json(cls, text: str) -> Deformation:
        """Return the deformation that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        Deformation

        Raises
        ------
        InputError
            Where the text is not what `to_json` writes.
        """
        return from_json(text, _TYPES, lambda values: cls(**_converted(values)))


_TYPES: dict[str, tuple[type, ...]] = {
    "success": (bool,),
    "confidence": (int, float),
    "reason": (str,),
    "overlap": (int, float),
    "explained": (int, float),
    "inlier_rmse": (int, float, type(None)),
    "timings": (dict,),
    "method": (str,),
    "settings": (dict,),
    "seed": (int,),
}


def _converted(values: dict[str, Any]) -> dict[str, Any]:
    points = np.array(values["points"], np.float64).reshape(-1, 3)
    strain = np.array(values["strain"], np.float64)
    transformation = np.array(values["transformation"], np.float64)
    if strain.shape != (len(points),) or transformation.shape != (4, 4):
        raise ValueError("arrays of other shapes")
    return {
        **values,
        "points": points,
        "strain": strain,
        "transformation": transformation,
        "inlier_rmse": number_from_json(values["inlier_rmse"]),
        "history": tuple(
            Relaxation(int(stage["nodes"]), float(stage["scale"]), tuple(float(e) for e in stage["energies"]))
            for stage in values["history"]
        ),
        "timings": {stage: float(seconds) for stage, seconds in values["timings"].items()},
        "dropped": (int(values["dropped"][0]), int(values["dropped"][1])),
        "warp": warp_from_dict(values["warp"]),
    }


def _without_nan(array: Floats) -> list[Any]:
    """Nested lists, with None for NaN."""
    if np.isfinite(array).all():
        return list(array.tolist())
    entries = array.astype(object)
    entries[~np.isfinite(array)] = None
    return list(entries.tolist())

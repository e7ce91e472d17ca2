"""Points at the door: whatever the caller has becomes an (N, 3) float64 array, or an error that says why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.errors import InputError

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# The square of a distance must stay finite in float64.
LARGEST_COORDINATE = 1e150


@dataclass(frozen=True)
class Cloud:
    """Finite points in float64, what else is known of each, and which of the caller's rows they are.

    points      (N, 3), C-contiguous, finite, read-only
    kept        (M,) bool, M >= N: the rows of the input that became points; the others held NaN or infinity
    attributes  name -> (N, ...) array: colours, reflectance, time, ... as a file held them
    """

    points: Floats
    kept: Mask
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dropped(self) -> int:
        """How many rows of the input were not finite."""
        return len(self.kept) - len(self.points)

    def select(self, rows: NDArray[Any]) -> Cloud:
        """The points at `rows` (a mask or indices), with their attributes."""
        chosen = self.points[rows]
        return Cloud(
            chosen,
            np.ones(len(chosen), bool),
            {name: values[rows] for name, values in self.attributes.items()},
        )

    def restore(self, values: NDArray[Any], fill: Any) -> NDArray[Any]:
        """One value for every row of the input: `values` where it became a point, `fill` where it was dropped."""
        if not self.dropped:
            return values
        whole = np.full((len(self.kept), *values.shape[1:]), fill, values.dtype)
        whole[self.kept] = values
        return whole


def extent(points: Floats) -> float:
    """The longest side of the box that holds the points."""
    # Column by column: numpy's reductions along the first axis of three columns take twenty times as long.
    return max(float(np.ptp(points[:, axis])) for axis in range(3))


def as_cloud(
    value: Any,
    name: str = "points",
    min_points: int = 1,
    attributes: Mapping[str, NDArray[Any]] | None = None,
) -> Cloud:
    """Accept points as a cloud. The caller's array is never changed; one that fits as it is, is not copied either.

    value      (N, 3) numbers of any real dtype, stride and layout; whatever numpy can read; a structured array with
               fields x, y, z; an object that holds points, as those of Open3D and trimesh do; a tensor of torch
    name       what the caller calls it, for the error message
    min_points how many finite points are needed
    attributes one row for each row of `value`
    """
    if isinstance(value, Cloud):
        cloud = value
    else:
        raw = _as_numbers(value, name)
        finite = _finite_rows(raw)
        extra = dict(attributes or {})
        for key, rows in extra.items():
            if len(rows) != len(raw):
                raise InputError(f"{name}: attribute {key!r} has {len(rows)} rows for {len(raw)} points")
        if finite.all():
            cloud = Cloud(raw, finite, extra)
        else:
            cloud = Cloud(raw[finite], finite, {key: rows[finite] for key, rows in extra.items()})
    if len(cloud) < min_points:
        held = f"{len(cloud)} points" if len(cloud) != 1 else "1 point"
        dropped = f" ({cloud.dropped} more were not finite)" if cloud.dropped else ""
        raise InputError(f"{name}: holds {held}{dropped}, but at least {min_points} are needed")
    if len(cloud) and max(cloud.points.max(), -cloud.points.min()) > LARGEST_COORDINATE:
        raise InputError(f"{name}: holds coordinates beyond {LARGEST_COORDINATE:g}, too large to square")
    return cloud


def as_array(value: Any) -> NDArray[Any]:
    """What numpy makes of a value, also of tensors that hand their numbers over only when asked in their own way.

    Nothing is differentiated through a registration, so a tensor of torch that records gradients is detached.
    """
    if not isinstance(value, np.ndarray):
        for step in ("detach", "cpu", "resolve_neg"):  # as tensors of torch and, some, of Open3D have them
            if callable(method := getattr(value, step, None)):
                value = method()
        if callable(method := getattr(value, "numpy", None)):
            try:
                value = method()
            except TypeError:
                # numpy knows no bfloat16 and no float8; a double holds each of their numbers.
                if not callable(widen := getattr(value, "double", None)):
                    raise
                value = widen().numpy()
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
    return np.asarray(value)


def _points_of(value: Any) -> Any:
    """The points that an object holds, or itself.

    points, vertices       of Open3D's point clouds; of meshes, and of trimesh's point clouds
    point, vertex          of Open3D's tensor geometries: a mapping with positions
    """
    if isinstance(value, np.ndarray):
        return value
    for name in ("points", "vertices"):
        if hasattr(value, name):
            return getattr(value, name)
    for name in ("point", "vertex"):
        held: Any = getattr(value, name, None)
        if hasattr(held, "__getitem__") and hasattr(held, "__contains__") and "positions" in held:
            return held["positions"]
    return value


def sample_rows(count: int, most: int, seed: int = 0) -> NDArray[np.int64]:
    """At most so many of `count` rows, drawn at random, ascending: one of each run, so that nothing is sorted."""
    if count <= most:
        return np.arange(count)
    runs = np.arange(most + 1) * count // most
    return runs[:-1] + (np.random.default_rng(seed).random(most) * np.diff(runs)).astype(np.int64)


def _as_numbers(value: Any, name: str) -> Floats:
    value = _points_of(value)
    if isinstance(value, (str, bytes, dict, set)) or value is None or callable(value):
        raise InputError(f"{name}: expected an (N, 3) array of numbers, got {type(value).__name__}")
    mask = None
    if isinstance(value, np.ma.MaskedArray):
        mask, value = np.ma.getmaskarray(value), value.data
    try:
        array = as_array(value)
    except (ValueError, TypeError, RuntimeError, BufferError) as problem:
        if isinstance(value, Sequence) and isinstance(problem, ValueError):
            raise InputError(f"{name}: expected an (N, 3) array of numbers, got rows of unequal length") from problem
        said = str(problem).split("\n")[0]
        raise InputError(
            f"{name}: expected an (N, 3) array of numbers, got {type(value).__name__}, which numpy cannot read ({said})"
        ) from problem
    if array.dtype.names is not None and {"x", "y", "z"} <= set(array.dtype.names):
        array = np.stack([array[axis] for axis in "xyz"], axis=-1)
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name}: expected real numbers, got an array of dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{name}: expected shape (N, 3), got {array.shape}{_shape_hint(array.shape)}")
    # A long double that overflows becomes an infinity like any other, and its row is dropped.
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=np.float64)
    if mask is not None:
        numbers = np.where(mask, np.nan, numbers)
    guarded: Floats = numbers.view()
    guarded.flags.writeable = False
    return guarded


def _finite_rows(points: Floats) -> Mask:
    with np.errstate(over="ignore", invalid="ignore"):
        all_finite = np.isfinite(points.sum())
    if all_finite:
        return np.ones(len(points), bool)
    return np.asarray(np.isfinite(points).all(axis=1))


def _shape_hint(shape: tuple[int, ...]) -> str:
    if len(shape) == 2 and shape[0] == 3:
        return "; the array is transposed: pass points.T"
    if len(shape) == 2 and shape[1] > 3:
        return "; for points with more columns pass points[:, :3]"
    if len(shape) == 3 and shape[2] == 3:
        return "; for an image of points pass points.reshape(-1, 3)"
    return ""

"""Conversion of what a caller passes as points to an (N, 3) float64 array, or an error that says why it cannot be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.errors import InputError
from graphreg.meshes.triangle_mesh import Mesh, mesh_without_gaps, vertices_are_dense

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Derived: the square of a distance must stay finite in float64, and must not become zero.
MAX_COORDINATE, MIN_EXTENT = 1e150, 1e-150
# Rows that are looked at together.
BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class Cloud:
    """A point cloud: finite points, their attributes, and the rows of the input that they come from.

    Attributes
    ----------
    points : (N, 3) ndarray
        float64, C-contiguous, finite, read-only.
    kept : (M,) ndarray of bool
        The rows of the input that became points, M >= N; the others contained NaN or infinity.
    attributes : mapping of str to (N, ...) ndarray
        Colours, reflectance, time and so on, as a file stores them.
    header : object, optional
        What a file says about the cloud as a whole, such as its coordinate reference system; `write` keeps it in files
        of the same format. A `graphreg.files.las_header.LasHeader`, None for other formats.
    mesh : Mesh, optional
        The surface that the points were sampled from.

    Examples
    --------
    >>> cloud = as_cloud([[0, 0, 0], [1, 0, float("nan")], [2, 0, 0]])
    >>> len(cloud), cloud.dropped
    (2, 1)
    >>> cloud.kept
    array([ True, False,  True])
    """

    points: Floats
    kept: Mask
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    header: Any = None
    mesh: Mesh | None = None

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dropped(self) -> int:
        """The number of rows of the input that were not finite."""
        return len(self.kept) - len(self.points)

    def select(self, rows: NDArray[Any]) -> Cloud:
        """Select points with their attributes.

        Parameters
        ----------
        rows : (N,) ndarray of bool, or (K,) ndarray of int
            A mask or indices.

        Returns
        -------
        Cloud
        """
        chosen = self.points[rows]
        return Cloud(
            chosen,
            np.ones(len(chosen), bool),
            {name: values[rows] for name, values in self.attributes.items()},
            self.header,
            self.mesh,
        )

    def restore(self, values: NDArray[Any], fill: Any) -> NDArray[Any]:
        """Expand one value for each point to one value for each row of the input.

        Parameters
        ----------
        values : (N, ...) ndarray
            One row for each point.
        fill : scalar
            The value of rows that were dropped.

        Returns
        -------
        (M, ...) ndarray
        """
        if not self.dropped:
            return values
        expanded = np.full((len(self.kept), *values.shape[1:]), fill, values.dtype)
        expanded[self.kept] = values
        return expanded


@dataclass(frozen=True)
class CloudRows:
    """A point cloud as a caller passed it: points are read between rows that are not finite, and nothing is copied.

    Attributes
    ----------
    rows : (M, 3) or (N, 3) ndarray
        float64, C-contiguous, read-only: the rows of the input, or those of them that are points.
    kept : (M,) ndarray of bool
        The rows of the input that are points.
    mesh : Mesh, optional
        The surface that the points were sampled from.
    """

    rows: Floats
    kept: Mask
    mesh: Mesh | None = None

    @cached_property
    def _count(self) -> int:
        return int(np.count_nonzero(self.kept))

    def __len__(self) -> int:
        return self._count

    @property
    def dropped(self) -> int:
        """The number of rows of the input that are no points."""
        return len(self.kept) - len(self)

    @cached_property
    def points(self) -> Floats:
        """The points, (N, 3); a copy where they are not all rows."""
        return self.rows if len(self.rows) == len(self) else _chosen(self.rows, self.kept)

    def take(self, indices: NDArray[np.int64]) -> Floats:
        """Some points, as `points[indices]`, for ascending indices."""
        if len(self.rows) == len(self):
            return self.rows[indices]
        chosen = np.empty((len(indices), 3))
        before = 0
        for begin in range(0, len(self.kept), BLOCK_ROWS):
            rows = begin + np.flatnonzero(self.kept[begin : begin + BLOCK_ROWS])
            first, last = np.searchsorted(indices, (before, before + len(rows)))
            chosen[first:last] = self.rows[rows[indices[first:last] - before]]
            before += len(rows)
        return chosen


def finite_points(rows: Floats) -> Floats:
    """The rows that are finite, (N, 3); a copy where these are not all."""
    finite = _finite_rows(rows)
    return rows if finite.all() else _chosen(rows, finite)


def with_unit_scale(values: Floats) -> Floats:
    """Values times the power of two, which changes no digit, that makes the largest about 1: their cubes are finite."""
    return np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=0.0))[1]))


def extent(points: Floats) -> float:
    """The longest edge of the axis-aligned bounding box of (N, 3) points."""
    # Column by column: numpy's reductions along the first axis of three columns take twenty times as long.
    return max(float(np.ptp(points[:, axis])) for axis in range(3))


def common_extent(source: Floats, target: Floats) -> float:
    """The longest extent of two clouds; InputError where their points coincide or lengths are too small to square."""
    longest = max(extent(source), extent(target))
    if not longest > 0:
        raise InputError("source, target: all points coincide")
    if longest < MIN_EXTENT:
        raise InputError(f"source, target: have an extent of {longest:g}, too small to square")
    return longest


@singledispatch
def loaded(value: Any) -> Any:
    """Return what a value stands for: the scan in the file that a path names; any other value as it is.

    `graphreg.files` is above this layer, and registers the function that reads paths when it is first needed.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
    """
    if isinstance(value, (str, os.PathLike)):
        import_module("graphreg.files")
        return loaded.dispatch(type(value))(value)
    return value


def as_cloud(
    value: Any,
    name: str = "points",
    min_points: int = 1,
    attributes: Mapping[str, NDArray[Any]] | None = None,
) -> Cloud:
    """Convert a value to a cloud. The caller's array is never changed, and not copied where it fits as it is.

    Parameters
    ----------
    value : array_like or object
        (N, 3) real numbers of any dtype, stride and layout; anything numpy can read; a structured array with fields
        x, y, z; a cloud or mesh of Open3D or trimesh; a tensor of torch; the name of a file, which is read; a `Mesh`; a
        `Cloud`, which is returned as it is. Of a mesh, points are sampled by area, with normals as attributes nx, ny,
        nz; but its vertices are taken where they sample the surface by themselves, see
        `graphreg.meshes.triangle_mesh.SamplingSettings`.
    name : str, default "points"
        Name of the argument in error messages.
    min_points : int, default 1
        The fewest finite points that are accepted.
    attributes : mapping of str to (N, ...) ndarray, optional
        One row for each row of `value`.

    Returns
    -------
    Cloud

    Raises
    ------
    InputError
        Where `value` is no array of points, has too few of them, or coordinates too large to square.

    Examples
    --------
    >>> as_cloud([[1, 2, 3], [4, 5, 6]]).points
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    value = loaded(value)
    if isinstance(value, Cloud):
        _require_points(CloudRows(value.points, value.kept), name, min_points)
        return value
    if attributes is None and (mesh := as_mesh(value, name)) is not None:
        cloud = _cloud_of_mesh(mesh)
        _require_points(CloudRows(cloud.points, cloud.kept), name, min_points)
        return cloud
    found = _rows_of_array(value, name)
    extra = dict(attributes or {})
    for key, rows in extra.items():
        if len(rows) != len(found.kept):
            raise InputError(f"{name}: attribute {key!r} has {len(rows)} rows for {len(found.kept)} points")
    _require_points(found, name, min_points)
    if found.dropped:
        extra = {key: _chosen(rows, found.kept) for key, rows in extra.items()}
    return Cloud(found.points, found.kept, extra)


def as_rows(value: Any, name: str = "points", min_points: int = 1) -> CloudRows:
    """Convert a value as `as_cloud` does, without attributes, and without a copy where rows are not finite.

    Parameters
    ----------
    value : array_like or object
    name : str, default "points"
        Name of the argument in error messages.
    min_points : int, default 1
        The fewest finite points that are accepted.

    Returns
    -------
    CloudRows

    Raises
    ------
    InputError
        As `as_cloud`.
    """
    value = loaded(value)
    surface = value if isinstance(value, Cloud) else as_mesh(value, name)
    if surface is not None:
        cloud = as_cloud(surface, name, min_points)
        return CloudRows(cloud.points, cloud.kept, cloud.mesh)
    found = _rows_of_array(value, name)
    _require_points(found, name, min_points)
    return found


def _rows_of_array(value: Any, name: str) -> CloudRows:
    rows = _as_numbers(value, name)
    return CloudRows(rows, _finite_rows(rows))


def _require_points(cloud: CloudRows, name: str, min_points: int) -> None:
    if len(cloud) < min_points:
        count = f"{len(cloud)} points" if len(cloud) != 1 else "1 point"
        dropped = f" ({cloud.dropped} more were not finite)" if cloud.dropped else ""
        raise InputError(f"{name}: has {count}{dropped}, but at least {min_points} are needed")
    if _largest_coordinate(cloud) > MAX_COORDINATE:
        raise InputError(f"{name}: has coordinates beyond {MAX_COORDINATE:g}, too large to square")


def _largest_coordinate(cloud: CloudRows) -> float:
    """The largest absolute coordinate of the points; zero where there is none."""
    blocks: Iterable[Floats] = [cloud.rows]
    if len(cloud.rows) != len(cloud):
        begins = range(0, len(cloud.rows), BLOCK_ROWS)
        blocks = (cloud.rows[i : i + BLOCK_ROWS][cloud.kept[i : i + BLOCK_ROWS]] for i in begins)
    return max(max(float(block.max(initial=0.0)), -float(block.min(initial=0.0))) for block in blocks)


def as_mesh(value: Any, name: str = "mesh") -> Mesh | None:
    """Convert a mesh of graphreg, trimesh or Open3D, or read it; None where a value is no mesh, or one without faces.

    Parameters
    ----------
    value : object
    name : str, default "mesh"
        Name of the argument in error messages.

    Returns
    -------
    Mesh or None
        Without vertices that are not finite, and without their faces.

    Raises
    ------
    InputError
        Where its faces refer to vertices that it does not have.
    """
    value = loaded(value)
    if isinstance(value, Mesh):
        return value
    if isinstance(value, np.ndarray):
        return None
    # faces of trimesh's meshes, triangles of Open3D's, and mappings of its tensor geometries
    corners, numbers = getattr(value, "vertices", None), getattr(value, "faces", getattr(value, "triangles", None))
    if corners is None:
        corners = _entry(getattr(value, "vertex", None), "positions")
        numbers = _entry(getattr(value, "triangle", None), "indices")
    if corners is None or numbers is None:
        return None
    vertices = _as_numbers(corners, name)
    try:
        faces = as_array(numbers)
        if not faces.size:
            return None
        return mesh_without_gaps(vertices, faces, {})
    except (TypeError, ValueError, RuntimeError, BufferError) as problem:
        raise InputError(f"{name}: a mesh that cannot be used: {problem}") from problem


def _entry(tensors: Any, name: str) -> Any:
    """An entry of a mapping of tensors as Open3D has them, or None."""
    if hasattr(tensors, "__getitem__") and hasattr(tensors, "__contains__") and name in tensors:
        return tensors[name]
    return None


def _cloud_of_mesh(mesh: Mesh) -> Cloud:
    if vertices_are_dense(mesh):
        points, attributes = mesh.vertices, dict(mesh.attributes)
    else:
        points, normals = mesh.sample()
        attributes = {axis: normals[:, i].copy() for i, axis in enumerate(("nx", "ny", "nz"))}
        return Cloud(points, np.ones(len(points), bool), attributes, mesh=mesh)
    return Cloud(points, np.ones(len(points), bool), attributes)


def as_array(value: Any) -> NDArray[Any]:
    """Convert a value to a numpy array, also tensors of torch and Open3D on any device, and DLPack exporters.

    No gradients pass through a registration, so a tensor of torch that records them is detached.

    Parameters
    ----------
    value : array_like or tensor

    Returns
    -------
    ndarray
    """
    if not isinstance(value, np.ndarray):
        for step in ("detach", "cpu", "resolve_neg"):  # as tensors of torch and, some, of Open3D have them
            if callable(method := getattr(value, step, None)):
                value = method()
        if callable(method := getattr(value, "numpy", None)):
            try:
                value = method()
            except TypeError:
                # numpy has no bfloat16 and no float8; float64 represents each of their numbers.
                if not callable(widen := getattr(value, "double", None)):
                    raise
                value = widen().numpy()
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
    return np.asarray(value)


def as_floats(value: Any, name: str, expected: str = "numbers") -> Floats:
    """Convert an argument to an array of numbers.

    Parameters
    ----------
    value : array_like or tensor
    name : str
        Name of the argument in error messages.
    expected : str, default "numbers"
        What the argument should be, in error messages.

    Returns
    -------
    ndarray
        Of any shape.

    Raises
    ------
    InputError
        Where it is something else.
    """
    try:
        array = np.asarray(as_array(value))
        if array.dtype.kind == "c":
            raise TypeError("the imaginary part would be lost")
        return np.asarray(array, np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError, BufferError) as problem:
        raise InputError(f"{name}: expected {expected}, got {type(value).__name__}") from problem


def sample_rows(count: int, size: int, seed: int = 0) -> NDArray[np.int64]:
    """Sample rows at random, without replacement, in ascending order.

    The rows are divided into `size` runs, and one row is sampled from each, so that nothing needs to be sorted.

    Parameters
    ----------
    count : int
        The number of rows.
    size : int
        The number of rows to sample; all where there are no more.
    seed : int, default 0

    Returns
    -------
    (min(count, size),) ndarray of int
    """
    if count <= size:
        return np.arange(count)
    runs = np.arange(size + 1) * count // size
    return runs[:-1] + (np.random.default_rng(seed).random(size) * np.diff(runs)).astype(np.int64)


def _points_of(value: Any) -> Any:
    """The points of a cloud or mesh of another library; any other value as it is.

    points, vertices       of Open3D's point clouds; of meshes, and of trimesh's point clouds
    point, vertex          of Open3D's tensor geometries: a mapping with positions
    """
    if isinstance(value, np.ndarray):
        return value
    for name in ("points", "vertices"):
        if hasattr(value, name):
            return getattr(value, name)
    for name in ("point", "vertex"):
        if (positions := _entry(getattr(value, name, None), "positions")) is not None:
            return positions
    return value


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
        message = str(problem).split("\n")[0]
        raise InputError(
            f"{name}: expected an (N, 3) array of numbers, got {type(value).__name__}, "
            f"which numpy cannot read ({message})"
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
    read_only: Floats = numbers.view()
    read_only.flags.writeable = False
    return read_only


def _finite_rows(points: Floats) -> Mask:
    finite = np.ones(len(points), bool)
    # In blocks, so that no other array is as large as the points.
    for begin in range(0, len(points), BLOCK_ROWS):
        block = points[begin : begin + BLOCK_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            all_finite = np.isfinite(block.sum())
        if not all_finite:
            finite[begin : begin + BLOCK_ROWS] = np.isfinite(block).all(axis=1)
    return finite


def _chosen(values: NDArray[Any], rows: Mask) -> NDArray[Any]:
    """values[rows], without the indices that numpy would make of the mask: they take a third of the points' memory."""
    result = np.empty((int(np.count_nonzero(rows)), *values.shape[1:]), values.dtype)
    end = 0
    for begin in range(0, len(values), BLOCK_ROWS):
        block = values[begin : begin + BLOCK_ROWS][rows[begin : begin + BLOCK_ROWS]]
        result[end : end + len(block)] = block
        end += len(block)
    return result


def _shape_hint(shape: tuple[int, ...]) -> str:
    if len(shape) == 2 and shape[0] == 3:
        return "; the array is transposed: pass points.T"
    if len(shape) == 2 and shape[1] > 3:
        return "; for points with more columns pass points[:, :3]"
    if len(shape) == 3 and shape[2] == 3:
        return "; for an organised cloud pass points.reshape(-1, 3)"
    return ""

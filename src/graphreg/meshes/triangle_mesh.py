"""Triangle meshes, and samples of their surface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphreg.argument_checks import check_integer
from graphreg.errors import InputError

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]


@dataclass(frozen=True)
class SamplingSettings:
    """When and how a mesh becomes points.

    Attributes
    ----------
    points : int
        Points sampled from a mesh. Chosen: as many as a registration uses of a cloud.
    dense_edge : float
        A triangle is small where its longest edge is at most this many times the square root of the mesh's area.
        Derived: twice the spacing of 10,000 points.
    dense_share : float
        The vertices of a mesh stand for its surface where small triangles have at least this share of its area.
        Chosen: a meshed scan has a few large triangles over its holes.
    """

    points: int = 40_000
    dense_edge: float = 0.02
    dense_share: float = 0.95


SAMPLING = SamplingSettings()


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh. Wherever a cloud is accepted, so is a mesh: see `sample` for the points that are used.

    Attributes
    ----------
    vertices : (V, 3) ndarray of float64
        Finite.
    faces : (F, 3) ndarray of int32
        Numbers of vertices, counterclockwise as seen from outside.
    attributes : mapping of str to (V, ...) ndarray
        Colours and so on of the vertices, as a file stores them.

    Raises
    ------
    InputError
        Where the arrays have other shapes, a vertex is not finite, or a face refers to no vertex.

    Examples
    --------
    >>> mesh = Mesh(vertices=[[0, 0, 0], [3, 0, 0], [0, 4, 0]], faces=[[0, 1, 2]])
    >>> mesh.area
    6.0
    >>> points, normals = mesh.sample(1000)
    >>> points.shape, normals[0]
    ((1000, 3), array([0., 0., 1.]))
    """

    vertices: Floats
    faces: Faces
    attributes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        vertices, faces = _numbers(self.vertices, "vertices", "iuf"), _numbers(self.faces, "faces", "iu")
        vertices = np.ascontiguousarray(vertices, np.float64)
        if not np.isfinite(vertices).all():
            raise InputError("vertices: expected finite coordinates")
        if faces.size and not 0 <= int(faces.min()) <= int(faces.max()) < len(vertices):
            wrong = faces.max() if faces.max() >= len(vertices) else faces.min()
            raise InputError(f"faces: refer to vertex {wrong}, but vertices are 0 to {len(vertices) - 1}")
        if not len(faces):
            raise InputError("faces: expected at least one")
        for name, rows in self.attributes.items():
            if len(rows) != len(vertices):
                raise InputError(f"attributes: {name!r} has {len(rows)} rows for {len(vertices)} vertices")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", np.ascontiguousarray(faces, np.int32))

    @property
    def area(self) -> float:
        """The sum of the areas of all faces."""
        return float(face_areas(self)[0].sum())

    def sample(self, count: int = SAMPLING.points, seed: int = 0) -> tuple[Floats, Floats]:
        """Sample points uniformly by area: every face has its share of them, give or take one.

        Parameters
        ----------
        count : int, default 40_000
        seed : int, default 0
            The same seed gives the same points.

        Returns
        -------
        points : (count, 3) ndarray
        normals : (count, 3) ndarray
            Unit normals of the faces that they are on.

        Raises
        ------
        InputError
            Where no face has an area.
        """
        check_integer("count", count, 1)
        check_integer("seed", seed)
        areas, normals = face_areas(self)
        total = np.cumsum(areas)
        if not 0 < total[-1] < np.inf:
            raise InputError("mesh: has no area to sample")
        rng = np.random.default_rng(seed)
        # Stratified: one point in each of `count` equal parts of the area.
        at = (np.arange(count) + rng.random(count)) / count * total[-1]
        chosen = np.minimum(np.searchsorted(total, at, side="right"), np.flatnonzero(areas)[-1])
        v, w = rng.random(count), rng.random(count)
        beyond = v + w > 1
        v[beyond], w[beyond] = 1 - v[beyond], 1 - w[beyond]
        a, b, c = (self.vertices[self.faces[chosen, i]] for i in range(3))
        return a + v[:, None] * (b - a) + w[:, None] * (c - a), normals[chosen]


def mesh_without_gaps(vertices: NDArray[Any], faces: NDArray[Any], attributes: Mapping[str, NDArray[Any]]) -> Mesh:
    """A mesh without the vertices that are not finite, and without the faces that have such a corner."""
    finite = np.isfinite(vertices).all(axis=1)
    if not finite.all() and faces.size and faces.min() >= 0 and faces.max() < len(vertices):
        faces = (np.cumsum(finite) - 1)[faces[finite[faces].all(axis=1)]]
        attributes = {name: values[finite] for name, values in attributes.items()}
        vertices = vertices[finite]
    return Mesh(vertices, faces, attributes)


def face_areas(mesh: Mesh) -> tuple[Floats, Floats]:
    """The areas (F,) of the faces and their unit normals (F, 3), which are zero where there is no area."""
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        normals = np.cross(b - a, c - a)
        lengths = np.sqrt((normals**2).sum(axis=1))
        normals = np.where(lengths[:, None] > 0, normals / lengths[:, None], 0.0)
    return lengths / 2, normals


def vertex_places(vertices: Floats) -> NDArray[np.int64]:
    """The number of the place of each vertex (V,): the same for vertices with equal coordinates."""
    order = np.lexsort(vertices.T)  # much faster than np.unique along an axis
    ordered = vertices[order]
    places = np.empty(len(vertices), np.int64)
    places[order] = np.cumsum(np.r_[False, (ordered[1:] != ordered[:-1]).any(axis=1)])
    return places


def vertices_are_dense(mesh: Mesh) -> bool:
    """Whether the vertices sample the surface by themselves, as those of a meshed scan do and of a CAD model do not."""
    corners = mesh.vertices[mesh.faces]
    longest = np.sqrt(((corners - np.roll(corners, 1, axis=1)) ** 2).sum(axis=2).max(axis=1))
    areas, _ = face_areas(mesh)
    total = areas.sum()
    if not 0 < total < np.inf:
        return True
    small = longest <= SAMPLING.dense_edge * np.sqrt(total)
    return bool(areas[small].sum() >= SAMPLING.dense_share * total)


def _numbers(value: Any, name: str, kinds: str) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{name}: expected numbers of shape (N, 3)") from problem
    if array.dtype.kind not in kinds or array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{name}: expected numbers of shape (N, 3), got {array.dtype} of shape {array.shape}")
    return array

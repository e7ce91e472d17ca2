"""Maps of space that the methods return: of the nodes of a deformation graph, and of sums of Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphreg.clouds import BLOCK_ROWS, Floats
from graphreg.nonrigid.deformation_graph import DeformationGraph, Motion, carried_points, embedding
from graphreg.poses import nearest_rotation

# Step of differences, in node spacings.
DIFFERENCE = 1e-3


@dataclass(frozen=True, eq=False)
class Frame:
    """The unit of length and the origins in which a deformation was computed.

    Attributes
    ----------
    source, target : (3,) ndarray
        Origins.
    unit : float
        Extent of the source.
    """

    source: Floats
    target: Floats
    unit: float


@dataclass(frozen=True, eq=False)
class GraphWarp:
    """The map of a deformation graph: a point is carried by the nodes that carry the nearest points of the source."""

    frame: Frame
    graph: DeformationGraph
    motion: Motion

    def apply(self, points: Floats) -> Floats:
        """Return where the map takes points (M, 3)."""
        local = np.ascontiguousarray((points - self.frame.source) / self.frame.unit)
        result = np.empty_like(local)
        for begin in range(0, len(local), BLOCK_ROWS):
            rows = slice(begin, begin + BLOCK_ROWS)
            carriers, weights = embedding(self.graph, local[rows], 1)
            result[rows] = carried_points(self.graph, self.motion, local[rows], carriers, weights)
        return result * self.frame.unit + self.frame.target

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can store."""
        graph = self.graph
        arrays = {
            "nodes": graph.nodes,
            "edges": graph.edges,
            "points": graph.points,
            "carriers": graph.carriers,
            "weights": graph.weights,
            "positions": self.motion.positions,
            "rotations": self.motion.rotations,
        }
        return {
            "frame": _frame_to_dict(self.frame),
            "spacing": graph.spacing,
            **{k: v.tolist() for k, v in arrays.items()},
        }


@dataclass(frozen=True, eq=False)
class GaussianWarp:
    """A rigid transform and smooth displacements after it: x -> T x + sum_k c_k exp(-|x - z_k|^2 / (2 b^2)).

    Attributes
    ----------
    frame : Frame
    transformation : (4, 4) ndarray
        T, in the frame.
    centres, coefficients : (K, 3) ndarray
        z_k and c_k.
    width : float
        b.
    """

    frame: Frame
    transformation: Floats
    centres: Floats
    coefficients: Floats
    width: float

    def apply(self, points: Floats) -> Floats:
        """Return where the map takes points (M, 3)."""
        local = (points - self.frame.source) / self.frame.unit
        moved = local @ self.transformation[:3, :3].T + self.transformation[:3, 3]
        rows = max(1, 4_000_000 // max(1, len(self.centres)))
        for begin in range(0, len(local), rows):
            part = slice(begin, begin + rows)
            moved[part] += gaussians(local[part], self.centres, self.width) @ self.coefficients
        return np.asarray(moved * self.frame.unit + self.frame.target)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as values that JSON can store."""
        arrays = {
            "transformation": self.transformation,
            "centres": self.centres,
            "coefficients": self.coefficients,
        }
        return {"frame": _frame_to_dict(self.frame), "width": self.width, **{k: v.tolist() for k, v in arrays.items()}}


Warp = GraphWarp | GaussianWarp


def gaussians(points: Floats, centres: Floats, width: float) -> Floats:
    """Return exp(-|x - z|^2 / (2 b^2)) (M, K) of points (M, 3) and few centres (K, 3)."""
    from scipy.spatial.distance import cdist

    return np.asarray(np.exp(cdist(points, centres, "sqeuclidean") / (-2 * width**2)))


def motion_of(warp: Warp, graph: DeformationGraph, frame: Frame) -> Motion:
    """Return the motion of the nodes of a graph, in a frame, that follows a map."""
    rest = Motion(graph.nodes * frame.unit + frame.source, np.repeat(np.eye(3)[None], len(graph.nodes), axis=0))
    moved = motion_after(warp, rest, graph.spacing * frame.unit)
    return Motion((moved.positions - frame.target) / frame.unit, moved.rotations)


def motion_after(warp: Warp, motion: Motion, spacing: float) -> Motion:
    """Return a motion of nodes, and then a map; `spacing` is that of the nodes."""
    step, nodes = DIFFERENCE * spacing, motion.positions
    slopes = [(warp.apply(nodes + step * axis) - warp.apply(nodes - step * axis)) / (2 * step) for axis in np.eye(3)]
    return Motion(warp.apply(nodes), nearest_rotation(np.stack(slopes, axis=2) @ motion.rotations))


def warp_from_dict(values: dict[str, Any]) -> Warp:
    """Return the map that `to_dict` stored; ValueError, TypeError or KeyError where something is missing or wrong."""
    origins = values["frame"]
    frame = Frame(_array(origins["source"], (3,)), _array(origins["target"], (3,)), float(_array(origins["unit"], ())))
    if "centres" in values:
        centres = _array(values["centres"], (None, 3))
        coefficients = _array(values["coefficients"], centres.shape)
        width = float(_array(values["width"], ()))
        return GaussianWarp(frame, _array(values["transformation"], (4, 4)), centres, coefficients, width)
    nodes, points = _array(values["nodes"], (None, 3)), _array(values["points"], (None, 3))
    weights = _array(values["weights"], (len(points), None))
    carriers, edges = _array(values["carriers"], weights.shape), _array(values["edges"], (None, 2))
    for indices in (carriers, edges):
        if indices.size and (indices.min() < 0 or indices.max() >= len(nodes) or (indices % 1).any()):
            raise ValueError("indices of nodes that there are not")
    graph = DeformationGraph(
        nodes, edges.astype(np.intp), float(_array(values["spacing"], ())), points, carriers.astype(np.intp), weights
    )
    positions = _array(values["positions"], nodes.shape)
    return GraphWarp(frame, graph, Motion(positions, _array(values["rotations"], (len(nodes), 3, 3))))


def _array(value: Any, shape: tuple[int | None, ...]) -> Floats:
    """An array of finite numbers of a shape; None for any length but zero."""
    array = np.array(value)
    fits = array.ndim == len(shape) and all(
        n == m or (m is None and n) for n, m in zip(array.shape, shape, strict=True)
    )
    if array.dtype.kind not in "iuf" or not fits or not np.isfinite(array).all():
        raise ValueError(f"expected finite numbers of shape {shape}, got shape {array.shape}")
    return array.astype(np.float64)


def _frame_to_dict(frame: Frame) -> dict[str, Any]:
    return {"source": frame.source.tolist(), "target": frame.target.tolist(), "unit": frame.unit}

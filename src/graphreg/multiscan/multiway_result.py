"""The result of `multiway`: poses, groups, and the pose graph of all pairs that were registered."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.argument_checks import check_positive
from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import InputError
from graphreg.feedback.notebooks import notebook_html
from graphreg.feedback.summaries import labelled, listed
from graphreg.files.las_header import LasHeader, common_header
from graphreg.metrics import angular_error
from graphreg.multiscan.data_snooping import SIGNIFICANCE
from graphreg.multiscan.pose_graph import Groups
from graphreg.poses import PoseGraph, adjoint, inverse, pose, transform, transform_cloud
from graphreg.voxels import voxel_downsample


@dataclass(frozen=True, eq=False)
class Edge:
    """An edge of the pose graph: the registration of one pair of scans.

    Attributes
    ----------
    source, target : int
        Numbers of the scans.
    transformation : (4, 4) ndarray
        The relative transform, x_target = T x_source; NaN if the pair could not be registered at all.
    success, confidence, overlap : bool, float, float
        The verdict on the pair, as in `Result`.
    information : (6, 6) ndarray or None
        Inverse of the covariance of a small transform after T: rotations about the target's x, y, z axes through
        `rotation_centre` (radians), then translations along them. None without success.
    rotation_centre : (3,) ndarray
        The centroid of the target, in its frame.
    used : bool
        Whether it is an inlier of the pose graph.
    reason : str
        The verdict in words, or why the edge was rejected.
    """

    source: int
    target: int
    transformation: Floats
    success: bool
    confidence: float
    overlap: float
    information: Floats | None
    rotation_centre: Floats
    used: bool
    reason: str


@dataclass(frozen=True, eq=False)
class ControlResidual:
    """A control point or target in one scan, after the adjustment.

    Attributes
    ----------
    name : str
    scan : int
        Number of the scan.
    known : bool
        Whether it has world coordinates; else it is a target that ties scans together.
    residual : (3,) ndarray
        The point, or the mean of a target, less its position by the pose of this scan; NaN for a scan that is not in
        the first group.
    sigma : float
        Standard deviation of a coordinate, as stated.
    probability : float
        Of a residual as large, if the point is right; NaN with the residual.
    used : bool
        False for outliers, and where there is no residual.
    """

    name: str
    scan: int
    known: bool
    residual: Floats
    sigma: float
    probability: float
    used: bool

    @property
    def is_outlier(self) -> bool:
        """Whether it was left out because it contradicts the others."""
        return not self.used and self.probability < SIGNIFICANCE


@dataclass(frozen=True, eq=False, repr=False)
class Multiway:
    """Result of `multiway`.

    Attributes
    ----------
    names : tuple of str
        Of the scans, in the order of the input.
    poses : (N, 4, 4) ndarray
        x = P x_scan; NaN for a scan that is left out. The frame of a group is that of fixed scans or control points;
        without these the first scan has its initial pose, by default the identity.
    groups : tuple of tuple of int
        Numbers of the scans that used edges, control points or targets connect: the group in the world frame first,
        then the largest.
    left_out : dict of str to str
        Name and reason of each scan that belongs to no group.
    doubtful : dict of str to str
        Name and reason of each scan that has a pose, although several rejected edges agree on another one.
    edges : tuple of Edge
        Every pair that was registered, successful or not.
    initial_poses : (N, 4, 4) ndarray
        Poses before the pose graph was optimised, composed along a spanning tree of its most trusted edges.
    timings : dict of str to float
        Seconds of each stage, and the total.
    clouds : tuple of Cloud
        The scans.
    covariances : (N, 6, 6) ndarray
        Of rotations about the axes of each scan through its centroid (radians), and translations along them; zero for
        a scan that stays, NaN for one that is left out. As conservative as the information matrices of the edges.
    fixed : tuple of int
        Numbers of the scans that stay.
    control : tuple of ControlResidual
        Control points and targets of all scans that have enough points to be used.
    in_world : bool
        Whether fixed scans or control points determine the frame of the first group.
    """

    names: tuple[str, ...]
    poses: Floats
    groups: Groups
    left_out: dict[str, str]
    doubtful: dict[str, str]
    edges: tuple[Edge, ...]
    initial_poses: Floats
    timings: dict[str, float]
    clouds: tuple[Cloud, ...]
    covariances: Floats
    fixed: tuple[int, ...]
    control: tuple[ControlResidual, ...]
    in_world: bool

    def __repr__(self) -> str:
        first = self.groups[0] if self.groups else ()
        used = [edge for edge in self.edges if edge.used]
        residuals = np.array([self.pair_residual(edge) for edge in used]).reshape(-1, 2)
        sigmas = np.array([self.deviations(scan) for scan in first]).reshape(-1, 2)
        outliers = [f"{point.name} in {self.names[point.scan]}" for point in self.control if point.is_outlier]
        entries = {
            "pairs": f"{len(used)} of {len(self.edges)} are edges of the pose graph",
            "residuals": _largest(residuals, "between the poses and a pair"),
            "sigma": _largest(sigmas, "of a pose"),
            "frame": "of fixed scans or control points" if self.in_world else "",
            "groups": f"{len(self.groups)} without an edge between them" if len(self.groups) > 1 else "",
            "left out": listed(list(self.left_out)),
            "doubtful": listed(list(self.doubtful)),
            "outliers": listed(outliers),
            "time": f"{self.timings['total']:.2f} s",
        }
        verdict = "registered" if self.success else "not all registered"
        return labelled(f"{verdict}: {len(first)} of {len(self.names)} scans in one frame", entries)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    @property
    def success(self) -> bool:
        """Whether all scans are in one group, none is doubtful, and control points determine its frame, if any."""
        placed = self.in_world or not any(point.known for point in self.control)
        return len(self.groups) == 1 and not self.left_out and not self.doubtful and placed

    def pair_residual(self, edge: Edge) -> tuple[float, float]:
        """By how much the poses differ from the registration of a pair.

        Parameters
        ----------
        edge : Edge
            One of `edges`.

        Returns
        -------
        degrees, distance : float
            Of the rotation, and of the translation at the centroid of the target, in the unit of the data. NaN where
            the pair could not be registered or its scans have no common frame.

        Examples
        --------
        >>> import graphreg
        >>> from graphreg.datasets import synthetic
        >>> scans = [scan.points for scan in synthetic.sequence("hare", 2, 30, points=2000)]
        >>> result = graphreg.multiway(scans)
        >>> degrees, distance = result.pair_residual(result.edges[0])
        >>> degrees < 0.5
        True
        """
        together = any({edge.source, edge.target} <= set(group) for group in self.groups)
        if not together or np.isnan(edge.transformation).any():
            return float("nan"), float("nan")
        by_poses = inverse(self.poses[edge.target]) @ self.poses[edge.source]
        apart = by_poses @ inverse(edge.transformation)
        moved = transform(apart, edge.rotation_centre[None])[0] - edge.rotation_centre
        return angular_error(by_poses, edge.transformation), float(np.linalg.norm(moved))

    def deviations(self, scan: int) -> tuple[float, float]:
        """Standard deviations of the pose of a scan.

        Parameters
        ----------
        scan : int
            Its number.

        Returns
        -------
        degrees, distance : float
            Roots of the summed variances of the rotations, and of the translations, see `covariances`.
        """
        variances = np.diagonal(self.covariances[scan])
        return float(np.degrees(np.sqrt(variances[:3].sum()))), float(np.sqrt(variances[3:].sum()))

    @property
    def graph(self) -> PoseGraph:
        """The pose graph of all successful pairs, used or not; a scan that is left out has the identity as its pose."""
        edges = [edge for edge in self.edges if edge.information is not None]
        # From rotations about the centroid of the target to rotations about the origin of its frame.
        recentred = [pose(np.eye(3), -edge.rotation_centre) for edge in edges]
        change = adjoint(np.array(recentred).reshape(-1, 4, 4))
        information = np.array([edge.information for edge in edges], np.float64).reshape(-1, 6, 6)
        return PoseGraph(
            np.where(np.isnan(self.poses), np.eye(4), self.poses),
            np.array([(edge.source, edge.target) for edge in edges], np.intp).reshape(-1, 2),
            np.array([edge.transformation for edge in edges]).reshape(-1, 4, 4),
            change.transpose(0, 2, 1) @ information @ change,
        )

    def to_json(self) -> str:
        """The result as JSON, without the clouds and the information matrices.

        Returns
        -------
        str
            An object with the keys success, in_world, names, poses, deviations (degrees and distance), groups, fixed,
            left_out, doubtful, control, edges and timings. Poses of scans that are left out, and what is NaN, are null.
        """

        def number(value: float) -> float | None:
            return None if np.isnan(value) else float(value)

        def plain(edge: Edge) -> dict[str, Any]:
            return {
                "source": self.names[edge.source],
                "target": self.names[edge.target],
                "transformation": None if np.isnan(edge.transformation).any() else edge.transformation.tolist(),
                "success": edge.success,
                "confidence": edge.confidence,
                "overlap": edge.overlap,
                "residual": [number(value) for value in self.pair_residual(edge)],
                "used": edge.used,
                "reason": edge.reason,
            }

        grouped = {scan for group in self.groups for scan in group}
        return json.dumps(
            {
                "success": self.success,
                "in_world": self.in_world,
                "names": self.names,
                "poses": [self.poses[scan].tolist() if scan in grouped else None for scan in range(len(self.names))],
                "deviations": [[number(value) for value in self.deviations(scan)] for scan in range(len(self.names))],
                "groups": [[self.names[scan] for scan in group] for group in self.groups],
                "fixed": [self.names[scan] for scan in self.fixed],
                "left_out": self.left_out,
                "doubtful": self.doubtful,
                "control": [
                    {
                        "name": point.name,
                        "scan": self.names[point.scan],
                        "known": point.known,
                        "residual": [number(value) for value in point.residual],
                        "sigma": point.sigma,
                        "probability": number(point.probability),
                        "used": point.used,
                    }
                    for point in self.control
                ],
                "edges": [plain(edge) for edge in self.edges],
                "timings": self.timings,
            },
            allow_nan=False,
        )

    def merged(self, voxel: float | None = None) -> Cloud:
        """The scans of the first group as one cloud, in its frame.

        Parameters
        ----------
        voxel : float, optional
            Downsample to one point for each voxel of this size; attributes are dropped then.

        Returns
        -------
        Cloud
            With the attributes that all scans have, and `scan`: the number of the scan of each point. Where the scans
            are from LAS files, with the header that they have in common, see `graphreg.files.las_header`.

        Raises
        ------
        InputError
            If no two scans belong together.
        """
        if not self.groups:
            raise InputError("merged: no two scans belong together")
        members = [transform_cloud(self.poses[scan], self.clouds[scan]) for scan in self.groups[0]]
        points = np.concatenate([cloud.points for cloud in members])
        headers = [cloud.header for cloud in members]
        header = common_header(headers)[0] if all(isinstance(each, LasHeader) for each in headers) else None
        if voxel is not None:
            centroids = voxel_downsample(points, check_positive("voxel", voxel, "a positive length"))
            return replace(as_cloud(centroids), header=header)
        shared = set.intersection(*(set(cloud.attributes) for cloud in members))
        attributes = {
            name: np.concatenate([cloud.attributes[name] for cloud in members])
            for name in members[0].attributes
            if name in shared and len({cloud.attributes[name].shape[1:] for cloud in members}) == 1
        }
        scan_of_point = np.repeat(np.array(self.groups[0], np.int32), [len(cloud) for cloud in members])
        return replace(as_cloud(points, attributes={**attributes, "scan": scan_of_point}), header=header)


def _largest(values: Floats, what: str) -> str:
    """The largest of rotations in degrees and of distances, in words."""
    if not len(values) or np.isnan(values).all():
        return ""
    degrees, distance = np.nanmax(values, axis=0)
    return f"at most {degrees:.2g}° and {distance:.2g} {what}"

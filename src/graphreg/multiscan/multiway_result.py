"""The result of `multiway`: poses, groups, and the pose graph of all pairs that were registered."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphreg.argument_checks import check_positive
from graphreg.clouds import Cloud, Floats, as_cloud
from graphreg.errors import InputError
from graphreg.files.las_header import LasHeader, common_header
from graphreg.multiscan.pose_graph import Groups
from graphreg.poses import PoseGraph, adjoint, pose, transform_cloud
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
class Multiway:
    """Result of `multiway`.

    Attributes
    ----------
    names : tuple of str
        Of the scans, in the order of the input.
    poses : (N, 4, 4) ndarray
        x = P x_scan in the frame of the first scan of its group; NaN for a scan that is left out.
    groups : tuple of tuple of int
        Numbers of the scans that used edges connect, the largest group first.
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

    @property
    def success(self) -> bool:
        """Whether all scans are in one group and none is doubtful."""
        return len(self.groups) == 1 and not self.left_out and not self.doubtful

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
            An object with the keys success, names, poses, groups, left_out, doubtful, edges and timings. Poses of
            scans that are left out, and transformations that are NaN, are null.
        """

        def plain(edge: Edge) -> dict[str, Any]:
            return {
                "source": self.names[edge.source],
                "target": self.names[edge.target],
                "transformation": None if np.isnan(edge.transformation).any() else edge.transformation.tolist(),
                "success": edge.success,
                "confidence": edge.confidence,
                "overlap": edge.overlap,
                "used": edge.used,
                "reason": edge.reason,
            }

        grouped = {scan for group in self.groups for scan in group}
        return json.dumps(
            {
                "success": self.success,
                "names": self.names,
                "poses": [self.poses[scan].tolist() if scan in grouped else None for scan in range(len(self.names))],
                "groups": [[self.names[scan] for scan in group] for group in self.groups],
                "left_out": self.left_out,
                "doubtful": self.doubtful,
                "edges": [plain(edge) for edge in self.edges],
                "timings": self.timings,
            },
            allow_nan=False,
        )

    def merged(self, voxel: float | None = None) -> Cloud:
        """The scans of the largest group as one cloud, in the frame of its first scan.

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

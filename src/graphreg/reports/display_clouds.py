"""Point clouds for display: subsampled, described by their neighbourhood graph, with a default viewpoint."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud, sample_rows
from graphreg.engine.settings import EngineSettings
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import fit_planes, graph_invariants
from graphreg.features.response import response_intensity
from graphreg.features.volume_outliers import volume_inliers
from graphreg.poses import nearest_rotation, pose, principal_frame, rotation_from_vector, transform
from graphreg.result import Result
from graphreg.threads import thread_count

# Points of a cloud that are displayed; a larger cloud is subsampled.
MAX_POINTS = 120_000
# The neighbourhood graph needs three points.
MIN_POINTS = 3
# Share of the inliers within the radius of a cloud.
RADIUS_QUANTILE = 0.98
# Points farther from the centre than this many radii are not displayed: one isolated point would shrink the rest to a
# speck. Clouds whose centres are farther apart than this are displayed closer together.
MAX_DISTANCE = 3.0
# Cosine of 45 degrees: two directions with a larger one are considered parallel.
PARALLEL_COSINE = 0.7
# The default view is tilted from the normal of the flat side by these angles to the right and upwards, in radians.
VIEW_AZIMUTH, VIEW_ELEVATION = 0.35, 0.35
# A room or a landscape is seen from above, this far off the vertical, in radians, so that its walls stand upright.
OBLIQUE = 0.6


@dataclass(frozen=True, eq=False)
class DisplayCloud:
    """The points of a cloud that are displayed, with the signals that they can be coloured by.

    Attributes
    ----------
    points : (N, 3) ndarray
        Inliers of the rule "volume" of `graphreg.inliers` first, then outliers.
    inlier_count : int
        Number of inliers.
    total : int
        Number of finite points of the cloud.
    too_far_count : int
        Number of sampled points that are not displayed, being too far from the centre.
    intensity, variation : (N,) ndarray
        The response intensity I(x) and the local variation V_g(x).
    neighbour_mean, normal : (N, 3) ndarray
        Mean and plane normal of each point's neighbourhood.
    neighbour_radius : (N,) ndarray
        Distance to the farthest neighbour.
    centre : (3,) ndarray
        Centroid of the inliers.
    radius : float
        Radius about the centre that contains `RADIUS_QUANTILE` of the inliers.
    spacing : float
        Typical distance between neighbouring inliers.
    """

    points: Floats
    inlier_count: int
    total: int
    too_far_count: int
    intensity: Floats
    variation: Floats
    neighbour_mean: Floats
    normal: Floats
    neighbour_radius: Floats
    centre: Floats
    radius: float
    spacing: float


def describe_cloud(cloud: Any, name: str, threads: int = 1) -> DisplayCloud:
    """Subsample a cloud and compute what is displayed of it. The same cloud gives the same result.

    Parameters
    ----------
    cloud : array_like or Cloud
        (N, 3) points.
    name : str
        Name of the argument, for error messages.
    threads : int, default 1
        Number of threads.

    Returns
    -------
    DisplayCloud
    """
    finite = as_cloud(cloud, name, MIN_POINTS).points
    points = subsample(finite, MAX_POINTS)
    k = min(EngineSettings().k, len(points) - 1)
    graph = neighbour_graph(points, k, threads)
    intensity = response_intensity(graph)
    inlier = volume_inliers(graph)
    if not inlier.any():
        inlier[:] = True
    centre = points[inlier].mean(axis=0)
    centre_distance = np.linalg.norm(points - centre, axis=1)
    radius = float(np.quantile(centre_distance[inlier], RADIUS_QUANTILE)) or 1.0
    normal, _ = fit_planes(graph)
    neighbour_sum = points[graph.neighbours].sum(axis=1) + points
    neighbour_radius = np.linalg.norm(points - points[graph.neighbours[:, -1]], axis=1)
    inside = np.flatnonzero(centre_distance <= MAX_DISTANCE * radius)
    shown = inside[np.argsort(~inlier[inside], kind="stable")]
    return DisplayCloud(
        points=points[shown],
        inlier_count=int(np.count_nonzero(inlier[shown])),
        total=len(finite),
        too_far_count=len(points) - len(shown),
        intensity=intensity[shown],
        variation=graph_invariants(graph)[shown, 0],
        neighbour_mean=neighbour_sum[shown] / (k + 1),
        normal=normal[shown],
        neighbour_radius=neighbour_radius[shown],
        centre=centre,
        radius=radius,
        # The spacing of a square grid that has k points in a disc of this radius.
        spacing=float(np.median(neighbour_radius[inlier]) * np.sqrt(np.pi / k)),
    )


def describe_pair(source: Any, target: Any, threads: int | None = None) -> tuple[DisplayCloud, DisplayCloud]:
    """Apply `describe_cloud` to a source and a target, by default with all threads."""
    workers = thread_count(threads)
    return describe_cloud(source, "source", workers), describe_cloud(target, "target", workers)


def subsample(points: Floats, most: int) -> Floats:
    """Sample at most `most` points at random: every n-th would show stripes, as scans are stored by scan line."""
    return points[sample_rows(len(points), most)]


def surface_distances(source: DisplayCloud, target: DisplayCloud, transformation: Floats, threads: int = 1) -> Floats:
    """Compute the distance of each transformed point to the surface of the target.

    Near each point the surface is the plane through the neighbourhood of the nearest target point, bounded by the
    radius of that neighbourhood. Residuals of a correct pose are therefore the noise of the surface, not the spacing
    of its points.

    Parameters
    ----------
    source, target : DisplayCloud
        The cloud whose points are measured, and the one that they are measured to.
    transformation : (4, 4) ndarray
        x_target = T x_source.
    threads : int, default 1
        Number of threads.

    Returns
    -------
    (N,) ndarray
        In the unit of the data.
    """
    surface = target.points[: target.inlier_count] - target.centre
    moved = transform(transformation, source.points) - target.centre
    nearest = _core.Tree(surface, threads).nearest(moved, 1, threads)[0][:, 0]
    normal = target.normal[nearest]
    gap = moved - surface[nearest]
    across = np.einsum("ij,ij->i", gap, normal)
    along = np.sqrt(np.maximum(np.einsum("ij,ij->i", gap, gap) - across**2, 0.0))
    # The plane passes through the mean of the neighbourhood, which is less noisy than the point.
    offset = np.einsum("ij,ij->i", moved - (target.neighbour_mean[nearest] - target.centre), normal)
    return np.asarray(np.hypot(offset, np.maximum(along - target.neighbour_radius[nearest], 0.0)))


def default_view(cloud: DisplayCloud) -> Floats:
    """Choose the viewpoint from which most of a cloud is visible.

    The camera looks at the flat side of the cloud: from the scanner's position, or obliquely from above for a landscape
    or a room. Up is z. For a camera that looks along z, up is y, or -y for the frame of a depth camera, which looks
    along +z with y pointing down.

    Returns
    -------
    (3, 3) ndarray
        Rows: right, up and towards the viewer, in the frame of the cloud.
    """
    inliers = cloud.points[: cloud.inlier_count]
    # In units of the radius, so that squares neither overflow nor vanish.
    flat = principal_frame((inliers - cloud.centre) / cloud.radius)[0, :3]
    centre = cloud.centre / cloud.radius
    # A cloud on one side of the origin was scanned from the origin.
    across = float(flat @ centre)
    from_origin = abs(across) > max(1.0, PARALLEL_COSINE * float(np.linalg.norm(centre)))
    horizontal = abs(flat[2]) > PARALLEL_COSINE
    if horizontal and not from_origin:
        return np.asarray(rotation_from_vector([-OBLIQUE, 0, 0]))
    viewer = flat * (-np.sign(across) or 1.0)
    up = np.array([0.0, np.sign(viewer[2]), 0.0]) if horizontal else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, viewer)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(viewer, right), viewer])
    elevate, rotate = rotation_from_vector([VIEW_ELEVATION, 0, 0]), rotation_from_vector([0, -VIEW_AZIMUTH, 0])
    return np.asarray(elevate @ rotate @ axes)


@dataclass(frozen=True, eq=False)
class DisplayedPose:
    """Pose in which the source is displayed, in units of the larger radius, relative to the centre of the target.

    Attributes
    ----------
    rotation : (3, 3) ndarray
        Rotation of the source about its centre.
    translation : (3,) ndarray
        Position of the centre of the source.
    shortened : bool
        Whether the source is displayed closer to the target than it is: clouds far apart would be two specks.
    """

    rotation: Floats
    translation: Floats
    shortened: bool


def without_scale(result: Result, source: Any) -> tuple[Result, Any]:
    """Return a result of the scaled source, with rigid transforms, and that source; both as they are at scale 1."""
    if result.scale == 1:
        return result, source
    cloud = as_cloud(source, "source")
    scaled = replace(cloud, points=cloud.points * result.scale, mesh=None)
    centre = scaled.points.mean(axis=0)

    def rigid(transformation: Floats) -> Floats:
        """The same position of the centre and rotation."""
        rotation = nearest_rotation(transformation[:3, :3])
        return pose(rotation, transform(transformation, centre[None] / result.scale)[0] - rotation @ centre)

    history = tuple(replace(step, transformation=rigid(step.transformation)) for step in result.history)
    return replace(result, transformation=rigid(result.transformation), history=history), scaled


def displayed_pose(transformation: Floats, source: DisplayCloud, target: DisplayCloud) -> DisplayedPose:
    """Convert x_target = T x_source into the pose in which the source is displayed."""
    unit = max(source.radius, target.radius)
    translation = (transform(transformation, source.centre[None])[0] - target.centre) / unit
    length = float(np.linalg.norm(translation))
    shortened = length > MAX_DISTANCE
    if shortened:
        translation = translation * (MAX_DISTANCE / length)
    return DisplayedPose(transformation[:3, :3], translation, shortened)

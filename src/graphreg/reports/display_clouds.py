"""A registration made ready to be looked at: few enough points, what is known of each, and where to look from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import graphreg._core as _core
from graphreg.clouds import Floats, as_cloud, sample_rows
from graphreg.engine.cleaning import robust_x84_limit
from graphreg.engine.settings import EngineSettings
from graphreg.errors import InputError
from graphreg.features.graphs import neighbour_graph
from graphreg.features.invariant_features import fit_planes, graph_invariants
from graphreg.features.response import response_intensity, rounding_error
from graphreg.poses import principal_frame, rotation_from_vector, transform
from graphreg.result import Result
from graphreg.threads import thread_count

if TYPE_CHECKING:
    from graphreg.reports.pictures import Image

# Points of a cloud that are shown; of more, so many are drawn. In a still picture fewer do.
MOST_POINTS, MOST_IN_PICTURE = 120_000, 30_000
# The graph needs three points at the least.
LEAST_POINTS = 3
# X84's limit for what is left out of pictures: the usual one also drops the rims of a scan, which are missed there.
LOOSE_ALPHA = 80.0
# The share of the points on surfaces that lies within the radius. Points that are this many radii off are not shown:
# one stray point would leave no room for the rest.
WITHIN = 0.98
FARTHEST, WIDEST_IN_PICTURE = 3.0, 1.2
# The cosine of 45 degrees: more, and two directions are about the same.
STRAIGHT = 0.7
# From the flat side of a cloud, a little from the right and from above: radians.
ASIDE, ABOVE = 0.35, 0.35


@dataclass(frozen=True, eq=False)
class Sample:
    """Points of a cloud, and what the graph says of each of them.

    points     (N, 3), drawn from the cloud where it has more; first those on surfaces, then outliers by the X84 rule
    on_surface, near_surface  how many are no outliers, and how many are none if one looks less closely: the X84 rule
               also takes the rims of a scan for outliers, and in a picture they are missed
    total      how many the cloud has, without the rows that are not finite
    left_out   how many of those drawn lie too far off to be shown
    intensity, variation  (N,): I(x) and V_g(x)
    middle, normal, reach  (N, 3), (N, 3), (N,): of a point and its neighbours the mean, the plane's normal, and how far
               the farthest is
    centre, radius         of the part that lies on surfaces
    spacing    the usual distance between points on surfaces
    """

    points: Floats
    on_surface: int
    near_surface: int
    total: int
    left_out: int
    intensity: Floats
    variation: Floats
    middle: Floats
    normal: Floats
    reach: Floats
    centre: Floats
    radius: float
    spacing: float


def sample_of(cloud: Any, name: str, threads: int = 1) -> Sample:
    """Draw points of a cloud and describe them. The same cloud gives the same sample.

    name  what the caller calls it, for the error message
    """
    whole = as_cloud(cloud, name, LEAST_POINTS).points
    points = drawn(whole, MOST_POINTS)
    usual = EngineSettings()
    k = min(usual.k, len(points) - 1)
    graph = neighbour_graph(points, k, threads)
    intensity = response_intensity(graph)
    rounding = rounding_error(points)
    kept, near = (intensity <= robust_x84_limit(intensity, alpha, rounding) for alpha in (usual.alpha, LOOSE_ALPHA))
    if not kept.any():
        kept = near = np.ones(len(points), bool)
    centre = points[kept].mean(axis=0)
    away = np.linalg.norm(points - centre, axis=1)
    radius = float(np.quantile(away[kept], WITHIN)) or 1.0
    normal, _ = fit_planes(graph)
    around = points[graph.neighbours].sum(axis=1) + points
    reach = np.linalg.norm(points - points[graph.neighbours[:, -1]], axis=1)
    inside = np.flatnonzero(away <= FARTHEST * radius)
    shown = inside[np.argsort(-kept[inside].astype(int) - near[inside], kind="stable")]
    return Sample(
        points=points[shown],
        on_surface=int(np.count_nonzero(kept[shown])),
        near_surface=int(np.count_nonzero(near[shown])),
        total=len(whole),
        left_out=len(points) - len(shown),
        intensity=intensity[shown],
        variation=graph_invariants(graph)[shown, 0],
        middle=around[shown] / (k + 1),
        normal=normal[shown],
        reach=reach[shown],
        centre=centre,
        radius=radius,
        # So far apart are points of which k lie within the reach, on a square grid.
        spacing=float(np.median(reach[kept]) * np.sqrt(np.pi / k)),
    )


def drawn(points: Floats, most: int) -> Floats:
    """At most so many of the points, drawn at random: every n-th would show stripes, as scans come in rows."""
    return points[sample_rows(len(points), most)]


def distances(sample: Sample, other: Sample, motion: Floats, threads: int = 1) -> Floats:
    """(N,): how far each point, once moved, lies off the surface of the other cloud.

    That surface is, near each point, the plane through the nearest point of the other cloud and its neighbours, as far
    as these reach: distances between points on one surface are its noise, not the gaps between its points.
    """
    surface = other.points[: other.near_surface] - other.centre
    moved = transform(motion, sample.points) - other.centre
    nearest = _core.Tree(surface, threads).nearest(moved, 1, threads)[0][:, 0]
    normal = other.normal[nearest]
    gap = moved - surface[nearest]
    across = np.einsum("ij,ij->i", gap, normal)
    along = np.sqrt(np.maximum(np.einsum("ij,ij->i", gap, gap) - across**2, 0.0))
    # The plane goes through the middle of the neighbours, which is less noisy than the point.
    off = np.einsum("ij,ij->i", moved - (other.middle[nearest] - other.centre), normal)
    return np.asarray(np.hypot(off, np.maximum(along - other.reach[nearest], 0.0)))


def standpoint(sample: Sample) -> Floats:
    """(3, 3), rows right, up and towards the viewer: from where most of the cloud is seen.

    That is across its flat side: from where a scanner stood, or from above a landscape. Up is z. Where we look along
    z it is y, or from a camera, which looks along +z and has y pointing down, -y.
    """
    points = sample.points[: sample.on_surface]
    # As wide as the radius, so that squares neither overflow nor vanish.
    flat = principal_frame((points - sample.centre) / sample.radius)[0, :3]
    centre = sample.centre / sample.radius
    # Where the cloud lies wholly on one side of the origin, that is where the scanner stood.
    across = float(flat @ centre)
    from_origin = abs(across) > max(1.0, STRAIGHT * float(np.linalg.norm(centre)))
    lies = abs(flat[2]) > STRAIGHT
    viewer = flat * (np.sign(flat[2]) if lies and not from_origin else -np.sign(across) or 1.0)
    up = np.array([0.0, np.sign(viewer[2]), 0.0]) if lies else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, viewer)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(viewer, right), viewer])
    return np.asarray(rotation_from_vector([ABOVE, 0, 0]) @ rotation_from_vector([0, -ASIDE, 0]) @ axes)


@dataclass(frozen=True, eq=False)
class Placement:
    """Where the source is drawn, in units of the larger radius, relative to the target's centre.

    rotation, shift  of the source's points about their centre, and where that centre goes
    shortened        whether it is drawn nearer than it is: scans that lie far apart would be two specks
    """

    rotation: Floats
    shift: Floats
    shortened: bool


def placement_of(motion: Floats, source: Sample, target: Sample) -> Placement:
    """How the source is drawn when it has been moved so."""
    size = max(source.radius, target.radius)
    shift = (transform(motion, source.centre[None])[0] - target.centre) / size
    length = float(np.linalg.norm(shift))
    shortened = length > FARTHEST
    return Placement(motion[:3, :3], shift * (FARTHEST / length) if shortened else shift, shortened)


def before_and_after(
    result: Result, source: Any, target: Any, size: tuple[int, int] = (1600, 600), threads: int | None = None
) -> Image:
    """Both clouds as they came, and with the source moved: (height, width, 3) uint8, drawn without a display.

    What lies far off any surface, or far out, is left out.

    result          what `register` found for source and target
    source, target  (N, 3) and (M, 3), or anything else that holds points
    size            (width, height) in pixels
    """
    return picture_of(as_result(result), *samples_of(source, target, threads), size)


def picture_of(result: Result, source: Sample, target: Sample, size: tuple[int, int]) -> Image:
    from graphreg.reports.pictures import BLUE, ORANGE, Camera, panels

    turn = _into_picture(target)
    unit = max(source.radius, target.radius)
    moving, fixed = (_for_picture(sample) / unit for sample in (source, target))
    scenes = []
    for motion in (np.eye(4), result.transformation):
        placed = placement_of(motion, source, target)
        moved = moving @ placed.rotation.T + placed.shift
        scenes.append([(moved @ turn.T, BLUE), (fixed @ turn.T, ORANGE)])
    captions = ["before: source blue, target orange", "after"]
    return panels(scenes, captions, Camera(azimuth=0, elevation=0), size)


def preview(cloud: Any, size: tuple[int, int] = (1000, 750), threads: int | None = None) -> Image:
    """One cloud, coloured by its height in the picture: (height, width, 3) uint8, drawn without a display.

    What lies far off any surface, or far out, is left out.
    """
    from graphreg.reports.pictures import Camera, colour_map, render

    sample = sample_of(cloud, "cloud", thread_count(threads))
    points = (_for_picture(sample) / sample.radius) @ _into_picture(sample).T
    return render([(points, colour_map(points[:, 2]))], Camera(azimuth=0, elevation=0), size)


def _into_picture(sample: Sample) -> Floats:
    """(3, 3): the rotation after which a picture's camera, which looks along +y with z up, stands at `standpoint`."""
    right, up, viewer = standpoint(sample)
    return np.stack([right, -viewer, up])


def _for_picture(sample: Sample) -> Floats:
    """Points about the cloud's centre, without those that would make the rest small."""
    points = sample.points[: sample.near_surface] - sample.centre
    return drawn(points[np.linalg.norm(points, axis=1) <= WIDEST_IN_PICTURE * sample.radius], MOST_IN_PICTURE)


def samples_of(source: Any, target: Any, threads: int | None) -> tuple[Sample, Sample]:
    workers = thread_count(threads)
    return sample_of(source, "source", workers), sample_of(target, "target", workers)


def as_result(value: Any) -> Result:
    if not isinstance(value, Result):
        raise InputError(f"result: expected what register() returned, got {type(value).__name__}")
    return value

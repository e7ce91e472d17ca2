"""Pictures of the documentation, rendered from synthetic scans: `python benchmarks/pictures.py --out docs/pictures`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphreg
from graphreg.clouds import Floats, sample_rows
from graphreg.datasets import synthetic
from graphreg.engine.engine_run import EngineRun
from graphreg.engine.evidence import EVIDENCE
from graphreg.engine.pipeline import register_graphreg
from graphreg.engine.pyramid import SurfelPyramid
from graphreg.features.filtered_invariants import comparable_invariants
from graphreg.poses import inverse, pose, rotation_from_vector, transform
from graphreg.reports.comparison_page import deviation_colours
from graphreg.reports.pictures import (
    BLUE,
    GREY,
    ORANGE,
    RED,
    Camera,
    Coloured,
    Image,
    ScaleBar,
    colour_map,
    panels,
    render,
    write_png,
)
from graphreg.reports.plots import Panel, plot_grid, write_svg
from graphreg.robust.influence_functions import INFLUENCE

GREEN = (0.16, 0.55, 0.38)
# Of the chart of losses: more is not drawn.
MOST_INFLUENCE, MOST_WEIGHT = 4.0, 1.5
SIZE = (1500, 860)
METRES, MILLIMETRES = ScaleBar(unit="m"), ScaleBar(unit="mm")
FROM_ABOVE = Camera(azimuth=20, elevation=50)
# Of a bracket in millimetres: corners of its outline, all of which are visible from the first, and its height.
OUTLINE, HEIGHT = [[0, 0], [60, 0], [60, 12], [25, 12], [25, 30], [12, 30], [12, 45], [0, 45]], 20.0


def stages() -> Image:
    """What each stage of the engine makes of two scans of a casting."""
    pair = synthetic.pair("casting", 50.0, points=30_000)
    start = pose(rotation_from_vector(np.radians([50.0, -70.0, 110.0])), np.zeros(3))
    source = transform(start, pair.source - pair.source.mean(axis=0))
    outcome = register_graphreg(EngineRun(source, pair.target))
    x, y = outcome.evidence.source, outcome.evidence.target
    found, first = outcome.transformation, outcome.history[0].transformation
    # Upright in the frame in which the target was made.
    scan = next(synthetic.sequence("casting", 1, points=2000))
    level = pose(scan.pose[:3, :3], np.zeros(3))
    width = float(np.ptp(transform(level, pair.target)[:, 0]))
    beside = pose(np.eye(3), [1.15 * width, 0, 0])
    surfels, descriptors = _surfels(x), _principal_component(x, y)
    at = [transform(level @ found, surfels), transform(level, _surfels(y))]
    apart = [transform(inverse(beside), at[0]), at[1]]
    i, j = outcome.evidence.correspondences
    inlier = np.linalg.norm(at[0][i] - at[1][j], axis=1) <= EVIDENCE.inlier_distance * y.coarse_voxel
    shown = sample_rows(len(i), 45)
    lines: list[Coloured] = [
        (_segments(apart[0][i[rows]], apart[1][j[rows]]), colour)
        for rows, colour in ((shown[~inlier[shown]], RED), (shown[inlier[shown]], GREEN))
        if len(rows)
    ]
    target: Coloured = (transform(level, pair.target), ORANGE)
    tints = np.linspace(0.25, 0.75, 4)[:, None] * np.array(BLUE) + np.linspace(0.75, 0.25, 4)[:, None] * np.ones(3)
    candidates: list[Coloured] = [
        (transform(level @ T, surfels), tint) for T, tint in zip(outcome.candidates[:4][::-1], tints, strict=False)
    ]
    overlaps = _near(transform(level @ found, source), target[0], 3 * y.fine_voxel)
    moved = transform(level @ found, source)
    rows = [
        panels(
            [
                [(at[1], colour_map(np.abs(transform(pose(level[:3, :3], np.zeros(3)), y.coarse.normals)[:, 2])))],
                [(apart[0], descriptors[0]), (apart[1], descriptors[1])],
                [(apart[0], GREY), (apart[1], GREY), *lines],
            ],
            [
                f"1 surfels: {len(y.coarse):,} of the target",
                "2 descriptors: like colours, like surroundings",
                f"3 correspondences: {len(i)}, {int(inlier.sum())} inliers (green)",
            ],
            size=(SIZE[0], SIZE[1] // 2),
        ),
        panels(
            [
                [*candidates, target],
                [(transform(level @ first, source), BLUE), target],
                [(moved[overlaps], GREEN), (moved[~overlaps], GREY)],
            ],
            [
                f"4 hypotheses: {outcome.hypotheses:,}, the best refined",
                "5 refinement: source blue, target orange",
                f"6 verdict: overlap {outcome.verdict.evidence.overlap:.0%} (green), "
                f"confidence {outcome.verdict.confidence:.2f}",
            ],
            size=(SIZE[0], SIZE[1] // 2),
            scale_bar=METRES,
        ),
    ]
    return np.concatenate(rows)


def registration() -> Image:
    """Two scans before and after registration."""
    target, source = synthetic.sequence("dragon", 2)
    found = graphreg.register(source.points, target.points).transformation
    fixed: Coloured = (transform(target.pose, target.points), ORANGE)
    scenes = [[(transform(target.pose @ T, source.points), BLUE), fixed] for T in (np.eye(4), np.asarray(found))]
    return panels(scenes, ["before: source blue, target orange", "after"], size=(1500, 560), scale_bar=METRES)


def invariants() -> Image:
    """Filtered invariants of two scans, and ICP from a far pose without and with them."""
    target, source = synthetic.sequence("dragon", 2, points=12_000)
    T = inverse(target.pose) @ source.pose
    graphs = [graphreg.neighbour_graph(graphreg.voxel_downsample(scan.points, 0.003)) for scan in (source, target)]
    values = [part[:, 0] for part in comparable_invariants(*graphs)]
    low, high = np.quantile(np.concatenate(values), [0.02, 0.98])
    upright = [transform(target.pose @ T, graphs[0].points), transform(target.pose, graphs[1].points)]
    beside = [1.2 * float(np.ptp(upright[1][:, 0])), 0, 0]
    rotation = rotation_from_vector(np.radians(80) * np.array([0.6, 0.0, 0.8]))
    centre = target.points.mean(axis=0)
    start = pose(rotation, centre - rotation @ centre) @ T
    fixed: Coloured = (transform(target.pose, target.points), ORANGE)
    scenes: list[list[Coloured]] = [
        [
            (upright[0] - beside, colour_map(values[0], low, high)),
            (upright[1], colour_map(values[1], low, high)),
        ]
    ]
    for features in (False, True):
        found = graphreg.register(source.points, target.points, method="icp", init=start, features=features)
        scenes.append([(transform(target.pose @ found.transformation, source.points), BLUE), fixed])
    captions = [
        "invariants of source and target: like colours",
        "icp from 80 degrees: source blue, target orange",
        "icp with features=True",
    ]
    return panels(scenes, captions, size=(1500, 460))


def building() -> Image:
    """Five stations of a room, as read and in one frame."""
    scans = list(synthetic.sequence("room", 5, 40.0, points=20_000))
    result = graphreg.multiway([scan.points for scan in scans])
    colours = [BLUE, ORANGE, GREEN, RED, (0.50, 0.32, 0.62)]
    # Without its ceiling, so that one sees inside.
    level = scans[0].pose
    scenes = []
    for poses in ([np.eye(4)] * len(scans), result.poses):
        scene: list[Coloured] = []
        for scan, T, colour in zip(scans, poses, colours, strict=True):
            upright = transform(level @ T, scan.points)
            scene.append((upright[transform(scan.pose, scan.points)[:, 2] < 2.2], colour))
        scenes.append(scene)
    return panels(scenes, ["five scans as read", "in one frame"], FROM_ABOVE, (1500, 620), scale_bar=METRES)


def lidar_sequence() -> Image:
    """The map of a street, coloured by height, and the trajectory."""
    frames = list(synthetic.sequence("street", 30, 1.0, points=40_000))
    found = graphreg.sequence([frame.points for frame in frames], keep_map=True)
    assert found.map is not None
    level = pose(frames[0].pose[:3, :3], np.zeros(3))
    points, track = transform(level, found.map), transform(level, found.poses[:, :3, 3])
    near = np.abs(points[:, 0] - track[:, 0].mean()) < 55
    points = points[near & (np.abs(points[:, 1]) < 25)]
    along = np.linspace(0, len(track) - 1, 2000)
    line = np.column_stack([np.interp(along, np.arange(len(track)), track[:, axis]) for axis in range(3)])
    scene: list[Coloured] = [(points, colour_map(points[:, 2])), (transform(pose(np.eye(3), [0, 0, 1.0]), line), RED)]
    return render(scene, Camera(azimuth=0, elevation=45), (1500, 560), scale_bar=METRES)


def bracket() -> graphreg.Mesh:
    """A bracket, as CAD has it."""
    corners = np.array(OUTLINE, float)
    count = len(corners)
    vertices = np.vstack([np.c_[corners, np.full(count, z)] for z in (0.0, HEIGHT)])
    k = np.arange(1, count - 1)
    fan, own = np.c_[np.zeros_like(k), k, k + 1], np.arange(count)
    after = (own + 1) % count
    sides = np.vstack([np.c_[own, after, after + count], np.c_[own, after + count, own + count]])
    return graphreg.Mesh(vertices, np.vstack([fan[:, ::-1], fan + count, sides]))


def deviations() -> Image:
    """A scan of a bracket with a bulge, in the colours of its deviations from the model."""
    part = bracket()
    points = part.sample(60_000)[0]
    rng = np.random.default_rng(0)
    bulge = 0.4 * np.exp(-((points[:, 0] - 45) ** 2 + (points[:, 2] - 10) ** 2) / 40) * (points[:, 1] > 11)
    points = points + rng.normal(0, 0.02, points.shape) + np.c_[np.zeros(len(points)), bulge, np.zeros(len(points))]
    away = pose(rotation_from_vector([0.4, 1.0, -2.0]), [300.0, -50.0, 80.0])
    scan = transform(away, points)
    result = graphreg.register(scan, part)
    found = graphreg.deviation(scan, part, transformation=result, tolerance=0.2)
    moved = transform(result.transformation, scan)
    scene: list[Coloured] = [(moved, deviation_colours(found.distances, 0.2))]
    views = (Camera(azimuth=150, elevation=30), Camera(azimuth=-30, elevation=30))
    captions = ["red: 0.2 mm outside the model and more", "the other side"]
    return panels([scene, scene], captions, views, (1500, 560), point_size=5, scale_bar=MILLIMETRES)


def influence() -> str:
    """Influence and weight of a residual, by the loss."""
    u = np.linspace(0.02, 8, 400)
    influences: dict[str, tuple[Floats, Floats]] = {}
    weights: dict[str, tuple[Floats, Floats]] = {}
    for name, function in INFLUENCE.items():
        at = u / function.tuning
        influences[name] = u, np.where((pull := function.tuning * function.psi(at)) <= MOST_INFLUENCE, pull, np.nan)
        weights[name] = u, np.where((weight := function.weight(at)) <= MOST_WEIGHT, weight, np.nan)
    x_label = "residual, in scales"
    return plot_grid(
        [Panel(influences, "Influence", x_label, "how hard it pulls"), Panel(weights, "Weight", x_label, "weight")],
        "influence",
    )


def _surfels(pyramid: SurfelPyramid) -> Floats:
    """Positions of the coarse surfels in the frame of the cloud."""
    return transform(inverse(pyramid.T_local_cloud), pyramid.coarse.points * pyramid.coarse_voxel)


def _principal_component(x: SurfelPyramid, y: SurfelPyramid) -> list[Floats]:
    """Colours of the surfels by the first principal component of the descriptors of both clouds."""
    both = np.vstack([x.descriptors, y.descriptors]).astype(float)
    both -= both.mean(axis=0)
    axis = np.linalg.eigh(both.T @ both)[1][:, -1]
    values = both @ axis
    low, high = np.quantile(values, [0.02, 0.98])
    return [colour_map(part, low, high) for part in np.split(values, [len(x.coarse)])]


def _segments(start: Floats, end: Floats, dots: int = 250) -> Floats:
    """Dots along the lines between points."""
    share = np.linspace(0, 1, dots)[:, None, None]
    return ((1 - share) * start + share * end).reshape(-1, 3)


def _near(points: Floats, others: Floats, distance: float) -> np.ndarray:
    from scipy.spatial import cKDTree

    return np.asarray(cKDTree(others).query(points, distance_upper_bound=distance)[0]) < distance


PICTURES = {
    function.__name__: function for function in (stages, registration, invariants, building, lidar_sequence, deviations)
}


# Charts are SVG.
CHARTS = {"influence": influence}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="default: all")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    asked = parser.parse_args()
    for name in asked.names or (*PICTURES, *CHARTS):
        if name in PICTURES:
            write_png(asked.out / f"{name}.png", PICTURES[name]())
        else:
            write_svg(asked.out / f"{name}.svg", CHARTS[name]())
        print(f"written: {name} in {asked.out}")


if __name__ == "__main__":
    main()

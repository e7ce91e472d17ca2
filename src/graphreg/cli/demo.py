"""graphreg demo: two scans, what the graph sees in them, and how they are registered; no files, no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from graphreg.clouds import Floats, Mask
    from graphreg.datasets.synthetic import Scan
    from graphreg.graphs import Graph
    from graphreg.registration import Result
    from graphreg.reports.pictures import Image


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the scans, the pictures and the report.")] = Path(
        "graphreg-demo"
    ),
    body: Annotated[
        str, typer.Option(help="What to scan: dragon, hare, hand, casting, facade, room or street.")
    ] = "dragon",
    outliers: Annotated[float, typer.Option(help="Outliers to add, for each point of the scan.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Of noise and outliers.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
) -> None:
    """Make two scans, spoil them with outliers, clean them, register them, and draw all of it.

    \b
    Example:
      graphreg demo --body hand --outliers 0.5
    """
    import time

    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from graphreg.datasets import synthetic
    from graphreg.files import write
    from graphreg.graphs import neighbour_graph
    from graphreg.invariants import invariants_of
    from graphreg.metrics import angular_error
    from graphreg.poses import inverse, pose, rotation_from_vector
    from graphreg.registration import register
    from graphreg.reports.charts import write_svg
    from graphreg.reports.html import report
    from graphreg.reports.pictures import write_png
    from graphreg.response import inliers, response_of

    target, source = synthetic.sequence(body, 2, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    table = Table(title=f"Two scans ({body}), {outliers:.0%} outliers added, cleaned by the X84 rule")
    for column in ("scan", "points", "outliers removed", "outliers left", "good kept", "clean", "describe"):
        table.add_column(column, justify="left" if column == "scan" else "right")
    both = []
    for number, (name, scan) in enumerate((("source", source), ("target", target))):
        spoilt, is_outlier = synthetic.add_outliers(scan.points, outliers, "gaussian", seed + number)
        began = time.perf_counter()
        kept = inliers(spoilt, threads=threads)
        cleaned = time.perf_counter()
        graph = neighbour_graph(spoilt[kept], threads=threads)
        response, variation = response_of(graph), invariants_of(graph)[:, 0]
        described = time.perf_counter()
        table.add_row(
            name,
            f"{len(spoilt):,}",
            f"{np.count_nonzero(~kept & is_outlier):,}",
            f"{np.count_nonzero(kept & is_outlier):,}",
            f"{kept[~is_outlier].mean():.1%}",
            f"{1e3 * (cleaned - began):.0f} ms",
            f"{1e3 * (described - cleaned):.0f} ms",
        )
        both.append(spoilt)
        write(out / f"{name}.ply", spoilt)
        write_png(out / f"{name}.png", _picture(spoilt, is_outlier, graph, response, variation, scan.pose))
    truth = inverse(target.pose) @ source.pose
    result = register(*both, seed=seed, threads=threads)
    # The method as published is local: it gets the true pose, turned by some 20 degrees.
    centre = target.points.mean(axis=0)
    off = pose(rotation_from_vector(np.radians([10.0, -14.0, 12.0])), np.zeros(3))
    start = pose(np.eye(3), centre) @ off @ pose(np.eye(3), -centre) @ truth
    published = register(*both, method="graphreg-paper", init=start, seed=seed, threads=threads)
    write_png(out / "registration.png", _before_and_after(source, target, result))
    write_svg(out / "annealing.svg", _annealing(published))
    report(result, both[0], both[1], out / "report.html", names=("source.ply", "target.ply"), threads=threads)
    Console().print(table)
    for line in (
        "clean: graph, response and rule. describe: graph, response, normals, curvature and V_g of what was kept.",
        "",
        f"{result.reason} (confidence {result.confidence:.2f})",
        f"error: {angular_error(np.eye(4), truth):.1f} degrees before, "
        f"{angular_error(result.transformation, truth):.2f} after; {result.timings['total']:.2f} s",
        f"as published, from {angular_error(start, truth):.0f} degrees off: "
        f"{angular_error(published.transformation, truth):.2f} after {len(published.history)} iterations; "
        f"{published.timings['total']:.2f} s",
        "",
        f"In {out}: source.png, target.png, registration.png, annealing.svg (as published), and the scans themselves.",
        f"Open {out / 'report.html'} in a browser to look at it from all sides; next, try",
        f"  graphreg register {out / 'source.ply'} {out / 'target.ply'}",
        f"  graphreg clean {out / 'source.ply'} {out / 'clean.ply'}",
    ):
        typer.echo(line)


def _before_and_after(source: Scan, target: Scan, result: Result) -> Image:
    import numpy as np

    from graphreg.poses import transform
    from graphreg.reports.pictures import BLUE, ORANGE, panels

    def upright(points: Floats) -> Floats:
        return transform(target.pose, points)

    fixed = (upright(target.points), ORANGE)
    views = [
        [(upright(transform(motion, source.points)), BLUE), fixed] for motion in (np.eye(4), result.transformation)
    ]
    return panels(views, ["before", "after"], size=(1600, 600))


def _annealing(result: Result) -> str:
    from graphreg.reports.charts import charts_side_by_side, line_chart

    number = [step.number for step in result.history]
    energy = {"energy": (number, [step.energy for step in result.history])}
    temperatures = [step.temperature for step in result.history if step.temperature is not None]
    return charts_side_by_side(
        [
            line_chart(energy, "Energy", "iteration", "E", log_y=True),
            line_chart({"temperature": (number, temperatures)}, "Temperature", "iteration", "T", log_y=True),
        ]
    )


def _picture(
    spoilt: Floats, is_outlier: Mask, graph: Graph, response: Floats, variation: Floats, pose: Floats
) -> Image:
    """Four panels, upright, without what lies so far off that the body would be too small to see."""
    import numpy as np

    from graphreg.reports.pictures import GREY, RED, colour_map, panels

    good = spoilt[~is_outlier]
    low, high = good.min(axis=0), good.max(axis=0)
    margin = 0.15 * (high - low)

    def near(points: Floats) -> Mask:
        return np.asarray(((points > low - margin) & (points < high + margin)).all(axis=1))

    def upright(points: Floats) -> Floats:
        return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])

    strays = spoilt[is_outlier]
    shown = near(graph.points)
    cleaned = upright(graph.points[shown])
    with np.errstate(divide="ignore"):
        levels = np.log(response[shown]), np.log(variation[shown])
    return panels(
        [
            [(upright(good), GREY), (upright(strays[near(strays)]), RED)],
            [(cleaned, GREY)],
            [(cleaned, colour_map(levels[0]))],
            [(cleaned, colour_map(levels[1]))],
        ],
        ["as scanned", "cleaned", "response intensity", "variation of the surface"],
        size=(1600, 420),
    )

"""graphreg demo: two scans, what the graph sees in them, and how they are registered; no files, no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.console import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats, Mask
    from graphreg.datasets.synthetic import Scan
    from graphreg.features.graphs import Graph
    from graphreg.reports.pictures import Image
    from graphreg.result import Result

# Width and height of the pictures.
PANELS, PAIR = (1600, 420), (1600, 600)


def _bodies(incomplete: str) -> list[str]:
    from graphreg.datasets.synthetic import bodies, scenes

    return [name for name in (*bodies(), *scenes()) if name.startswith(incomplete)]


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the scans, the pictures and the report.")] = Path(
        "graphreg-demo"
    ),
    body: Annotated[
        str,
        typer.Option(autocompletion=_bodies, help="What to scan: dragon, hare, hand, casting, facade, room or street."),
    ] = "dragon",
    outliers: Annotated[
        float, typer.Option(min=0, max=1000, help="Outliers to add, for each point of the scan.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="Of noise and outliers.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make two scans, spoil them with outliers, clean them, register them, and draw all of it.

    \b
    Example:
      graphreg demo --body hand --outliers 0.5
    """
    import json
    import time

    import numpy as np

    from graphreg.cli.outputs import check_folder
    from graphreg.cli.progress import working
    from graphreg.datasets import synthetic
    from graphreg.features.graphs import neighbour_graph
    from graphreg.features.invariant_features import graph_invariants
    from graphreg.features.response import inliers, response_intensity
    from graphreg.files import write
    from graphreg.metrics import angular_error
    from graphreg.poses import inverse, pose, rotation_from_vector
    from graphreg.registration import register
    from graphreg.reports.charts import write_svg
    from graphreg.reports.pictures import write_png
    from graphreg.reports.registration_page import report

    check_folder(out)
    with working("scanning"):
        target, source = synthetic.sequence(body, 2, seed=seed)
    spoilt_scans = [
        synthetic.add_outliers(scan.points, outliers, "gaussian", seed + number)
        for number, scan in enumerate((source, target))
    ]
    out.mkdir(parents=True, exist_ok=True)
    scans: dict[str, dict[str, float]] = {}
    for name, scan, (spoilt, is_outlier) in zip(("source", "target"), (source, target), spoilt_scans, strict=True):
        with working(f"cleaning the {name}"):
            began = time.perf_counter()
            kept = inliers(spoilt, threads=threads)
            cleaned = time.perf_counter()
            graph = neighbour_graph(spoilt[kept], threads=threads)
            response, variation = response_intensity(graph), graph_invariants(graph)[:, 0]
            described = time.perf_counter()
        scans[name] = {
            "points": len(spoilt),
            "outliers_removed": int(np.count_nonzero(~kept & is_outlier)),
            "outliers_left": int(np.count_nonzero(kept & is_outlier)),
            "good_kept": float(kept[~is_outlier].mean()),
            "clean_seconds": cleaned - began,
            "describe_seconds": described - cleaned,
        }
        with working(f"drawing the {name}"):
            write(out / f"{name}.ply", spoilt)
            write_png(out / f"{name}.png", _picture(spoilt, is_outlier, graph, response, variation, scan.pose))
    both = [spoilt for spoilt, _ in spoilt_scans]
    truth = inverse(target.pose) @ source.pose
    # The method as published is local: it gets the true pose, turned by some 20 degrees.
    centre = target.points.mean(axis=0)
    off = pose(rotation_from_vector(np.radians([10.0, -14.0, 12.0])), np.zeros(3))
    start = pose(np.eye(3), centre) @ off @ pose(np.eye(3), -centre) @ truth
    with working("registering"):
        result = register(*both, seed=seed, threads=threads)
        published = register(*both, method="graphreg-paper", init=start, seed=seed, threads=threads)
    with working("drawing and writing the report"):
        write_png(out / "registration.png", _before_and_after(source, target, result))
        write_svg(out / "annealing.svg", _annealing(published))
        report(result, both[0], both[1], out / "report.html", names=("source.ply", "target.ply"), threads=threads)
    runs = {
        name: {
            "degrees_before": angular_error(before, truth),
            "degrees_after": angular_error(run.transformation, truth),
            "iterations": len(run.history),
            "seconds": run.timings["total"],
            "success": run.success,
            "confidence": run.confidence,
            "reason": run.reason,
        }
        for name, run, before in (("graphreg", result, np.eye(4)), ("graphreg-paper", published, start))
    }
    if as_json:
        typer.echo(json.dumps({"folder": str(out), "body": body, "outliers": outliers, "scans": scans, "runs": runs}))
    else:
        _tell(out, f"Two scans ({body}), {outliers:.0%} outliers added, cleaned by the X84 rule", scans, runs)


def _tell(out: Path, title: str, scans: dict[str, dict[str, float]], runs: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from graphreg.cli.console import is_quiet, tell

    table = Table(title=title)
    for column in ("scan", "points", "outliers removed", "outliers left", "good kept", "clean", "describe"):
        table.add_column(column, justify="left" if column == "scan" else "right")
    for name, scan in scans.items():
        table.add_row(
            name,
            f"{scan['points']:,}",
            f"{scan['outliers_removed']:,}",
            f"{scan['outliers_left']:,}",
            f"{scan['good_kept']:.1%}",
            f"{1e3 * scan['clean_seconds']:.0f} ms",
            f"{1e3 * scan['describe_seconds']:.0f} ms",
        )
    Console(quiet=is_quiet()).print(table)
    ours, published = runs["graphreg"], runs["graphreg-paper"]
    for line in (
        "clean: graph, response and rule. describe: graph, response, normals, curvature and V_g of what was kept.",
        "",
        f"{ours['reason']} (confidence {ours['confidence']:.2f})",
        f"error: {ours['degrees_before']:.1f} degrees before, {ours['degrees_after']:.2f} after; "
        f"{ours['seconds']:.2f} s",
        f"as published, from {published['degrees_before']:.0f} degrees off: {published['degrees_after']:.2f} after "
        f"{published['iterations']} iterations; {published['seconds']:.2f} s",
        "",
        f"In {out}: source.png, target.png, registration.png, annealing.svg (as published), and the scans themselves.",
        f"Open {out / 'report.html'} in a browser to look at it from all sides; next, try",
        f"  graphreg register {out / 'source.ply'} {out / 'target.ply'}",
        f"  graphreg clean {out / 'source.ply'} {out / 'clean.ply'}",
    ):
        tell(line)


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
    return panels(views, ["before", "after"], size=PAIR)


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
        size=PANELS,
    )

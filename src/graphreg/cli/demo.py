"""graphreg demo: register two synthetic scans, without files or network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Quiet, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.clouds import Floats, Mask
    from graphreg.datasets.synthetic import Scan
    from graphreg.features.graphs import Graph
    from graphreg.reports.pictures import Image
    from graphreg.result import Result

# Width and height of the pictures, in pixels.
SCAN_PICTURE, REGISTRATION_PICTURE = (1600, 420), (1600, 600)


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
        float, typer.Option(min=0, max=1000, help="Number of outliers to add, as a multiple of the number of points.")
    ] = 0.3,
    animation: Annotated[
        Path | None,
        typer.Option(
            help="Write an animation here (.gif): the source, in a random pose, is registered without outliers."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the noise and the outliers.")] = 0,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Register two synthetic scans with outliers, and write pictures and a report.

    Exit status: 0 done, 2 bad input.

    \b
    Examples:
      graphreg demo --body hand --outliers 0.5
      graphreg demo --animation registration.gif
    """
    import json
    import time

    import numpy as np

    from graphreg.argument_checks import check_choice
    from graphreg.cli.outputs import check_folder, expect_suffix, write_picture
    from graphreg.cli.progress import spinner
    from graphreg.datasets import synthetic
    from graphreg.features.graphs import neighbour_graph
    from graphreg.features.invariant_features import graph_invariants
    from graphreg.features.response import inliers, response_intensity
    from graphreg.files import write
    from graphreg.metrics import angular_error
    from graphreg.poses import inverse, pose, rotation_from_vector
    from graphreg.registration import register
    from graphreg.reports.registration_page import report

    body = check_choice("body", body, (*synthetic.bodies(), *synthetic.scenes()))
    check_folder(out)
    expect_suffix(animation, (".gif",), "animation")
    with spinner("simulating the scans"):
        target, source = synthetic.sequence(body, 2, seed=seed)
    corrupted_scans = [
        synthetic.add_outliers(scan.points, outliers, "gaussian", seed + number)
        for number, scan in enumerate((source, target))
    ]
    out.mkdir(parents=True, exist_ok=True)
    scans: dict[str, dict[str, float]] = {}
    for name, scan, (corrupted, is_outlier) in zip(
        ("source", "target"), (source, target), corrupted_scans, strict=True
    ):
        with spinner(f"cleaning the {name}"):
            began = time.perf_counter()
            kept = inliers(corrupted, threads=threads)
            cleaned = time.perf_counter()
            graph = neighbour_graph(corrupted[kept], threads=threads)
            response, variation = response_intensity(graph), graph_invariants(graph)[:, 0]
            finished = time.perf_counter()
        scans[name] = {
            "points": len(corrupted),
            "outliers_removed": int(np.count_nonzero(~kept & is_outlier)),
            "outliers_left": int(np.count_nonzero(kept & is_outlier)),
            "inliers_kept": float(kept[~is_outlier].mean()),
            "clean_seconds": cleaned - began,
            "features_seconds": finished - cleaned,
        }
        with spinner(f"drawing the {name}"):
            write(out / f"{name}.ply", corrupted)
            write_picture(out / f"{name}.png", _picture(corrupted, is_outlier, graph, response, variation, scan.pose))
    both = [corrupted for corrupted, _ in corrupted_scans]
    truth = inverse(target.pose) @ source.pose
    # The published method is local: its initial pose is the true one, rotated by some 20 degrees.
    centre = target.points.mean(axis=0)
    rotation = pose(rotation_from_vector(np.radians([10.0, -14.0, 12.0])), np.zeros(3))
    initial = pose(np.eye(3), centre) @ rotation @ pose(np.eye(3), -centre) @ truth
    with spinner("registering"):
        result = register(*both, seed=seed, threads=threads)
        published = register(*both, method="graphreg-paper", init=initial, seed=seed, threads=threads)
    with spinner("drawing and writing the report"):
        write_picture(out / "registration.png", _before_and_after(source, target, result))
        report(result, both[0], both[1], out / "report.html", names=("source.ply", "target.ply"), threads=threads)
    if animation is not None:
        with spinner(f"drawing {animation.name}"):
            _animate(animation, source, target, seed, threads)
    runs = {
        name: {
            "rotation_error_before": angular_error(before, truth),
            "rotation_error_after": angular_error(run.transformation, truth),
            "iterations": len(run.history),
            "seconds": run.timings["total"],
            "success": run.success,
            "confidence": run.confidence,
            "reason": run.reason,
        }
        for name, run, before in (("graphreg", result, np.eye(4)), ("graphreg-paper", published, initial))
    }
    if as_json:
        typer.echo(json.dumps({"folder": str(out), "body": body, "outliers": outliers, "scans": scans, "runs": runs}))
    else:
        _print(
            out, f"Synthetic scans ({body}) with {100 * outliers:.0f} % outliers, cleaned by the X84 rule", scans, runs
        )


def _print(out: Path, title: str, scans: dict[str, dict[str, float]], runs: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from graphreg.cli.console import is_quiet, output

    table = Table(title=title)
    for column in ("scan", "points", "outliers removed", "outliers left", "inliers kept", "cleaning", "features"):
        table.add_column(column, justify="left" if column == "scan" else "right")
    for name, scan in scans.items():
        table.add_row(
            name,
            f"{scan['points']:,}",
            f"{scan['outliers_removed']:,}",
            f"{scan['outliers_left']:,}",
            f"{100 * scan['inliers_kept']:.1f} %",
            f"{1e3 * scan['clean_seconds']:.0f} ms",
            f"{1e3 * scan['features_seconds']:.0f} ms",
        )
    Console(quiet=is_quiet()).print(table)
    ours, published = runs["graphreg"], runs["graphreg-paper"]
    for line in (
        "cleaning: graph, response intensity, X84 rule; features: response intensity and invariants of the inliers",
        "",
        f"{ours['reason']} (confidence {ours['confidence']:.2f})",
        f"rotation error: {ours['rotation_error_before']:.1f} degrees before, "
        f"{ours['rotation_error_after']:.2f} after, in {ours['seconds']:.2f} s",
        f"published method: {published['rotation_error_before']:.1f} degrees before, "
        f"{published['rotation_error_after']:.2f} after {published['iterations']} iterations, "
        f"in {published['seconds']:.2f} s",
        "",
        f"Written to {out}: the scans, source.png, target.png, registration.png.",
        f"Open {out / 'report.html'} in a browser to see the registration in 3D. Next, try",
        f"  graphreg register {out / 'source.ply'} {out / 'target.ply'}",
        f"  graphreg clean {out / 'source.ply'} {out / 'clean.ply'}",
    ):
        output(line)


def _animate(path: Path, source: Scan, target: Scan, seed: int, threads: int | None) -> None:
    """Write the registration of the source in a random pose, beside the target, as an animation."""
    import numpy as np
    from scipy.spatial.transform import Rotation

    from graphreg.poses import pose, transform
    from graphreg.registration import register
    from graphreg.reports.animations import write_animation

    fixed, upright = (transform(scan.pose, scan.points) for scan in (target, source))
    centre, width = upright.mean(axis=0), float(np.ptp(fixed[:, 0]))
    rotation = Rotation.random(random_state=seed).as_matrix()
    there = pose(np.eye(3), centre + np.array([width, 0, 0])) @ pose(rotation, np.zeros(3)) @ pose(np.eye(3), -centre)
    moving = transform(there, upright)
    write_animation(path, register(moving, fixed, seed=seed, threads=threads), moving, fixed, threads=threads)


def _before_and_after(source: Scan, target: Scan, result: Result) -> Image:
    import numpy as np

    from graphreg.poses import transform
    from graphreg.reports.pictures import BLUE, ORANGE, ScaleBar, panels

    def upright(points: Floats) -> Floats:
        return transform(target.pose, points)

    fixed = (upright(target.points), ORANGE)
    clouds = [
        [(upright(transform(T_target_source, source.points)), BLUE), fixed]
        for T_target_source in (np.eye(4), result.transformation)
    ]
    return panels(
        clouds, ["before: source blue, target orange", "after"], size=REGISTRATION_PICTURE, scale_bar=ScaleBar(unit="m")
    )


def _picture(
    corrupted: Floats, is_outlier: Mask, graph: Graph, response: Floats, variation: Floats, pose: Floats
) -> Image:
    """Four panels in the world frame, without outliers so far away that the body would be too small."""
    import numpy as np

    from graphreg.reports.pictures import GREY, RED, colour_map, panels

    clean = corrupted[~is_outlier]
    low, high = clean.min(axis=0), clean.max(axis=0)
    margin = 0.15 * (high - low)

    def near(points: Floats) -> Mask:
        return np.asarray(((points > low - margin) & (points < high + margin)).all(axis=1))

    def upright(points: Floats) -> Floats:
        return np.asarray(points @ pose[:3, :3].T + pose[:3, 3])

    outliers = corrupted[is_outlier]
    shown = near(graph.points)
    cleaned = upright(graph.points[shown])
    with np.errstate(divide="ignore"):
        levels = np.log(response[shown]), np.log(variation[shown])
    return panels(
        [
            [(upright(clean), GREY), (upright(outliers[near(outliers)]), RED)],
            [(cleaned, GREY)],
            [(cleaned, colour_map(levels[0]))],
            [(cleaned, colour_map(levels[1]))],
        ],
        ["with outliers", "cleaned", "response intensity", "surface variation"],
        size=SCAN_PICTURE,
    )

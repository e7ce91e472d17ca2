"""graphreg demo: what the library sees in two scans, without files and without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the scans and the pictures.")] = Path(
        "graphreg-demo"
    ),
    body: Annotated[
        str, typer.Option(help="What to scan: dragon, hare, hand, casting, facade, room or street.")
    ] = "dragon",
    outliers: Annotated[float, typer.Option(help="Outliers to add, for each point of the scan.")] = 0.3,
    seed: Annotated[int, typer.Option(help="Of noise and outliers.")] = 0,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
) -> None:
    """Make two scans, spoil them with outliers, clean them, and draw what the graph sees in them."""
    import time

    import numpy as np
    from rich.console import Console
    from rich.table import Table

    from graphreg.datasets import synthetic
    from graphreg.files import write
    from graphreg.graphs import neighbour_graph
    from graphreg.invariants import invariants_of
    from graphreg.reports.pictures import GREY, RED, colour_map, panels, write_png
    from graphreg.response import inliers, response_of

    console = Console()
    pair = synthetic.pair(body, seed=seed)
    out.mkdir(parents=True, exist_ok=True)
    table = Table(title=f"Two scans of a {body}, {pair.overlap:.0%} overlap, {outliers:.0%} outliers added")
    for column in (
        "scan",
        "points",
        "outliers removed",
        "outliers left",
        "good points kept",
        "clean, s",
        "describe, s",
    ):
        table.add_column(column, justify="left" if column == "scan" else "right")
    for number, (name, points) in enumerate((("source", pair.source), ("target", pair.target))):
        spoilt, is_outlier = synthetic.add_outliers(points, outliers, "gaussian", seed + number)
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
            f"{cleaned - began:.3f}",
            f"{described - cleaned:.3f}",
        )
        write(out / f"{name}.ply", spoilt)
        picture = panels(
            [
                [(spoilt[~is_outlier], GREY), (spoilt[is_outlier], RED)],
                [(graph.points, GREY)],
                [(graph.points, colour_map(response))],
                [(graph.points, colour_map(variation))],
            ],
            ["AS SCANNED", "CLEANED", "RESPONSE I(X)", "VARIATION V_G"],
        )
        write_png(out / f"{name}.png", picture)
    console.print(table)
    console.print(f"Pictures: {out / 'source.png'} and {out / 'target.png'}; the scans lie beside them.")
    console.print(f"Next: graphreg clean {out / 'source.ply'} {out / 'clean.ply'}")

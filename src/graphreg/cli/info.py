"""graphreg info: what a scan is like."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.console import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.inspection import Attribute, Inspection


def info(
    source: Annotated[Path, typer.Argument(metavar="SCAN", help="The scan to look at.")],
    png: Annotated[Path | None, typer.Option(help="Write a picture of it here.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads to use, by default all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tell what a scan is like: points, size, spacing, what else it holds, and a guess at what was scanned.

    The kind (object, room, terrestrial scan or vehicle lidar) and the unit are guesses by size and by how the points
    lie about the origin; nothing else in graphreg depends on them.

    \b
    Examples:
      graphreg info scan.ply
      graphreg info scan.laz --png preview.png --json
    """
    import json
    from dataclasses import asdict

    from graphreg.cli.console import tell
    from graphreg.cli.outputs import check_outputs
    from graphreg.cli.progress import reading, working
    from graphreg.files import formats, read_cloud
    from graphreg.inspection import inspect
    from graphreg.reports.pictures import write_png
    from graphreg.reports.previews import preview

    check_outputs(picture=png)
    with reading(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    with working("inspecting"):
        found = inspect(cloud, threads)
    if png is not None:
        with working(f"writing {png.name}"):
            write_png(png, preview(cloud, threads=threads))
    if as_json:
        typer.echo(json.dumps({"source": str(source), **asdict(found)}))
    else:
        tell("\n".join(_lines(source, formats()[source.suffix.lower()].description, found)))


def _lines(source: Path, format: str, found: Inspection) -> list[str]:
    def row(name: str, text: str) -> str:
        return f"  {name:<12}{text}"

    return [
        f"{source} ({format})",
        row("points", f"{found.points:,}"),
        row("not finite", f"{found.not_finite:,} rows, left out"),
        row("duplicates", f"{found.duplicates:,} points in a place that another one has"),
        row("from", _numbers(found.low)),
        row("to", _numbers(found.high)),
        row("size", _numbers(found.size)),
        row("spacing", f"{found.spacing:.4g} to the nearest point, in the median"),
        *(row("attribute", f"{name}: {_described(held)}") for name, held in found.attributes.items()),
        row("a guess", f"{found.guess.kind}, in {found.guess.unit}: {found.guess.reason}"),
    ]


def _numbers(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:.7g}" for value in values)


def _described(held: Attribute) -> str:
    type = held.type if held.components == 1 else f"{held.components} x {held.type}"
    return type if held.low is None else f"{type} from {held.low:.6g} to {held.high:.6g}"

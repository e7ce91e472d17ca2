"""graphreg info: size, spacing and attributes of a scan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphreg.cli.options import Quiet, Threads, Verbose

if TYPE_CHECKING:
    from graphreg.inspection import Attribute, Inspection


def info(
    source: Annotated[Path, typer.Argument(metavar="SCAN", help="The scan.")],
    png: Annotated[Path | None, typer.Option(help="Write a picture of the scan here (.png).")] = None,
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the size, spacing and attributes of a scan, and a guess at its kind and unit.

    The kind (object, room, terrestrial scan or vehicle LiDAR) and the unit are guessed from the size and from how the
    points are distributed about the origin; no other command uses the guess.

    Exit status: 0 done, 2 bad input.

    \b
    Examples:
      graphreg info scan.ply
      graphreg info scan.laz --png preview.png --json
    """
    import json
    from dataclasses import asdict

    from graphreg.cli.console import output
    from graphreg.cli.outputs import check_outputs
    from graphreg.cli.progress import byte_progress, spinner
    from graphreg.files import formats, read_cloud
    from graphreg.inspection import inspect
    from graphreg.reports.pictures import write_png
    from graphreg.reports.previews import preview

    check_outputs(picture=png)
    with byte_progress(f"reading {source.name}") as show:
        cloud = read_cloud(source, progress=show)
    with spinner("inspecting"):
        found = inspect(cloud, threads)
    if png is not None:
        with spinner(f"writing {png.name}"):
            write_png(png, preview(cloud, threads=threads))
    if as_json:
        typer.echo(json.dumps({"source": str(source), **asdict(found)}))
    else:
        output("\n".join(_lines(source, formats()[source.suffix.lower()].description, found)))


def _lines(source: Path, format: str, found: Inspection) -> list[str]:
    def row(name: str, text: str) -> str:
        return f"  {name:<12}{text}"

    return [
        f"{source} ({format})",
        row("points", f"{found.points:,}"),
        row("not finite", f"{found.not_finite:,} rows, left out"),
        row("duplicates", f"{found.duplicates:,}"),
        row("minimum", _coordinates(found.low)),
        row("maximum", _coordinates(found.high)),
        row("size", _coordinates(found.size)),
        row("spacing", f"{found.spacing:.4g} (median distance to the nearest point)"),
        *(row("attribute", f"{name}: {_range(attribute)}") for name, attribute in found.attributes.items()),
        row("guess", f"{found.guess.kind}, in {found.guess.unit}: {found.guess.reason}"),
    ]


def _coordinates(values: tuple[float, ...]) -> str:
    return "  ".join(f"{value:.7g}" for value in values)


def _range(attribute: Attribute) -> str:
    type = attribute.type if attribute.components == 1 else f"{attribute.components} x {attribute.type}"
    return type if attribute.low is None else f"{type} from {attribute.low:.6g} to {attribute.high:.6g}"

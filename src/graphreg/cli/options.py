"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from graphreg.cli.console import QUIET, VERBOSE, set_quiet, set_verbose

# These two take effect as they are parsed; the function of a command need not look at them.
Quiet = Annotated[bool, typer.Option(QUIET, "-q", callback=set_quiet, help="Print only errors, and JSON with --json.")]
Verbose = Annotated[
    bool, typer.Option(VERBOSE, "-v", callback=set_verbose, help="Print every step and how long it took.")
]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result, bit for bit.")]
Threads = Annotated[
    int | None, typer.Option(help="Number of threads; default all cores. It does not change the result.")
]
Voxel = Annotated[
    float | None,
    typer.Option(help="Voxel size, in the unit of the scans; default derived from their spacing and size."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="X,Y,Z",
        help="Numbers of the columns of x, y and z in text files, from 1; default by their names, or the first three.",
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="FROM,TO",
        help="Unit of the coordinates and unit to convert them to: m, cm, mm, um, km, in, ft or us-ft.",
    ),
]
Topic = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Topic of the point clouds in a ROS bag that has several, such as /points."),
]

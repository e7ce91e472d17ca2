"""graphreg data: list and download the public data sets that can be loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graphreg.cli.options import Quiet, Verbose
from graphreg.cli.user_errors import Command


def _names(incomplete: str) -> list[str]:
    from graphreg.datasets.catalogue import DATASETS

    return [name for name in DATASETS if name.startswith(incomplete)]


data = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@data.callback(invoke_without_command=True)
def show(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Option(envvar="GRAPHREG_DATA", help="Folder of all data sets.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List or download the public data sets that graphreg can load.

    The list has the licence, the size of the download and the Python call that loads it, and whether it is in --folder.

    \b
    Examples:
      graphreg data --folder scans
      graphreg data get stanford_bunny --folder scans
    """
    context.obj = (folder, as_json)
    if context.invoked_subcommand is not None:
        return

    import json

    from graphreg.cli.console import output
    from graphreg.datasets.catalogue import DATASETS
    from graphreg.errors import InputError

    if folder is not None and not folder.is_dir():
        raise InputError(f"--folder: {folder} is not a folder")
    rows = []
    for dataset in DATASETS.values():
        found = None if folder is None else dataset.locate(folder)
        rows.append(
            {
                "name": dataset.name,
                "title": dataset.title,
                "licence": dataset.licence,
                "size": dataset.download_size,
                "page": dataset.page,
                "layout": dataset.layout,
                "loader": f"graphreg.datasets.{dataset.loader}",
                "download": bool(dataset.archives),
                "found": None if found is None else str(found),
            }
        )
    if as_json:
        typer.echo(json.dumps({"folder": None if folder is None else str(folder), "datasets": rows}, indent=1))
        return
    for row in rows:
        how = f"graphreg data get {row['name']}" if row["download"] else f"by hand from {row['page']}"
        output(f"{row['name']}: {row['title']}")
        output(f"    licence  {row['licence']}")
        output(f"    get      {how}; size {row['size']}")
        output(f"    load     {row['loader']}")
        if folder is not None:
            output(f"    found    {row['found'] or 'no'}")
    if folder is None:
        output("To see which of them you have, pass --folder or set GRAPHREG_DATA.")


@data.command(cls=Command)
def get(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="One of the names that `graphreg data` lists.", autocompletion=_names)
    ],
    folder: Annotated[Path | None, typer.Option(help="Folder of all data sets; default $GRAPHREG_DATA.")] = None,
    unverified: Annotated[
        bool, typer.Option("--unverified", help="Also download archives of which no checksum is known.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was downloaded as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Download a data set into a folder of its name, or say how to get it by hand.

    An interrupted download is resumed by the next call. Published checksums are verified; where there is none, nothing
    is downloaded without --unverified, and the checksum of that first download is verified from then on.

    Exit status: 0 downloaded, 1 must be downloaded by hand, 2 download failed.

    \b
    Example:
      graphreg data get stanford_bunny --folder scans
    """
    import json
    from dataclasses import asdict

    from graphreg.argument_checks import check_choice
    from graphreg.cli.console import output
    from graphreg.cli.progress import byte_progress
    from graphreg.datasets.catalogue import DATASETS
    from graphreg.datasets.download import download_dataset
    from graphreg.errors import InputError

    name = check_choice("name", name, DATASETS)
    dataset = DATASETS[name]
    folder, as_json = folder or context.obj[0], as_json or context.obj[1]
    if not dataset.archives:
        destination = (folder or Path("GRAPHREG_DATA")) / name
        if as_json:
            by_hand = {"name": name, "folder": str(destination), "page": dataset.page, "layout": dataset.layout}
            typer.echo(json.dumps(by_hand))
        else:
            output(f"{dataset.title}: download it by hand from {dataset.page}")
            output(f"Files of {destination}: {dataset.layout}")
        raise typer.Exit(1)
    if folder is None:
        raise InputError("--folder: expected a folder for the data; pass it or set GRAPHREG_DATA")
    target, downloads = download_dataset(dataset, folder, byte_progress, unverified=unverified)
    if as_json:
        typer.echo(json.dumps({"name": name, "folder": str(target), "downloads": [asdict(d) for d in downloads]}))
        return
    for done in downloads:
        status = "verified" if done.verified else f"not published; written to {target}.sha256"
        output(f"{done.url}: {done.size:,} bytes, checksum {status}")
    output(f"{target}: {dataset.title}")
    output(f"licence: {dataset.licence}")
    output(f"load with graphreg.datasets.{dataset.loader}")

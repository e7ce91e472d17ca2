"""graphreg bench: the paper's experiments, each a command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXPERIMENTS = {"x84": "outliers found by the X84 rule, and good points lost to it (the paper's Fig. X84)"}


def bench(
    experiment: Annotated[str, typer.Argument(help="; ".join(f"{name}: {what}" for name, what in EXPERIMENTS.items()))],
    out: Annotated[Path, typer.Option("-o", "--out", help="Folder for the results (JSON, CSV and Markdown).")] = Path(
        "results"
    ),
    data: Annotated[
        Path | None, typer.Option(envvar="GRAPHREG_DATA", help="Folder with real scans, to measure on these too.")
    ] = None,
) -> None:
    """Rerun an experiment of the paper and write its table.

    \b
    Example:
      graphreg bench x84 --out results
    """
    from importlib import import_module

    from graphreg.bench.tables import write_table
    from graphreg.cli.progress import each
    from graphreg.errors import InputError

    if experiment not in EXPERIMENTS:
        raise InputError(f"experiment: expected one of {', '.join(EXPERIMENTS)}, got {experiment!r}")
    if data is not None and not data.is_dir():
        raise InputError(f"data: {data} is no folder")
    module = import_module(f"graphreg.bench.{experiment}")
    jobs = module.jobs(data)
    rows = [row for job in each(jobs, experiment, len(jobs)) for row in module.measure(job)]
    written = write_table(out, experiment, module.TITLE, module.summary(rows), rows)
    typer.echo(written.read_text(encoding="utf-8"))
    typer.echo(f"written: {written}, and .json and .csv beside it", err=True)

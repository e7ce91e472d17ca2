"""graphreg batch: thousands of pairs from a table of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.console import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.batches.batch_run import Batch

# Of the jobs that were set aside, so many are told one by one.
MOST_TOLD = 10


def batch(
    jobs: Annotated[
        Path,
        typer.Argument(
            help="Table of jobs, .csv or .jsonl: columns source and target; id, method, init and seed if you like; "
            "any other column is a setting of the method. Files are named as seen from the folder of this table."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="Results, a line of JSON each; what is there is not done again. By default the name "
            "of the jobs with .results.jsonl.",
        ),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine, by default one for each core.")
    ] = None,
    dask: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on a Dask cluster, such as tcp://host:8786.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder for prepared clouds, by default the name of the results with .cache."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a job, or reading a cloud, may take.")] = 900.0,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a job that kills its worker, or takes too long, is begun again.")
    ] = 2,
    again: Annotated[bool, typer.Option("--again", help="Try again what an earlier run has set aside.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a table here, a line for each job.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here that sums it up.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what came out as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Register all pairs of a table, on this machine or on a cluster.

    Stopped at any moment, the same command goes on where it was. A job that cannot be done is set aside with its
    reason, and the rest goes on.

    Exit status: 0 all registered, 1 some not, 2 bad input.

    \b
    Examples:
      graphreg batch jobs.csv
      graphreg batch jobs.csv -o results.jsonl --csv all.csv --report all.html
      graphreg batch jobs.csv --workers 1 --timeout 60 --again
    """
    import json
    import logging

    from graphreg.batches.batch_run import batch as run
    from graphreg.cli.console import is_quiet, note, tell
    from graphreg.cli.outputs import check_outputs
    from graphreg.cli.progress import counting, working
    from graphreg.reports.batch_page import write_summary_csv, write_summary_page

    place = jobs.with_suffix(".results.jsonl") if out is None else out
    check_outputs(page=report, table=csv)
    # What it says of workers that are missing.
    logging.getLogger("graphreg").disabled = is_quiet()
    try:
        with counting(f"registering {jobs.name}") as show:
            done = run(
                jobs,
                place,
                workers=workers,
                dask=dask,
                cache=cache,
                timeout=timeout,
                retries=retries,
                again=again,
                progress=lambda now: show(now.done, now.jobs, now.rate),
            )
    except KeyboardInterrupt:
        note(f"graphreg: stopped; what is done is in {place}, and the same command goes on from there")
        raise
    if csv is not None:
        with working(f"writing {csv.name}"):
            write_summary_csv(csv, done)
    if report is not None:
        with working(f"writing {report.name}"):
            write_summary_page(report, done, jobs.name)
    if as_json:
        typer.echo(json.dumps(counts(done)))
    else:
        for line in summary(done):
            tell(line)
    raise typer.Exit(0 if done.registered == done.jobs else 1)


def counts(done: Batch) -> dict[str, Any]:
    """All that a batch tells of itself, but for its jobs."""
    held = {field.name: getattr(done, field.name) for field in fields(done) if not field.name.startswith("_")}
    return {**held, "out": str(done.out), "rate": done.rate}


def summary(done: Batch) -> Iterator[str]:
    yield f"registered: {done.registered:,} of {done.jobs:,} pairs"
    yield f"not registered: {done.not_registered:,}; set aside: {done.set_aside:,}"
    now = done.done - done.before
    yield f"this time: {now:,} jobs and {done.clouds:,} clouds in {done.seconds:.1f} s, {done.rate:.3g} jobs a second"
    if done.before:
        yield f"from before: {done.before:,}"
    asides = (record for record in done if record.result is None)
    for record in islice(asides, MOST_TOLD):
        name = record.id or f"{record.source} to {record.target}"
        yield f"set aside: {name}: {record.reason}"
    if done.set_aside > MOST_TOLD:
        yield f"set aside: {done.set_aside - MOST_TOLD:,} more, see --csv or --report"
    yield f"results: {done.out}"

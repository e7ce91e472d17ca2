"""graphreg batch: register many pairs from a table of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphreg.cli.options import Quiet, Verbose

if TYPE_CHECKING:
    from graphreg.batches.batch_run import Batch

# Failed jobs are listed one by one, up to this number.
MAX_LISTED_JOBS = 10


def batch(
    jobs: Annotated[
        Path,
        typer.Argument(
            metavar="JOBS",
            help="Table of jobs, .csv or .jsonl: columns source and target; optionally id, method, init and seed; any "
            "other column is a setting of the method. Paths are relative to the folder of the table.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            help="File of results, one line of JSON per job; jobs that it contains are not run again. Default: "
            "the name of the table with .results.jsonl.",
        ),
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes on this machine; default one per core.")] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Run on a Dask cluster, by the address of its scheduler, such as tcp://host:8786."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder for preprocessed clouds; default the name of the results with .cache."),
    ] = None,
    timeout: Annotated[float, typer.Option(help="Time limit of a job, and of reading a cloud, in seconds.")] = 900.0,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a job is repeated whose worker died or exceeded the time limit.")
    ] = 2,
    again: Annotated[bool, typer.Option("--again", help="Run failed jobs of an earlier run again.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Write a table here, one line per job (.csv).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page with a summary here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Register many pairs from a table, on this machine or on a Dask cluster.

    An interrupted command resumes when it is run again. A job that fails, for example because a file is missing, is
    recorded with the reason, and the others are run.

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
    from graphreg.cli.console import is_quiet, output
    from graphreg.cli.outputs import check_outputs
    from graphreg.cli.progress import count_progress, spinner
    from graphreg.files.input_file import require_file
    from graphreg.reports.batch_page import write_summary_csv, write_summary_page

    require_file(jobs)
    results = jobs.with_suffix(".results.jsonl") if out is None else out
    check_outputs(page=report, table=csv, inputs=[jobs])
    # Its warnings on missing workers.
    logging.getLogger("graphreg").setLevel(logging.CRITICAL if is_quiet() else logging.WARNING)
    try:
        with count_progress(f"registering {jobs.name}") as show:
            done = run(
                jobs,
                results,
                workers=workers,
                dask=dask,
                cache=cache,
                timeout=timeout,
                retries=retries,
                again=again,
                progress=lambda now: show(now.done, now.jobs, now.rate),
            )
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"finished jobs are in {results}, and the same command resumes") from interrupt
    if csv is not None:
        with spinner(f"writing {csv.name}"):
            write_summary_csv(csv, done)
    if report is not None:
        with spinner(f"writing {report.name}"):
            write_summary_page(report, done, jobs.name)
    if as_json:
        typer.echo(json.dumps(counts(done)))
    else:
        for line in summary(done):
            output(line)
    raise typer.Exit(0 if done.registered == done.jobs else 1)


def counts(done: Batch) -> dict[str, Any]:
    """The fields of a batch without its jobs."""
    values = {field.name: getattr(done, field.name) for field in fields(done) if not field.name.startswith("_")}
    return {**values, "out": str(done.out), "rate": done.rate}


def summary(done: Batch) -> Iterator[str]:
    """The lines that are printed."""
    yield f"registered: {done.registered:,} of {done.jobs:,} pairs"
    yield f"not registered: {done.not_registered:,}; failed: {done.set_aside:,}"
    if done.before:
        yield f"from an earlier run: {done.before:,}"
    jobs = done.done - done.before
    yield f"this run: {jobs:,} jobs and {done.clouds:,} clouds in {done.seconds:.1f} s, {done.rate:.3g} jobs per second"
    failed = (record for record in done if record.result is None)
    for record in islice(failed, MAX_LISTED_JOBS):
        name = record.id or f"{record.source} to {record.target}"
        yield f"failed: {name}: {record.reason}"
    if done.set_aside > MAX_LISTED_JOBS:
        yield f"failed: {done.set_aside - MAX_LISTED_JOBS:,} more, see --csv or --report"
    yield f"results: {done.out}"

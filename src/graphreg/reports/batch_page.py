"""The report of a batch: a CSV table of all jobs, and an HTML page with their statistics and failures."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from heapq import nlargest
from pathlib import Path

import numpy as np

from graphreg.batches.batch_run import Batch
from graphreg.batches.store import NOT_REGISTERED, SET_ASIDE, Record
from graphreg.engine.verdict import VERDICT
from graphreg.files.output_file import atomic_write
from graphreg.reports.charts import histogram_outline, line_chart
from graphreg.reports.page_layout import (
    Row,
    chart_figure,
    chart_grid,
    figure_cards,
    page_from_sections,
    table,
    verdict_banner,
    write_page,
)
from graphreg.reports.table_cells import percent

CSV_COLUMNS = (
    "id", "source", "target", "state", "confidence", "overlap", "inlier_rmse", "reason", "transformation", "method",
    "seed", "attempts", "seconds",
)  # fmt: skip
# Columns with text from the jobs and their files.
CSV_TEXTS = ("id", "source", "target", "reason", "method")
# Characters that end a line or a cell, and those that UTF-8 cannot represent.
CONTROL_CHARACTERS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
# Jobs in a table of the page.
MAX_ROWS = 100
SLOWEST_JOBS = 10
HISTOGRAM_BINS = 20
# The axis of times ends at this quantile, so that a few slow jobs do not flatten the rest.
LAST_TIME_QUANTILE = 0.99


def write_summary_csv(path: str | os.PathLike[str], batch: Batch) -> None:
    """Write a CSV file with a row for each job.

    The transformation is sixteen numbers, row by row, in the format of `init` in a job file. A name that a spreadsheet
    would take for a formula is preceded by an apostrophe, and control characters are escaped.
    """
    with atomic_write(Path(path)) as output:
        for line in _csv_lines(batch):
            output.file.write(line.encode())


def write_summary_page(path: str | os.PathLike[str], batch: Batch, title: str) -> None:
    """Write the report of a batch: one HTML file that needs no other file and no network.

    Parameters
    ----------
    path : path_like
        The file to write. It is replaced as a whole or not at all.
    batch : Batch
        What `batch` returned.
    title : str
        Title of the page.
    """
    write_page(path, summary_html(batch, title))


def summary_html(batch: Batch, title: str) -> str:
    """Return the HTML of the report."""
    summary = _Summary.of(batch)
    headline = f"{batch.registered:,} of {batch.jobs:,} pairs registered"
    overview = [
        verdict_banner(batch.registered == batch.jobs, headline, _reason(batch, summary.errors)),
        figure_cards(_figures(batch, summary)),
    ]
    if summary.seconds:
        overview.append(chart_grid(_histograms(summary)))
    failed = {
        "Set aside": (summary.failed[SET_ASIDE], batch.set_aside, "Jobs that could not be run"),
        "Not registered": (summary.failed[NOT_REGISTERED], batch.not_registered, "Jobs that were not registered"),
        "Slowest": (summary.slowest, len(summary.slowest), "The slowest jobs"),
    }
    tables = {name: table(_job_rows(records, count), caption) for name, (records, count, caption) in failed.items()}
    return page_from_sections(title, {"": "\n".join(overview)} | tables, "batch")


@dataclass(frozen=True)
class _Summary:
    """What the page displays of a batch of any size.

    Attributes
    ----------
    confidence, seconds : list of float
        Of each job that was run.
    errors : Counter
        Number of jobs for each reason why jobs could not be run.
    failed : dict of str to list of Record
        The first jobs of each state other than registered.
    slowest : list of Record
    """

    confidence: list[float]
    seconds: list[float]
    errors: Counter[str]
    failed: dict[str, list[Record]]
    slowest: list[Record]

    @classmethod
    def of(cls, batch: Batch) -> _Summary:
        """Collect the summary in one pass over the records."""
        confidence: list[float] = []
        seconds: list[float] = []
        errors: Counter[str] = Counter()
        failed: dict[str, list[Record]] = {NOT_REGISTERED: [], SET_ASIDE: []}
        slowest: list[Record] = []
        for record in batch:
            if record.result is not None:
                confidence.append(record.result["confidence"])
                seconds.append(record.seconds)
                slowest = nlargest(SLOWEST_JOBS, [*slowest, record], key=lambda job: job.seconds)
            else:
                errors[record.reason] += 1
            if record.state in failed and len(failed[record.state]) < MAX_ROWS:
                failed[record.state].append(record)
        return cls(confidence, seconds, errors, failed, slowest)


def _csv_lines(batch: Batch) -> Iterator[str]:
    yield ",".join(CSV_COLUMNS) + "\n"
    for record in batch:
        result = record.result or {}
        matrix = result.get("transformation")
        values = {
            **asdict(record),
            **{name: result.get(name) for name in ("confidence", "overlap", "inlier_rmse", "method", "seed")},
            "state": record.state,
            "reason": record.reason,
            "transformation": " ".join(f"{entry:.17g}" for row in matrix for entry in row) if matrix else None,
            "seconds": f"{record.seconds:.3f}",
        }
        values |= {name: _cell(str(values[name] or "")) for name in CSV_TEXTS}
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([values[name] for name in CSV_COLUMNS])
        yield text.getvalue()


def _cell(text: str) -> str:
    """The text of a cell, on one line, and marked as text where a spreadsheet would take it for a formula."""
    line = CONTROL_CHARACTERS.sub(lambda found: ascii(found[0])[1:-1], text)
    return f"'{line}" if line.lstrip(" ").startswith(("=", "+", "-", "@")) else line


def _reason(batch: Batch, errors: Counter[str]) -> str:
    """The jobs that were not registered, in a sentence."""
    parts = [f"{batch.not_registered:,} not registered"] if batch.not_registered else []
    if errors:
        error, count = errors.most_common(1)[0]
        often = f"most often ({count:,}) " if len(errors) > 1 else ""
        parts.append(f"{batch.set_aside:,} could not be run, {often}because: {error}")
    return "; ".join(parts) or f"every confidence is at least {VERDICT.success:g}"


def _figures(batch: Batch, summary: _Summary) -> list[tuple[str, str, str]]:
    """The key figures: name, value, explanation."""
    figures = [
        ("Registered", f"{batch.registered:,}", f"{percent(batch.registered / batch.jobs, 1)} of all jobs"),
        ("Not registered", f"{batch.not_registered:,}", f"confidence below {VERDICT.success:g}"),
        ("Set aside", f"{batch.set_aside:,}", "could not be run; reasons below"),
    ]
    if summary.seconds:
        figures += [
            ("Confidence", f"{np.median(summary.confidence):.2f}", "median"),
            ("Time", f"{np.median(summary.seconds):.2f} s", "median of a pair, on one core"),
        ]
    done_now = batch.done - batch.before
    if done_now:
        note = f"{done_now:,} jobs in {batch.seconds:,.0f} s, in this run"
        figures.append(("Throughput", f"{batch.rate:.3g} / s", note))
    return figures


def _histograms(summary: _Summary) -> Iterator[str]:
    last_time = float(np.quantile(summary.seconds, LAST_TIME_QUANTILE))
    for title, values, last, label, note in (
        ("Confidence", summary.confidence, 1.0, "confidence", f"Success requires {VERDICT.success:g}."),
        ("Time", summary.seconds, last_time, "seconds", "Of a pair, on one core."),
    ):
        edges = np.linspace(0, last or 1.0, HISTOGRAM_BINS + 1)
        outline = histogram_outline(np.minimum(values, edges[-1]), edges)
        yield chart_figure(line_chart({title: outline}, title, label, "jobs", marked=False), note, "histogram")


def _job_rows(records: list[Record], count: int) -> list[Row]:
    """Rows of a table of jobs, of which there are `count` in all."""
    rows: list[Row] = [("", "confidence", "reason", "attempts", "seconds")] if records else [("none", "")]
    for record in records:
        name = f"{record.source} → {record.target}"
        rows.append(
            (
                f"{record.id}: {name}" if record.id else name,
                f"{record.result['confidence']:.2f}" if record.result else "",
                record.reason,
                str(record.attempts),
                f"{record.seconds:.2f}",
            )
        )
    if len(records) < count:
        rows.append((f"and {count - len(records):,} more", "", "", "", ""))
    return rows

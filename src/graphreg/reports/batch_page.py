"""A batch summed up: a table of all its jobs for other programs, and a page for people."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from heapq import nlargest
from pathlib import Path

import numpy as np

from graphreg.batches.batch_run import Batch
from graphreg.batches.store import NOT_REGISTERED, SET_ASIDE, Record
from graphreg.engine.verdict import VERDICT
from graphreg.files.output_file import atomic_write
from graphreg.reports.charts import line_chart
from graphreg.reports.page_shell import Row, chart, charts, figures, page, table, verdict, write_page

COLUMNS = (
    "id", "source", "target", "state", "confidence", "overlap", "inlier_rmse", "reason", "transformation", "method",
    "seed", "attempts", "seconds",
)  # fmt: skip
# Jobs that a table of the page shows at most.
MOST_ROWS = 100
SLOWEST = 10
BINS = 20


def write_summary_csv(path: str | os.PathLike[str], batch: Batch) -> None:
    """A line for each job. The transformation is sixteen numbers, row by row, as a job takes them for `init`."""
    with atomic_write(Path(path)) as output:
        for line in _csv_lines(batch):
            output.file.write(line.encode())


def write_summary_page(path: str | os.PathLike[str], batch: Batch, title: str) -> None:
    """One HTML file that needs nothing else: how many, how sure, how fast; what failed, and why."""
    write_page(path, summary_page(batch, title))


def summary_page(batch: Batch, title: str) -> str:
    """The whole page as text."""
    confidence: list[float] = []
    seconds: list[float] = []
    reasons: Counter[str] = Counter()
    # Of a batch of any size, some.
    failed: dict[str, list[Record]] = {NOT_REGISTERED: [], SET_ASIDE: []}
    slowest: list[Record] = []
    for record in batch:
        if record.result is not None:
            confidence.append(record.result["confidence"])
            seconds.append(record.seconds)
            slowest = nlargest(SLOWEST, [*slowest, record], key=lambda one: one.seconds)
        else:
            reasons[record.reason] += 1
        if record.state in failed and len(failed[record.state]) < MOST_ROWS:
            failed[record.state].append(record)
    headline = f"{batch.registered:,} of {batch.jobs:,} pairs registered"
    told = [
        verdict(batch.registered == batch.jobs, headline, _why_not(batch, reasons)),
        figures(_figures(batch, confidence, seconds)),
        *([charts(_charts(confidence, seconds))] if seconds else []),
    ]
    sections = {
        "": "\n".join(told),
        "Set aside": table(_jobs(failed[SET_ASIDE], batch.set_aside), "Jobs that were set aside"),
        "Not registered": table(_jobs(failed[NOT_REGISTERED], batch.not_registered), "Jobs that were not registered"),
        "Slowest": table(_jobs(slowest, len(slowest)), "The jobs that took longest"),
    }
    return page(title, sections, "batch")


def _csv_lines(batch: Batch) -> Iterator[str]:
    yield ",".join(COLUMNS) + "\n"
    for record in batch:
        found = record.result or {}
        motion = found.get("transformation")
        values = {
            **asdict(record),
            **{name: found.get(name) for name in ("confidence", "overlap", "inlier_rmse", "method", "seed")},
            "state": record.state,
            "reason": record.reason,
            "transformation": " ".join(f"{entry:.17g}" for row in motion for entry in row) if motion else None,
            "seconds": f"{record.seconds:.3f}",
        }
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow([values[name] for name in COLUMNS])
        yield text.getvalue()


def _why_not(batch: Batch, reasons: Counter[str]) -> str:
    """What became of the others, in a sentence."""
    others = [f"{batch.not_registered:,} ran, but cannot be trusted"] if batch.not_registered else []
    if reasons:
        most, count = reasons.most_common(1)[0]
        often = f", most often ({count:,}) because: {most}" if len(reasons) > 1 else f": {most}"
        others.append(f"{batch.set_aside:,} set aside{often}")
    return "; ".join(others) or "every result can be trusted"


def _figures(batch: Batch, confidence: list[float], seconds: list[float]) -> list[tuple[str, str, str]]:
    now = batch.done - batch.before
    told = [
        ("Registered", f"{batch.registered:,}", f"{batch.registered / batch.jobs:.1%} of all jobs"),
        ("Not registered", f"{batch.not_registered:,}", "ran, with a verdict of no success"),
        ("Set aside", f"{batch.set_aside:,}", "could not be done; the reasons are below"),
    ]
    if seconds:
        told += [
            ("Confidence", f"{np.median(confidence):.2f}", "of the middle job"),
            ("Time of a pair", f"{np.median(seconds):.2f} s", "in the median, on one core"),
        ]
    if now:
        told.append(("Throughput", f"{batch.rate:.3g} / s", f"{now:,} jobs in {batch.seconds:,.0f} s, this time"))
    return told


def _charts(confidence: list[float], seconds: list[float]) -> Iterator[str]:
    told = (
        ("Confidence", np.array(confidence), 1.0, "how sure", f"A success from {VERDICT.success:g} on."),
        ("Time", np.array(seconds), float(np.quantile(seconds, 0.99)), "seconds", "Of a pair, on one core."),
    )
    for title, values, most, label, note in told:
        edges = np.linspace(0, most or 1.0, BINS + 1)
        count = np.histogram(np.minimum(values, edges[-1]), edges)[0]
        outline = np.repeat(edges, 2), np.concatenate([[0], np.repeat(count, 2), [0]])
        yield chart(line_chart({title: outline}, title, label, "jobs", marked=False), note, "histogram")


def _jobs(records: list[Record], of: int) -> list[Row]:
    rows: list[Row] = [("", "confidence", "reason", "attempts", "seconds")] if records else [("none", "")]
    for record in records:
        name = f"{record.source} → {record.target}"
        sure = f"{record.result['confidence']:.2f}" if record.result else ""
        rows.append(
            (
                f"{record.id}: {name}" if record.id else name,
                sure,
                record.reason,
                str(record.attempts),
                f"{record.seconds:.2f}",
            )
        )
    if len(records) < of:
        rows.append((f"and {of - len(records):,} more", "", "", "", ""))
    return rows

"""Runs that can be stopped at any moment and gone on with: a log beside the results, a line for each job done.

A line holds what was to be done and what was measured, and is written before the next job begins. Above the lines
of a run stands one with what they depend on beside the job: versions, machine, code. A job that is there is not
done again, unless something of this has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphreg.files.journal import Journal, canonical_json

Rows = list[dict[str, Any]]


class Log:
    """The log of an experiment."""

    def __init__(self, path: Path, setting: dict[str, Any], fresh: bool = False) -> None:
        """setting: what runs depend on beside their jobs; fresh: forget what is there."""
        self._done: dict[str, Rows] = {}
        valid = False

        def take(entry: Any, _: int) -> None:
            nonlocal valid
            if "setting" in entry:
                valid = entry["setting"] == setting
            elif valid:
                self._done[canonical_json(entry["job"])] = entry["rows"]

        self._journal = Journal(path, take, "is no run of an experiment; --fresh starts anew", fresh)
        if not valid:
            self._journal.append({"setting": setting})

    def rows_of(self, job: Any) -> Rows | None:
        """What was measured, or None where this job is still to be done."""
        return self._done.get(canonical_json(_identity(job)))

    def add(self, job: Any, rows: Rows) -> None:
        self._journal.append({"job": _identity(job), "rows": rows})
        self._done[canonical_json(_identity(job))] = rows

    def close(self) -> None:
        self._journal.close()


def run(
    jobs: Iterable[Any],
    measure: Callable[[Any], Iterable[dict[str, Any]]],
    log: Log,
    budget: float,
    left_out: Callable[[Any, str], dict[str, Any]] | None = None,
) -> Iterator[Sequence[dict[str, Any]]]:
    """The rows of each job, measured now or before.

    budget    seconds that the runs of a method may take together. What is still to be done then is left out, but for
              the first run in each cell of the tables; a larger budget goes on with it
    left_out  (job, why) -> the row of a job that is left out; None for jobs that belong to no method and no cell
    """
    spent: dict[str, float] = {}
    filled = set()
    for job in jobs:
        rows = log.rows_of(job)
        if rows is None:
            if left_out is not None and spent.get(job.method, 0.0) > budget and (job.method, job.cell) in filled:
                yield [left_out(job, f"not run: {job.method} has spent its {budget:g} s")]
                continue
            rows = list(measure(job))
            log.add(job, rows)
        if left_out is not None:
            spent[job.method] = spent.get(job.method, 0.0) + sum(row["seconds"] for row in rows)
            filled.add((job.method, job.cell))
        yield rows


def _identity(job: Any) -> dict[str, Any]:
    return {"kind": type(job).__name__, **asdict(job)}

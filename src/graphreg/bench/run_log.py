"""Runs that can be interrupted and resumed: a log beside the results with a line for each completed job.

A line stores a job and its rows, and is written before the next job begins. The lines of a run follow one with what
they depend on beside the job: versions, machine, fingerprint of the code. A job in the log is not run again unless one
of these has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from graphreg.files.journal import Journal, canonical_json

Rows = list[dict[str, Any]]


class RunLog:
    """The log of an experiment.

    Parameters
    ----------
    path : Path
        File of the log; created if missing.
    setting : dict
        What rows depend on beside their jobs.
    fresh : bool, default False
        Whether to discard what is in the file.
    """

    def __init__(self, path: Path, setting: dict[str, Any], fresh: bool = False) -> None:
        self._done: dict[str, Rows] = {}
        valid = False

        def take(entry: Any, _: int) -> None:
            nonlocal valid
            if "setting" in entry:
                valid = entry["setting"] == setting
            elif valid:
                rows = entry["rows"]
                if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                    raise TypeError("rows")
                self._done[canonical_json(entry["job"])] = rows

        self._journal = Journal(path, take, "is no run of an experiment; --fresh starts anew", fresh)
        if not valid:
            self._journal.append({"setting": setting})

    def rows_of(self, job: Any) -> Rows | None:
        """Return the rows of a job, or None if it was not run."""
        return self._done.get(canonical_json(_identity(job)))

    def add(self, job: Any, rows: Rows) -> None:
        """Store the rows of a job."""
        self._journal.append({"job": _identity(job), "rows": rows})
        self._done[canonical_json(_identity(job))] = rows

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def run(
    jobs: Iterable[Any],
    measure: Callable[[Any], Iterable[dict[str, Any]]],
    log: RunLog,
    budget: float,
    left_out: Callable[[Any, str], dict[str, Any]] | None = None,
) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the rows of each job, from the log or measured now.

    Parameters
    ----------
    jobs : iterable
        Dataclass instances; with `left_out` they have ``method`` and ``cell``.
    measure : callable
        Measures a job.
    log : RunLog
        Rows of earlier runs; new ones are added to it.
    budget : float
        Seconds that the runs of a method may take together. Later jobs are left out, except the first one of each cell
        of the tables; a run with a larger budget makes them up.
    left_out : callable, optional
        (job, reason) -> the row of a job that is left out; None for jobs without a method, which are never left out.
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

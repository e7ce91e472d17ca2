"""The results of a batch: a file of JSON lines, one for each job, in the order of their completion."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphreg.files.journal import Journal
from graphreg.result import Result

STATES = REGISTERED, NOT_REGISTERED, SET_ASIDE = "registered", "not registered", "set aside"


@dataclass(frozen=True)
class Record:
    """The outcome of a job.

    Attributes
    ----------
    key : str
        Identity of the job, see `Job.identity`.
    id, source, target : str
        As in the job.
    result : dict or None
        As `Result.to_json` writes it, without the history; None where the job was set aside.
    problem : str or None
        Why the job was set aside.
    attempts : int
        How often it was started.
    seconds : float
        Duration of the last attempt.
    """

    key: str
    id: str
    source: str
    target: str
    result: dict[str, Any] | None
    problem: str | None
    attempts: int
    seconds: float

    @property
    def state(self) -> str:
        """One of "registered", "not registered" and "set aside"."""
        if self.result is None:
            return SET_ASIDE
        return REGISTERED if self.result["success"] else NOT_REGISTERED

    @property
    def reason(self) -> str:
        """The reason of the result, or why the job was set aside."""
        return str(self.problem if self.result is None else self.result["reason"])

    def as_result(self) -> Result | None:
        """The result as an object; None where the job was set aside."""
        return None if self.result is None else Result.from_json(json.dumps(self.result))


def as_record(entry: Any) -> Record:
    """Convert a line of a store to a record. Of a result, the fields are checked that reports read.

    Parameters
    ----------
    entry : dict
        What JSON gives for the line.

    Returns
    -------
    Record

    Raises
    ------
    TypeError, KeyError
        Where something is missing or of another type.
    """
    record = Record(**entry)
    texts: list[Any] = [record.key, record.id, record.source, record.target]
    numbers: list[Any] = [record.attempts, record.seconds]
    if record.result is None:
        texts.append(record.problem)
    else:
        matrix = record.result["transformation"]
        if not isinstance(record.result["success"], bool) or [len(row) for row in matrix] != [4] * 4:
            raise TypeError("the result")
        texts.append(record.result["reason"])
        numbers += [record.result["confidence"], *(value for row in matrix for value in row)]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a name")
    if not all(type(value) in (int, float) and abs(value) <= sys.float_info.max for value in numbers):
        raise TypeError("a number")
    return record


class ResultStore:
    """Records by the key of their job, in a file. A later record of a key replaces an earlier one.

    Parameters
    ----------
    path : Path
        Created where it does not exist; records that exist are read.

    Raises
    ------
    FileError
        Where the file is no store, or another process has it open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, int] = {}
        self._states: dict[str, str] = {}
        problem = "is no result of a batch; name another file for the results"
        self._journal = Journal(path, lambda entry, offset: self._index(as_record(entry), offset), problem)

    def state_of(self, key: str) -> str | None:
        """The state of a job; None where it has no record."""
        return self._states.get(key)

    def add(self, record: Record) -> None:
        """Append a record to the file."""
        self._index(record, self._journal.append(asdict(record)))

    def offset(self, key: str) -> int:
        """Byte offset of the record of a job in the file."""
        return self._offsets[key]

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _index(self, record: Record, offset: int) -> None:
        self._offsets[record.key], self._states[record.key] = offset, record.state

"""Results of a batch: JSON lines, one for each job that is done or set aside, in the order they came."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphreg.files.journal import Journal
from graphreg.result import Result

STATES = REGISTERED, NOT_REGISTERED, SET_ASIDE = "registered", "not registered", "set aside"
PROBLEM = "is no result of a batch; name another file for the results"


@dataclass(frozen=True)
class Record:
    """What became of a job.

    key       its identity
    id, source, target  as the job has them
    result    as `Result.to_json` writes it, without the history; None where the job was set aside
    problem   why it was set aside
    attempts  how often it was begun
    seconds   that the last attempt took
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
        if self.result is None:
            return SET_ASIDE
        return REGISTERED if self.result["success"] else NOT_REGISTERED

    @property
    def reason(self) -> str:
        """The verdict in words, or why it was set aside."""
        return str(self.problem if self.result is None else self.result["reason"])

    def as_result(self) -> Result | None:
        return None if self.result is None else Result.from_json(json.dumps(self.result))


class ResultStore:
    """Records, by key. A later one of the same key takes the place of the first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, int] = {}
        self._states: dict[str, str] = {}
        self._journal = Journal(path, lambda entry, begin: self._note(Record(**entry), begin), PROBLEM)

    def state_of(self, key: str) -> str | None:
        """None where nothing became of it yet."""
        return self._states.get(key)

    def add(self, record: Record) -> None:
        self._note(record, self._journal.append(asdict(record)))

    def offset(self, key: str) -> int:
        """Byte offset of its line in the file."""
        return self._offsets[key]

    def close(self) -> None:
        self._journal.close()

    def _note(self, record: Record, begin: int) -> None:
        self._offsets[record.key], self._states[record.key] = begin, record.state

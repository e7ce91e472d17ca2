"""Jobs: what is to be registered with what, and how; from CSV, JSON lines or Python."""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.engine.settings import EngineSettings
from graphreg.errors import FileError, InputError
from graphreg.files.journal import canonical_json
from graphreg.files.pose_files import read_pose
from graphreg.poses import as_pose
from graphreg.registration import METHODS


@dataclass(frozen=True)
class Job:
    """A pair to register.

    source, target  files
    id        what to call it; jobs that differ in nothing else are different jobs
    method    one of `methods()`
    init      where to start: a file with a pose, or 4x4
    seed      by default one that follows from the contents of the files and from the settings
    settings  of the method
    """

    source: str
    target: str
    id: str = ""
    method: str = "graphreg"
    init: Any = None
    seed: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            value = getattr(self, name)
            if not isinstance(value, (str, os.PathLike)) or not str(value):
                raise InputError(f"{name}: expected the name of a file, got {value!r}")
            object.__setattr__(self, name, os.fspath(value))
        object.__setattr__(self, "id", "" if self.id is None else str(self.id))
        if self.method not in METHODS:
            raise InputError(f"method: expected one of {', '.join(METHODS)}, got {self.method!r}")
        if self.init is not None:
            named = isinstance(self.init, (str, os.PathLike))
            start = read_pose(self.init) if named else self.init
            as_pose(start)
            # As it was given: what a machine makes of it must not enter the job's identity.
            object.__setattr__(self, "init", np.asarray(start, np.float64).tolist())
        if self.seed is not None and not (isinstance(self.seed, int) and self.seed >= 0):
            raise InputError(f"seed: expected a whole number from 0 on, got {self.seed!r}")
        try:
            canonical_json(self.settings)
        except (TypeError, ValueError) as problem:
            raise InputError(f"settings: expected numbers, words and lists of them, got {self.settings!r}") from problem

    @property
    def points(self) -> int:
        """How many points of each cloud are looked at."""
        return EngineSettings(points=self.settings.get("points", EngineSettings.points)).points

    def identity(self, source: str, target: str, run: str) -> str:
        """The same on any machine; another if anything changes that the result depends on.

        source, target  the contents of the files, as hashes
        run             what does it
        """
        return _hash([self.id, self._work(source, target, run)])[:32]

    def chosen_seed(self, source: str, target: str, run: str) -> int:
        """The seed that was given, or one from what is to be done."""
        return int(_hash(self._work(source, target, run))[:8], 16) if self.seed is None else self.seed

    def _work(self, source: str, target: str, run: str) -> list[Any]:
        return [source, target, self.method, self.init, self.seed, dict(self.settings), run]


def read_jobs(path: str | os.PathLike[str]) -> list[Job]:
    """The jobs of a file: CSV with a header line, or JSON lines (.jsonl).

    Columns or keys are the names of a Job; all others are settings of the method. What is empty is left out. Names
    of files are relative to the folder of this file.
    """
    path = Path(path)
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise FileError(path, "expected a name that ends in .csv or .jsonl, for jobs are read from it")
    rows = _csv_rows if path.suffix.lower() == ".csv" else _json_rows
    found = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            for number, row in rows(path, file):
                try:
                    found.append(as_job(_beside(path.parent, row)))
                except (InputError, OSError) as problem:
                    raise FileError(path, f"line {number}: {problem}") from problem
        except (UnicodeDecodeError, csv.Error) as problem:
            raise FileError(path, f"is no table of jobs: {problem}") from problem
    if not found:
        raise FileError(path, "holds no jobs")
    return found


def as_jobs(jobs: Any) -> list[Job]:
    """Jobs from a file that holds them, or from Python: Job objects, or mappings with the same names."""
    if isinstance(jobs, (str, os.PathLike)):
        return read_jobs(jobs)
    if not isinstance(jobs, Iterable):
        raise InputError(f"jobs: expected a file or an iterable of jobs, got {type(jobs).__name__}")
    found = []
    for number, job in enumerate(jobs):
        try:
            found.append(as_job(job))
        except InputError as problem:
            raise InputError(f"jobs: number {number}: {problem}") from problem
    if not found:
        raise InputError("jobs: holds none")
    return found


def check_settings(jobs: Iterable[Job]) -> None:
    """Refuse jobs with settings that their method does not have, or whose values it refuses."""
    for number, job in enumerate(jobs):
        chosen = METHODS[job.method].settings
        known = {setting.name for setting in fields(chosen)} - {"weights"}
        where = f"jobs: number {number}, {job.source} to {job.target}"
        if unknown := job.settings.keys() - known:
            said = f"no setting of {job.method}, which has {', '.join(sorted(known))}"
            raise InputError(f"{where}: {min(unknown)}: {said}")
        try:
            replace(chosen, **job.settings)
        except InputError as problem:
            raise InputError(f"{where}: {problem}") from problem


def as_job(job: Any) -> Job:
    """A Job as it is, or made from a mapping; what is no name of a Job is a setting."""
    if isinstance(job, Job):
        return job
    if not isinstance(job, Mapping):
        raise InputError(f"expected a Job or a mapping with source and target, got {type(job).__name__}")
    names = {known.name for known in fields(Job)}
    if missing := {"source", "target"} - job.keys():
        raise InputError(f"{' and '.join(sorted(missing))}: missing")
    settings = {**job.get("settings", {}), **{name: value for name, value in job.items() if name not in names}}
    return Job(**{**{name: value for name, value in job.items() if name in names}, "settings": settings})


def _csv_rows(path: Path, file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.DictReader(file, skipinitialspace=True)
    columns = [name.strip() for name in table.fieldnames or []]
    if not {"source", "target"} <= set(columns):
        raise FileError(path, f"expected a header line with source and target, got {', '.join(columns) or 'nothing'}")
    if len(set(columns)) < len(columns):
        raise FileError(path, f"two columns have one name: {', '.join(columns)}")
    table.fieldnames = columns
    for row in table:
        if None in row:
            raise FileError(path, f"line {table.line_num}: holds more than {len(columns)} columns")
        told = {name: value.strip() for name, value in row.items() if value and value.strip()}
        words = {name: value for name, value in told.items() if name in ("source", "target", "id", "method")}
        yield table.line_num, words | {name: _value(told[name]) for name in told.keys() - words.keys()}


def _json_rows(path: Path, file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as problem:
                raise FileError(path, f"line {number}: is no JSON: {problem}") from problem
            if not isinstance(row, dict):
                raise FileError(path, f"line {number}: expected an object with source and target, got {line.strip()}")
            yield number, {name: value for name, value in row.items() if value is not None}


def _value(text: str) -> Any:
    """A number, a tuple, True or False as Python writes it, or a list of numbers; anything else is a word."""
    from ast import literal_eval

    for form in (text, f"[{','.join(text.split())}]"):
        try:
            return literal_eval(form)
        except (ValueError, SyntaxError):
            continue
    return text


def _beside(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Files of a row are named as seen from the folder of the job file. Twelve or sixteen numbers are a pose."""
    named = {name: str(folder / row[name]) for name in ("source", "target", "init") if isinstance(row.get(name), str)}
    start = row.get("init")
    if isinstance(start, (list, tuple)) and len(start) in (12, 16):
        rows = np.array(start, np.float64).reshape(-1, 4)
        named["init"] = np.vstack([rows, [0, 0, 0, 1]])[:4].tolist()
    return {**row, **named}


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()

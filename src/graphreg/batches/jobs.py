"""Jobs: pairs to register and their settings, from CSV, JSON lines or Python."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphreg.argument_checks import shown
from graphreg.engine.settings import EngineSettings
from graphreg.errors import FileError, InputError
from graphreg.files.input_file import as_path, quote, require_file
from graphreg.files.journal import canonical_json
from graphreg.files.pose_files import read_pose
from graphreg.poses import as_pose, as_similarity
from graphreg.registration import METHODS


@dataclass(frozen=True)
class Job:
    """A pair to register.

    Parameters
    ----------
    source, target : str or path-like
        Files.
    id : str, default ""
        A name of yours; jobs that differ in their id alone are different jobs.
    method : str, default "graphreg"
        One of `methods()`.
    init : str, path-like or (4, 4) array_like, optional
        Initial pose: a file of one pose, or a matrix.
    seed : int, optional
        By default a hash of the contents of the files and of the settings.
    settings : mapping of str to value, optional
        Settings of the method.

    Raises
    ------
    InputError
        Where one of these is not valid.

    Examples
    --------
    >>> Job("a.ply", "b.ply", settings={"voxel": 0.05}).method
    'graphreg'
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
            as_path(value, name)
            object.__setattr__(self, name, os.fsdecode(value))
        object.__setattr__(self, "id", "" if self.id is None else str(self.id))
        if self.id != self.id.encode(errors="ignore").decode():
            raise InputError(f"id: expected text, got {shown(self.id)}")
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise InputError(f"method: expected one of {', '.join(METHODS)}, got {shown(self.method)}")
        if self.init is not None:
            from_file = isinstance(self.init, (str, os.PathLike))
            similarity = isinstance(self.settings, Mapping) and bool(self.settings.get("scale"))
            matrix = read_pose(as_path(self.init, "init"), similarity=similarity) if from_file else self.init
            (as_similarity if similarity else as_pose)(matrix)
            # As passed, not as `as_pose` rounds it: that may differ between machines, and must not change the identity.
            object.__setattr__(self, "init", np.asarray(matrix, np.float64).tolist())
        if self.seed is not None and not (isinstance(self.seed, int) and self.seed >= 0):
            raise InputError(f"seed: expected a whole number from 0 on, got {shown(self.seed)}")
        if not isinstance(self.settings, Mapping) or not all(isinstance(name, str) for name in self.settings):
            raise InputError(f"settings: expected values by their names, got {shown(self.settings)}")
        try:
            canonical_json(self.settings)
        except (TypeError, ValueError, RecursionError) as problem:
            expected = "expected numbers, words and lists of them"
            raise InputError(f"settings: {expected}, got {shown(dict(self.settings))}") from problem

    @property
    def points(self) -> int:
        """The number of points that are sampled from each cloud."""
        return EngineSettings(points=self.settings.get("points", EngineSettings.points)).points

    def identity(self, source: str, target: str, run: str) -> str:
        """A hash of everything that the result depends on, and of the id; the same on any machine.

        Parameters
        ----------
        source, target : str
            Hashes of the files.
        run : str
            Name of the function that registers the pair, "" for `register`.

        Returns
        -------
        str
        """
        return _hash([self.id, self._inputs(source, target, run)])[:32]

    def seed_for(self, source: str, target: str, run: str) -> int:
        """The seed of the job, or by default one from a hash of everything that the result depends on.

        Parameters
        ----------
        source, target, run
            As in `identity`.

        Returns
        -------
        int
        """
        return int(_hash(self._inputs(source, target, run))[:8], 16) if self.seed is None else self.seed

    def _inputs(self, source: str, target: str, run: str) -> list[Any]:
        return [source, target, self.method, self.init, self.seed, dict(self.settings), run]


def read_jobs(path: str | os.PathLike[str]) -> list[Job]:
    """Read jobs from a file: CSV with a header line, or JSON lines.

    Parameters
    ----------
    path : str or path-like
        A .csv or .jsonl file. Columns or keys are the names of a Job; all others are settings of the method. Empty
        values are left out. Names of files are relative to the folder of this file.

    Returns
    -------
    list of Job

    Raises
    ------
    FileError
        Where the file or one of its jobs is not valid; the message has the number of the line.
    """
    path = as_path(path, "jobs")
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise FileError(path, "expected a name that ends in .csv or .jsonl for a file of jobs")
    require_file(path)
    rows = _csv_rows if path.suffix.lower() == ".csv" else _json_rows
    jobs = []
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            for number, row in rows(path, file):
                try:
                    jobs.append(as_job(_with_absolute_files(path.parent, row)))
                except (InputError, OSError) as problem:
                    raise FileError(path, f"line {number}: {problem}") from problem
        except UnicodeDecodeError as problem:
            raise FileError(path, f"is no table of jobs in UTF-8: {problem.reason}; save it as UTF-8") from problem
        except csv.Error as problem:
            raise FileError(path, f"is no table of jobs: {problem}") from problem
    if not jobs:
        raise FileError(path, "has no jobs")
    return jobs


def as_jobs(jobs: Any) -> list[Job]:
    """Convert a file of jobs, or an iterable of jobs, to a list of jobs.

    Parameters
    ----------
    jobs : str, path-like, or iterable of Job or mapping
        A file, see `read_jobs`; or jobs, see `as_job`.

    Returns
    -------
    list of Job

    Raises
    ------
    InputError
        Where a job is not valid, or there is none.
    """
    if isinstance(jobs, (str, os.PathLike)):
        return read_jobs(jobs)
    if not isinstance(jobs, Iterable):
        raise InputError(f"jobs: expected a file or an iterable of jobs, got {type(jobs).__name__}")
    converted = []
    for number, job in enumerate(jobs):
        try:
            converted.append(as_job(job))
        except InputError as problem:
            raise InputError(f"jobs: number {number}: {problem}") from problem
    if not converted:
        raise InputError("jobs: expected at least one, got none")
    return converted


def check_settings(jobs: Iterable[Job]) -> None:
    """Refuse jobs whose settings are unknown to their method, or not valid for it.

    Parameters
    ----------
    jobs : iterable of Job

    Raises
    ------
    InputError
    """
    for number, job in enumerate(jobs):
        defaults = METHODS[job.method].settings
        known = {setting.name for setting in fields(defaults)} - {"weights"}
        where = f"jobs: number {number}, {job.source} to {job.target}"
        if unknown := job.settings.keys() - known:
            problem = f"no setting of {job.method}, which has {', '.join(sorted(known))}"
            raise InputError(f"{where}: {min(unknown)}: {problem}")
        try:
            replace(defaults, **job.settings)
        except InputError as refused:
            raise InputError(f"{where}: {refused}") from refused


def as_job(job: Any) -> Job:
    """Convert a mapping to a Job; keys that are no fields of a Job are settings. A Job is returned as it is.

    Parameters
    ----------
    job : Job or mapping

    Returns
    -------
    Job

    Raises
    ------
    InputError
    """
    if isinstance(job, Job):
        return job
    if not isinstance(job, Mapping):
        raise InputError(f"expected a Job or a mapping with source and target, got {type(job).__name__}")
    names = {known.name for known in fields(Job)}
    if missing := {"source", "target"} - job.keys():
        raise InputError(f"{' and '.join(sorted(missing))}: missing")
    own = job.get("settings", {})
    if not isinstance(own, Mapping):
        raise InputError(f"settings: expected values by their names, got {shown(own)}")
    settings = {**own, **{name: value for name, value in job.items() if name not in names}}
    return Job(**{**{name: value for name, value in job.items() if name in names}, "settings": settings})


def _csv_rows(path: Path, file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    table = csv.DictReader(file, skipinitialspace=True)
    columns = [name.strip() for name in table.fieldnames or []]
    if not {"source", "target"} <= set(columns):
        got = ", ".join(columns) or "nothing"
        raise FileError(path, f"expected a header line with source and target, separated by commas, got {got}")
    if len(set(columns)) < len(columns):
        raise FileError(path, f"two columns have one name: {', '.join(columns)}")
    table.fieldnames = columns
    for row in table:
        if None in row:
            raise FileError(path, f"line {table.line_num}: has more than {len(columns)} columns")
        values = {name: value.strip() for name, value in row.items() if value and value.strip()}
        words = {name: value for name, value in values.items() if name in ("source", "target", "id", "method")}
        yield table.line_num, words | {name: _parse(values[name]) for name in values.keys() - words.keys()}


def _json_rows(path: Path, file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(file, 1):
        if line.strip():
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as problem:
                raise FileError(path, f"line {number}: is no JSON: {problem}") from problem
            if not isinstance(row, dict):
                raise FileError(path, f"line {number}: expected an object with source and target, got {quote(line)}")
            yield number, {name: value for name, value in row.items() if value is not None}


def _parse(text: str) -> Any:
    """A Python literal, or a list of numbers separated by blanks; any other text as it is."""
    from ast import literal_eval

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd literals
        for form in (text, f"[{','.join(text.split())}]"):
            # The last two are raised for deep nesting.
            with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return literal_eval(form)
    return text


def _with_absolute_files(folder: Path, row: dict[str, Any]) -> dict[str, Any]:
    """Resolve the files of a row relative to the folder of the job file. Twelve or sixteen numbers are a pose."""
    files = {name: str(folder / row[name]) for name in ("source", "target", "init") if isinstance(row.get(name), str)}
    init = row.get("init")
    if isinstance(init, (list, tuple)) and len(init) in (12, 16):
        with suppress(TypeError, ValueError, OverflowError):  # then the Job says what was expected
            rows = np.array(init, np.float64).reshape(-1, 4)
            files["init"] = np.vstack([rows, [0, 0, 0, 1]])[:4].tolist()
    return {**row, **files}


def _hash(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()

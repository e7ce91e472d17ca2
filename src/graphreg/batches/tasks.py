"""The tasks of a worker: preprocess a cloud, register a pair. They are sent to other processes by pickle."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphreg.batches.affinity import CLOUDS_IN_MEMORY
from graphreg.batches.cache import cache_file, cached_cloud
from graphreg.batches.jobs import Job
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.result import Result


@dataclass(frozen=True)
class PreprocessTask:
    """Preprocess the cloud of a file and store it in the cache; returns what `cache_file` returns."""

    path: str
    points: int
    cache: Path

    def __call__(self) -> tuple[str, str | None]:
        return cache_file(self.cache, self.path, self.points)


@dataclass(frozen=True)
class RegisterTask:
    """Register a pair whose clouds are in the cache; returns the result as JSON, without its history.

    Attributes
    ----------
    key : str
        Identity of the job.
    job : Job
    run : callable
        Called as `register` is.
    paths, contents : tuple of str
        Files of source and target, and their hashes.
    seed : int
    cache : Path
    """

    key: str
    job: Job
    run: Callable[..., Result]
    paths: tuple[str, str]
    contents: tuple[str, str]
    seed: int
    cache: Path

    def __call__(self) -> dict[str, Any]:
        job = self.job
        source, target = (
            _load_cloud(self.cache, path, content, job.points)
            for path, content in zip(self.paths, self.contents, strict=True)
        )
        # One thread per worker: there are as many workers as cores.
        result = self.run(
            source, target, method=job.method, init=job.init, seed=self.seed, threads=1, **dict(job.settings)
        )
        # JSON has no NaN and no infinity; they become null.
        values: dict[str, Any] = json.loads(result.to_json(), parse_constant=lambda _: None)
        return {**values, "history": []}


Task = PreprocessTask | RegisterTask


@lru_cache(CLOUDS_IN_MEMORY)
def _load_cloud(cache: Path, path: str, content: str, points: int) -> PreprocessedCloud:
    return cached_cloud(cache, path, content, points)

"""What a worker does: prepare a cloud, register a pair. Plain functions that any process can import and call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from graphreg.batches.affinity import KEPT_CLOUDS
from graphreg.batches.cache import prepare_file, prepared_cloud
from graphreg.batches.jobs import Job
from graphreg.engine.preprocessing import PreprocessedCloud
from graphreg.result import Result


@dataclass(frozen=True)
class Prepare:
    """Have the cloud of a file in the cache. Gives the hash of the file's bytes, and what is wrong with them."""

    path: str
    points: int
    cache: Path

    def __call__(self) -> tuple[str, str | None]:
        return prepare_file(self.cache, self.path, self.points)


@dataclass(frozen=True)
class Register:
    """Register a pair whose clouds are in the cache. Gives the result as JSON holds it, without its history.

    key       of the job
    run       called as `register` is
    paths     of source and target
    contents  hashes of these files' bytes
    """

    key: str
    job: Job
    run: Callable[..., Result]
    paths: tuple[str, str]
    contents: tuple[str, str]
    seed: int
    cache: Path

    def __call__(self) -> dict[str, Any]:
        source, target = (
            _cloud(self.cache, path, content, self.job.points)
            for path, content in zip(self.paths, self.contents, strict=True)
        )
        job = self.job
        # One thread a worker: workers are as many as there are cores.
        found = self.run(
            source, target, method=job.method, init=job.init, seed=self.seed, threads=1, **dict(job.settings)
        )
        # What is not a number is nothing, for JSON has no word for it.
        held: dict[str, Any] = json.loads(found.to_json(), parse_constant=lambda _: None)
        return {**held, "history": []}


Task = Prepare | Register


@lru_cache(KEPT_CLOUDS)
def _cloud(cache: Path, path: str, content: str, points: int) -> PreprocessedCloud:
    return prepared_cloud(cache, path, content, points)

"""Tasks: they can be pickled, and give what `cache_file` and `register` give."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from tests.support.batch_jobs import write_scans
from tests.support.faulty_register import faulty_register

import graphreg
from graphreg.batches.cache import file_hash, is_cached
from graphreg.batches.jobs import Job
from graphreg.batches.tasks import PreprocessTask, RegisterTask, Task

POINTS = 500


def run_pickled(task: Task) -> object:
    return pickle.loads(pickle.dumps(task))()


def test_a_pair_is_preprocessed_and_registered(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    source, target = (str(tmp_path / name) for name in write_scans(tmp_path, 2))
    contents = file_hash(source), file_hash(target)
    for path, content in zip((source, target), contents, strict=True):
        assert run_pickled(PreprocessTask(path, POINTS, cache)) == (content, None)
        assert is_cached(cache, content, POINTS)
    job = Job(source, target, settings={"points": POINTS})
    stored = run_pickled(RegisterTask("key", job, faulty_register, (source, target), contents, 7, cache))
    clouds = (graphreg.prepare(graphreg.read(path), points=POINTS) for path in (source, target))
    expected = graphreg.register(*clouds, seed=7, points=POINTS)
    assert isinstance(stored, dict)
    assert np.array_equal(stored["transformation"], expected.transformation)
    assert (stored["success"], stored["seed"], stored["history"]) == (expected.success, 7, [])

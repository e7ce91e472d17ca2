"""Fixtures of the batch tests: scans in files, the jobs that pair them, and the results of one worker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.batch_jobs import batch_results, pairs_of, write_scans


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scans")


@pytest.fixture(scope="module")
def jobs(folder: Path, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """Jobs for each pair of the scans, SCANS of the test module, in both directions."""
    return pairs_of(folder, write_scans(folder, request.module.SCANS))


@pytest.fixture(scope="module")
def expected(folder: Path, jobs: list[dict[str, Any]]) -> list[str]:
    """The records of a batch with one worker."""
    return batch_results(jobs, folder / "expected.jsonl", workers=1)

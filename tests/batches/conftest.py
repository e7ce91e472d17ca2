"""What tests of batches share: scans in files, the jobs that pair them, and what one worker finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.batch_jobs import found_by, pairs_of, write_scans


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scans")


@pytest.fixture(scope="module")
def jobs(folder: Path, request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """As many scans as the module says, each two of them in both directions."""
    return pairs_of(folder, write_scans(folder, request.module.SCANS))


@pytest.fixture(scope="module")
def alone(folder: Path, jobs: list[dict[str, Any]]) -> list[str]:
    """What one worker finds."""
    return found_by(jobs, folder / "alone.jsonl", workers=1)

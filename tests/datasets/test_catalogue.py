"""The catalogue of public data sets is complete, and agrees with the documentation."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from graphreg.datasets.catalogue import DATASETS, Dataset


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_entries_are_complete(dataset: Dataset) -> None:
    assert dataset.title
    assert dataset.licence
    assert dataset.page.startswith(("http://", "https://"))
    assert dataset.pattern.split("/")[0].rstrip("*") == dataset.name[: len(dataset.pattern.split("/")[0].rstrip("*"))]
    for archive in dataset.archives:
        assert archive.url.startswith("https://")
        assert archive.name.endswith((".tar.gz", ".zip"))
        kind, _, digits = (archive.checksum or "sha256:" + "0" * 64).partition(":")
        assert len(bytes.fromhex(digits)) == hashlib.new(kind).digest_size


def test_the_documentation_agrees_with_the_catalogue() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    for dataset in DATASETS.values():
        assert f"| {dataset.name} | {dataset.title} |" in page
        assert dataset.licence in page
        assert dataset.download_size in page.replace("by hand |", "unknown |")

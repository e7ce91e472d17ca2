"""The standard logging tree: debug lines for each stage below `graphreg`, nothing without them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import graphreg
from tests.support.strategies import small_pair, small_scan


def test_stages_are_logged_below_graphreg(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    pair = small_pair("hare")
    graphreg.write(tmp_path / "a.ply", pair.source)
    with caplog.at_level(logging.DEBUG, logger="graphreg"):
        result = graphreg.register(tmp_path / "a.ply", pair.target)
    assert {record.name.split(".")[0] for record in caplog.records} == {"graphreg"}
    text = caplog.text
    assert "a.ply" in text
    assert result.reason in text
    for stage in result.timings.keys() - {"total"}:
        assert f"{stage}: " in text


def test_nothing_is_printed_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    graphreg.register(small_scan("hare"), small_scan("hare"))
    assert capfd.readouterr() == ("", "")

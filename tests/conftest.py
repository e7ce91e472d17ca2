"""Shared by all tests: hypothesis' profile, Ctrl-C, the folder of real scans, small pictures."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

from graphreg.datasets.scan_setups import SETUPS

settings.register_profile("graphreg", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("graphreg")

# A shell starts background jobs with Ctrl-C ignored, which commands that tests start would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def scans() -> Path:
    """The folder of real scans, named by GRAPHREG_DATA."""
    folder = os.environ.get("GRAPHREG_DATA")
    if not folder:
        pytest.skip("GRAPHREG_DATA does not name a folder of real scans")
    path = Path(folder)
    assert path.is_dir(), f"GRAPHREG_DATA names {folder}, which is no folder"
    return path


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch, small_pictures: None) -> None:
    """The demo with a fifth of the points, and with small pictures."""
    for name, setup in SETUPS.items():
        monkeypatch.setitem(SETUPS, name, replace(setup, points=setup.points // 5))


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures of few pixels and without antialiasing: to draw them takes most of the time of a command."""
    module = import_module("graphreg.cli.demo")  # as a name of the package, it is the function
    monkeypatch.setattr(module, "SCAN_PICTURE", (320, 84))
    monkeypatch.setattr(module, "REGISTRATION_PICTURE", (320, 120))
    for page in ("registration_page", "multiway_page", "trajectory_page"):
        monkeypatch.setattr(f"graphreg.reports.{page}.PICTURE", (140, 56))
    monkeypatch.setattr("graphreg.reports.pictures.SAMPLES", 1)

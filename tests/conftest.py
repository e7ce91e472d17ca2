"""Shared by all tests: hypothesis' profile, Ctrl-C, rays that are cast once, real scans, small pictures."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

# As many processes as there are cores run the tests: threads of BLAS would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from graphreg.clouds import Floats
from graphreg.datasets.convex_scenes import ConvexScene
from graphreg.datasets.implicit_surfaces import ImplicitSurface
from graphreg.datasets.scan_setups import SETUPS

settings.register_profile("all", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("fast", settings.get_profile("all"), max_examples=15)

# A shell starts background jobs with Ctrl-C ignored, which commands that tests start would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """The fast tier draws fewer examples of each property."""
    settings.load_profile("fast" if config.option.markexpr == "not slow" else "all")


def pytest_collection_finish() -> None:
    """Modules and tests last until the end: garbage is collected without looking at them again."""
    gc.collect()
    gc.freeze()


Cast = Callable[..., tuple[Floats, Floats]]
_KNOWN_RAYS: dict[tuple[object, ...], tuple[Floats, Floats]] = {}


def _cast_once(cast: Cast) -> Cast:
    def cast_or_recall(surface: object, origin: Floats, directions: Floats, max_range: float) -> tuple[Floats, Floats]:
        key = surface, origin.tobytes(), hash(directions.tobytes()), len(directions), max_range
        if key not in _KNOWN_RAYS:
            _KNOWN_RAYS[key] = cast(surface, origin, directions, max_range)
        ranges, normals = _KNOWN_RAYS[key]
        return ranges.copy(), normals.copy()

    return cast_or_recall


# Rays that several tests cast are cast once: to scan takes longer than to register.
for _surface in (ImplicitSurface, ConvexScene):
    _surface.cast = _cast_once(_surface.cast)  # type: ignore[method-assign]


@pytest.fixture
def forget_rays() -> Iterator[Callable[[], None]]:
    """Call it to have the next rays of this test cast again."""
    known = dict(_KNOWN_RAYS)
    yield _KNOWN_RAYS.clear
    _KNOWN_RAYS.update(known)


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

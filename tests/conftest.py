"""Shared by all tests: hypothesis' profile, Ctrl-C, rays that are cast once, real scans, small pictures."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# As many processes as there are cores run the tests: more threads, of BLAS or ours, would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.sched_getaffinity = lambda _: {0}  # what `threads=None` counts

import numpy as np

from graphreg import clouds
from graphreg.clouds import Floats
from graphreg.datasets.convex_scenes import ConvexScene
from graphreg.datasets.implicit_surfaces import ImplicitSurface
from graphreg.datasets.scan_setups import SETUPS

settings.register_profile("all", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("fast", settings.get_profile("all"), max_examples=15)

# A shell starts background jobs with Ctrl-C ignored, which commands that tests start would inherit.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


USES_EXPERIMENTS = re.compile(
    r"^(from|import) (graphreg\.bench|fuzz import .*\bmemory|tests\.support\.comparison_rows)\b", re.MULTILINE
)


def _write_bytecode_elsewhere(config: pytest.Config) -> None:
    """Where Python is told to write none beside the sources: every process would compile what it imports.

    Libraries that were compiled when they were installed would be compiled again: if graphreg is one of them, the
    folder is for the tests alone, while they are collected.
    """
    if not sys.dont_write_bytecode or not hasattr(config, "cache"):
        return
    folder = str(config.cache.mkdir("bytecode"))
    sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    if not Path(str(clouds.__spec__.cached)).exists():
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder


def pytest_configure(config: pytest.Config) -> None:
    """The fast tier draws fewer examples of each property. Collection creates no garbage worth looking for."""
    gc.disable()
    _write_bytecode_elsewhere(config)
    settings.load_profile("fast" if config.option.markexpr == "not slow" else "all")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """A published wheel is without the experiments, and is tested without the tests that use them."""
    if find_spec("graphreg.bench") or collection_path.suffix != ".py":
        return None
    return USES_EXPERIMENTS.search(collection_path.read_text(encoding="utf-8")) is not None or None


def pytest_collection_finish() -> None:
    """Modules and tests last until the end: garbage is collected without looking at them again."""
    if "PYTHONDONTWRITEBYTECODE" in os.environ:
        sys.dont_write_bytecode, sys.pycache_prefix = True, None
    gc.collect()
    gc.freeze()
    gc.enable()


Cast = Callable[..., tuple[Floats, Floats]]
PROBES = np.random.default_rng(0).uniform(-1, 1, (50, 3))


class KnownRays:
    """Rays that were cast: by this process in memory; by the others of this run in files, if there are others."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self._hits: dict[str, tuple[Floats, Floats]] = {}

    def hits(self, key: str, cast: Callable[[], tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        if key not in self._hits:
            self._hits[key] = self._load(key) or self._store(key, cast())
        ranges, normals = self._hits[key]
        return ranges.copy(), normals.copy()

    @contextmanager
    def forgotten(self) -> Iterator[None]:
        """Within it, rays are cast again."""
        state = self.folder, self._hits
        self.folder, self._hits = None, {}
        yield
        self.folder, self._hits = state

    def _load(self, key: str) -> tuple[Floats, Floats] | None:
        try:
            columns = np.load(self.folder / f"{key}.npy") if self.folder else None
        except OSError:
            return None
        return None if columns is None else (columns[:, 0].copy(), columns[:, 1:].copy())

    def _store(self, key: str, hits: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        if self.folder is not None:
            with contextlib.suppress(OSError):
                unfinished = self.folder / f"{key}.{os.getpid()}.npy"
                np.save(unfinished, np.column_stack(hits))
                unfinished.replace(self.folder / f"{key}.npy")
        return hits


KNOWN_RAYS = KnownRays()


@lru_cache(maxsize=64)
def _fingerprint(surface: ImplicitSurface | ConvexScene) -> bytes:
    """What tells surfaces apart, the same in every process."""
    if isinstance(surface, ImplicitSurface):
        return surface.field(PROBES * surface.radius).tobytes()
    return b"".join(
        array.tobytes() for part in surface.parts for array in (part.centre, part.axes, part.planes, part.quadric)
    )


def _cast_once(cast: Cast) -> Cast:
    def cast_or_recall(
        surface: ImplicitSurface | ConvexScene, origin: Floats, directions: Floats, max_range: float
    ) -> tuple[Floats, Floats]:
        key = hashlib.sha256(_fingerprint(surface))
        for array in (origin, directions, np.float64(max_range)):
            key.update(np.ascontiguousarray(array, np.float64).tobytes())
        return KNOWN_RAYS.hits(key.hexdigest(), lambda: cast(surface, origin, directions, max_range))

    return cast_or_recall


# Rays that several tests cast are cast once: to scan takes longer than to register.
for _surface in (ImplicitSurface, ConvexScene):
    _surface.cast = _cast_once(_surface.cast)  # type: ignore[method-assign]


@pytest.fixture(scope="session", autouse=True)
def _shared_rays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that run the tests side by side share the rays they have cast."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    KNOWN_RAYS.folder = tmp_path_factory.getbasetemp().parent / "rays"
    KNOWN_RAYS.folder.mkdir(exist_ok=True)
    yield
    shutil.rmtree(KNOWN_RAYS.folder, ignore_errors=True)  # whoever needs one of them still casts it again


@pytest.fixture
def forget_rays() -> Iterator[Callable[[], None]]:
    """Call it to have the next rays of this test cast again."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(KNOWN_RAYS.forgotten())


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
    pages = "registration_page", "multiway_page", "trajectory_page", "comparison_page", "deformation_page"
    for page in (*pages, "notebook_pictures"):
        monkeypatch.setattr(f"graphreg.reports.{page}.PICTURE", (140, 56))
    monkeypatch.setattr("graphreg.reports.pictures.SAMPLES", 1)
    monkeypatch.setattr("graphreg.reports.animations.MOVING", 2)

"""The examples in the docstrings run, and every public function has one."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import graphreg

PACKAGE = Path(graphreg.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


# Their examples simulate several scans, start processes, or write pages.
SLOW = (
    "graphreg.baselines.cpd",
    "graphreg.baselines.ecm",
    "graphreg.baselines.gmm",
    "graphreg.baselines.super4pcs",
    "graphreg.batches.batch_run",
    "graphreg.datasets.city",
    "graphreg.datasets.city_routes",
    "graphreg.datasets.deformed_bodies",
    "graphreg.datasets.photogrammetry",
    "graphreg.datasets.synthetic",
    "graphreg.locating",
    "graphreg.multiscan.localisation",
    "graphreg.multiscan.multiway_registration",
    "graphreg.multiscan.odometry",
    "graphreg.multiscan.tracking",
    "graphreg.nonrigid.deformation",
    "graphreg.nonrigid.deforming",
    "graphreg.registration",
    "graphreg.reports.multiway_page",
    "graphreg.reports.registration_page",
    "graphreg.reports.trajectory_page",
)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MODULES]
)
@pytest.mark.usefixtures("small_pictures")
def test_the_examples_of_a_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder().find(import_module(name)):
        runner.run(example, out=output.append)
    assert runner.tries, "no example was found"
    assert not runner.failures, "".join(output)


def test_every_public_function_has_an_example() -> None:
    functions = [value for name in graphreg.__all__ if inspect.isfunction(value := getattr(graphreg, name))]
    assert len(functions) > 20
    for function in functions:
        assert "\nExamples\n--------\n" in inspect.cleandoc(function.__doc__), function.__name__

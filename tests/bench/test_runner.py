"""The runner: options of experiments, and the command that repeats a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.bench import runner
from graphreg.bench.results_files import Results, write_results
from graphreg.errors import InputError
from graphreg.provenance import measured_now


def test_options_are_those_of_the_experiment() -> None:
    assert runner.options_of("engine") == {"starts", "pairs", "methods", "peers"}
    assert runner.options_of("x84") == set()


def test_an_option_that_the_experiment_does_not_have_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="starts: no option of x84"):
        runner.run_experiment("x84", tmp_path, None, {"starts": 3}, True, False, None, lambda jobs, *_: jobs)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_figures_are_drawn_again_from_recorded_rows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [{"cloud": "a", "outliers": "uniform", "ratio": share, "alpha": 5.2, "rmsd": share} for share in (0.1, 0.5)]
    write_results(tmp_path, "x84", Results("By the rule", measured_now("graphreg bench x84", ("poses",)), [], rows))
    assert runner.redraw(tmp_path, None) == [tmp_path / "x84.svg"]
    assert "Registered as published" in (tmp_path / "x84.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (("x84", None, {}, False, None), "graphreg bench x84"),
        (("x84", None, {}, True, None), "graphreg bench x84 --quick"),
        (("noise", None, {"methods": "icp,cpd"}, False, 15.0), "graphreg bench noise --methods 'icp,cpd' --budget 15"),
        (("noise", Path("scans"), {"peers": False}, False, None), "graphreg bench noise --no-peers --data FOLDER"),
    ],
)
def test_the_command_has_all_that_the_figures_depend_on(arguments: tuple[object, ...], command: str) -> None:
    assert runner._command(*arguments) == command

"""Options of methods: the same names as their settings, and refused by a type checker where they do not exist."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from graphreg import method_options
from graphreg.registration import METHODS

OPTIONS: dict[str, type[method_options.CommonOptions]] = {
    "graphreg": method_options.EngineOptions,
    "graphreg-paper": method_options.PaperOptions,
    "pipl": method_options.PaperOptions,
    "icp": method_options.IcpOptions,
    "icp-kp": method_options.IcpKpOptions,
    "icp-kn": method_options.IcpKnOptions,
    "tricp": method_options.TricpOptions,
    "fricp": method_options.FricpOptions,
    "gmm": method_options.GmmOptions,
    "cpd": method_options.CpdOptions,
    "ecm": method_options.EcmOptions,
    "fgr": method_options.FgrOptions,
    "teaser": method_options.TeaserOptions,
    "super4pcs": method_options.Super4pcsOptions,
}


def test_every_method_has_options() -> None:
    assert OPTIONS.keys() == METHODS.keys()


@pytest.mark.parametrize("method", METHODS)
def test_options_are_the_settings(method: str) -> None:
    options = set(get_type_hints(OPTIONS[method]))
    of_every_call = set(method_options.CommonOptions.__annotations__) - {"voxel"}
    assert options - of_every_call == {field.name for field in fields(METHODS[method].settings)}


@pytest.mark.slow
def test_a_type_checker_knows_methods_and_settings(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    accepted = [
        "register(x, y, voxel=1.0, dof=('rz', 'x', 'y', 'z'))",
        "register(x, y, method='icp', max_iterations=5, seed=1)",
        "register(x, y, method='graphreg-paper', beta=0.8, annealing='plain')",
        "register(x, y, method='icp', loss='tukey')",
        "register(x, y, method='icp-kn', loss=Loss('barron', scale='s'))",
        "register(x, y, method='teaser', features=True)",
    ]
    refused = [
        "register(x, y, voxl=1.0)",
        "register(x, y, method='icpp')",
        "register(x, y, method='icp', beta=0.9)",
        "register(x, y, method='gmm', max_iterations='many')",
        "register(x, y, method='icp', loss='tukee')",
        "register(x, y, method='gmm', loss='tukey')",
        "Loss('welch')",
        "register(x, y, features=True)",
        "register(x, y, method='icp', features='yes')",
    ]
    script = tmp_path / "calls.py"
    script.write_text(
        "\n".join(["from graphreg import Loss, register", "x = y = [[0.0, 0.0, 0.0]]", *accepted, *refused])
    )
    # Other modules, NumPy's above all, are left out: to check them takes most of the time.
    robust = ("graphreg.robust.influence_functions", "graphreg.robust.robust_scales", "graphreg.robust.losses")
    checked = ("graphreg", "graphreg.registration", "graphreg.method_options", *robust, script.stem)
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=skip", *(word for name in checked for word in ("-m", name))],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    ).stdout
    errors = [line for line in found.splitlines() if line.startswith(script.name) and ": error:" in line]
    lines = {int(line.split(":")[1]) for line in errors}
    assert lines == set(range(3 + len(accepted), 3 + len(accepted) + len(refused))), found

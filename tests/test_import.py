"""The import of the package and its public names."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import graphreg


def test_import_loads_no_heavy_libraries() -> None:
    script = "import graphreg, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"scipy", "typer", "rich", "laspy", "pye57", "matplotlib", "open3d", "pandas", "viser"}
    assert not heavy & {name.split(".")[0] for name in loaded}


def test_every_public_name_exists_and_has_a_docstring() -> None:
    for name in graphreg.__all__:
        assert getattr(graphreg, name).__doc__, name


def test_there_is_one_version() -> None:
    assert graphreg.__version__ == version("graphreg")

"""The import of the package and its public names."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import graphreg


def test_import_loads_no_libraries_and_register_no_heavy_ones() -> None:
    script = "import sys, graphreg; print(*sys.modules); graphreg.register; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    at_first, to_register = ({name.split(".")[0] for name in line.split()} for line in done.stdout.splitlines())
    heavy = {"scipy", "typer", "rich", "laspy", "pye57", "matplotlib", "open3d", "pandas", "viser"}
    assert not at_first & {"numpy", *heavy}
    assert not to_register & heavy


def test_names_are_imported_from_where_type_checkers_find_them() -> None:
    tree = ast.parse(Path(graphreg.__file__).read_text(encoding="utf-8"))
    (typed,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = {alias.name: node.module for node in typed.body for alias in node.names}
    assert found == graphreg._MODULE_OF
    assert {"__version__", *found} == set(graphreg.__all__) <= set(dir(graphreg))


def test_modules_are_attributes_and_other_names_do_not_exist() -> None:
    assert graphreg.metrics.angular_error
    assert not hasattr(graphreg, "regster")
    assert not hasattr(graphreg, "_nothing")


def test_every_public_name_exists_and_has_a_docstring() -> None:
    for name in graphreg.__all__:
        assert getattr(graphreg, name).__doc__, name


def test_there_is_one_version() -> None:
    assert graphreg.__version__ == version("graphreg")

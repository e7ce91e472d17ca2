"""Rules of the layout that import-linter does not check: imports of the package root, names and number of modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import graphreg

PACKAGE = Path(graphreg.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
# A command, an experiment or a page may have the name of the module that it is about.
FRONT_ENDS = ("cli", "bench", "reports")


def imports() -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Every import of the package, with the module that it stands in."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield path.relative_to(PACKAGE).as_posix(), node


def test_no_module_imports_from_the_package_root() -> None:
    """The root imports every layer, so that such an import would be a cycle. The extension is the exception."""
    for module, node in imports():
        names = {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: a relative import"
            assert node.module != "graphreg" or names == {"_core"}, module
        else:
            assert "graphreg" not in names, module


def test_module_names_are_unique_outside_the_front_ends() -> None:
    named = [path for path in MODULES if not path.stem.startswith("__")]
    inner = Counter(path.stem for path in named if path.relative_to(PACKAGE).parts[0] not in FRONT_ENDS)
    assert not [name for name, count in inner.items() if count > 1]


def test_no_public_name_is_that_of_a_module() -> None:
    entries = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert not entries & set(graphreg.__all__)


def test_the_root_has_few_modules() -> None:
    assert len([path for path in PACKAGE.glob("*.py") if not path.stem.startswith("_")]) <= 14

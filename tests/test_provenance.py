"""What a result was measured with: fingerprints follow the code and nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from graphreg import provenance
from graphreg._version import __version__
from graphreg.errors import InputError
from graphreg.provenance import Provenance, cpp_code, fingerprint, measured_now, python_code

PYTHON = '''
"""A module."""

LIMIT = 3  # metres
"""As far as the sensor reaches."""


def clipped(values: list[float]) -> list[float]:
    """Clip values."""
    return [min(value, LIMIT) for value in values]
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another description."""'),
        ('"""Clip values."""', ""),
        ('"""As far as the sensor reaches."""\n', ""),
        ("  # metres", ""),
        ("[min(value, LIMIT) for value in values]", "[\n        min(value, LIMIT)\n        for value in values\n    ]"),
    ],
)
def test_docstrings_comments_and_layout_are_no_code(old: str, new: str) -> None:
    assert old in PYTHON
    assert python_code(PYTHON.replace(old, new)) == python_code(PYTHON)


@pytest.mark.parametrize(
    ("old", "new"),
    [("LIMIT = 3", "LIMIT = 4"), ("LIMIT = 3", "LIMIT = 3.0"), ("min", "max"), ("list[float]:", "list[int]:")],
)
def test_any_other_change_is_code(old: str, new: str) -> None:
    assert python_code(PYTHON.replace(old, new)) != python_code(PYTHON)


def test_strings_that_are_values_are_code() -> None:
    assert python_code("x = 'a'") != python_code("x = 'b'")
    assert python_code("f('a')") != python_code("f('b')")


def test_cpp_comments_and_layout_are_no_code() -> None:
    code = 'int f(int n) { return n + 1\'000; } // don\'t\n/* a\n "b" */ const char* s = "// no comment";'
    again = 'int f(int n)\n{\n    return n + 1\'000;\n}\nconst char* s = "// no comment";\n'
    assert cpp_code(code) == cpp_code(again)
    assert cpp_code(code) != cpp_code(code.replace("1'000", "2'000"))
    assert cpp_code(code) != cpp_code(code.replace("// no", "/* no"))


@pytest.mark.slow
def test_a_fingerprint_is_the_same_in_every_process_and_order() -> None:
    command = "from graphreg.provenance import fingerprint; print(fingerprint('native', 'engine', 'poses'))"
    other = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True).stdout
    assert fingerprint("poses", "engine", "native") == fingerprint("engine", "engine", "poses", "native")
    assert other.strip() == fingerprint("poses", "engine", "native")


def test_a_fingerprint_depends_on_every_file_of_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    monkeypatch.setattr(provenance, "NATIVE_SOURCES", tmp_path / "native")

    def now(*parts: str) -> str:
        provenance._part_hash.cache_clear()
        return fingerprint(*parts)

    for name in ("engine", "native", "native/points"):
        (tmp_path / name).mkdir()
    (tmp_path / "native" / "points" / "tree.hpp").write_text("int c = 1;")
    (tmp_path / "poses.py").write_text("a = 1")
    (tmp_path / "engine" / "grid.py").write_text("b = 1")
    (tmp_path / "engine" / "pipeline.py").write_text("d = 1")
    (tmp_path / "native" / "grid.cpp").write_text("int b = 1;")
    try:
        parts = ("poses", "engine", "engine.grid", "native", "native.points")
        before = {part: now(part) for part in parts}
        without_grid, grid_apart = now("engine", "-engine.grid"), now("engine", "-engine.grid", "engine.grid")
        (tmp_path / "engine" / "grid.py").write_text("b = 2  # changed")
        assert [part for part in parts if now(part) != before[part]] == ["engine", "engine.grid"]
        assert now("engine", "-engine.grid") == without_grid
        assert now("engine", "-engine.grid", "engine.grid") != grid_apart
        (tmp_path / "native" / "grid.cpp").write_text("int b = 2;")
        assert now("native") != before["native"]
        assert now("native.points") == before["native.points"]
        (tmp_path / "engine" / "grid.py").rename(tmp_path / "engine" / "voxels.py")
        with pytest.raises(InputError, match=r"part: expected a module or package of graphreg, got 'engine\.grid'"):
            now("engine.grid")
    finally:
        provenance._part_hash.cache_clear()


def test_without_the_sources_the_compiled_module_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provenance._part_hash.cache_clear()
    monkeypatch.setattr(provenance, "NATIVE_SOURCES", tmp_path / "nowhere")
    try:
        assert len(fingerprint("native")) == provenance.HEX_DIGITS
    finally:
        provenance._part_hash.cache_clear()


def test_a_busy_machine_is_mentioned() -> None:
    now = measured_now("graphreg bench x84", ("features",))
    for load, busy in ((None, False), (1.9, False), (4.1, True)):
        there = replace(now, machine={"cores": 2, "load average": load})
        assert there.was_busy == busy
        assert ("the machine was busy, which inflates times" in there.sentence()) == busy


def test_a_measurement_is_current_until_its_code_changes() -> None:
    now = measured_now("graphreg bench x84", ("features",), {"open3d": "0.20.0"})
    assert now.versions["graphreg"] == __version__
    assert now.state == "current"
    assert Provenance.from_dict(now.to_dict()) == now
    for said in ("graphreg bench x84", now.date, "open3d 0.20.0", "cores", str(now.fingerprint)):
        assert said in now.sentence()
    changed = Provenance.from_dict({**now.to_dict(), "fingerprint": "0" * 16})
    assert changed.state == "stale: the code has changed since"
    assert Provenance.from_dict({**now.to_dict(), "parts": ["no_such_part"]}).is_stale
    before = Provenance.from_dict({**now.to_dict(), "fingerprint": None, "parts": []})
    assert before.is_stale
    assert before.state == "stale: code unknown (measured before fingerprints were recorded)"

"""The fuzz targets: a few inputs of each, and findings of a process that raises, dies or hangs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random

import fuzz.__main__ as command
import pytest
from fuzz import kills, memory
from fuzz.child import run_input, write_input
from fuzz.mutations import mutate
from fuzz.targets import TARGETS

pytest.importorskip("laspy")
pytest.importorskip("pye57")


@pytest.mark.parametrize("target", TARGETS)
def test_valid_files_are_read_and_a_few_others_read_or_refused(target: str, tmp_path: Path) -> None:
    TARGETS[target].write_seeds(tmp_path)
    corpus = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    if target != "calls":
        assert {run_input(target, tmp_path / name)[0] for name in corpus} == {"read"}
    work = tmp_path / "work"
    work.mkdir()
    for number in range(20):
        outcome, trace = run_input(target, write_input(target, number, 0, corpus, work))
        assert not trace, outcome + trace


def test_changes_follow_from_the_seed() -> None:
    content = b"ply\nelement vertex 12\n"
    changed = {seed: mutate(content, [content], Random(seed)) for seed in range(100)}
    assert all(mutate(content, [content], Random(seed)) == changed[seed] for seed in changed)
    assert len(set(changed.values())) > 80


@pytest.mark.parametrize("length", [8, 39, 47, 48, 60, 1024])
def test_truncated_e57_files_are_changed_too(length: int) -> None:
    content = (b"ASTM-E57" + bytes(1016))[:length]
    assert any(mutate(content, [content], Random(seed)) != content for seed in range(20))


# What the target does from its fourth input on, and what is reported.
BROKEN = {
    "raises": ("int('x')", "ValueError at"),
    "aborts": ("os.abort()", "killed by SIGABRT"),
    "hangs": ("time.sleep(600)", "takes more than 3 s"),
}
CHILD = """
import os, sys, time
from dataclasses import replace
from pathlib import Path
from fuzz import child
count = 0
def run(path):
    global count
    count += 1
    if count > 3:
        STATEMENT
child.TARGETS["jobs"] = replace(child.TARGETS["jobs"], run=run)
child.main(sys.argv[1], *map(int, sys.argv[2:5]), *map(Path, sys.argv[5:7]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("way", BROKEN)
def test_a_target_that_breaks_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    statement, message = BROKEN[way]
    monkeypatch.setattr(command, "CHILD", ("-c", CHILD.replace("STATEMENT", statement)))
    if way == "hangs":
        monkeypatch.setattr(command, "PATIENCE", 3.0)  # from the first report on
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    folders = {"corpus": tmp_path / "corpus", "findings": tmp_path / "findings"}
    done, found = command.fuzz("jobs", inputs=3, minutes=1, seed=0, memory=0, **folders)
    assert done == 3
    (folder,) = found
    text = (folder / "finding.txt").read_text()
    assert text.startswith(message)
    assert f"Reproduce: python -m fuzz jobs --file {folder}" in text
    assert len(list(folder.iterdir())) == 2


@pytest.mark.slow
def test_memory_that_is_lost_grows_in_the_second_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "READINGS", 4)
    readings = memory.resident_memory(12, seed=0)
    assert len(readings) == memory.READINGS
    assert all(size > 10**7 for _, size in readings)
    begun = [(number, 10**8 + 10**5 * min(number, 500)) for number in range(0, 1000, 25)]
    lost = [(number, size + 5000 * number) for number, size in begun]
    assert abs(memory.growth(begun)) < memory.MOST_GROWTH < memory.growth(lost)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_a_batch_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    monkeypatch.setattr(kills, "SCANS", 3)
    kills.kill_batches(1, 0, "", list, tmp_path)

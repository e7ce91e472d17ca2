"""The page on all results: what it holds, and what it cannot be made of."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphreg._version import __version__
from graphreg.bench.comparison_wording import READING
from graphreg.bench.results_files import Results, write_results
from graphreg.bench.results_page import write_page
from graphreg.errors import FileError, InputError
from graphreg.provenance import measured_now

CURRENT = measured_now("graphreg bench x84", ("poses",))
UNKNOWN = replace(CURRENT, command="graphreg bench noise --quick", fingerprint=None)
CHANGED = replace(CURRENT, fingerprint="0")
ROWS = [{"method": "icp", "degrees": 0.25}, {"method": "cpd", "degrees": float("nan")}]


def test_the_page_has_what_every_experiment_says(tmp_path: Path) -> None:
    lines = ["it is loud", "ours is NOT first", *READING]
    tables = {"Errors": ROWS, "More": ROWS}
    write_results(tmp_path, "x84", Results("By the rule", CURRENT, ["first line"], ROWS))
    write_results(tmp_path, "noise", Results("Noise", UNKNOWN, lines, ROWS, tables))
    write_results(tmp_path, "read_ply", Results("Reading", CHANGED, ["fast"], ROWS))
    (tmp_path / "noise_error.svg").write_text("<svg/>")
    (tmp_path / "noise.png").write_bytes(b"")
    text = write_page(tmp_path).read_text()
    # In the order of the paper, then what was measured otherwise.
    places = [text.index(f"## {title}") for title in ("Noise", "By the rule", "Also measured")]
    assert places == sorted(places)
    assert "`graphreg bench noise --quick`: the same under noise" in text
    assert "- it is loud\n" in text
    assert [line for line in text.splitlines() if line.startswith("- Noise: ")] == ["- Noise: ours is NOT first"]
    assert "| icp | 0.25 |\n| cpd | - |\n" in text
    assert text.count("| icp |") == 1
    assert all(text.count(line) == 1 for line in READING)
    assert "(noise_error.svg)" in text
    assert "(noise.png)" in text
    assert "- [Reading](read_ply.md)" in text
    day, code = CURRENT.date, CURRENT.fingerprint
    assert f"| [x84](x84.md) | {day} | {__version__} | {code} | current |\n" in text
    assert f"| [noise](noise.md) | {day} | {__version__} | - | stale: code unknown (measured before " in text
    assert f"| [read_ply](read_ply.md) | {day} | {__version__} | 0 | stale: the code has changed since |\n" in text
    assert write_page(tmp_path).read_text() == text


def test_without_results_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no results"):
        write_page(tmp_path)
    with pytest.raises(InputError, match="holds no results"):
        write_page(tmp_path / "nowhere")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", ["nonsense", "{}", "[]", '{"title": "a"}'])
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "noise.json").write_text(content)
    with pytest.raises(FileError, match="noise.json: is no result of an experiment"):
        write_page(tmp_path)

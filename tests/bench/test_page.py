"""The page on all results: what it holds, and what it cannot be made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg.bench.comparison import READING
from graphreg.bench.page import write_page
from graphreg.bench.tables import write_table
from graphreg.errors import FileError, InputError

ROWS = [{"method": "icp", "degrees": 0.25}, {"method": "cpd", "degrees": float("nan")}]


def test_the_page_has_what_every_experiment_says(tmp_path: Path) -> None:
    about = {"command": "graphreg bench noise --quick"}
    write_table(tmp_path, "x84", "By the rule", ["first line"], ROWS)
    write_table(
        tmp_path,
        "noise",
        "Noise",
        ["it is loud", "ours is NOT first", *READING],
        ROWS,
        {"Errors": ROWS, "More": ROWS},
        about,
    )
    write_table(tmp_path, "read_ply", "Reading", ["fast"], ROWS)
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

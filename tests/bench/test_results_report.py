"""Results as one page: every table, figure and setting is there, and it asks for nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import Browser, installed
from tests.support.html_pages import Page

from graphreg.bench.comparison_runs import ROTATION_ERROR
from graphreg.bench.comparison_wording import READING
from graphreg.bench.results_files import Results, write_results
from graphreg.bench.results_report import MAX_OPEN_LINES, write_report
from graphreg.errors import FileError, InputError
from graphreg.provenance import measured_now

STAGES = {"graphreg": {"judge": 0.3, "search": 0.1, "total": 0.5}, "icp": {"register": 0.7, "novel": 0.1, "total": 0.9}}


def run(method: str, seed: int) -> dict[str, Any]:
    stages = {name: seconds * (1 + seed) for name, seconds in STAGES[method].items()}
    return {
        "method": method,
        "seed": seed,
        "correct": seed < 2,
        ROTATION_ERROR: float(seed),
        "seconds": 0.5,
        "stages": stages,
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    runs = [run(method, seed) for seed in range(3) for method in STAGES]
    shown = [
        {"method": "graphreg", "dragon": 0.25, "paper: Dragon": None},
        {"method": "icp", "dragon": None, "paper: Dragon": 0.487},
    ]
    about = {"seeds": [0, 1, 2], "not run": 7, "methods": {"graphreg": {"k": 10, "voxel": None}}}
    provenance = measured_now("graphreg bench noise --quick", ("poses",), {"small_gicp": "1.0.1"})
    out = tmp_path / "results"
    lines = ["it is <loud>", "ours is NOT first", *READING]
    write_results(out, "noise", Results("Noise", provenance, lines, runs, {"Errors": shown}, about))
    rows = [{"cloud": k, "recall": 0.5} for k in range(MAX_OPEN_LINES + 1)]
    write_results(out, "x84", Results("By the rule", provenance, ["first line"], rows))
    write_results(out, "read_ply", Results("Reading", provenance, ["fast"], [{"PLY": "text", "ms": 5}]))
    (out / "noise_error.svg").write_text("<svg/>")
    (out / "noise.png").write_bytes(b"picture")
    return out


def read(folder: Path, names: list[str] | None) -> Page:
    path = folder.parent / "out.html"
    write_report(folder, names, path)
    return Page(path.read_text(encoding="utf-8"))


def test_one_experiment_has_all_that_was_measured(folder: Path) -> None:
    page = read(folder, ["noise"])
    said = page.text()
    assert page.texts["h1"] == ["Noise"]
    assert page.texts["code"] == ["graphreg bench noise --quick"]
    assert "it is <loud>" in page.texts["li"]
    for text in ("gicp", "1.0.1", "0, 1, 2", "k 10, voxel by default", "numpy"):
        assert text in said
    rows = dict(zip(page.texts["th"], page.texts["th"][1:], strict=False))
    assert rows["dragon"] == "paper: Dragon"
    assert {"0.25", "0.487"} <= set(page.texts["td"])
    # The chart and the picture of the scans.
    assert [tag for tag, _ in page.elements].count("img") == 2
    # Each remark on how to read it once.
    assert all(page.texts["li"].count(line) == 1 for line in READING)


def test_stages_are_medians_in_the_order_they_are_run_in(folder: Path) -> None:
    page = read(folder, ["noise"])
    heads = page.texts["th"]
    at = heads.index("search")
    assert heads[at : at + 5] == ["search", "register", "judge", "novel", "total"]
    cells = page.texts["td"]
    assert [cells[k : k + 5] for k in range(len(cells)) if cells[k : k + 2] == ["0.2", "-"]] == [
        ["0.2", "-", "0.6", "-", "1"]
    ]


def test_several_come_in_the_order_asked_for_with_a_glance_at_all(folder: Path) -> None:
    page = read(folder, ["x84", "noise"])
    assert page.texts["h1"] == ["Results"]
    headings = ["How to read this", "At a glance", "Where graphreg is not first", "By the rule", "Noise"]
    assert page.texts["h2"] == headings
    assert page.texts["a"] == headings
    assert "Noise: ours is NOT first" in page.texts["li"]
    at = page.texts["td"].index("2 of 3")
    # Of 0, 1 and 2 degrees: median and quantiles.
    assert page.texts["td"][at + 1 : at + 4] == ["1", "0.2", "1.8"]


def test_all_that_is_there_begins_with_the_experiments(folder: Path) -> None:
    assert read(folder, None).texts["h2"][-3:] == ["Noise", "By the rule", "Reading"]


def test_long_tables_are_folded(folder: Path) -> None:
    folds = [attributes for tag, attributes in read(folder, ["x84"]).elements if tag == "details"]
    assert "open" not in folds[0]
    folds = [attributes for tag, attributes in read(folder, ["noise"]).elements if tag == "details"]
    assert "open" in folds[0]


def test_what_is_not_there_is_named_and_nothing_is_written(folder: Path) -> None:
    path = folder.parent / "out.html"
    with pytest.raises(InputError, match="holds no results of accuracy, poses"):
        write_report(folder, ["accuracy", "noise", "poses"], path)
    (folder / "noise.json").write_text('{"title": "Noise", "summary": []}')
    with pytest.raises(FileError, match="noise.json: is no result of an experiment"):
        write_report(folder, None, path)
    assert not path.exists()


@pytest.mark.slow
@pytest.mark.skipif(installed() is None, reason="no Chromium or Chrome is installed to open the page with")
def test_a_browser_has_nothing_to_complain_of(folder: Path) -> None:
    (folder / "noise.png").unlink()
    path = folder.parent / "out.html"
    write_report(folder, None, path)
    browser = Browser(width=390)
    try:
        browser.open(path)
        assert browser.errors == []
        assert [address for address in browser.requests if not address.startswith("data:")] == [path.as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
        named = {"table", "image", "region", "button", "link"}
        for node in browser.accessible():
            if node["role"]["value"] in named and not node.get("ignored"):
                assert node["name"]["value"], node
    finally:
        browser.close()

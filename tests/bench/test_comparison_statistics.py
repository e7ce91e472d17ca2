"""Tables of the comparison: medians, the paper's figures beside them, families of methods for charts."""

from __future__ import annotations

from tests.support.comparison_rows import rows

from graphreg.bench import peers
from graphreg.bench.comparison_runs import OURS, REGISTRATION_TIME, ROTATION_ERROR
from graphreg.bench.comparison_statistics import FAMILIES, Column, columns_by, families_in, tables_of
from graphreg.registration import methods


def test_tables_have_medians_and_the_papers_figures_beside_them() -> None:
    runs = rows({"graphreg": [1.0, 2.0, 6.0], "icp": [4.0, None, None], "peer": [3.0]})
    column = Column(lambda row: True, "Dragon", {ROTATION_ERROR: {"icp": 0.5}, REGISTRATION_TIME: {}})
    errors, registration, whole, details = tables_of(runs, {"a": column}).values()
    assert errors == [
        {"method": "graphreg", "a": 2.0, "paper: Dragon": None},
        {"method": "icp", "a": 4.0, "paper: Dragon": 0.5},
        {"method": "peer", "a": 3.0, "paper: Dragon": None},
    ]
    assert [line["a"] for line in registration] == [2.0, 4.0, None]
    assert [line["a"] for line in whole] == [4.0, 8.0, 6.0]
    first, second, _ = details
    assert (first["correct"], first[f"mean {ROTATION_ERROR}"]) == ("1 of 3", 3.0)
    assert (first["10 % (deg)"], first["90 % (deg)"]) == (1.2, 5.2)
    assert (second["correct"], second["not run"]) == ("0 of 1", 2)


def test_columns_part_the_rows_by_the_values_of_a_field() -> None:
    runs = rows({"graphreg": [1.0, 2.0], "icp": [4.0]})
    columns = columns_by(runs, "seed")
    assert list(columns) == ["0", "1"]
    assert [sum(column.contains(row) for row in runs) for column in columns.values()] == [2, 1]


def test_every_method_is_in_a_family() -> None:
    assert {OURS}.union(*FAMILIES.values()) == {*methods(), *peers.PEERS}


def test_families_have_measured_methods_and_ours() -> None:
    assert families_in(rows({"icp": [1.0], "graphreg": [1.0], "tricp": [2.0]})) == {
        "closest points": ["graphreg", "icp", "tricp"]
    }
    assert families_in(rows({"icp": [1.0]})) == {}

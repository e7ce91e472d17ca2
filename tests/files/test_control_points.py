"""Tables of control points: delimiters, headers in other words, ties, and bad rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphreg import FileError
from graphreg.files.control_points import ControlPoint, read_control_points

CONTROL = ControlPoint("P1", "hall", (1.5, 2.0, 3.0), (501.5, 202.0, 33.0), 0.003)
TIE = ControlPoint("T1", "hall", (4.0, 5.0, 6.0), None, 0.002)


def read(tmp_path: Path, text: str) -> list[ControlPoint]:
    path = tmp_path / "control.csv"
    path.write_text(text, encoding="utf-8")
    return read_control_points(path)


@pytest.mark.parametrize(
    "text",
    [
        "name,scan,x,y,z,X,Y,Z,sigma\nP1,hall,1.5,2,3,501.5,202,33,0.003\nT1,hall,4,5,6,,,,0.002\n",
        "P1,hall,1.5,2,3,501.5,202,33,0.003\nT1,hall,4,5,6,,,,0.002",
        "\ufeff# of May\nP1;hall;1,5;2;3;501,5;202;33;0,003\n\nT1;hall;4;5;6;-;-;-;0,002\n",
        "Punkt;Standpunkt;x;y;z;Rechtswert;Hochwert;Höhe [m];Genauigkeit\nP1;hall;1,5;2;3;501,5;202;33;0,003\n"
        "T1;hall;4;5;6;;;;0,002\n",
        "Point\tStation\tEasting\tNorthing\tHeight\tx\ty\tz\tAccuracy\nP1\thall\t501.5\t202\t33\t1.5\t2\t3\t.003\n"
        "T1\thall\t\t\t\t4\t5\t6\t.002\n",
        "sigma,x_world,y_world,z_world,scan,local x,local y,local z,id\n0.003,501.5,202,33,hall,1.5,2,3,P1\n"
        '0.002,,,,hall,4,5,6,"T1"\n',
        "Name,Scan,X,Y,Z,X_known,Y_known,Z_known,std\nP1,hall,1.5,2,3,501.5,202,33,3e-3\nT1,hall,4,5,6,,,,2e-3\n",
    ],
)
def test_columns_are_found_by_place_or_by_name(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == [CONTROL, TIE]


def test_scan_world_and_sigma_may_be_missing(tmp_path: Path) -> None:
    assert read(tmp_path, "name x y z\nP1 1,5 2 3\n") == [ControlPoint("P1", "", (1.5, 2.0, 3.0))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty|has no points"),
        ("# nothing\n", "has no points"),
        ("name,E,N,H\nP1,1,2,3\n", "understood as name, X, Y, Z; expected name, scan, x"),
        ("name,x,y,z,X,Y\nP1,1,2,3,4,5\n", "was understood as name, x, y, z, X, Y"),
        ("P1,hall,1,2,3,4,5,6,7,8\n", "line 1.*has 10 columns"),
        ("P1,hall,1,2,3\nP2,hall,1,two,3\n", "line 2.*y is 'two', expected a number"),
        ("P1,hall,1,2,3,4,,6\n", "expected all of X, Y, Z, or none"),
        ("P1,hall,1,2,3,4,5,6,-1\n", "sigma is -1, expected a positive number"),
        ("P1,hall,1,2,nan,4,5,6,1\n", "z is 'nan', expected a number"),
        (",hall,1,2,3\n", "expected a name and x, y, z"),
        ("P1;hall;1;2;3\rP2;hall;1;2;3\n", "line 1.*new-line character"),
        (f"P1,{'a' * 200_000},1,2,3\n", "line 1.*field larger than field limit"),
    ],
)
def test_what_is_not_understood_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        read(tmp_path, text)


def test_text_in_utf_16_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "control.csv"
    path.write_text("P1,hall,1,2,3,4,5,6,0.01\n", encoding="utf-16")
    with pytest.raises(FileError, match="is text in UTF-16; save it as UTF-8"):
        read_control_points(path)

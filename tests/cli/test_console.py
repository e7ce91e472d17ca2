"""--quiet and --verbose, the same in every command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.commands import CommandLine


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("register", "source.ply", "target.ply", "-o", "T2.txt"),
        ("info", "source.ply"),
        ("clean", "source.ply", "out.xyz"),
        ("apply", "T.txt", "source.ply", "out.xyz"),
        ("convert", "source.ply", "out.xyz"),
        ("data",),
        ("data", "get", "uwa"),
    ],
)
def test_quiet_prints_nothing_and_verbose_more(run: CommandLine, arguments: tuple[str, ...]) -> None:
    normal, quiet, verbose = run(*arguments), run(*arguments, "--quiet"), run(*arguments, "--verbose")
    assert normal.status == quiet.status == verbose.status
    assert (quiet.out, quiet.err) == ("", "")
    assert normal.out
    if arguments[0] != "data":
        assert len(verbose.err) > len(normal.err)
        assert " s\n" in verbose.err
    assert run(*arguments, "--quiet", "--verbose").status == 2
    with_json = run(*arguments, "--quiet", "--json")
    json.loads(with_json.out)
    assert with_json.err == ""


def test_errors_are_printed_with_quiet_too(run: CommandLine) -> None:
    assert run("info", "none.ply", "--quiet").err == "graphreg: none.ply: No such file or directory\n"


def test_what_a_file_contains_does_not_control_the_terminal(run: CommandLine) -> None:
    properties = "".join(f"property double {name}\n" for name in ("x", "y", "z", "\x1b[2Jred", "\x9b31m"))
    header = f"ply\nformat ascii 1.0\nelement vertex 1\n{properties}end_header\n"
    Path("a.ply").write_text(f"{header}1 2 3 4 5\n", encoding="utf-8")
    Path("b.ply").write_text(header.replace("double", "\x1bdouble"), encoding="utf-8")
    done = run("convert", "a.ply", "a.xyz")
    assert done.status == 0
    assert r"\x1b[2Jred" in done.out + done.err
    wrong = run("info", "b.ply")
    assert wrong.status == 2
    assert r"\x1bdouble" in wrong.err
    assert not {"\x1b", "\x9b"} & set(done.out + done.err + wrong.err)

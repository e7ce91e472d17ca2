"""--quiet and --verbose, the same in every command."""

from __future__ import annotations

import json

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

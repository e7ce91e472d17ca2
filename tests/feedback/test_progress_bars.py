"""Progress reaches functions, bars of tqdm and the terminal, in the same numbers."""

from __future__ import annotations

from typing import Any

import pytest

from graphreg.errors import InputError
from graphreg.feedback.progress_bars import progress_bar

STEPS = [(1, 3), (2, 4), (4, 4)]


class TqdmBar:
    """As much of a bar of tqdm as is used."""

    def __init__(self) -> None:
        self.n, self.total = 0, None

    def update(self, steps: int) -> None:
        self.n += steps


def test_a_function_is_called_with_each_step() -> None:
    seen = []
    with progress_bar(lambda done, total: seen.append((done, total)), "counting") as show:
        for step in STEPS:
            show(*step)
    assert seen == STEPS


def test_a_bar_of_tqdm_is_updated_to_each_step() -> None:
    bar = TqdmBar()
    with progress_bar(bar, "counting") as show:
        for done, total in STEPS:
            show(done, total)
            assert (bar.n, bar.total) == (done, total)
        show(5, 0)
        assert (bar.n, bar.total) == (5, None)


@pytest.mark.parametrize("terminal", ["1", ""])
def test_true_draws_on_a_terminal_alone(
    terminal: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", terminal)
    with progress_bar(True, "counting sheep") as show:
        for step in STEPS:
            show(*step)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("counting sheep" in err) == bool(terminal)
    assert terminal or err == ""


@pytest.mark.parametrize("nothing", [None, False])
def test_nothing_is_shown(nothing: Any) -> None:
    with progress_bar(nothing, "counting") as show:
        assert show is None


@pytest.mark.parametrize("wrong", [1, "yes", [], object()])
def test_others_are_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="^progress: expected "), progress_bar(wrong, "counting"):
        pass

"""Fixtures of the tests of reports: one Chromium for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.browser import Browser, installed

FOLDER = Path(__file__).parent
_opened: list[Browser] = []


@pytest.fixture(scope="module")
def chromium() -> Browser:
    """A Chromium that the tests of this folder share; `browser` resets it for each test."""
    if installed() is None:
        pytest.skip("Chromium or Chrome is not installed")
    if not _opened:
        _opened.append(Browser())
    return _opened[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close it before the tests of another folder: it takes time as long as it is open."""
    if _opened and (nextitem is None or nextitem.path.parent != FOLDER):
        _opened.pop().close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Chromium in its initial state; the page that a test opens must not log any error."""
    chromium.reset()
    yield chromium
    errors = list(chromium.errors)
    chromium.open("about:blank")  # a page with moving pictures would draw them until the end of all tests
    assert errors == []

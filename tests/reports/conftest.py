"""Fixtures of the tests of reports: one Chromium for all tests of a process, and functions on its pixels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.browser import Browser, installed


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A Chromium that the tests of this process share; `browser` resets it for each test."""
    if installed() is None:
        pytest.skip("Chromium or Chrome is not installed")
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Chromium in its initial state; the page that a test opens must not log any error."""
    chromium.reset()
    yield chromium
    errors = list(chromium.errors)
    chromium.open("about:blank")  # a page with moving pictures would draw them until the end of all tests
    assert errors == []

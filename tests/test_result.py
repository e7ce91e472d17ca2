"""Results as JSON: what `to_json` writes is read back, and anything else is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphreg
from graphreg import InputError, Result
from graphreg.datasets import synthetic

FIELDS = sorted(Result.__dataclass_fields__.keys() - {"preview"})  # which is for pictures, and not in JSON
REFUSED = "text: expected what to_json wrote"


@pytest.fixture(scope="module")
def text() -> str:
    pair = synthetic.pair("dragon", 20, points=300)
    return graphreg.register(pair.source, pair.target, method="icp", init=pair.T_target_source).to_json()


def test_what_to_json_writes_is_read_back(text: str) -> None:
    assert Result.from_json(text).to_json() == text


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_or_wrong_field_is_refused(text: str, name: str) -> None:
    values = json.loads(text)
    for wrong in ([["x"]], {"a": "b"}, "x", {"a": 10**400}):
        if not isinstance(wrong, type(values[name])) or name not in ("settings", "reason", "method"):
            with pytest.raises(InputError, match=REFUSED):
                Result.from_json(json.dumps(values | {name: wrong}))
    del values[name]
    with pytest.raises(InputError, match=name):
        Result.from_json(json.dumps(values))


@pytest.mark.parametrize("value", ["", "{}", "[]", "null", "3", "[" * 100_000, '{"a":' * 100_000, "\ud800", b"\xff", 3])
def test_other_texts_are_refused(value: Any) -> None:
    with pytest.raises(InputError, match=REFUSED):
        Result.from_json(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(FIELDS), value=JSON)
def test_any_value_of_a_field_is_read_or_refused(text: str, name: str, value: Any) -> None:
    with suppress(InputError):
        Result.from_json(json.dumps(json.loads(text) | {name: value}))


def test_json_has_no_preview(text: str) -> None:
    assert "preview" not in json.loads(text)
    with pytest.raises(InputError, match=REFUSED):
        Result.from_json(json.dumps(json.loads(text) | {"preview": None}))


def test_a_result_is_printed_in_at_most_twelve_lines(text: str) -> None:
    result = Result.from_json(text)
    degenerate = replace(result, degenerate_directions=("rotation about z",))
    for shown in (result, degenerate, replace(degenerate, scale=0.5), replace(result, covariance=None)):
        lines = str(shown).splitlines()
        assert len(lines) <= 12
        assert lines[0] == result.reason
        assert [line.split()[0] for line in lines[1:3]] == ["confidence", "overlap"]
        matrix = np.array([line.split() for line in lines[-4:]], float)
        np.testing.assert_allclose(matrix, result.transformation, atol=1e-9)
    assert "degenerate    rotation about z" in str(degenerate)


def test_a_result_without_points_is_text_in_a_notebook(text: str) -> None:
    result = Result.from_json(text)
    assert result._repr_html_() == f"<pre>{escape(str(result))}</pre>"

"""Results as JSON: what `to_json` writes is read back, and anything else is refused."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphreg
from graphreg import InputError, Result
from graphreg.datasets import synthetic

FIELDS = sorted(Result.__dataclass_fields__)
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

"""Formatting of values and columns, for tables in Markdown and in HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Row = Mapping[str, Any]
MISSING = "-"


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return the names of the columns that fit a table: those without lists or mappings.

    Examples
    --------
    >>> columns_of([{"method": "icp", "degrees": 0.5, "stages": {"search": 0.1}}])
    ['method', 'degrees']
    """
    return [name for name in rows[0] if not any(isinstance(row[name], (list, dict)) for row in rows)]


def is_number(rows: Sequence[Row], name: str) -> bool:
    """Return whether a column contains numbers and, apart from missing values, nothing else.

    Examples
    --------
    >>> is_number([{"degrees": 0.5}, {"degrees": None}], "degrees")
    True
    """
    values = [row[name] for row in rows if row[name] is not None]
    return bool(values) and all(isinstance(value, (int, float, np.number)) for value in values)


def cell(value: Any) -> str:
    """Format a value: four digits of a float, "-" for None.

    Examples
    --------
    >>> cell(0.123456), cell(None), cell("icp")
    ('0.1235', '-', 'icp')
    """
    if value is None:
        return MISSING
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def percent(share: float, digits: int = 0) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> percent(0.93), percent(0.1234, 1)
    ('93 %', '12.3 %')
    """
    return f"{100 * share:.{digits}f} %"

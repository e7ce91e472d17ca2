"""How values and columns of tables are shown, in Markdown and HTML alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Row = Mapping[str, Any]


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Names of what can be shown in a table; what holds lists or mappings is left to the other files."""
    return [name for name in rows[0] if not any(isinstance(row[name], (list, dict)) for row in rows)]


def is_number(rows: Sequence[Row], name: str) -> bool:
    """Whether a column holds numbers, and nothing else but gaps."""
    held = [row[name] for row in rows if row[name] is not None]
    return bool(held) and all(isinstance(value, (int, float, np.number)) for value in held)


def cell(value: Any) -> str:
    """A value as it is shown."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

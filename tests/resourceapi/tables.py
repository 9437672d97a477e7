"""Tables of cases with the answers of Kubernetes' own Go code (apimachinery 0.37.1), one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_DATA = Path(__file__).parent / "data"


def table(name: str) -> Any:
    """``parametrize`` arguments for a table in ``data``: one case per row, named by its ``id``."""
    rows = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return [pytest.param(row, id=row.pop("id")) for row in rows]

"""Tables of cases with the answers of Kubernetes' own Go code (apimachinery 0.37.1) and of kube-apiserver 1.37.1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

_DATA = Path(__file__).parent / "data"


def content(name: str) -> Any:
    """The file ``data/NAME.json``."""
    return json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))


def recorded_releases() -> dict[str, Any]:
    """By release what its server said of itself, as `make release` has recorded it, the oldest release first."""
    files = sorted((_DATA / "releases").glob("*.json"), key=lambda file: int(file.stem.partition(".")[2]))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def table(name: str) -> Any:
    """``parametrize`` arguments for a table in ``data``: one case per row, named by its ``id``."""
    return [pytest.param(row, id=row.pop("id")) for row in content(name)]

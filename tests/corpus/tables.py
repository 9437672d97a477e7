"""The values and weights that random cases are made of (`tables.json`), with their shorthand written out."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

Json = Any

_REPEATED = re.compile(r"\{(.[^{}*]*)\*(\d+)\}", re.DOTALL)


def _written_out(value: Json) -> Json:
    """`{ab*3}` in a text stands for `ababab`."""
    if isinstance(value, str):
        return _REPEATED.sub(lambda match: match[1] * int(match[2]), value)
    if isinstance(value, list):
        return [_written_out(item) for item in value]
    if isinstance(value, dict):
        return {_written_out(key): _written_out(item) for key, item in value.items()}
    return value


_TABLES = json.loads(Path(__file__).with_name("tables.json").read_text())

NAMESPACES: dict[str, dict[str, str]] = _TABLES["namespaces"]
LIMITS: dict[str, list[int]] = _TABLES["limits"]
EXPRESSIONS: list[str] = _TABLES["expressions"]
SELECTORS: list[str] = _TABLES["selectors"]
"""Selectors of named resources (v1alpha2)."""
UNKNOWN: list[str] = _TABLES["unknown"]
WEIGHTS: dict[str, Any] = _TABLES["weights"]
VALUES: dict[str, list[Json]] = _written_out(_TABLES["values"])
SPECIAL: list[str] = _TABLES["special"]
"""Texts with characters that are written in different ways in different places."""


def _of_field(names: list[str]) -> list[Json]:
    values = [value for name in names for value in VALUES[name]]
    textual = sum(isinstance(value, str) for value in values) > len(values) // 2
    return values + SPECIAL if textual and "expression" not in names else values


FIELDS: dict[str, list[Json]] = {field: _of_field(names) for field, names in _TABLES["fields"].items()}
"""Values worth trying in a field, good and bad, by the field's name."""


def pick(source: random.Random, weights: dict[str, int]) -> str:
    """One of the names, as likely as its weight."""
    return source.choices(list(weights), weights=list(weights.values()))[0]

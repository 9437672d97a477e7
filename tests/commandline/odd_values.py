"""Odd values in otherwise good documents."""

from __future__ import annotations

from random import Random
from typing import Any

ODD: tuple[Any, ...] = (None, [], {}, "", 0, -1, 2**70, True, "x", 1.5, [None], {"a": None}, "1e9999999")


def spoil(value: Any, chance: Random) -> None:
    """Put an odd value somewhere in a document."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        inner = value[key]
        if not isinstance(inner, (dict, list)) or not inner or chance.random() < 0.15:
            value[key] = chance.choice(ODD)
            return
        value = inner

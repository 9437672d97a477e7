"""Dictionaries of what could be found out again, which do not grow without bounds."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def remember(memory: dict[Key, Value], key: Key, value: Value, limit: int = 1024) -> None:
    """Keep a value, after forgetting all others if there are `limit` of them."""
    if len(memory) >= limit:
        memory.clear()
    memory[key] = value

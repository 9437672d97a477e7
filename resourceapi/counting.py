"""Numbers of things in words."""

from __future__ import annotations


def number(count: int, noun: str) -> str:
    """`1 object`, `2,000 objects`, `2 classes`."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """`objects`, `classes`, `patches`."""
    return f"{noun}es" if noun.endswith(("s", "ch")) else f"{noun}s"

"""Numbers of things in words."""

from __future__ import annotations


def number(count: int, noun: str) -> str:
    """`1 object`, `2,000 objects`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"

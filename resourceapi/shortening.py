"""Texts of bounded length."""

from __future__ import annotations


def shortened(text: str, limit: int) -> str:
    """A text of at most so many characters; one that was longer ends in an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"

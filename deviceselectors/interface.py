"""What validation asks about a CEL expression, and a first answer to it.

The answer is a field error in the server's words, or the expression's estimated cost.
"""

from __future__ import annotations

from typing import Protocol

from resourceapi import limits
from resourceapi.fielderrors import FieldError, too_long
from resourceapi.fieldpath import Path


class ExpressionChecker(Protocol):
    """Checks expressions that a request brings; must be safe to use from several threads."""

    def check(
        self, expression: str, path: Path, gates: frozenset[str], *, derived: bool
    ) -> tuple[FieldError | None, int]:
        """What is wrong with the expression at ``path``, if anything, and its estimated cost (0 if it has none)."""
        ...


class LengthChecker:
    """Checks no more than the length: what the server does before it compiles."""

    def check(
        self, expression: str, path: Path, gates: frozenset[str], *, derived: bool
    ) -> tuple[FieldError | None, int]:
        if len(expression.encode()) > limits.CEL_EXPRESSION_BYTES:
            return too_long(path, limits.CEL_EXPRESSION_BYTES), 0
        return None, 0

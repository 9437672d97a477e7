"""A hint for values that are placeholders of a template which nobody has filled in."""

from __future__ import annotations

from advice.hints.hint import Hint
from advice.hints.problem import Problem
from documents.hints import render_first, template_marker
from resourceapi.field_errors import INVALID, NOT_SUPPORTED
from validation.rule_names import WRONG_TYPE


def _placeholder(problem: Problem) -> str:
    """`${COUNT}`, `__INDEX__`, `"{{ .Values.class }}"`: YAML reads them as text, the server refuses that."""
    found = template_marker(problem.value) if isinstance(problem.value, str) else None
    return "" if found is None else render_first(*found)


HINTS = (Hint("placeholder", (WRONG_TYPE, INVALID, NOT_SUPPORTED), _placeholder),)

"""A hint for values that are placeholders of a template which nobody has filled in."""

from __future__ import annotations

import re
from typing import Any

from advice.hints.hint import Hint, Problem
from documents.hints import render_first, template_marker, value_placeholder
from resourceapi.field_errors import INVALID, NOT_SUPPORTED, TOO_LONG
from validation.requests import NOT_SERVED, UNKNOWN_FIELD, WRONG_TYPE


def _placeholder(problem: Problem) -> str:
    """`${COUNT}`, `__INDEX__`, `"{{ .Values.class }}"`: YAML reads them as text, the server refuses that."""
    texts = [text for text in _texts(problem) if isinstance(text, str)]
    found = next(filter(None, map(template_marker, texts)), None) or next(
        filter(None, map(value_placeholder, texts)), None
    )
    return "" if found is None else render_first(*found)


def _texts(problem: Problem) -> list[Any]:
    """What may be a placeholder: the value, or a key that the server's message quotes."""
    if problem.rule == NOT_SERVED:
        return [problem.api_version, problem.kind]
    if problem.rule == UNKNOWN_FIELD:
        return [problem.key]
    if not isinstance(problem.value, dict):
        return [problem.value]
    quoted = re.match(r'Invalid value: "([^"\\]+)": ', problem.message)
    return [quoted[1]] if quoted is not None and quoted[1] in problem.value else []


HINTS = (
    Hint(
        "placeholder", (WRONG_TYPE, INVALID, NOT_SUPPORTED, TOO_LONG, NOT_SERVED, UNKNOWN_FIELD), _placeholder
    ),
)

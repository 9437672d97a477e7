"""Errors in the words of Kubernetes 1.30, where later releases have others for the same rule."""

from __future__ import annotations

import re

from resourceapi.field_errors import TOO_LONG, FieldError, Named, ResourceName, Verbatim

_LENGTH = re.compile(r"^may not be more than (\d+) bytes?$")
_LATER = re.compile(r"\bmust be no more than (\d+) bytes\b")


def in_words_of_classic_releases(errors: list[FieldError]) -> list[FieldError]:
    """The same errors, reworded in place."""
    for error in errors:
        if error.kind == TOO_LONG:
            error.detail = _LENGTH.sub(r"must have at most \1 bytes", error.detail)
        else:
            detail = _LATER.sub(r"must be no more than \1 characters", error.detail)
            error.detail = detail.replace("a valid label key must", "a qualified name must")
            error.value = _shown(error.value)
    return errors


def _shown(value: object) -> object:
    """Up to 1.30 text is quoted as Go does, unless it can print itself, and nothing at all is shown as a text."""
    if value is None:
        return "null"
    if isinstance(value, ResourceName):
        return Verbatim(value)
    return str(value) if isinstance(value, Named) else value

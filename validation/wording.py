"""Errors in the words of earlier releases, where later ones have others for the same rule."""

from __future__ import annotations

import re

from resourceapi.field_errors import TOO_LONG, TYPE_INVALID, FieldError, Named, ResourceName, Verbatim

_LENGTH = re.compile(r"^may not be more than (\d+) bytes?$")
_IDENTIFIER = "a valid C identifier"
_LATER = re.compile(r"\bmust be no more than (\d+) bytes\b")


def in_words_of(minor: int, errors: list[FieldError]) -> list[FieldError]:
    """The same errors, reworded in place as release 1.``minor`` has them."""
    for error in errors if minor < 35 else ():
        if error.kind != TOO_LONG:
            detail = _LATER.sub(r"must be no more than \1 characters", error.detail)
            error.detail = detail.replace("a valid label key must", "a qualified name must")
            if minor < 34:
                error.value = _shown(error.value)
                if error.detail.startswith(_IDENTIFIER):
                    error.kind = TYPE_INVALID
        elif minor < 32:
            error.detail = _LENGTH.sub(r"must have at most \1 bytes", error.detail)
    return errors


def _shown(value: object) -> object:
    """Up to 1.33 text is quoted as Go does, unless it can print itself, and nothing at all is shown as a text."""
    if value is None:
        return "null"
    if isinstance(value, ResourceName):
        return Verbatim(value)
    return str(value) if isinstance(value, Named) else value

"""One list of errors out of those of the two generations of rules."""

from __future__ import annotations

from collections.abc import Callable

from resourceapi import field_errors as errors
from resourceapi.field_errors import FieldError
from resourceapi.field_path import Path


def merge(
    by_hand_errors: list[FieldError], declarative: list[FieldError], to_hub: Callable[[Path], Path]
) -> list[FieldError]:
    """The server's list: hand-written errors without those that a declarative error repeats, then the declarative ones.

    A covered error is repeated if a declarative one has its kind, its origin (an invalid value must have one) and,
    brought to the hub's shape by ``to_hub``, its path.  A hand-written error is not repeated word for word.
    """
    if not by_hand_errors:
        return declarative
    repeated = {(error.kind, to_hub(error.path), error.origin) for error in declarative}
    kept = [
        error
        for error in by_hand_errors
        if not error.covered
        or (error.kind == errors.INVALID and not error.origin)
        or (error.kind, error.path, error.origin) not in repeated
    ]
    return list({str(error): error for error in kept}.values()) + declarative

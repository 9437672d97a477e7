"""One list of errors out of those of the two generations of rules."""

from __future__ import annotations

from collections.abc import Callable

from resourceapi import field_errors as errors
from resourceapi.field_errors import FieldError, Path
from resourceapi.measured import NEWEST

#: The release that says nothing twice.
EACH_ONCE_SINCE = 37


def merge(
    by_hand_errors: list[FieldError],
    declarative: list[FieldError],
    to_hub: Callable[[Path], Path],
    *,
    minor: int = NEWEST,
    takes_over: bool = True,
) -> list[FieldError]:
    """The server's list: hand-written errors without those that a declarative error repeats, then the declarative ones.

    A covered error is repeated if a declarative one has its kind, its origin (an invalid value must have one) and,
    brought to the hub's shape by ``to_hub``, its path.  Since 1.37 a hand-written error is not repeated word for word.

    :param minor: the release.
    :param takes_over: whether the declarative rules are in force.
    """
    if not by_hand_errors:
        return declarative
    if minor < 36:
        # what is covered goes, whether a declarative rule says it or not
        told = [error for error in by_hand_errors if not (error.covered and takes_over)] + declarative
        # of a full list the first errors are known: if all of them go, there may be others that do not
        return told or (by_hand_errors if errors.is_full(by_hand_errors) else [])
    repeated = {(error.kind, to_hub(error.path), error.origin) for error in declarative}
    kept = [
        error
        for error in by_hand_errors
        if not error.covered
        or (error.kind == errors.INVALID and not error.origin)
        or (error.kind, error.path, error.origin) not in repeated
    ]
    if minor >= EACH_ONCE_SINCE:
        kept = list({_digest(error): error for error in kept}.values())
    return kept + declarative


def _digest(error: FieldError) -> bytes:
    """Of the text, since a thousand errors that show the same value of megabytes are not to be in memory at once."""
    from hashlib import blake2b  # which loads OpenSSL, and most objects have no errors

    return blake2b(str(error).encode("utf-8", "surrogatepass"), digest_size=20).digest()

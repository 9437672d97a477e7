"""Why a step of a controller did not come to its end."""

from __future__ import annotations

from resourceapi.errors import ClaimcheckError
from resourceapi.phrases import shortened

#: What is kept of the text of an error that a driver raises.
MOST_CHARACTERS = 2_000
#: What mistakes in a program raise: their texts say little without the type.
MISTAKES = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)


class SyncError(ClaimcheckError):
    """What users and administrators have to know of; the step is tried again. What it comes from is its cause."""


class NotYet(ClaimcheckError):
    """Something else has to happen first, which is nobody's fault; the step is tried again."""


def because(what: str, error: BaseException) -> SyncError:
    """An error with its cause, to be raised.

    :param what: what failed.
    """
    found = SyncError(f"{what}: {error_text(error)}")
    found.__cause__ = error
    return found


def together(errors: list[SyncError]) -> SyncError:
    """Several errors as one, in bounded length; a single one stays as it is."""
    if len(errors) == 1:
        return errors[0]
    found = SyncError(shortened("; ".join(map(str, errors)), MOST_CHARACTERS))
    found.__cause__ = ExceptionGroup("several claims failed", errors)
    return found


def error_text(error: BaseException) -> str:
    """What an error says, in bounded length; its type if it says nothing, or is a mistake in a program."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a driver's exception may fail at that, too
        said = ""
    name = type(error).__name__
    if isinstance(error, MISTAKES) and said:
        said = f"{name}: {said}"
    return shortened(said or name, MOST_CHARACTERS)

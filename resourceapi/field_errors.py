"""What is wrong with an object, field by field, in kube-apiserver's words.

A :class:`FieldError` is what the server puts into ``status.details.causes``: a path, a kind of error, the offending
value and an explanation.  Texts are made only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring

from resourceapi.go_text import json_string, quote
from resourceapi.phrases import shortened

# Where in an object something stands.
# A path is a tuple of segments, from the root: ``str`` for a field, ``int`` for a list index and
# :class:`Key` for a map key, e.g. ``("spec", "devices", 0, "attributes", Key("model"))``.  Tuples are
# cheap to extend and to compare; text is made only for the few paths that are reported.


class Key(str):
    """A map key as a path segment; rendered as ``[key]`` where a field is rendered as ``.field``."""

    __slots__ = ()


Segment = str | int
Path = tuple[Segment, ...]

ROOT: Path = ()


def render(path: Path) -> str:
    """The path as kube-apiserver writes it: ``spec.devices[0].attributes[model]``; the root is ``<nil>``."""
    if not path:
        return "<nil>"
    text = ""
    for segment in path:
        if isinstance(segment, int) or type(segment) is Key:
            text += f"[{segment}]"
        elif text:
            text += "." + segment
        else:
            text = segment
    return text


REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
NOT_FOUND = "FieldValueNotFound"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"

_TITLES = {
    REQUIRED: "Required value",
    DUPLICATE: "Duplicate value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_FOUND: "Not found",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    INTERNAL: "Internal error",
}
# Bytes of errors in an answer, which may repeat a name of megabytes as often as there are slashes in it.
MOST_TOLD = 1024 * 1024
# Characters of a path, a message or a name in an answer: any of them has room, whatever JSON escapes in it.
MOST_SHOWN = MOST_TOLD // 32
# Errors that one generation of rules finds in one object: an empty entry, 4 bytes, has several.
MOST_FOUND = 10_000
# Characters of their explanations, each of which may name thousands of others; no answer has room for as many.
MOST_DETAIL = 4 * MOST_TOLD
_IN_AN_ANSWER = 2  # an error is in the message of a status, and in its causes
_WITHOUT_VALUE = frozenset((REQUIRED, FORBIDDEN, TOO_LONG, INTERNAL))


class Verbatim(str):
    """A value that is printed as it is (JSON of an object) where a plain string would be quoted."""

    __slots__ = ()


class Named(str):
    """A value of a named string type, which the server prints as JSON does, not as Go does."""

    __slots__ = ()


class ResourceName(Named):
    """The name of a resource, which servers up to 1.30 print without quotes."""

    __slots__ = ()


class FieldError:
    """One error about one field.

    ``origin`` names the rule behind it (``maxItems``, ``format=k8s-uuid``): errors of the two generations of rules
    about the same fact are recognised by kind, path and origin.  ``covered``: the hand-written rule has a declarative
    twin, whose report replaces this one where there is one.
    """

    __slots__ = ("covered", "detail", "kind", "origin", "path", "value")

    def __init__(
        self,
        kind: str,
        path: Path,
        value: object = "",
        detail: str = "",
        *,
        origin: str = "",
        covered: bool = False,
    ) -> None:
        self.kind = kind
        self.path = path
        self.value = value
        self.detail = detail
        self.origin = origin
        self.covered = covered

    @property
    def field(self) -> str:
        """The path as text."""
        return render(self.path)

    @property
    def message(self) -> str:
        """The text after the path: ``Invalid value: "x": must be …``."""
        text = _TITLES[self.kind]
        if self.kind not in _WITHOUT_VALUE:
            text += ": " + render_value(self.value)
        return f"{text}: {self.detail}" if self.detail else text

    def cause(self) -> dict[str, str]:
        """The error as an entry of ``status.details.causes``; what is very long is cut."""
        field, message = shortened(self.field, MOST_SHOWN), shortened(self.message, MOST_SHOWN)
        return {"field": field, "message": message, "reason": self.kind}

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    __repr__ = __str__


class TooManyErrors(Exception):
    """A list of errors is full: what has been found is the answer."""


class ErrorList(list[FieldError]):
    """The errors found so far in one object: :data:`MOST_FOUND` at most, or the one that goes beyond :data:`MOST_DETAIL`."""

    __slots__ = ("_detail",)

    def __init__(self) -> None:
        super().__init__()
        self._detail = 0

    def append(self, error: FieldError) -> None:
        """Add an error.

        :raises TooManyErrors: if the list is full.  Who starts the rules catches it.
        """
        if len(self) >= MOST_FOUND or self._detail > MOST_DETAIL:
            raise TooManyErrors
        self._detail += len(error.detail)
        super().append(error)


def is_full(errors: Sequence[FieldError]) -> bool:
    """Whether there may be more errors than these, which were found first."""
    return len(errors) >= MOST_FOUND or sum(len(each.detail) for each in errors) > MOST_DETAIL


def causes(errors: Iterable[FieldError]) -> list[dict[str, str]]:
    """The entries of ``status.details.causes``: as many of the errors, from the first on, as an answer has room for."""
    told: list[dict[str, str]] = []
    room = MOST_TOLD // _IN_AN_ANSWER
    for error in errors:
        cause = error.cause()
        room -= sum(len(encode_basestring(text).encode(errors="surrogatepass")) for text in cause.values())
        if room < 0:
            break
        told.append(cause)
    return told


def render_value(value: object) -> str:
    """An offending value as the server prints it: text quoted, numbers and booleans plain, nothing as ``null``."""
    if type(value) is str:
        return quote(value)
    if isinstance(value, Named):
        return json_string(value)
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    return str(value)


def required(path: Path, detail: str = "") -> FieldError:
    """A field that must have a value and has none."""
    return FieldError(REQUIRED, path, "", detail)


def invalid(path: Path, value: object, detail: str, *, origin: str = "") -> FieldError:
    """A value that breaks a rule; ``detail`` says which."""
    return FieldError(INVALID, path, value, detail, origin=origin)


def forbidden(path: Path, detail: str) -> FieldError:
    """A field that must not be set here; the value is not shown."""
    return FieldError(FORBIDDEN, path, "", detail)


def duplicate(path: Path, value: object) -> FieldError:
    """A value that an earlier entry of the list has."""
    return FieldError(DUPLICATE, path, value)


def not_found(path: Path, value: object) -> FieldError:
    """A reference to something that does not exist."""
    return FieldError(NOT_FOUND, path, value)


def not_supported(path: Path, value: str, supported: Iterable[str]) -> FieldError:
    """An unknown value of an enumeration; ``supported`` is listed in the order given."""
    return FieldError(
        NOT_SUPPORTED,
        path,
        value if isinstance(value, Named) else Named(value),
        "supported values: " + ", ".join(map(quote, supported)),
    )


def too_long(path: Path, limit: int, *, unit: str = "bytes", origin: str = "") -> FieldError:
    """Text over its limit; ``unit`` is ``bytes`` or ``characters``."""
    return FieldError(
        TOO_LONG, path, "", f"may not be more than {limit} {unit if limit != 1 else unit[:-1]}", origin=origin
    )


def too_many(path: Path, count: int, limit: int, *, origin: str = "") -> FieldError:
    """A list or map with ``count`` entries where ``limit`` are allowed."""
    items = "item" if limit == 1 else "items"
    return FieldError(TOO_MANY, path, count, f"must have at most {limit} {items}", origin=origin)

"""Formats of what stands in an object's metadata: names, finalizers, annotations, owners, managers of fields.

As in :mod:`resourceapi.names`, a function returns the problems of a value, none if it is valid.
Source: the API concepts "Object Names and IDs", "Finalizers" and "Owners and Dependents".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resourceapi.field_errors import INVALID, TOO_LONG
from resourceapi.names import HANDWRITTEN, Problem, byte_length, label_key, long_name, short_name

ANNOTATIONS_BYTES = 256 * 1024
FIELD_MANAGER_BYTES = 128

STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def generate_name(value: str, *, is_label: bool = False) -> list[Problem]:
    """The beginning of a generated object name, a DNS subdomain or even a DNS label: it may end in a hyphen."""
    check = short_name if is_label else long_name
    return _about(value, check(_masked_prefix(value), HANDWRITTEN))


def namespace_name(value: str) -> list[Problem]:
    """The name of a namespace: a DNS label."""
    return short_name(value, HANDWRITTEN)


def path_segment(value: str, *, prefix: bool = False) -> list[Problem]:
    """What can stand as one segment in a URL; ``prefix``: something will be appended."""
    if not prefix and is_dots(value):
        return [Problem(INVALID, value, f"may not be '{value}'")]
    return [Problem(INVALID, value, f"may not contain '{part}'") for part in "/%" if part in value]


def is_dots(name: str) -> bool:
    """Whether a name is ``.`` or ``..``, which no escaping keeps from leading elsewhere in a URL; no object has it."""
    return name in (".", "..")


def finalizer(value: str) -> list[Problem]:
    """A finalizer: a label key. Reported for the list, not for the entry."""
    return label_key(value)


def unqualified_finalizer(value: str) -> list[Problem]:
    """A finalizer without a domain must be one of those that Kubernetes itself has. Reported for the entry."""
    if "/" in value or value in STANDARD_FINALIZERS:
        return []
    return [Problem(INVALID, value, "name is neither a standard finalizer name nor is it fully qualified")]


def annotations_size(annotations: Mapping[str, str]) -> list[Problem]:
    """Keys and values together take up to 256 KiB."""
    # Most annotations are far from the limit, even if every character took four bytes.
    if sum(len(key) + len(value) for key, value in annotations.items()) * 4 <= ANNOTATIONS_BYTES:
        return []
    if sum(byte_length(key) + byte_length(value) for key, value in annotations.items()) <= ANNOTATIONS_BYTES:
        return []
    return [Problem(TOO_LONG, "", f"may not be more than {ANNOTATIONS_BYTES} bytes")]


def owner_api_version(value: str) -> list[Problem]:
    """The API version of an owner, not empty: group and version, or a version alone."""
    if value.count("/") <= 1 and not value.endswith("/"):
        return []
    return [Problem(INVALID, value, "must be <group>/<version> or <version>")]


def field_manager(value: str) -> list[Problem]:
    """The name of a manager of fields: up to 128 bytes of printable characters."""
    from resourceapi.printable import is_printable

    problems = []
    if byte_length(value) > FIELD_MANAGER_BYTES:
        problems.append(Problem(TOO_LONG, "", f"may not be more than {FIELD_MANAGER_BYTES} bytes"))
    if value.isascii() and value.isprintable():
        return problems
    position = 0
    for character in value:
        if not is_printable(character):
            text = f"invalid character U+{ord(character):04X} (at position {position})"
            problems.append(Problem(INVALID, value, text))
        position += byte_length(character)
    return problems


def _masked_prefix(value: str) -> str:
    """The prefix with something valid in place of the hyphen at its end.

    As the server does it: the two last bytes give way to one letter.
    """
    if not value.endswith("-") or len(value) < 2:
        return value
    return value.encode("utf-8", "surrogatepass")[:-2].decode("utf-8", "surrogateescape") + "a"


def _about(value: str, problems: Iterable[Problem]) -> list[Problem]:
    return [Problem(kind, value, detail) for kind, _, detail in problems]

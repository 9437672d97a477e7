"""Formats of names and keys: what is wrong with a text that has to be one.

Every function takes a text and returns its problems in the server's order, none if it is valid. A :class:`FormatError` is
a field error without its path. Rules and texts are those of the API conventions ("Object Names and IDs", "Labels and
Selectors") and of the DRA API.

Where the two generations of the server's rules tell the same thing in different words, ``wording`` chooses:
``DECLARATIVE`` (what 1.37 reports for fields with declared rules), ``HANDWRITTEN`` (everything else), or, of qualified
names, ``FORMER`` (up to 1.34).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from resourceapi.field_errors import INVALID, REQUIRED, TOO_LONG, Named

DECLARATIVE = "declarative"
HANDWRITTEN = "handwritten"
FORMER = "former"

LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253
DRIVER_LENGTH = 63
IDENTIFIER_LENGTH = 32
POOL_LENGTH = 253


class FormatError(NamedTuple):
    """What is wrong with a value: kind of field error, the value to show (not shown if it is too long), explanation."""

    kind: str
    value: str
    detail: str


_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_LETTERS = _LOWER + _LOWER.upper()
_ALPHANUMERIC = _LETTERS + _DIGITS
_LABEL_CHARACTERS = _LOWER + _DIGITS + "-"
_SUBDOMAIN_CHARACTERS = _LABEL_CHARACTERS + "."
_KEY_CHARACTERS = _ALPHANUMERIC + "-_."
_REASON_CHARACTERS = _ALPHANUMERIC + "_,:"
_HEX_LOWER = "0123456789abcdef"
_HEX = _HEX_LOWER + "ABCDEF"

_LABEL_PATTERN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_PATTERN = f"{_LABEL_PATTERN}(\\.{_LABEL_PATTERN})*"
_KEY_PATTERN = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL_PATTERN}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN_PATTERN}')"
)
_CASELESS_TEXT = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    f"alphanumeric character (e.g. 'Example.com', regex used for validation is '{_SUBDOMAIN_PATTERN}')"
)
_KEY_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY_PATTERN}')"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_KEY_PATTERN})?')"
)
_IDENTIFIER_TEXT = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)
_REASON_TEXT = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
_UUID_TEXT = "must be a lowercase UUID in 8-4-4-4-12 format"
_NORMAL_UUID_TEXT = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)

_UNIT_OF_LENGTH = {DECLARATIVE: "bytes", HANDWRITTEN: "characters"}
_EMPTY_DOMAIN = {
    DECLARATIVE: FormatError(INVALID, "", "prefix must not be empty"),
    HANDWRITTEN: FormatError(INVALID, "", "the domain must not be empty"),
    FORMER: FormatError(REQUIRED, "", "the domain must not be empty"),
}
_EMPTY_NAME = {
    DECLARATIVE: FormatError(INVALID, "", "name must not be empty"),
    HANDWRITTEN: FormatError(INVALID, "", "the name must not be empty"),
    FORMER: FormatError(REQUIRED, "", "the name must not be empty"),
}


def short_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A DNS label (RFC 1123), up to 63 bytes: names of requests, devices, counter sets, namespaces."""
    if len(value) <= LABEL_LENGTH and _is_label(value):
        return []
    texts = _over_length(value, LABEL_LENGTH, wording)
    if not _is_label(value):
        texts.append("must not contain dots" if _is_subdomain(value) else _LABEL_TEXT)
    return _invalid(value, texts)


def long_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A DNS subdomain (RFC 1123), up to 253 bytes: names of objects and device classes."""
    if len(value) <= SUBDOMAIN_LENGTH and _is_subdomain(value):
        return []
    return _invalid(value, _subdomain_texts(value, wording))


def long_name_caseless(value: str) -> list[FormatError]:
    """A DNS subdomain in upper or lower case: driver names, as far as their rule is declared."""
    # Two characters beyond ASCII equal an ASCII letter when case doesn't matter.
    lower = value.replace("\u017f", "s").replace("\u212a", "k").lower()
    if len(value) <= SUBDOMAIN_LENGTH and value.isascii() and _is_subdomain(lower):
        return []
    texts = _over_length(value, SUBDOMAIN_LENGTH, DECLARATIVE)
    if not _is_subdomain(lower):
        texts.append(_CASELESS_TEXT)
    return _invalid(value, texts)


def driver_name(value: str, wording: str = HANDWRITTEN) -> list[FormatError]:
    """A driver's name by the hand-written rule: required, up to 63 bytes, a DNS subdomain once it is lower case."""
    if not value:
        required = FormatError(REQUIRED, "", "")
        return [required, FormatError(INVALID, "", _SUBDOMAIN_TEXT)] if wording == FORMER else [required]
    if len(value) <= DRIVER_LENGTH and _is_subdomain(value):
        return []
    problems = _too_long(value, DRIVER_LENGTH)
    problems += _invalid(value, _subdomain_texts(_lower(value), HANDWRITTEN))
    return problems


def label_key(value: str) -> list[FormatError]:
    """A key of labels, taints, tolerations, conditions: a name of up to 63 bytes, with a DNS subdomain before a slash."""
    if len(value) <= LABEL_LENGTH and _is_key_name(value):
        return []
    return _invalid(value, _label_key_texts(value))


def annotation_key(value: str) -> list[FormatError]:
    """A label key in which case doesn't matter."""
    if len(value) <= LABEL_LENGTH and _is_key_name(value):
        return []
    return _invalid(value, _label_key_texts(_lower(value)))


def label_value(value: str) -> list[FormatError]:
    """The value of a label, taint or toleration: up to 63 bytes, possibly empty."""
    if len(value) <= LABEL_LENGTH and (not value or _is_key_name(value)):
        return []
    texts = _over_length(value, LABEL_LENGTH, DECLARATIVE)
    if not _is_key_name(value):
        texts.append(_LABEL_VALUE_TEXT)
    return _invalid(value, texts)


def condition_reason(value: str) -> list[FormatError]:
    """The reason of a condition: starts with a letter, ends with a letter, digit or underscore."""
    if value and not value.strip(_REASON_CHARACTERS) and value[0] in _LETTERS and value[-1] not in ",:":
        return []
    return [FormatError(INVALID, value, _REASON_TEXT)]


def identifier(value: str) -> list[FormatError]:
    """A C identifier of up to 32 bytes: the part of an attribute's or capacity's name behind the domain."""
    if _is_identifier(value):
        return [] if len(value) <= IDENTIFIER_LENGTH else _too_long(value, IDENTIFIER_LENGTH)
    return [*_too_long(value, IDENTIFIER_LENGTH), FormatError(INVALID, value, _IDENTIFIER_TEXT)]


def qualified_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """The name of an attribute or capacity: an identifier, optionally with a domain and a slash before it.

    As on the server, a name with two slashes or more is not looked at. The declared rule wants the domain in lower
    case, the hand-written one does not.
    """
    if not value and wording == FORMER:
        return [FormatError(REQUIRED, "", "name required")]
    parts = value.split("/")
    if len(parts) == 1:
        return identifier(value)
    if len(parts) > 2:
        return []
    domain, name = parts
    problems = _domain_problems(domain, wording)
    problems += identifier(name) if name else [_EMPTY_NAME[wording]]
    return problems


def _domain_problems(domain: str, wording: str) -> list[FormatError]:
    if not domain:
        return [_EMPTY_DOMAIN[wording]]
    if wording != DECLARATIVE:
        return driver_name(domain)
    return _too_long(domain, DRIVER_LENGTH) + _prefixed("prefix: ", long_name(domain))


def fully_qualified_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A qualified name that has its domain: what constraints and derived attributes refer to."""
    problems = qualified_name(value, wording)
    if "/" not in value:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        if wording == FORMER:
            text = "must include a domain"
        if value or wording != FORMER:
            problems.append(FormatError(INVALID, value if wording == DECLARATIVE else Named(value), text))
    return problems


def resource_pool_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A pool's name, up to 253 bytes: DNS subdomains with slashes between them.

    The hand-written rule also says that it is required; the declared one leaves that to the field.
    """
    if len(value) <= POOL_LENGTH and _is_subdomain(value):
        return []
    if wording == HANDWRITTEN:
        if not value:
            return [FormatError(REQUIRED, "", "")]
        parts = [long_name(part, HANDWRITTEN) for part in value.split("/")]
    else:
        parts = [_pool_segment(index, part, value) for index, part in enumerate(value.split("/"))]
    return _too_long(value, POOL_LENGTH) + [problem for part in parts for problem in part]


def _pool_segment(index: int, part: str, pool: str) -> list[FormatError]:
    if not part:
        return [FormatError(INVALID, pool, f"segment {index}: must not be empty")]
    return _prefixed(f"segment {index}: ", long_name(part))


def uuid(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A UUID in lower case with hyphens (RFC 4122): claim UIDs, share IDs."""
    if len(value) == 36 and _is_hyphenated_hex(value, _HEX_LOWER):
        return []
    if wording == DECLARATIVE:
        return [FormatError(INVALID, value, _UUID_TEXT)]
    error = _uuid_error(value)
    return [FormatError(INVALID, value, f"error validating uid: {error}" if error else _NORMAL_UUID_TEXT)]


def extended_resource_name(value: str, wording: str = DECLARATIVE) -> list[FormatError]:
    """A name under which pods ask for devices in their resources: with a domain, not kubernetes.io, fit for a quota."""
    texts = []
    if "/" not in value:
        texts.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in value:
        texts.append('must not have "kubernetes.io/" domain')
    if value.startswith("requests."):
        texts.append('must not have "requests." prefix')
    texts += _label_key_texts("requests." + value)
    if texts and wording == HANDWRITTEN:
        texts = ["must be a valid extended resource name"]
    return _invalid(value, texts)


def semantic_version(value: str) -> list[FormatError]:
    """A version by semver.org 2.0.0, with three numbers."""
    core, plus, build = value.partition("+")
    core, hyphen, prerelease = core.partition("-")
    numbers = core.split(".")
    valid = len(numbers) == 3 and all(map(_is_version_number, numbers))
    if hyphen:
        valid = valid and all(map(_is_prerelease_part, prerelease.split(".")))
    if plus:
        valid = valid and all(part and not part.strip(_ALPHANUMERIC + "-") for part in build.split("."))
    return (
        []
        if valid
        else [FormatError(INVALID, value, "must be a string compatible with semver.org spec 2.0.0")]
    )


def _is_version_number(part: str) -> bool:
    return part != "" and not part.strip(_DIGITS) and (part == "0" or part[0] != "0")


def _is_prerelease_part(part: str) -> bool:
    if part == "" or part.strip(_ALPHANUMERIC + "-"):
        return False
    return bool(part.strip(_DIGITS)) or _is_version_number(part)


def _invalid(value: str, texts: list[str]) -> list[FormatError]:
    return [FormatError(INVALID, value, text) for text in texts]


def _prefixed(prefix: str, problems: list[FormatError]) -> list[FormatError]:
    return [FormatError(kind, value, prefix + detail) for kind, value, detail in problems]


def _too_long(value: str, limit: int) -> list[FormatError]:
    if byte_length(value) <= limit:
        return []
    return [FormatError(TOO_LONG, value, f"may not be more than {limit} bytes")]


def _over_length(value: str, limit: int, wording: str) -> list[str]:
    if byte_length(value) <= limit:
        return []
    return [f"must be no more than {limit} {_UNIT_OF_LENGTH[wording]}"]


def _subdomain_texts(value: str, wording: str) -> list[str]:
    texts = _over_length(value, SUBDOMAIN_LENGTH, wording)
    if not _is_subdomain(value):
        texts.append(_SUBDOMAIN_TEXT)
    return texts


def _label_key_texts(value: str) -> list[str]:
    parts = value.split("/")
    if len(parts) > 2:
        text = f"a valid label key {_KEY_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [text]
    texts = []
    if len(parts) == 2:
        prefix = parts[0]
        reasons = _subdomain_texts(prefix, DECLARATIVE) if prefix else ["must be non-empty"]
        texts += ["prefix part " + reason for reason in reasons]
    name = parts[-1]
    reasons = _over_length(name, LABEL_LENGTH, DECLARATIVE) if name else ["must be non-empty"]
    if not _is_key_name(name):
        reasons.append(_KEY_TEXT)
    return texts + ["name part " + reason for reason in reasons]


def _uuid_error(value: str) -> str:
    """Why a text is no UUID in any of the four notations; empty if it is one."""
    length = byte_length(value)
    if length == 45:
        if value[:9].lower() != "urn:uuid:":
            from resourceapi.go_text import quote

            prefix = value.encode("utf-8", "surrogatepass")[:9].decode("utf-8", "surrogateescape")
            return f"invalid urn prefix: {quote(prefix)}"
        value = value[9:]
    elif length == 38:
        if value[0] != "{" or value[-1] != "}":
            return "invalid bracketed UUID format"
        value = value[1:-1]
    elif length == 32:
        return "invalid UUID format" if value.strip(_HEX) else ""
    elif length != 36:
        return f"invalid UUID length: {length}"
    return "" if len(value) == 36 and _is_hyphenated_hex(value, _HEX) else "invalid UUID format"


def _is_hyphenated_hex(value: str, digits: str) -> bool:
    """Whether 36 characters are hex digits with hyphens in the right places."""
    if not value[8] == value[13] == value[18] == value[23] == "-":
        return False
    bare = value.replace("-", "")
    return len(bare) == 32 and not bare.strip(digits)


def _is_label(value: str) -> bool:
    # Nothing is left of a text that is stripped of all characters that it may consist of.
    return value != "" and not value.strip(_LABEL_CHARACTERS) and value[0] != "-" and value[-1] != "-"


def _is_subdomain(value: str) -> bool:
    if value == "" or value.strip(_SUBDOMAIN_CHARACTERS) or value[0] in "-." or value[-1] in "-.":
        return False
    return ".." not in value and ".-" not in value and "-." not in value


def _is_key_name(value: str) -> bool:
    return (
        value != "" and not value.strip(_KEY_CHARACTERS) and value[0] not in "-_." and value[-1] not in "-_."
    )


def _is_identifier(value: str) -> bool:
    return value.isascii() and value.isidentifier()


def byte_length(value: str) -> int:
    """The length in UTF-8, in which the API counts."""
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def _lower(value: str) -> str:
    """Lower case, character by character, as Go does it."""
    return value.replace("\u0130", "i").lower()


# Formats of what stands in an object's metadata: names, finalizers, annotations, owners, managers of fields.
# Source: the API concepts "Object Names and IDs", "Finalizers" and "Owners and Dependents".

ANNOTATIONS_BYTES = 256 * 1024
FIELD_MANAGER_BYTES = 128

STANDARD_FINALIZERS = frozenset(("kubernetes", "orphan", "foregroundDeletion"))


def generate_name(value: str, *, is_label: bool = False) -> list[FormatError]:
    """The beginning of a generated object name, a DNS subdomain or even a DNS label: it may end in a hyphen."""
    check = short_name if is_label else long_name
    return _about(value, check(_masked_prefix(value), HANDWRITTEN))


def namespace_name(value: str) -> list[FormatError]:
    """The name of a namespace: a DNS label."""
    return short_name(value, HANDWRITTEN)


def path_segment(value: str, *, prefix: bool = False) -> list[FormatError]:
    """What can stand as one segment in a URL; ``prefix``: something will be appended."""
    if not prefix and is_dots(value):
        return [FormatError(INVALID, value, f"may not be '{value}'")]
    return [FormatError(INVALID, value, f"may not contain '{part}'") for part in "/%" if part in value]


def is_dots(name: str) -> bool:
    """Whether a name is ``.`` or ``..``, which no escaping keeps from leading elsewhere in a URL; no object has it."""
    return name in (".", "..")


def finalizer(value: str) -> list[FormatError]:
    """A finalizer: a label key. Reported for the list, not for the entry."""
    return label_key(value)


def unqualified_finalizer(value: str) -> list[FormatError]:
    """A finalizer without a domain must be one of those that Kubernetes itself has. Reported for the entry."""
    if "/" in value or value in STANDARD_FINALIZERS:
        return []
    return [
        FormatError(INVALID, value, "name is neither a standard finalizer name nor is it fully qualified")
    ]


def annotations_size(annotations: Mapping[str, str]) -> list[FormatError]:
    """Keys and values together take up to 256 KiB."""
    # Most annotations are far from the limit, even if every character took four bytes.
    if sum(len(key) + len(value) for key, value in annotations.items()) * 4 <= ANNOTATIONS_BYTES:
        return []
    if sum(byte_length(key) + byte_length(value) for key, value in annotations.items()) <= ANNOTATIONS_BYTES:
        return []
    return [FormatError(TOO_LONG, "", f"may not be more than {ANNOTATIONS_BYTES} bytes")]


def owner_api_version(value: str) -> list[FormatError]:
    """The API version of an owner, not empty: group and version, or a version alone."""
    if value.count("/") <= 1 and not value.endswith("/"):
        return []
    return [FormatError(INVALID, value, "must be <group>/<version> or <version>")]


def field_manager(value: str) -> list[FormatError]:
    """The name of a manager of fields: up to 128 bytes of printable characters."""
    from resourceapi.printable import is_printable

    problems = []
    if byte_length(value) > FIELD_MANAGER_BYTES:
        problems.append(FormatError(TOO_LONG, "", f"may not be more than {FIELD_MANAGER_BYTES} bytes"))
    if value.isascii() and value.isprintable():
        return problems
    position = 0
    for character in value:
        if not is_printable(character):
            text = f"invalid character U+{ord(character):04X} (at position {position})"
            problems.append(FormatError(INVALID, value, text))
        position += byte_length(character)
    return problems


def _masked_prefix(value: str) -> str:
    """The prefix with something valid in place of the hyphen at its end.

    As the server does it: the two last bytes give way to one letter.
    """
    if not value.endswith("-") or len(value) < 2:
        return value
    return value.encode("utf-8", "surrogatepass")[:-2].decode("utf-8", "surrogateescape") + "a"


def _about(value: str, problems: Iterable[FormatError]) -> list[FormatError]:
    return [FormatError(kind, value, detail) for kind, _, detail in problems]

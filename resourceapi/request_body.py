"""From the body of a request to an object: what the server does before it looks at the object itself.

The body says which kind and version it is; what it leaves out is taken from the URL.  It is decoded as the kind that
it claims to be, and only then compared with the one in the URL.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from resourceapi import decoding
from resourceapi.decoding import Decoded, DecodingError, StrictError
from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import Path
from resourceapi.go_text import json_text, quote
from resourceapi.json_text import parse, text_of
from resourceapi.json_values import JSONError, Members
from resourceapi.kinds import kind_in
from resourceapi.measured import NEWEST
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP
from resourceapi.schema import Schema

if TYPE_CHECKING:
    from resourceapi.releases import Profile

SUMMARY_BYTES = 30
# The line in which a server's scheme is made, which its errors name: from which release on it is which.
_SCHEME_LINES = {35: 111, 33: 110, 0: 100}
# Go packages of the internal types, by group.
INTERNAL_PACKAGES = {"": "core", "apps": "apps", "batch": "batch", "resource.k8s.io": "resource"}

# As a body it is refused by its name: group, version and kind of a list of anything, without the ``List``.
ANY_LIST = ("", "v1", "")

# The schema of a kind by group, version and kind; None if the server knows no such kind.
SchemaOf = Callable[[str, str, str], Schema | None]


def scheme_in(minor: int) -> str:
    """Where the scheme of a server of release 1.``minor`` is made."""
    line = next(line for since, line in _SCHEME_LINES.items() if minor >= since)
    return f"pkg/runtime/scheme.go:{line}"


def schemas_of(profile: Profile) -> SchemaOf:
    """The kinds that a server knows.

    It can read every version of every kind, also those that it does not serve.
    """

    def schema_of(group: str, version: str, kind: str) -> Schema | None:
        known = kind_in(group, kind, version)
        if known is not None:
            has_it = known.proposed or known.served(version, profile.minor)
            return profile.schemas.get(version) if has_it else None
        if group == GROUP:
            return None
        return workloads.schema_of(group, version, kind, profile.minor)

    return schema_of


class BadRequest(ClaimcheckError):
    """A body that the server refuses with code 400, and its message.

    ``problems`` are its unknown and duplicate fields as far as they are known: the reason for the refusal, or
    warnings where such fields are allowed.  ``path`` is the field that the message is about, if it is about one.
    """

    def __init__(self, text: str, *, path: Path = (), problems: list[StrictError] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.path = path
        self.problems = problems or []


def read(
    *,
    raw: str | bytes | None = None,
    body: Any = None,
    api_version: str,
    kind: str,
    schema_of: SchemaOf,
    strict: bool = True,
    minor: int = NEWEST,
) -> Decoded:
    """The object in a body that is sent to the URL of ``api_version`` and ``kind``.

    :param raw: the body as text; otherwise ``body`` is its value, read from JSON or YAML.
    :param strict: refuse unknown and duplicate fields; otherwise they are only in the result's ``problems``.
    :param minor: the minor number of the server's release, as errors differ.
    :raises BadRequest: with the server's message.
    """
    source = None if raw is None else text_of(raw)
    try:
        value = body if raw is None else _parse(raw)
        group, version, body_kind = _body_type(value, api_version, kind)
    except _Unrecognized as error:
        summary = _summary(json_text(value) if source is None else source)
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): {error} ({summary})"
        ) from None
    refusal = f"{body_kind} in version {quote(version)} cannot be handled as a {kind}: "
    if not version:
        shown = json_text(value) if source is None else source
        raise BadRequest(f"{refusal}Object 'apiVersion' is missing in '{shown}'")
    body_version = f"{group}/{version}" if group else version
    schema = schema_of(group, version, body_kind)
    if schema is None:
        listed = body_kind.removesuffix("List")
        if (group, version, listed) == ANY_LIST or schema_of(group, version, listed) is not None:
            raise BadRequest(refusal + _unconvertible(version, body_kind, api_version, kind))
        known = f"no kind {quote(body_kind)} is registered for version {quote(body_version)} in scheme {quote(scheme_in(minor))}"
        raise BadRequest(refusal + known)
    try:
        decoded = decoding.decode(schema, body_kind, value, source=source)
    except DecodingError as error:
        raise BadRequest(refusal + error.text, path=error.path) from None
    _check_target(decoded, (group, version, body_kind), api_version, kind, refusal, strict)
    return decoded


def _check_target(
    decoded: Decoded, body: tuple[str, str, str], api_version: str, kind: str, refusal: str, strict: bool
) -> None:
    """Whether what the body is may be sent to the URL."""
    group, version, body_kind = body
    target_group, _, target_version = api_version.rpartition("/")
    problems = decoded.problems
    if (group, body_kind) != (target_group, kind):
        raise BadRequest(refusal + _unconvertible(version, body_kind, api_version, kind))
    if strict and problems:
        texts = ", ".join(problem.text for problem in problems)
        raise BadRequest(f"{refusal}strict decoding error: {texts}", path=problems[0].path, problems=problems)
    if version != target_version:
        found = f"{group}/{version}" if group else version
        raise BadRequest(
            f"the API version in the data ({found}) does not match the expected API version ({api_version})",
            path=("apiVersion",),
            problems=problems,
        )


def _unconvertible(version: str, body_kind: str, api_version: str, kind: str) -> str:
    """What is wrong with a body of another kind than the URL's; lists of objects are such kinds."""
    group = api_version.rpartition("/")[0]
    target = f"{INTERNAL_PACKAGES.get(group, group)}.{kind}"
    return f"converting ({version}.{body_kind}) to ({target}): unknown conversion"


class _Unrecognized(Exception):
    """The body does not tell its kind and version."""


def _parse(raw: str | bytes) -> Any:
    try:
        return parse(raw)
    except JSONError as error:
        raise _Unrecognized(f"{_NO_TYPE}{error}") from None


def _body_type(value: Any, api_version: str, kind: str) -> tuple[str, str, str]:
    """Group, version and kind of a body, completed from the URL; the version may be empty."""
    body_version, body_kind = _claimed(value)
    group, version = _split(body_version)
    target_group, _, target_version = api_version.rpartition("/")
    if not version and group in ("", target_group):
        group, version = target_group, target_version
    return group, version, body_kind or kind


def _claimed(value: Any) -> tuple[str, str]:
    """``apiVersion`` and ``kind``; unlike any other field, they are found whatever their case."""
    if value is None:
        return "", ""
    if not isinstance(value, dict):
        struct = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        raise _Unrecognized(
            f"{_NO_TYPE}json: cannot unmarshal {decoding.describe(value)} into Go value of type {struct}"
        )
    claimed = {"apiVersion": "", "kind": ""}
    wrong = ""
    for key, member in value.pairs if type(value) is Members else value.items():
        field = _FOLDED.get(key) or _FOLDED.get(_fold(key))
        if field is None or member is None:
            continue
        if type(member) is str:
            claimed[field] = member
        elif not wrong:
            wrong = f"{decoding.describe(member)} into Go struct field .{field} of type string"
    if wrong:
        raise _Unrecognized(f"{_NO_TYPE}json: cannot unmarshal {wrong}")
    return claimed["apiVersion"], claimed["kind"]


_NO_TYPE = "couldn't get version/kind; json parse error: "
_FOLDED = {"apiVersion": "apiVersion", "kind": "kind", "apiversion": "apiVersion"}


def _fold(key: str) -> str:
    """A key in lower case; the Kelvin sign is a k to Go as well, and the long s an s."""
    return key.lower().replace("\u017f", "s") if len(key) < 20 else key


def _split(api_version: str) -> tuple[str, str]:
    if api_version in ("", "/"):
        return "", ""
    group, _, version = api_version.rpartition("/")
    if "/" in group:
        raise _Unrecognized(f"unexpected GroupVersion string: {api_version}")
    return group, version


def _with_each_bad_byte_replaced(data: bytes) -> str:
    """Text in which every byte that is no UTF-8 is a U+FFFD; Python would take some together."""
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= character <= "\udcff" else character for character in text)


def _summary(text: str) -> str:
    """The beginning of a body, in hexadecimal if it is no object."""
    data = text.encode("utf-8", "surrogateescape")
    if not data:
        return "<empty>"
    start = data[:SUMMARY_BYTES]
    shown = _with_each_bad_byte_replaced(start) if data[:1] == b"{" else start.hex()
    return f"{shown} ..." if len(data) > SUMMARY_BYTES else shown

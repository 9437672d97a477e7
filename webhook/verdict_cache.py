"""Specs that the rules have accepted, so that the same spec in another object need not be judged again.

Claims that are made from one template differ in nothing but their metadata.  A spec is judged by itself unless one of the
kind's rules depends on the namespace as well (:class:`validation.kind_rules.NamespaceRule`).
"""

from __future__ import annotations

import marshal
from hashlib import blake2b

from validation.cacheable_rules import CacheableKindRules
from validation.kinds import RULES
from validation.requests import CREATE, Request

MOST_SPECS = 10_000
# Larger specs are rare, and digesting them is not free.
SPEC_BYTES = 64 * 1024
_DIGEST_BYTES = 20
_FORMAT = 2  # of marshal: without references, so that equal values have equal representations
# The rules of the kinds whose specs repeat.
CACHEABLE = {kind: rules for kind, rules in RULES.items() if isinstance(rules, CacheableKindRules)}
# Of each such kind: fields that rules judge together with the namespace, as marshal writes their names.
_NAMESPACE_FIELDS = {
    kind: tuple(rule.field.encode() for rule in rules.namespace_rules) for kind, rules in CACHEABLE.items()
}


class VerdictCache:
    """The latest specs that were accepted when an object was created, by their digests.

    It is valid for one server with its release and gates.
    """

    def __init__(self) -> None:
        self._accepted: dict[bytes, None] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._accepted

    def add(self, key: bytes) -> None:
        """Remember a spec that the rules have accepted."""
        if len(self._accepted) >= MOST_SPECS:
            self._accepted.clear()
        self._accepted[key] = None

    def key(self, request: Request) -> bytes | None:
        """The same for equal specs of the same kind and version only.

        :returns: None if the spec is not judged by itself, or too large to be worth it.
        """
        body, fields = request.body, _NAMESPACE_FIELDS.get(request.kind)
        if request.verb != CREATE or fields is None or type(body) is not dict or "spec" not in body:
            return None
        try:
            written = marshal.dumps((request.api_version, request.kind, body["spec"]), _FORMAT)
        except ValueError:  # numbers that are kept as they were written
            return None
        if len(written) > SPEC_BYTES:
            return None
        for field in fields:
            if field in written:
                return None
        return blake2b(written, digest_size=_DIGEST_BYTES).digest()

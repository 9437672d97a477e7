"""Specs of claims without the parts of them that are known already."""

from __future__ import annotations

import marshal
from collections.abc import Container
from hashlib import blake2b
from typing import Any

from resourceapi import limits
from resourceapi.manifests import entries
from resourceapi.objects import Object

_DIGEST_BYTES = 20
# What is not longer stands for itself: that is quicker than its digest, and not much more to remember.
_SHORT_BYTES = 256
_FORMAT = 2  # of marshal: without references, so that equal values are equal texts
# They have to be named by the claim's constraints, and share a budget.
_NOT_APART = b"derivedAttributes"
# The least that an exact request has; a subrequest has a name as well.
_CLASS = "deviceClassName"
_REFERRING = ("constraints", "config")


def stand_in(value: Any) -> tuple[bytes, bytes]:
    """A JSON value as text, and what stands for it: the same for equal values only.

    :raises ValueError: for what is more than plain JSON, such as numbers that are kept as they were written.
    """
    text = marshal.dumps(value, _FORMAT)
    return text, text if len(text) <= _SHORT_BYTES else blake2b(text, digest_size=_DIGEST_BYTES).digest()


class KnownParts:
    """Takes out of one spec what is known: if the rules have nothing against the rest, they have nothing against it all.

    A part is a subrequest, or what a request has in ``exactly``; the rules judge it by itself.  Subrequests that the
    claim refers to stay, or what remains would be refused for that.
    ``new`` is what stands for parts that are not known, ``found`` is whether any was.
    """

    __slots__ = ("_known", "_version", "found", "new")

    def __init__(self, known: Container[bytes], version: str) -> None:
        self._known = known
        self._version = version
        self.found = False
        self.new: list[bytes] = []

    def taken_out(self, spec: Any) -> Any:
        """What remains of a claim's spec, for which there is a :func:`stand_in`."""
        devices = spec.get("devices") if type(spec) is dict else None
        if type(devices) is not dict or type(devices.get("requests")) is not list:
            return spec
        needed = _references(devices)
        requests = [self._request(request, needed) for request in devices["requests"]]
        return {**spec, "devices": {**devices, "requests": requests}}

    def _request(self, request: Any, needed: Container[str]) -> Any:
        if type(request) is not dict:
            return request
        if alternatives := request.get("firstAvailable"):
            if not _all_differ(alternatives):
                return request
            rest = [
                sub
                for sub in alternatives
                if f"{request.get('name')}/{sub['name']}" in needed or not self._is_known("sub", sub)
            ]
            return {**request, "firstAvailable": rest or [_least(alternatives[0])]}
        exactly = request.get("exactly")
        if type(exactly) is dict and len(exactly) > 1 and self._is_known("exactly", exactly):
            return {**request, "exactly": {_CLASS: exactly.get(_CLASS)}}
        return request

    def _is_known(self, role: str, part: Object) -> bool:
        text, key = stand_in((self._version, role, part))
        if _NOT_APART in text:
            return False
        if key in self._known:
            self.found = True
            return True
        self.new.append(key)
        return False


def _all_differ(alternatives: Any) -> bool:
    """Whether it is a list without what only the whole of it can break: too many, or a name twice."""
    if type(alternatives) is not list or len(alternatives) > limits.SUBREQUESTS:
        return False
    names = {sub["name"] for sub in alternatives if type(sub) is dict and type(sub.get("name")) is str}
    return len(names) == len(alternatives)


def _least(sub: Object) -> Object:
    """The least that a subrequest can be."""
    return {"name": sub["name"], _CLASS: sub.get(_CLASS)}


def _references(devices: Object) -> set[str]:
    """The requests and subrequests that constraints and configuration are about."""
    referring = [entry for field in _REFERRING for entry in entries(devices, field)]
    return {name for entry in referring for name in entries(entry, "requests") if isinstance(name, str)}

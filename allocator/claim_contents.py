"""Which claims ask for the same, and what they ask for: read once for all of them, until the last one has gone.

A claim's `spec.devices` is its content, known by a digest. What is found out for a content belongs to all its claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple
from weakref import WeakValueDictionary

from allocator.demand import ClaimDemand
from allocator.time_limit import TimeLimit
from resourceapi.canonical import canonical
from resourceapi.objects import EMPTY, Object

_DIGEST_BYTES = 20
#: What the objects of a text of JSON take, for each of its characters.
_OBJECT_BYTES = 3


def claim_key(claim: Object) -> str:
    """``namespace/name`` of a claim."""
    metadata = claim.get("metadata") or EMPTY
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"


class Content(NamedTuple):
    """A content, and how long it is in JSON."""

    digest: bytes
    length: int


class _Claim(NamedTuple):
    """A claim whose content is known: while it has these very `spec.devices`, nothing has to be read."""

    devices: object
    content: Content


class ClaimContents:
    """The contents of the claims that have been asked for, by claim, and their demands, as long as somebody uses them."""

    def __init__(self, read: Callable[[Object, TimeLimit], ClaimDemand]) -> None:
        """Begin without any.

        :param read: what a claim asks for.
        """
        self._read = read
        self._claims: dict[str, _Claim] = {}
        self._users: Counter[bytes] = Counter()
        self._demands: WeakValueDictionary[tuple[bytes, int], ClaimDemand] = WeakValueDictionary()
        #: told of each content that no claim has any more
        self.listeners: list[Callable[[bytes], None]] = []

    def __len__(self) -> int:
        """Of how many claims the content is known."""
        return len(self._claims)

    def of(self, claim: Object) -> Content:
        """The content of a claim (v1, normal form), which is used until :meth:`forget`."""
        key = claim_key(claim)
        devices = (claim.get("spec") or EMPTY).get("devices")
        known = self._claims.get(key)
        if known is not None and known.devices is devices:
            return known.content
        text = canonical(devices).encode()
        content = Content(blake2b(text, digest_size=_DIGEST_BYTES).digest(), len(text))
        self._claims[key] = _Claim(devices, content)
        self._users[content.digest] += 1
        if known is not None:
            self._leave(known.content.digest)
        return content

    def demands(
        self, claims: Iterable[Object], contents: Iterable[Content], time_limit: TimeLimit
    ) -> Iterator[ClaimDemand]:
        """What the claims of a pod ask for. Claims of one content share it with other pods' claims, not with each other."""
        seen: Counter[bytes] = Counter()
        for claim, content in zip(claims, contents, strict=True):
            key = (content.digest, seen[content.digest])
            seen[content.digest] += 1
            demand = self._demands.get(key)
            if demand is None:
                demand = self._demands[key] = self._read(claim, time_limit)
                demand.header.weight += _OBJECT_BYTES * content.length
            yield demand

    def clear(self) -> None:
        """Read what claims ask for anew, as is needed when a DeviceClass changes."""
        self._demands.clear()

    def forget(self, key: str) -> None:
        """Take out a claim, `namespace/name`, if its content is known."""
        known = self._claims.pop(key, None)
        if known is not None:
            self._leave(known.content.digest)

    def _leave(self, digest: bytes) -> None:
        self._users[digest] -= 1
        if not self._users[digest]:
            del self._users[digest]
            for listener in self.listeners:
                listener(digest)

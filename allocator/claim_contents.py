"""Which claims ask for the same, and what they ask for: read once for all of them, until the last one has gone.

A claim's `spec.devices` is its content. What is found out for a content belongs to all its claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from weakref import WeakValueDictionary

from allocator.demand import ClaimDemand
from allocator.time_limit import TimeLimit
from resourceapi.equality import canonical, fingerprint
from resourceapi.manifests import key_of
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import OBJECT_BYTES, PackedDevices, devices_of

#: What the objects of a text of JSON take, for each of its characters, beside those that whoever holds the claim has as well.
_OBJECT_BYTES = 3


class Content:
    """What claims ask for that have the same `spec.devices`; compared by identity, as long as there is such a claim."""

    __slots__ = ("digest", "length", "users")

    def __init__(self, digest: str, length: int) -> None:
        self.digest = digest
        #: in JSON
        self.length = length
        #: how many claims have it
        self.users = 0


class ClaimContents:
    """The contents of the claims that have been asked for, by claim, and their demands, as long as somebody uses them."""

    def __init__(self, read: Callable[[Object, TimeLimit], ClaimDemand]) -> None:
        """Begin without any.

        :param read: what a claim asks for.
        """
        self._read = read
        #: by claim, with its `spec.devices`: while it has these very ones, nothing has to be read
        self._claims: dict[str, tuple[object, Content]] = {}
        self._by_digest: dict[str, Content] = {}
        self._demands: WeakValueDictionary[tuple[Content, int], ClaimDemand] = WeakValueDictionary()
        #: told of each content that no claim has any more
        self.listeners: list[Callable[[Content], None]] = []

    def of(self, claim: Object) -> Content:
        """The content of a claim (v1, normal form), which is used until :meth:`forget`."""
        key = key_of(claim)
        devices = (claim.get("spec") or EMPTY).get("devices")
        known = self._claims.get(key)
        if known is not None and known[0] is devices:
            return known[1]
        text = canonical(devices_of(claim))
        digest = fingerprint(text)
        content = self._by_digest.get(digest)
        if content is None:
            content = self._by_digest[digest] = Content(digest, len(text))
        self._claims[key] = devices, content
        if known is None:
            content.users += 1
        elif known[1] is not content:
            content.users += 1
            self._leave(known[1])
        return content

    def demands(
        self, claims: Iterable[Object], contents: Iterable[Content], time_limit: TimeLimit
    ) -> Iterator[ClaimDemand]:
        """What the claims of a pod ask for. Claims of one content share it with other pods' claims, not with each other."""
        seen: Counter[Content] = Counter()
        for claim, content in zip(claims, contents, strict=True):
            key = (content, seen[content])
            seen[content] += 1
            demand = self._demands.get(key)
            if demand is None:
                demand = self._demands[key] = self._read(claim, time_limit)
                is_packed = isinstance((claim.get("spec") or EMPTY).get("devices"), PackedDevices)
                demand.header.weight += (OBJECT_BYTES if is_packed else _OBJECT_BYTES) * content.length
            yield demand

    def clear(self) -> None:
        """Read what claims ask for anew, as is needed when a DeviceClass changes."""
        self._demands.clear()

    def forget(self, key: str) -> None:
        """Take out a claim, `namespace/name`, if its content is known."""
        known = self._claims.pop(key, None)
        if known is not None:
            self._leave(known[1])

    def _leave(self, content: Content) -> None:
        content.users -= 1
        if not content.users:
            del self._by_digest[content.digest]
            for listener in self.listeners:
                listener(content)

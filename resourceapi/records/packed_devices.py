"""What a claim asks for as text, for those who hold many claims that nobody may ever name: decoded it takes up to 16 times its bytes."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

from resourceapi.json_text import PackedRaw, Raw
from resourceapi.objects import EMPTY, Object
from resourceapi.weighed_cache import WeighedCache

#: Shorter texts are not worth it, in bytes.
MIN_BYTES = 1024
#: About what the objects of a text take, for each of its bytes.
OBJECT_BYTES = 16
#: How much memory all may take that have been read and are kept for the next time.
MOST_BYTES = 64 << 20


class PackedDevices:
    """The `spec.devices` of a claim as JSON; compared by that."""

    __slots__ = ("_reader", "raw")

    def __init__(self, raw: PackedRaw, reader: DevicesReader) -> None:
        self.raw = raw
        self._reader = reader

    def read(self) -> Object:
        """The same in normal form; nobody may change it."""
        return self._reader.read(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedDevices) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw.source)


class DevicesReader:
    """Packs what claims ask for, and reads it; what was read last is kept. For several threads."""

    def __init__(self, read: Callable[[Any], Object]) -> None:
        """Begin without any.

        :param read: the normal form of a `spec.devices` as the API server has it.
        """
        self._read = read
        self._lock = Lock()
        self._known: WeighedCache[str, Object] = WeighedCache(MOST_BYTES)

    def packed(self, claim: Object, value: Any) -> Object:
        """A claim with what it asks for as text, if that is long.

        :param claim: in normal form.
        :param value: its `spec.devices` as the API server has it.
        """
        raw = PackedRaw(Raw(value))
        if not claim.get("spec") or len(raw.source) < MIN_BYTES:
            return claim
        return {**claim, "spec": {**claim["spec"], "devices": PackedDevices(raw, self)}}

    def read(self, raw: PackedRaw) -> Object:
        """The normal form of what was packed."""
        with self._lock:
            found = self._known.use(raw.source)
        if found is None:
            found = self._read(raw.value)
            with self._lock:
                self._known.put(raw.source, found, (OBJECT_BYTES + 1) * len(raw.source))
        return found


def devices_of(claim: Object) -> Object:
    """The `spec.devices` of a claim of v1 in normal form, also where it is packed."""
    devices = (claim.get("spec") or EMPTY).get("devices") or EMPTY
    return devices.read() if isinstance(devices, PackedDevices) else devices

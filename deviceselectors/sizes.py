"""Sizes and costs, and what is declared of the sizes of a device's parts.

Both are unsigned 64-bit numbers: sums and products stop at the greatest one, which is also the size of what has no
known size, and factors are multiplied in floating point. Source: cel-go 0.29; the limits are those of the API.
"""

from __future__ import annotations

from math import ceil

UNLIMITED = 2**64 - 1
TRAVERSAL = 0.1
"""The cost of looking at one character."""

#: The least and the greatest number of characters, bytes, elements or entries.
Size = tuple[int, int]
UNKNOWN: Size = (0, UNLIMITED)
ONE: Size = (1, 1)


def add(x: int, y: int) -> int:
    """The sum, at most the greatest number."""
    return min(x + y, UNLIMITED)


def multiply(x: int, y: int) -> int:
    """The product, at most the greatest number."""
    return min(x * y, UNLIMITED)


def scale(x: int, factor: float) -> int:
    """The product with a factor, rounded up, computed in floating point as the server does."""
    product = float(x) * factor
    return UNLIMITED if product >= 2.0**64 else ceil(product)


def union(a: Size, b: Size) -> Size:
    """The range that contains both."""
    return min(a[0], b[0]), max(a[1], b[1])


class Declared:
    """What the declarations say about the size of a part of the device."""

    __slots__ = ("element", "fields", "key", "size")

    def __init__(self, size: int, key: Declared | None = None, element: Declared | None = None) -> None:
        self.size: Size = (0, size)
        self.key = key
        self.element = element
        self.fields: dict[str, Declared] = {}


_DOMAIN, _ID, _ATTRIBUTE, _QUANTITY = Declared(63), Declared(32), Declared(64), Declared(0)
_MOST_NAMES = 32
_DEVICE = Declared(0)
_DEVICE.fields = {
    "driver": Declared(63),
    "allowMultipleAllocations": Declared(1),
    "attributes": Declared(_MOST_NAMES, _DOMAIN, Declared(_MOST_NAMES, _ID, _ATTRIBUTE)),
    "capacity": Declared(_MOST_NAMES, _DOMAIN, Declared(_MOST_NAMES, _ID, _QUANTITY)),
}


class Path:
    """The way from a variable to a part of it: fields, `@keys`, `@values`, `@items`.

    The server keeps these in Go slices, and two paths that go on from the same one may share their end: the later one
    then changes the earlier. So in `device.attributes["d"].all(k, v, ...)` the key's path becomes the value's.
    """

    __slots__ = ("_length", "_names")

    def __init__(self, names: list[str], length: int) -> None:
        self._names = names
        self._length = length

    def extend(self, name: str) -> Path:
        """The path to a part, by its name."""
        names, length = self._names, self._length
        if length == len(names):
            names = names + [""] * max(length, 1)
        names[length] = name
        return Path(names, length + 1)

    def declared(self) -> Declared | None:
        """What is declared at the end of the path, or None if it does not start at the device or leaves it."""
        if not self._length or self._names[0] != "device":
            return None
        found: Declared | None = _DEVICE
        for name in self._names[1 : self._length]:
            if found is None:
                return None
            found = _step(found, name)
        return found


def _step(declared: Declared, name: str) -> Declared | None:
    if name in ("@items", "@values"):
        return declared.element
    if name == "@keys":
        return declared.key
    if name in declared.fields:
        return declared.fields[name]
    return _ATTRIBUTE if declared.element is _ATTRIBUTE else None


NO_PATH = Path([], 0)

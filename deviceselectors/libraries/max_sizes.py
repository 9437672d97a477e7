"""The greatest sizes that values can have, from which the greatest cost of an evaluation is worked out.

Unlike the API server's estimate (`deviceselectors.sizes`) they are never too low. What is not known to be bounded
counts as unbounded.
"""

from __future__ import annotations

UNBOUNDED = float("inf")
_MAX_DEPTH = 16
#: What exceeds any limit of cost by far; whole numbers would go on growing, up to those that no float can hold.
_BEYOND_LIMITS = 1e30


class MaxSize:
    """The greatest size of a value.

    :param count: of characters, bytes, elements or entries; 1 for scalars
    :param item: that of its elements, or of its keys and values
    :param number: the value itself, if it is a whole number that is known
    """

    __slots__ = ("count", "depth", "item", "number")
    depth: int

    def __init__(self, count: float, item: MaxSize | None = None, number: int | None = None) -> None:
        self.count = count if count < _BEYOND_LIMITS else UNBOUNDED
        #: deeper nesting is not distinguished, so that looking at a size takes no time
        self.item = item if item is None or item.depth < _MAX_DEPTH else UNKNOWN
        self.depth = 1 if self.item is None else self.item.depth + 1
        self.number = number

    def element(self) -> MaxSize:
        """The greatest size of an element."""
        return self.item or SCALAR

    def total(self) -> float:
        """Characters of all elements."""
        return self.count * (1 + (self.item.total() if self.item else 0))


SCALAR = MaxSize(1)
UNKNOWN = MaxSize(UNBOUNDED, MaxSize(UNBOUNDED))


def union(sizes: list[MaxSize]) -> MaxSize | None:
    """A size that none of the given ones exceeds; None for none."""
    if not sizes:
        return None
    if all(size is sizes[0] for size in sizes):
        return sizes[0]
    return MaxSize(max([s.count for s in sizes]), union([s.item for s in sizes if s.item is not None]))


# ---------------------------------------------------------------- sizes of results


def of_first(sizes: list[MaxSize]) -> MaxSize:
    """The result is no larger than the first argument."""
    return sizes[0]


def of_element(sizes: list[MaxSize]) -> MaxSize:
    """The result is an element of the first argument."""
    return sizes[0].element()


def scalar(sizes: list[MaxSize]) -> MaxSize:
    """The result is one character, number or the like."""
    return SCALAR


def opaque(sizes: list[MaxSize]) -> MaxSize:
    """The result is an address, a quantity or a version: such values are never charged more than this."""
    return MaxSize(32)


def concatenated(sizes: list[MaxSize]) -> MaxSize:
    """The result is the first argument with the second behind it."""
    items = [s.item for s in sizes if s.item is not None]
    return MaxSize(sizes[0].count + sizes[1].count, union(items))


def parts(sizes: list[MaxSize]) -> MaxSize:
    """The result is a list of parts of a string."""
    return MaxSize(sizes[0].count + 1, MaxSize(sizes[0].count))


# ---------------------------------------------------------------- bounds of cost


def reads_both(sizes: list[MaxSize], result: MaxSize) -> float:
    """Read two arguments a few times, each character of one for each of the other: what most functions stay below."""
    first, second = lengths(sizes)
    return (first * 0.1 + 2) * (second * 0.1 + 2) * 3 + first + second + 20


def makes_result(sizes: list[MaxSize], result: MaxSize) -> float:
    """Besides reading both arguments, make a list or string that costs by its size."""
    return reads_both(sizes, result) + 2 * result.count


def reads_shorter(sizes: list[MaxSize], result: MaxSize) -> float:
    """Compare two arguments as far as the shorter one goes."""
    return min(lengths(sizes)) + 1


def reads_elements(sizes: list[MaxSize], result: MaxSize) -> float:
    """Read all elements of the first argument."""
    return sizes[0].total() + 1


def compares_elements(sizes: list[MaxSize], result: MaxSize) -> float:
    """Compare each element of the first argument with each of the second."""
    first, second = lengths(sizes)
    return 2 * first * second + 1


def may_panic(sizes: list[MaxSize], result: MaxSize) -> float:
    """Counting its cost makes cel-go panic when the argument is an error, so it must be counted."""
    return UNBOUNDED


def lengths(sizes: list[MaxSize]) -> tuple[float, float]:
    """The lengths of the first two arguments; an error in place of an empty list has length 1."""
    first = max(sizes[0].count, 1) if sizes else 1
    return first, max(sizes[1].count, 1) if len(sizes) > 1 else 1

"""Which GPUs of a node have room for the claims of a pod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from classic.gpu.parameters import GPURequirements

#: How many choices of GPUs are tried before claims count as not fitting: far more than pods need, and soon done.
MOST_CHOICES = 10_000
#: The claims of a pod for which GPUs are looked for together.
MOST_CLAIMS = 128

Memory = Mapping[str, int]
"""Bytes of GPUs by their names."""


def place(wanted: Sequence[GPURequirements], sizes: Memory, free: Memory) -> list[dict[str, int]] | None:
    """The bytes that each of the claims gets of GPUs; None if they do not all fit.

    The GPUs that are filled most are used first, so that large claims find room later.

    :param sizes: all memory of each GPU of the node.
    :param free: what is left of it, perhaps less than nothing.
    """
    if len(wanted) > MOST_CLAIMS:
        return None
    search = _Search(wanted, sizes, dict(free))
    return search.found if search.succeeds(search.order) else None


class _Search:
    """Tries the GPUs for one claim after the other, the largest claim first."""

    def __init__(self, wanted: Sequence[GPURequirements], sizes: Memory, free: dict[str, int]) -> None:
        self.found: list[dict[str, int]] = [{} for _ in wanted]
        self.order = sorted(range(len(wanted)), key=lambda index: _size_of(wanted[index]), reverse=True)
        self._wanted = wanted
        self._sizes = sizes
        self._free = free
        self._choices_left = MOST_CHOICES

    def succeeds(self, order: Sequence[int]) -> bool:
        """Whether these claims fit into what is free; if so, ``found`` says how."""
        if not order:
            return True
        wanted = self._wanted[order[0]]
        memory, count = wanted.memory, wanted.count
        fitting = [name for name in self._sizes if self._has_room(name, memory)]
        fitting.sort(key=lambda name: self._free[name])  # stable: of equal ones the first
        tried = set()
        for names in combinations(fitting, count):
            self._choices_left -= 1
            if self._choices_left < 0:
                return False
            look = tuple((self._free[name], self._sizes[name]) for name in names)
            if look in tried:  # GPUs that are filled alike are alike
                continue
            tried.add(look)
            taken = {name: self._sizes[name] if memory is None else memory for name in names}
            self._add(taken, -1)
            if self.succeeds(order[1:]):
                self.found[order[0]] = taken
                return True
            self._add(taken, 1)
        return False

    def _has_room(self, name: str, memory: int | None) -> bool:
        needed = self._sizes[name] if memory is None else memory
        return 0 < needed <= self._free[name]

    def _add(self, taken: Memory, sign: int) -> None:
        for name, memory in taken.items():
            self._free[name] += sign * memory


def _size_of(wanted: GPURequirements) -> tuple[bool, int, int]:
    """Greater for claims that are harder to place; all of a GPU is more than any number of bytes."""
    return wanted.memory is None, wanted.memory or 0, wanted.count

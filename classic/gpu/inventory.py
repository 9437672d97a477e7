"""The GPUs that the example driver makes up for each node of the cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from classic.gpu.parameters import MOST_GPUS, GPURequirements, ParametersError, memory_bytes
from resourceapi.logs import log
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from serving.logs import LogLimit


@dataclass(frozen=True)
class GPUs:
    """What a node has: GPUs that are alike, and the bytes of memory of each."""

    count: int
    memory: int

    def sizes(self) -> dict[str, int]:
        """The bytes of each GPU by its name."""
        return {f"gpu-{index}": self.memory for index in range(self.count)}


class NodeGPUs:
    """The GPUs of nodes: the same on each, unless labels of the node say otherwise.

    With a driver named ``gpu.example.com``, the labels are ``gpu.example.com/count`` and ``gpu.example.com/memory``.
    """

    def __init__(self, driver_name: str, usual: GPUs, nodes: Callable[[], Mapping[str, Node]]) -> None:
        """Make an inventory.

        :param usual: what a node has without these labels.
        :param nodes: the nodes of the cluster by name, as they are now.
        """
        self._count_label, self._memory_label = f"{driver_name}/count", f"{driver_name}/memory"
        self._usual = usual
        self._nodes = nodes
        self._log_limit = LogLimit()

    def knows(self, node: str) -> bool:
        """Whether the cluster has this node."""
        return node in self._nodes()

    def sizes(self, node: str) -> dict[str, int]:
        """The bytes of each GPU of a node; none for a node that the cluster does not have."""
        found = self._nodes().get(node)
        return {} if found is None else self._gpus(found).sizes()

    def open_nodes(self, suitable: Object | None) -> list[str]:
        """The nodes that take new pods.

        :param suitable: the NodeSelector of a class, None if it has none.
        """
        return [
            name
            for name, node in sorted(self._nodes().items())
            if not node.is_unschedulable and (suitable is None or selects(suitable, node))
        ]

    def _gpus(self, node: Node) -> GPUs:
        """The GPUs of a node; none if its labels cannot be read."""
        try:
            count = number_of_gpus(
                node.labels.get(self._count_label, str(self._usual.count)), self._count_label
            )
            memory = node.labels.get(self._memory_label)
            size = self._usual.memory if memory is None else memory_bytes(memory, self._memory_label)
        except ParametersError as error:
            if self._log_limit.left_out(node.name) is not None:  # each pod that waits has it looked at
                log(logging.WARNING, "node counts as one without GPUs", node=node.name, reason=str(error))
            return GPUs(0, 0)
        return GPUs(count, size)


def number_of_gpus(given: str, field: str) -> int:
    """The number that a text denotes.

    :param field: where it is written, for the message.
    :raises ParametersError: unless a node may have so many GPUs.
    """
    is_number = given.isascii() and given.isdigit() and len(given) < 10
    if not is_number or int(given) > MOST_GPUS:
        raise ParametersError(f"{field}: must be a whole number from 0 to {MOST_GPUS}")
    return int(given)


# Which GPUs of a node have room for the claims of a pod.

#: How many choices of GPUs that lead nowhere are tried for the nodes of a pod: far more than pods need, and soon done.
MOST_DEAD_ENDS = 2_000
#: The claims of a pod for which GPUs are looked for together.
MOST_CLAIMS = 128

Memory = Mapping[str, int]
"""Bytes of GPUs by their names."""


def place(
    wanted: Sequence[GPURequirements], sizes: Memory, free: Memory, most_dead_ends: int = MOST_DEAD_ENDS
) -> list[dict[str, int]] | None:
    """The bytes that each of the claims gets of GPUs; None if they do not all fit, or that takes too long to find.

    The GPUs that are filled most are used first, so that large claims find room later.

    :param sizes: all memory of each GPU of the node.
    :param free: what is left of it, perhaps less than nothing.
    """
    search = _Search(wanted, sizes, free, most_dead_ends)
    return search.found if search.succeeds() else None


class Suitability:
    """Says of one node after the other whether all claims of a pod fit.

    What the search may cost is divided among the nodes: however hard a pod makes it, and for however many nodes, it ends
    soon, and no node uses up what others need. Nodes that are filled alike are searched once.
    """

    def __init__(self, wanted: Sequence[GPURequirements], nodes: int) -> None:
        """Begin.

        :param nodes: of how many nodes this is going to be asked.
        """
        self._wanted = wanted
        self._nodes_left = nodes
        self.dead_ends_left = MOST_DEAD_ENDS
        self._found: dict[tuple[tuple[int, int], ...], bool] = {}

    def fits(self, sizes: Memory, free: Memory) -> bool:
        """Whether the claims fit into what is free on the next node (as :func:`place`)."""
        share = self.dead_ends_left // max(self._nodes_left, 1)
        self._nodes_left -= 1
        look = tuple(sorted((size, free[name]) for name, size in sizes.items()))
        if look not in self._found:
            search = _Search(self._wanted, sizes, free, share)
            self._found[look] = search.succeeds()
            self.dead_ends_left -= search.dead_ends
        return self._found[look]


class _Search:
    """Tries the GPUs for one claim after the other, the largest claim first."""

    def __init__(
        self, wanted: Sequence[GPURequirements], sizes: Memory, free: Memory, most_dead_ends: int
    ) -> None:
        self.found: list[dict[str, int]] = [{} for _ in wanted]
        self.dead_ends = 0
        self._most_dead_ends = most_dead_ends
        self._order = sorted(range(len(wanted)), key=lambda index: _size_of(wanted[index]), reverse=True)
        self._wanted = wanted
        self._sizes = sizes
        self._free = dict(free)

    def succeeds(self) -> bool:
        """Whether the claims fit into what is free; if so, ``found`` says how."""
        return len(self._wanted) <= MOST_CLAIMS and self._is_possible() and self._succeeds_from(0)

    def _is_possible(self) -> bool:
        """Whether there is as much free memory as the claims ask for, wherever it is."""
        asked = sum((wanted.memory or 0) * wanted.count for wanted in self._wanted)
        return asked <= sum(max(memory, 0) for memory in self._free.values())

    def _succeeds_from(self, position: int) -> bool:
        """Whether the claims from this position of the order on fit."""
        if position == len(self._order):
            return True
        index = self._order[position]
        wanted = self._wanted[index]
        fitting = [name for name in self._sizes if self._has_room(name, wanted.memory)]
        fitting.sort(key=lambda name: self._free[name])  # stable: of equal ones the first
        tried = set()
        for names in combinations(fitting, wanted.count):
            look = tuple((self._free[name], self._sizes[name]) for name in names)
            if look not in tried:  # GPUs that are filled alike are alike
                tried.add(look)
                taken = {
                    name: self._sizes[name] if wanted.memory is None else wanted.memory for name in names
                }
                self._add(taken, -1)
                if self._succeeds_from(position + 1):
                    self.found[index] = taken
                    return True
                self._add(taken, 1)
            self.dead_ends += 1
            if self.dead_ends > self._most_dead_ends:
                return False
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

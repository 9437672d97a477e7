"""The GPUs that the example driver makes up for each node of the cluster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from classic.gpu.parameters import MOST_GPUS, ParametersError, memory_bytes
from resourceapi.logs import log
from resourceapi.manifests import labels_of, mapping, name_of
from resourceapi.node_selection import selects
from resourceapi.objects import Object


@dataclass(frozen=True)
class GPUs:
    """What a node has: GPUs that are alike, and the bytes of memory of each."""

    count: int
    memory: int

    def sizes(self) -> dict[str, int]:
        """The bytes of each GPU by its name."""
        return {f"gpu-{index}": self.memory for index in range(self.count)}


class Inventory:
    """The GPUs of nodes: the same on each, unless labels of the node say otherwise.

    With a driver named ``gpu.example.com``, the labels are ``gpu.example.com/count`` and ``gpu.example.com/memory``.
    """

    def __init__(self, driver_name: str, usual: GPUs, nodes: Callable[[], Mapping[str, Object]]) -> None:
        """Make an inventory.

        :param usual: what a node has without these labels.
        :param nodes: the Node objects of the cluster by name, as they are now.
        """
        self._count_label, self._memory_label = f"{driver_name}/count", f"{driver_name}/memory"
        self._usual = usual
        self._nodes = nodes

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
            if not mapping(node, "spec").get("unschedulable")
            and (suitable is None or selects(suitable, node))
        ]

    def _gpus(self, node: Object) -> GPUs:
        """The GPUs of a node; none if its labels cannot be read."""
        labels = labels_of(node)
        try:
            count = number_of_gpus(labels.get(self._count_label, str(self._usual.count)), self._count_label)
            memory = labels.get(self._memory_label)
            size = self._usual.memory if memory is None else memory_bytes(memory, self._memory_label)
        except ParametersError as error:
            log(logging.WARNING, "node counts as one without GPUs", node=name_of(node), reason=str(error))
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

"""Nodes: their labels and taints, whether they are cordoned, and what pods can have of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import NamedTuple

from resourceapi import quantity
from resourceapi.manifests import entries, labels_of, mapping, name_of
from resourceapi.objects import Object
from resourceapi.quantity import Quantity, QuantityError
from resourceapi.records.taints import Taint, read_taint

#: The label by which kubelet tells the host name of its node.
HOSTNAME = "kubernetes.io/hostname"


class Node(NamedTuple):
    """A Node.

    :param is_unschedulable: whether it is cordoned.
    :param declared_features: what its kubelet says that it can do (`status.declaredFeatures`).
    :param allocatable: what pods can have of it; empty if it does not say so, as a Node without kubelet's status does not.
    """

    name: str
    labels: Mapping[str, str] = MappingProxyType({})
    taints: tuple[Taint, ...] = ()
    is_unschedulable: bool = False
    declared_features: frozenset[str] = frozenset()
    allocatable: Mapping[str, Quantity] = MappingProxyType({})

    @property
    def host_name(self) -> str:
        """Its label for the host name, or else its name."""
        return self.labels.get(HOSTNAME) or self.name


def read_node(value: Object) -> Node | None:
    """A Node, also with mistakes; None without a name."""
    name = name_of(value)
    if not name:
        return None
    spec, status = mapping(value, "spec"), mapping(value, "status")
    return Node(
        name,
        labels_of(value),
        tuple(read_taint(each) for each in entries(spec, "taints") if isinstance(each, dict)),
        spec.get("unschedulable") is True,
        frozenset(each for each in entries(status, "declaredFeatures") if isinstance(each, str)),
        _quantities(mapping(status, "allocatable") or mapping(status, "capacity")),
    )


def _quantities(values: Object) -> Mapping[str, Quantity]:
    found = {}
    for name, value in values.items():
        with suppress(QuantityError):
            found[str(name)] = quantity.from_json(value)
    return found

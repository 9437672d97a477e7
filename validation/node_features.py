"""Admission by what nodes declare (plugin NodeDeclaredFeatureValidator)."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.go_text import listed, quote
from resourceapi.node_selection import selects, wrong_bounds
from resourceapi.objects import EMPTY, Object

FEATURE = "DRANodeAllocatableResources"


class UnusableSelector(Exception):
    """A selector of nodes that the plugin cannot use; the text is the answer's message."""


def refuse_slice(resource_slice: Object, nodes: dict[str, Object]) -> str:
    """Why a slice is refused: a device uses resources of nodes that cannot account for it; empty if it is accepted.

    :raises UnusableSelector: if it cannot be told which nodes that are.
    """
    spec = resource_slice.get("spec", EMPTY)
    for device in spec.get("devices") or ():
        if device.get("nodeAllocatableResources"):
            owner = device if spec.get("perDeviceNodeSelection") else spec
            reason = _refuse_device(device.get("name", ""), owner, nodes)
            if reason:
                return reason
    return ""


def _refuse_device(name: str, owner: Object, nodes: dict[str, Object]) -> str:
    """``owner``: the device or the slice, whichever says for which nodes the device is."""
    if node_name := owner.get("nodeName"):
        node = nodes.get(node_name)
        if node is None:
            return f"node {quote(node_name)} not found for device {quote(name)}"
        return _first_without_feature((node,))
    if "nodeSelector" in owner:
        wrong = list(wrong_bounds(owner["nodeSelector"]))
        if wrong:
            raise UnusableSelector(f"failed to create node selector: {listed(wrong)}")
        return _first_without_feature(node for node in nodes.values() if selects(owner["nodeSelector"], node))
    return _first_without_feature(nodes.values())  # the rules leave nothing else but all nodes


def _first_without_feature(nodes: Iterable[Object]) -> str:
    for node in nodes:
        if FEATURE not in (node.get("status", EMPTY).get("declaredFeatures") or ()):
            return f"node {quote(node['metadata']['name'])} does not support {FEATURE} feature"
    return ""

"""Values, taints, places and users of devices as people read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from allocator.allocated import in_words, listed
from allocator.devices import Device
from allocator.pod_nodes import CORDONED
from claimcheck.answers.devices.cluster_devices import ClusterDevices, Use
from claimcheck.answers.devices.pool_left import GroupsOn
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import value_of

NONE = "<none>"
ALL_NODES, BY_SELECTOR, UNKNOWN = "<all>", "<selected>", "<unknown>"


def value(attribute: Object) -> str:
    """The value of an attribute: ``a100``, ``true``, ``["a","b"]``."""
    found: Any = next(iter(attribute.values()), None)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def amount(capacity: Object) -> str:
    """The amount of a capacity: ``80Gi``."""
    return str(value_of(capacity))


def amount_and_policy(capacity: Object) -> str:
    """The amount of a capacity, and which amounts requests take: ``100G (default 1G, from 1G in steps of 1G)``."""
    said = policy(capacity)
    return f"{amount(capacity)} ({said})" if said else amount(capacity)


def policy(capacity: Object) -> str:
    """Which amounts of a capacity requests take: ``default 1G, only 1G or 2G``; empty without a policy."""
    found: Object = capacity.get("requestPolicy") or EMPTY
    range: Object = found.get("validRange") or EMPTY
    parts = [f"default {found['default']}"] if found.get("default") is not None else []
    bounds = (("from", "min"), ("to", "max"), ("in steps of", "step"))
    if limits := [f"{word} {range[key]}" for word, key in bounds if range.get(key) is not None]:
        parts.append(" ".join(limits))
    if values := found.get("validValues"):
        parts.append(f"only {' or '.join(map(str, values))}")
    return ", ".join(parts)


def place(device: Device) -> str:
    """The node of a device, or how its slice says on which nodes it can be used."""
    where = device.placement
    if name := where.get("nodeName"):
        return str(name)
    if where.get("allNodes"):
        return ALL_NODES
    return BY_SELECTOR if where.get("nodeSelector") is not None else UNKNOWN


def node_state(devices: ClusterDevices, device: Device) -> str:
    """What keeps pods from the node of the device: ``node cordoned``, ``node tainted``; empty if nothing is known to."""
    closed = devices.closed(device)
    if closed is None:
        return ""
    return "node cordoned" if closed.plugin == CORDONED else "node tainted"


def users(uses: Sequence[Use]) -> list[str]:
    """The claims of a device: ``team/train``, ``ops/monitor (admin)``."""
    return [f"{each.holder.claim} (admin)" if each.result.is_admin else each.holder.claim for each in uses]


def pods(uses: Sequence[Use]) -> list[str]:
    """The pods, and whatever else, for which the claims of a device are reserved."""
    return list(dict.fromkeys(user for each in uses for user in (*each.holder.pods, *each.holder.others)))


def groups(found: GroupsOn) -> tuple[str, str]:
    """The compatibility groups of a device on a counter set, and those in use there: ``groups {mig}``, ``groups {vgpu} in use``."""
    used = "not in use" if found.in_use is None else f"{in_words(found.in_use)} in use"
    return listed(found.groups), used


def some(parts: Sequence[str], most: int = 1) -> str:
    """The first parts, and the number of the others: ``team/train,+2``."""
    if not parts:
        return NONE
    return ",".join(parts[:most]) + (f",+{len(parts) - most}" if len(parts) > most else "")


def node_selector(device: Device) -> Object:
    """The selector of the nodes on which a device can be used; empty if it has none."""
    found: Object = device.placement.get("nodeSelector") or EMPTY
    return found

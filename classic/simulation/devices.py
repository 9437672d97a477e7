"""A driver with a number of devices on each node, which takes its time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from classic.driver import ClaimAllocation
from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import key_of, mapping, uid_of
from resourceapi.objects import Object

#: What a driver tells: what it was asked, what it answered, why, and about which nodes.
Tell = Callable[[str, str, str, Sequence[str]], None]


class NoDevices(ClaimcheckError):
    """No node, or not the one that was selected, has the devices that a claim asks for."""


@dataclass(frozen=True)
class DriverSettings:
    """What a driver has, and how fast it is.

    :ivar devices: their number by node.
    :ivar shareable: whether several pods may use a claim.
    :ivar start_seconds: when its controller starts.
    :ivar check_seconds: how long it takes to check nodes.
    :ivar allocate_seconds: how long it takes to allocate claims.
    :ivar deallocate_seconds: how long it takes to deallocate one.
    """

    devices: Mapping[str, int] = field(default_factory=dict)
    shareable: bool = False
    start_seconds: float = 0.0
    check_seconds: float = 0.0
    allocate_seconds: float = 0.0
    deallocate_seconds: float = 0.0


class CountingDriver:
    """A :class:`classic.driver.Driver`: each claim takes the number of devices that its parameters ask for, else one."""

    def __init__(self, settings: DriverSettings, parameters: Callable[[Object], Object | None], tell: Tell):
        """Make it.

        :param parameters: the object to which the ``parametersRef`` of a claim refers.
        :param tell: is told of each answer.
        """
        self._settings = settings
        self._parameters = parameters
        self._tell = tell
        #: where claims have how many devices, by the uids of the claims
        self._held: dict[str, tuple[str, int]] = {}

    async def get_class_parameters(self, resource_class: Object) -> object:
        """Nothing."""
        return None

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> object:
        """How many devices a claim asks for."""
        return device_count(self._parameters(claim))

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        """Give devices to each claim, on the selected node or on the one that has most."""
        await asyncio.sleep(self._settings.allocate_seconds)
        for each in claims:
            node = selected_node or self._emptiest()
            wanted = _count(each)
            held = self._held.get(uid_of(each.claim), ("", 0))
            if held != (node, wanted) and self._free(node) < wanted:
                each.error = NoDevices(f"node {node} has {self._free(node)} free devices, not {wanted}")
                self._tell("Allocate", "Error", str(each.error), [node])
                continue
            self._held[uid_of(each.claim)] = node, wanted
            each.allocation = _allocation(node, shareable=self._settings.shareable)
            self._tell("Allocate", "Success", f"allocated to {key_of(each.claim)}", [node])

    async def deallocate(self, claim: Object) -> None:
        """Take the devices of a claim back."""
        await asyncio.sleep(self._settings.deallocate_seconds)
        node, _ = self._held.pop(uid_of(claim), ("", 0))
        self._tell("Deallocate", "Success", f"taken back from {key_of(claim)}", [node] if node else [])

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        """The nodes without enough free devices for all the claims are unsuitable for each of them."""
        await asyncio.sleep(self._settings.check_seconds)
        uids = {uid_of(each.claim) for each in claims}
        wanted = sum(_count(each) for each in claims)
        unsuitable = [node for node in potential_nodes if self._free(node, uids) < wanted]
        for each in claims:
            each.unsuitable_nodes = list(unsuitable)
        answer = "unsuitable" if unsuitable else "no node is unsuitable"
        self._tell("UnsuitableNodes", "Success", answer, unsuitable)

    def _free(self, node: str, without: set[str] | None = None) -> int:
        """The devices of a node that are free, apart from those of some claims."""
        used = sum(
            count for uid, (at, count) in self._held.items() if at == node and uid not in (without or ())
        )
        return self._settings.devices.get(node, 0) - used

    def _emptiest(self) -> str:
        free = Counter({node: self._free(node) for node in sorted(self._settings.devices)})
        return free.most_common(1)[0][0] if free else ""


def device_count(parameters: Object | None) -> int:
    """How many devices a parameters object asks for: its ``spec.count`` or ``count``, else one."""
    for section in (mapping(parameters, "spec"), mapping(parameters)):
        count = section.get("count")
        if isinstance(count, int) and not isinstance(count, bool) and count > 0:
            return count
    return 1


def _count(each: ClaimAllocation) -> int:
    assert isinstance(each.claim_parameters, int)
    return each.claim_parameters


def _allocation(node: str, *, shareable: bool) -> Object:
    name = {"key": "metadata.name", "operator": "In", "values": [node]}
    nodes = {"nodeSelectorTerms": [{"matchFields": [name]}]}
    return {"availableOnNodes": nodes, **({"shareable": True} if shareable else {})}

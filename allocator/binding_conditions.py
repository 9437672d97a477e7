"""Conditions of allocated devices that kube-scheduler waits for before it binds a pod to its node (KEP-5007).

Once it has allocated a claim, a pod stays pending until drivers have set all `bindingConditions` of its devices to True in the
claim's `status.devices`. When one of the `bindingFailureConditions` is True, or after some time (`bindingTimeout`),
kube-scheduler takes back the devices and starts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from allocator.allocated import allocation_of
from allocator.features import Features
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object


class OpenCondition(NamedTuple):
    """A condition of a device that keeps a pod from being bound.

    :param claim: the name of the claim.
    :param device: the result of the allocation.
    :param name: the type of the condition.
    :param failed: whether it says that binding has failed; or else it has to be True, and is not.
    :param found: the condition that a driver has set; empty if there is none.
    """

    claim: str
    device: Object
    name: str
    failed: bool
    found: Object

    @property
    def device_name(self) -> str:
        """The device as `driver/pool/device`."""
        return "/".join(text(self.device, part) for part in _DEVICE)

    @property
    def status(self) -> str:
        """The status that a driver has set; empty if it has set none."""
        return text(self.found, "status")

    @property
    def text(self) -> str:
        """`acme.io/attached of fab.acme.io/fab/f0 (claim a/fab) is False (NoCable: it is not plugged in)`."""
        why = ": ".join(filter(None, (text(self.found, "reason"), text(self.found, "message"))))
        state = f"is {self.status}" if self.status else "is not set"
        return f"{self.name} of {self.device_name} (claim {self.claim}) {state}{f' ({why})' if why else ''}"


_DEVICE = ("driver", "pool", "device")


def open_conditions(claims: Iterable[tuple[str, Object]], features: Features) -> list[OpenCondition]:
    """The conditions that keep a pod with these allocated claims from being bound; those that have failed come first.

    :param claims: with their names.
    """
    if not features.binding_conditions:
        return []
    found = [each for name, claim in claims for each in _of_claim(name, claim)]
    return sorted(found, key=lambda each: not each.failed)


def is_overdue(claim: Object, seconds: float, now: datetime) -> bool:
    """Whether a claim got devices with binding conditions longer ago than a pod waits for them.

    :param seconds: how long it waits, from ``allocationTimestamp`` on; for ever without that.
    """
    allocation = allocation_of(claim) or {}
    since = text(allocation, "allocationTimestamp")
    if not since or not any(
        entries(each, "bindingConditions") for each in entries(mapping(allocation, "devices"), "results")
    ):
        return False
    return datetime.fromisoformat(since) + timedelta(seconds=seconds) < now


def _of_claim(name: str, claim: Object) -> Iterator[OpenCondition]:
    for device in entries(mapping(allocation_of(claim), "devices"), "results"):
        wanted = entries(device, "bindingConditions")
        conditions = _conditions(claim, device) if wanted else {}
        for condition in entries(device, "bindingFailureConditions"):
            if wanted and text(conditions.get(condition), "status") == "True":
                yield OpenCondition(name, device, condition, failed=True, found=conditions[condition])
        for condition in wanted:
            if text(conditions.get(condition), "status") != "True":
                yield OpenCondition(
                    name, device, condition, failed=False, found=conditions.get(condition, {})
                )


def _conditions(claim: Object, device: Object) -> dict[str, Object]:
    """The conditions that drivers have set for an allocated device, by type; of entries for one device the first counts."""
    same = [
        each
        for each in entries(mapping(claim, "status"), "devices")
        if all(text(each, part) == text(device, part) for part in _DEVICE)
    ]
    return {text(each, "type"): each for each in entries(same[0], "conditions")} if same else {}

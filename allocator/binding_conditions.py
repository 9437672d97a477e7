"""Conditions of allocated devices that kube-scheduler waits for before it binds a pod to its node (KEP-5007).

Once it has allocated a claim, a pod stays pending until drivers have set all `bindingConditions` of its devices to True in the
claim's `status.devices`. When one of the `bindingFailureConditions` is True, or after some time (`bindingTimeout`),
kube-scheduler takes back the devices and starts again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from allocator.features import Features
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, DeviceResult
from resourceapi.times import moment


class OpenCondition(NamedTuple):
    """A condition of a device that keeps a pod from being bound.

    :param claim: the `namespace/name` of the claim.
    :param result: the device.
    :param name: the type of the condition.
    :param failed: whether it says that binding has failed; or else it has to be True, and is not.
    :param found: the condition that a driver has set; empty if there is none.
    """

    claim: str
    result: DeviceResult
    name: str
    failed: bool
    found: Object

    @property
    def status(self) -> str:
        """The status that a driver has set; empty if it has set none."""
        return text(self.found, "status")

    @property
    def text(self) -> str:
        """`acme.io/attached of fab.acme.io/fab/f0 (claim a/fab) is False (NoCable: it is not plugged in)`."""
        why = ": ".join(filter(None, (text(self.found, "reason"), text(self.found, "message"))))
        state = f"is {self.status}" if self.status else "is not set"
        return f"{self.name} of {self.result.device} (claim {self.claim}) {state}{f' ({why})' if why else ''}"


def open_conditions(claims: Iterable[Claim], features: Features) -> list[OpenCondition]:
    """The conditions that keep a pod with these allocated claims from being bound; those that have failed come first."""
    if not features.binding_conditions:
        return []
    found = [each for claim in claims for each in _of_claim(claim)]
    return sorted(found, key=lambda each: not each.failed)


def is_overdue(claim: Claim, seconds: float, now: datetime) -> bool:
    """Whether a claim got devices with binding conditions longer ago than a pod waits for them.

    :param seconds: how long it waits, from ``allocationTimestamp`` on; for ever without that.
    """
    since = "" if claim.allocation is None else text(claim.allocation.object, "allocationTimestamp")
    if not since or not any(entries(each.object, "bindingConditions") for each in claim.results):
        return False
    return (now - moment(since)).total_seconds() > seconds


def _of_claim(claim: Claim) -> Iterator[OpenCondition]:
    for result in claim.results:
        wanted = entries(result.object, "bindingConditions")
        found = _conditions(claim, result) if wanted else {}
        for name in entries(result.object, "bindingFailureConditions"):
            if wanted and text(found.get(name), "status") == "True":
                yield OpenCondition(claim.key, result, name, failed=True, found=found[name])
        for name in wanted:
            if text(found.get(name), "status") != "True":
                yield OpenCondition(claim.key, result, name, failed=False, found=found.get(name, {}))


def _conditions(claim: Claim, result: DeviceResult) -> dict[str, Object]:
    """The conditions that drivers have set for an allocated device, by type; of entries for one device the first counts."""
    for each in entries(mapping(claim.object, "status"), "devices"):
        if (text(each, "driver"), text(each, "pool"), text(each, "device")) == result.device:
            return {text(condition, "type"): condition for condition in entries(each, "conditions")}
    return {}

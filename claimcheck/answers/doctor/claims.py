"""Claims that keep devices for nobody, cannot go, or have devices that others have as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from claimcheck.answers.devices.cluster_devices import Use
from claimcheck.answers.doctor.checks import (
    ADMIN_ACCESS,
    FULL_CLAIM,
    GONE_CONSUMER,
    GONE_OWNER,
    MISSING_DEVICE,
    STUCK_DELETION,
    UNUSED_ALLOCATION,
    USED_TWICE,
    Check,
)
from claimcheck.answers.doctor.examined import Affected, Diagnosis, Examined, command
from cluster.objects import CLAIM
from resourceapi.limits import RESERVED_FOR
from resourceapi.manifests import mapping
from resourceapi.phrases import number
from resourceapi.records.claims import Claim, Consumer
from resourceapi.records.pools import DeviceId

#: A claim that is reserved for so many pods is nearly full.
_NEARLY_FULL = RESERVED_FOR * 9 // 10


def check(examined: Examined) -> Iterator[Diagnosis]:
    """All about claims."""
    yield from _unused(examined)
    yield from _nearly_full(examined)
    yield from _missing_devices(examined)
    yield from _used_twice(examined)
    yield from _admin_access(examined)


def _unused(examined: Examined) -> Iterator[Diagnosis]:
    """Claims that keep something for nobody, each with the first of the causes that it has."""
    if not examined.knows_pods:
        return
    found: dict[Check, list[Claim]] = {}
    for claim in examined.claims:
        if (what := _unused_for(examined, claim)) is not None:
            found.setdefault(what, []).append(claim)
    for what, cause in _CAUSES.items():
        if claims := found.get(what):
            yield Diagnosis(what, cause, [_affected(claim.key, len(_kept(claim))) for claim in claims])


_CAUSES = {
    GONE_OWNER: "made for a pod that does not exist any more",
    STUCK_DELETION: "deleted but for its finalizers, and no pod uses it",
    GONE_CONSUMER: "reserved only for pods that do not exist any more, or have ended",
    UNUSED_ALLOCATION: "allocated, and reserved for nobody",
}


def _unused_for(examined: Examined, claim: Claim) -> Check | None:
    """Why a claim is of no use; None if it is."""
    if any(_may_exist(examined, claim, each) for each in claim.consumers):
        return None
    makers = [each for each in claim.owners if each.kind == "Pod" and each.is_controller]
    if makers and not any(examined.exists(claim.namespace, each.name, each.uid) for each in makers):
        return GONE_OWNER
    if mapping(claim.object, "metadata").get("deletionTimestamp"):
        return STUCK_DELETION
    if claim.consumers:
        return GONE_CONSUMER
    # kube-scheduler allocates and reserves in one write, so that there is no such claim for a moment
    return UNUSED_ALLOCATION if claim.is_allocated else None


def _may_exist(examined: Examined, claim: Claim, consumer: Consumer) -> bool:
    """Whether what a claim is reserved for may be there: of others than pods nothing is known."""
    if consumer.group or consumer.resource != "pods":
        return True
    return examined.exists(claim.namespace, consumer.name, consumer.uid)


def _kept(claim: Claim) -> list[DeviceId]:
    """The devices that others cannot have because of a claim."""
    return [each.device for each in claim.results if not each.is_admin]


def _nearly_full(examined: Examined) -> Iterator[Diagnosis]:
    for claim in examined.claims:
        users = len(claim.consumers)
        if users >= _NEARLY_FULL:
            cause = f"reserved for {users} of the {RESERVED_FOR} pods that a claim can be reserved for"
            yield Diagnosis(FULL_CLAIM, cause, [_affected(claim.key)])


def _missing_devices(examined: Examined) -> Iterator[Diagnosis]:
    """Claims with devices that no slice has, by driver: its pods are where to look."""
    found: dict[str, dict[str, None]] = {}
    for device, uses in examined.devices.vanished().items():
        found.setdefault(device.driver, {}).update((use.holder.claim, None) for use in uses)
    for driver, claims in found.items():
        objects = [_affected(claim) for claim in claims if examined.looks_at(_namespace(claim))]
        if objects:
            cause = f"has a device of {driver} that no ResourceSlice has"
            yield Diagnosis(MISSING_DEVICE, cause, objects, command=command("devices", f"--driver={driver}"))


def _used_twice(examined: Examined) -> Iterator[Diagnosis]:
    """Devices that several claims have which only one may have, by these claims."""
    found: dict[frozenset[str], list[DeviceId]] = {}
    for device, uses in sorted(_used_by_several(examined).items()):
        owned = [use for use in uses if not use.result.is_admin]
        shares = Counter(use.result.share for use in owned)
        claims = {use.holder.claim for use in owned if shares[use.result.share] > 1 or shares[None]}
        if len(claims) > 1 and any(examined.looks_at(_namespace(claim)) for claim in claims):
            found.setdefault(frozenset(claims), []).append(device)
    for together, devices in found.items():
        more = f" and {number(len(devices) - 1, 'other device')}" if len(devices) > 1 else ""
        cause = f"has {devices[0]}{more}, which other claims have as well"
        objects = [_affected(claim) for claim in sorted(together)]
        yield Diagnosis(USED_TWICE, cause, objects, command=command("devices", str(devices[0])))


def _admin_access(examined: Examined) -> Iterator[Diagnosis]:
    """Claims with admin access to what others use, by driver."""
    found: dict[str, dict[str, None]] = {}
    for device, uses in sorted(_used_by_several(examined).items()):
        if any(not use.result.is_admin for use in uses):
            admins = ((use.holder.claim, None) for use in uses if use.result.is_admin)
            found.setdefault(device.driver, {}).update(admins)
    for driver, claims in found.items():
        objects = [_affected(claim) for claim in claims if examined.looks_at(_namespace(claim))]
        if objects:
            cause = f"has admin access to devices of {driver} that other claims use"
            yield Diagnosis(ADMIN_ACCESS, cause, objects, command=command("devices", f"--driver={driver}"))


def _used_by_several(examined: Examined) -> dict[DeviceId, list[Use]]:
    return {device: uses for device, uses in examined.devices.all_uses.items() if len(uses) > 1}


def _namespace(claim: str) -> str:
    return claim.partition("/")[0]


def _affected(claim: str, devices: int = 0) -> Affected:
    """A claim by `namespace/name`."""
    namespace, _, name = claim.partition("/")
    return Affected(CLAIM, namespace, name, devices)

"""Whether a claim could be allocated to the devices that it has, if it were not allocated yet, and why not."""

from __future__ import annotations

from typing import NamedTuple

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand, ClaimHeader
from allocator.devices import Device
from allocator.errors import AllocationError, Text, in_words
from allocator.explaining.rejections import Rejection
from allocator.rules import RULES
from allocator.rules.rule import Evidence, Objection
from allocator.rules.selector_outcomes import SelectorOutcomes
from resourceapi.records.claims import Claim
from resourceapi.records.pools import DeviceId


class Refused(NamedTuple):
    """A device that a claim has and would not get again, and why not."""

    device: DeviceId
    reason: str


def refused_again(
    attempt: Attempt, outcomes: SelectorOutcomes, demand: ClaimDemand, claim: Claim
) -> Refused | None:
    """The first of a claim's devices that it would not get again; None if it would get them all.

    :param attempt: a new one, on the node of the devices, while the claim holds nothing.
    :param demand: what the claim asks for, maybe that of another one that asks for the same.
    :param claim: an allocated claim, whose devices are taken one after the other.
    """
    evidence = Evidence(attempt, {}, outcomes)
    devices = {device.id: device for pool in attempt.pools if pool.usable for device in pool.devices}
    alternatives = {each.name: each for request in demand.requests for each in request.alternatives}
    for result in claim.results:
        alternative = alternatives.get(result.request)
        device = devices.get(result.device)
        if device is None:
            return Refused(result.device, "it is in no slice from which devices can be allocated there")
        if alternative is None:
            return Refused(device.id, f"the claim has no request {result.request}")
        if problem := alternative.problem or _reason(evidence, alternative, device):
            named = [claim.key if isinstance(part, ClaimHeader) else part for part in problem]
            return Refused(device.id, in_words(tuple(named)))
    return None


def _reason(evidence: Evidence, alternative: Alternative, device: Device) -> Text:
    """Why the device cannot be taken after those before; otherwise it is taken, and the reason is empty."""
    for rule in RULES:
        for part in rule.parts(alternative):
            objection = part.objection(evidence, alternative, device)
            if objection is not None:
                said = _worded(objection)
                return (f"{rule.title} {said}" if rule.title.endswith(":") else said or rule.title,)
    attempt = evidence.state
    assert isinstance(attempt, Attempt)
    try:
        return (
            () if attempt.take(alternative, device, must=False) else ("it cannot be taken with the others",)
        )
    except AllocationError as error:
        return error.text


def _worded(objection: Objection) -> str:
    rejection = Rejection(objection.causes)
    rejection.note(objection.causes, objection.claims)
    held = f"held by {', '.join(objection.claims)}" if objection.claims else ""
    return ", ".join(part for part in (rejection.reason, held) if part)

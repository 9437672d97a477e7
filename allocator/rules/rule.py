"""What a rule is: a predicate for the search, and an objection in words for those who ask why."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from allocator.attempt_state import AttemptState
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.rules.selector_outcomes import SelectorOutcomes
from resourceapi.records.pools import DeviceId


class Cause(NamedTuple):
    """One thing that an objection is about.

    `text`: what is the same for all such devices; `seen`: what the rule saw on this one, each with what it is a value of
    (empty if the text says that); `wanted`: what it would have accepted; `for_tenants`: completes the sentence "request …
    finds …" for those who may not read ResourceSlices, if there is such a sentence.
    """

    text: str = ""
    seen: tuple[tuple[str, str], ...] = ()
    wanted: str = ""
    for_tenants: str = ""


class Objection(NamedTuple):
    """Why a device cannot be taken for a request; it has causes, or only claims, which hold the device.

    `claims`: those that hold what is missing; `missing`: the attribute that the device lacks (`domain/name`);
    `failed`: whether the rule fails on the device, which ends the search, rather than turns it down.
    """

    causes: tuple[Cause, ...] = ()
    claims: tuple[str, ...] = ()
    missing: str = ""
    failed: bool = False


class Evidence(NamedTuple):
    """What objections are made from: the state of an attempt, and words for it.

    `holders`: which claims hold a device, or a share of it, by their names.
    """

    state: AttemptState
    holders: Mapping[DeviceId, Sequence[str]]
    selectors: SelectorOutcomes

    def holders_of(self, device: Device) -> tuple[str, ...]:
        """The names of the claims that hold a device, or a share of it."""
        return tuple(self.holders.get(device.id, ()))


class Rule(ABC):
    """A rule about one device and one request or alternative.

    :meth:`admits` and :meth:`objection` state the same: the test suite holds them to each other over random clusters.
    """

    #: names the rule in JSON
    name: ClassVar[str]
    #: completes "N devices left after …" in text; `about` follows it
    title: ClassVar[str]
    #: whether it decides which devices match a request, rather than which of them can be taken now
    selects: ClassVar[bool] = False
    #: the expression or the attribute that this part of the rule is about
    about: str = ""

    @classmethod
    def parts(cls, alternative: Alternative) -> Iterable[Rule]:
        """The rule for a request, in as many parts as it has selectors or constraints."""
        del alternative
        return (cls(),)

    @staticmethod
    @abstractmethod
    def admits(state: AttemptState, alternative: Alternative, device: Device) -> bool:
        """Whether the rule lets the device be taken for the alternative, after what has been taken already.

        Of a device that it lets pass, the rule notes in the state what later devices have to go with; whoever does not
        take the device undoes that (`AttemptState.trail`).

        :raises AllocationError: if the search ends here.
        """

    @abstractmethod
    def objection(self, evidence: Evidence, alternative: Alternative, device: Device) -> Objection | None:
        """Why this part of the rule does not let the device be taken; None if it does. Changes nothing."""

    def looks_at(
        self, evidence: Evidence, alternative: Alternative, devices: Sequence[Device]
    ) -> Iterable[tuple[str, str]]:
        """The attributes and capacities by which it judges these devices: `attributes` or `capacity`, and the name.

        A name without domain is the driver's.
        """
        del evidence, alternative, devices
        return ()


def because(text: str, claims: tuple[str, ...] = (), *, missing: str = "", failed: bool = False) -> Objection:
    """An objection with one cause, which is the same for all devices."""
    return Objection((Cause(text),), claims, missing, failed)

"""Attributes and capacities that a request or constraint names but that none of the devices it could take has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from allocator.constraint_state import Constraint, published
from allocator.demand import Alternative, ClaimDemand, ClaimHeader
from allocator.devices import Device
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.steps import Passed
from allocator.patches import PatchFailure
from allocator.patches.patch import Patch, removes
from allocator.rules.selector_outcomes import SelectorOutcomes
from deviceselectors.lookups import ATTRIBUTES
from deviceselectors.spelling import similar_name

#: Names of those that devices have that are kept.
MAX_NAMES = 256
ATTRIBUTE, CAPACITY = "attribute", "capacity"


class AbsentName(NamedTuple):
    """An attribute or capacity that no device has.

    :param kind: ATTRIBUTE or CAPACITY.
    :param domain: its domain; that of a capacity request is empty.
    :param claim: the claim that names it.
    :param place: where the claim names it: `the selector of request gpu`.
    :param constraint: the index of the constraint that names it.
    :param devices: how many devices could have it.
    :param known: the qualified names that they have instead.
    :param idle_patches: the names of patches that would give it, but apply to no device, each with the failure, if any.
    """

    kind: str
    domain: str
    name: str
    claim: str
    place: str
    alternative: str
    constraint: int | None
    devices: int
    known: tuple[str, ...]
    idle_patches: tuple[tuple[str, PatchFailure | None], ...] = ()

    @property
    def qualified(self) -> str:
        """The name with its domain."""
        return f"{self.domain}/{self.name}"

    @property
    def meant(self) -> str:
        """The similar name that devices have, see :func:`~deviceselectors.spelling.similar_name`."""
        return similar_name(self.domain, self.name, self.known)

    @property
    def listed(self) -> tuple[str, ...]:
        """The names that devices have in the domain, or all with their domains if they have none in it."""
        there = f"{self.domain}/"
        inside = [name.removeprefix(there) for name in self.known if name.startswith(there)]
        return tuple(inside) or self.known


def with_idle_patches(names: Iterable[AbsentName], snapshot: Snapshot) -> list[AbsentName]:
    """The names with the patches that would give them, but apply to no device of the snapshot."""
    if not snapshot.patches or not snapshot.features.device_patches:
        return list(names)
    in_effect, failures = snapshot.inventory.patches_in_effect, snapshot.inventory.failures
    idle = [patch for patch in map(Patch, snapshot.patches) if patch.name not in in_effect]
    found = []
    for name in names:
        given = [(each, each.attributes if name.kind == ATTRIBUTE else each.capacity) for each in idle]
        named = sorted(
            patch.name
            for patch, entries in given
            if name.qualified in entries and not removes(entries[name.qualified])
        )
        found.append(name._replace(idle_patches=tuple((each, failures.get(each)) for each in named)))
    return found


class _Search:
    """One name, and what the devices have instead."""

    def __init__(self, kind: str, domain: str, name: str) -> None:
        self.kind = kind
        self.domain = domain
        self.name = name
        self.found = False
        self.devices = 0
        #: what the devices for each request or subrequest have
        self.names: dict[Alternative, set[tuple[str, str]]] = {}

    def look_at(
        self, devices: Iterable[Device], alternative: Alternative, constraint: Constraint | None
    ) -> None:
        names = self.names.setdefault(alternative, set())
        for device in devices:
            self.devices += 1
            if self.found:
                return
            entries = device.prepared.attributes if self.kind == ATTRIBUTE else device.prepared.capacity
            self.found = self.name in entries[self.domain]
            if constraint is not None:
                self.found = published(device, constraint.attribute) is not None
            if not self.found and len(names) < MAX_NAMES:
                names.update((domain, name) for domain, held in entries.items() for name in held)

    def known(self) -> tuple[str, ...]:
        """What devices for every request have: a constraint compares them all."""
        names = set.intersection(*self.names.values()) if self.names else set()
        return tuple(sorted(f"{domain}/{name}" for domain, name in names))


class AbsentNames:
    """Searches the devices of all nodes for the names in the selectors and constraints of claims."""

    def __init__(self, demand: Iterable[ClaimDemand], outcomes: SelectorOutcomes) -> None:
        self._searches: dict[tuple[Alternative, str], list[_Search]] = {}
        self._constraints: dict[tuple[ClaimHeader, int], _Search] = {}
        for claim in demand:
            for place, constraint in enumerate(claim.constraints):
                domain, _, name = constraint.attribute.partition("/")
                self._constraints[claim.header, place] = _Search(ATTRIBUTE, domain, name)
            for request in claim.requests:
                for alternative in request.alternatives:
                    for selector in alternative.request_selectors:
                        self._searches.setdefault((alternative, selector.expression), []).extend(
                            _Search(ATTRIBUTE if each.map == ATTRIBUTES else CAPACITY, each.domain, each.name)
                            for each in outcomes.lookups(selector.expression)
                        )

    def look_at(self, alternative: Alternative, passed: Passed) -> None:
        """Search the devices of a node that could be taken for a request."""
        for (owner, expression), searches in self._searches.items():
            if owner is alternative:
                for search in searches:
                    search.look_at(passed.before.get(expression, ()), alternative, None)
        for place, constraint in alternative.constraints:
            if constraint.attribute not in alternative.derived:
                self._constraints[alternative.claim, place].look_at(passed.selected, alternative, constraint)

    def found(self, matching: Mapping[Alternative, int]) -> Iterator[AbsentName]:
        """The names that are absent where nothing is found.

        :param matching: how many devices match each request; the names that selectors of others look up do no harm.
        """
        for (alternative, _), searches in self._searches.items():
            kind = "alternative" if alternative.subrequest else "request"
            place = f"the selector of {kind} {alternative.name}"
            for search in searches:
                if search.devices and not search.found and not matching.get(alternative):
                    yield _absent(search, alternative.claim.name, place, alternative.name, None)
        for (claim, index), search in self._constraints.items():
            if search.devices and not search.found:
                kind = "distinctAttribute" if claim.constraints[index].distinct else "matchAttribute"
                yield _absent(search, claim.name, kind, "", index)


def _absent(search: _Search, claim: str, place: str, alternative: str, constraint: int | None) -> AbsentName:
    names = search.kind, search.domain, search.name
    return AbsentName(*names, claim, place, alternative, constraint, search.devices, search.known())

"""Propagation of `matchAttribute`: values without support are removed from the domains of the requests it binds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.pruning.bits import bits, union
from allocator.pruning.domains import InfeasibleError, OptionDomain, RequestDomain
from allocator.pruning.matching import can_serve_all
from allocator.pruning.problem import Problem
from allocator.pruning.relaxations import exclusive_demand
from allocator.pruning.values import Value, ValueMap

_MAX_VALUES_MATCHED = 128


class BoundRequest(NamedTuple):
    """A request that a constraint binds: the domains of its options that are bound, each with the attribute's values."""

    domain: RequestDomain
    option_domains: list[tuple[OptionDomain, ValueMap]]


class MatchAttributeFilter:
    """Removes devices whose values not all requests bound by a constraint can have."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def open_constraints(self, domains: list[RequestDomain]) -> list[list[BoundRequest]]:
        """The requests that each `matchAttribute` binds, for those constraints that have no value yet."""
        attempt = self._problem.attempt
        found: dict[tuple[int, int], list[BoundRequest]] = {}
        for domain in domains:
            bound: dict[tuple[int, int], list[tuple[OptionDomain, ValueMap]]] = {}
            for each in domain.options:
                for place, distinct, values in each.option.constraints:
                    if not distinct:
                        bound.setdefault((domain.slot.claim, place), []).append((each, values))
            for key, option_domains in bound.items():
                if not attempt.constraint_state(self._problem.claims[key[0]].header, key[1]):
                    found.setdefault(key, []).append(BoundRequest(domain, option_domains))
        return list(found.values())

    def filter_values(self, members: Sequence[BoundRequest]) -> None:
        """Remove devices whose values some of the requests that one constraint binds cannot have."""
        bound = _certainly_bound(members)
        if not bound:
            return
        values = self._common_values(bound)
        if len(values) <= _MAX_VALUES_MATCHED and len(bound) > 1:
            values = [value for value in values if self._has_support(value, bound)]
        _keep(members, values)

    def filter_pairs(self, constraints: Sequence[Sequence[BoundRequest]]) -> None:
        """Remove values of one constraint that leave no value for another constraint on some of the same requests."""
        for members in constraints:
            for others in constraints:
                if others is not members:
                    self._filter_pair(members, _certainly_bound(members), _certainly_bound(others))

    def _filter_pair(
        self, members: Sequence[BoundRequest], bound: Sequence[BoundRequest], others: Sequence[BoundRequest]
    ) -> None:
        shared = {id(each.domain) for each in bound} & {id(each.domain) for each in others}
        if not shared:
            return
        values, their_values = self._common_values(bound), self._common_values(others)
        if len(values) * len(their_values) <= _MAX_VALUES_MATCHED:
            _keep(
                members,
                [value for value in values if self._has_joint_support(value, bound, their_values, others)],
            )

    def _has_joint_support(
        self,
        value: Value,
        bound: Sequence[BoundRequest],
        their_values: Sequence[Value],
        others: Sequence[BoundRequest],
    ) -> bool:
        """Whether the other constraint still has a value if this one has the given value."""
        having = {
            id(each): each.devices & of.masks.get(value, 0)
            for _, option_domains in bound
            for each, of in option_domains
        }
        return any(
            can_serve_all(
                [
                    exclusive_demand(
                        self._problem,
                        domain.least,
                        union(
                            having.get(id(each), each.devices) & of.masks.get(other, 0)
                            for each, of in option_domains
                        ),
                    )
                    for domain, option_domains in others
                ]
            )
            for other in their_values
        )

    def _common_values(self, bound: Sequence[BoundRequest]) -> list[Value]:
        first = {
            value
            for each, of in bound[0].option_domains
            for index in bits(each.devices)
            for value in of.of_device.get(index, ())
        }
        return [
            value
            for value in sorted(first)
            if all(
                any(
                    (each.devices & of.masks.get(value, 0)).bit_count() >= each.wanted
                    for each, of in option_domains
                )
                for _, option_domains in bound
            )
        ]

    def _has_support(self, value: Value, bound: Sequence[BoundRequest]) -> bool:
        """Whether all requests together find enough devices with a value."""
        # They are of one claim, so not even admin access lets two of them have the same device.
        return can_serve_all(
            [
                exclusive_demand(
                    self._problem,
                    domain.least,
                    union(each.devices & of.masks.get(value, 0) for each, of in option_domains),
                )
                for domain, option_domains in bound
            ]
        )


def _certainly_bound(members: Sequence[BoundRequest]) -> list[BoundRequest]:
    """The requests that certainly have to share a value, those with the fewest candidates first.

    None if only one device is still to be taken: it always agrees with itself, and its value may be missing.
    """
    bound = [
        each
        for each in map(_left, members)
        if each.option_domains and len(each.option_domains) == len(each.domain.options) and each.domain.least
    ]
    if sum(domain.least for domain, _ in bound) <= 1:
        return []
    return sorted(bound, key=lambda each: each.domain.devices.bit_count())


def _left(bound: BoundRequest) -> BoundRequest:
    """Without the options that have been removed meanwhile."""
    domain, option_domains = bound
    return BoundRequest(domain, [(each, of) for each, of in option_domains if each in domain.options])


def _keep(members: Sequence[BoundRequest], values: Sequence[Value]) -> None:
    """Remove devices without any of these values from all options that the constraint binds.

    :raises InfeasibleError: if there are no values.
    """
    if not values:
        raise InfeasibleError
    for _, option_domains in map(_left, members):
        for each, of in option_domains:
            devices = [of.masks.get(value, 0) for value in values]
            if each.wanted:
                devices = [mask for mask in devices if (mask & each.devices).bit_count() >= each.wanted]
                each.devices &= union(devices)

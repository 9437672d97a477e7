"""Changed copies of claims, for what a user could request instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from resourceapi.records.claims import Claim, DeviceClaim, ExactRequest

Claims = tuple[Claim, ...]
"""Those of a pod."""


class Part(NamedTuple):
    """A request of a claim, or one of its alternatives.

    :param claim: the index of the claim.
    :param request: the index of the request in it.
    :param sub: the index of the alternative.
    :param name: `main` or `main/sub`.
    """

    claim: int
    request: int
    sub: int | None
    name: str


def parts(claims: Claims) -> Iterator[Part]:
    """All requests without alternatives, and all alternatives."""
    for index, claim in enumerate(claims):
        for place, request in enumerate(claim.devices.requests):
            for sub in range(len(request.alternatives)):
                yield Part(index, place, sub if request.is_list else None, request.name_of(sub))


def details_of(claims: Claims, part: Part) -> ExactRequest:
    """The `exactly` of a request, or an alternative."""
    return claims[part.claim].devices.requests[part.request].alternatives[part.sub or 0]


def with_details(claims: Claims, part: Part, **changes: Any) -> Claims:
    """The claims with other fields of a request or alternative."""
    request = claims[part.claim].devices.requests[part.request]
    alternatives = list(request.alternatives)
    alternatives[part.sub or 0] = alternatives[part.sub or 0]._replace(**changes)
    return _with_alternatives(claims, part.claim, part.request, alternatives)


def with_alternatives(claims: Claims, claim: int, request: int, subs: Sequence[int]) -> Claims:
    """The claims with only these alternatives of a request."""
    alternatives = claims[claim].devices.requests[request].alternatives
    return _with_alternatives(claims, claim, request, [alternatives[sub] for sub in subs])


def _with_alternatives(
    claims: Claims, claim: int, request: int, alternatives: Sequence[ExactRequest]
) -> Claims:
    requests = list(claims[claim].devices.requests)
    requests[request] = requests[request]._replace(alternatives=tuple(alternatives))
    return _asking_for(claims, claim, claims[claim].devices._replace(requests=tuple(requests)))


def with_constraint(claims: Claims, claim: int, constraint: int, attribute: str) -> Claims:
    """The claims with a constraint on another attribute."""
    constraints = list(claims[claim].devices.constraints)
    before = constraints[constraint]
    constraints[constraint] = (
        before._replace(distinct=attribute) if before.match is None else before._replace(match=attribute)
    )
    return _asking_for(claims, claim, claims[claim].devices._replace(constraints=tuple(constraints)))


def without(claims: Claims, dropped: frozenset[tuple[int, str, int]]) -> Claims:
    """The claims without some requests and constraints.

    :param dropped: for each the index of its claim, `request` or `constraint`, and its index in the claim. Constraints that
        name only dropped requests are dropped, too.
    """
    return tuple(_without(claim, index, dropped) for index, claim in enumerate(claims))


def _without(claim: Claim, index: int, dropped: frozenset[tuple[int, str, int]]) -> Claim:
    requests = claim.devices.requests
    kept = [each for place, each in enumerate(requests) if (index, "request", place) not in dropped]
    gone = {each.name for each in requests} - {each.name for each in kept}
    constraints = []
    for place, constraint in enumerate(claim.devices.constraints):
        left = tuple(name for name in constraint.requests if name.partition("/")[0] not in gone)
        if (index, "constraint", place) not in dropped and (left or not constraint.requests):
            constraints.append(constraint._replace(requests=left))
    return claim.asking_for(claim.devices._replace(requests=tuple(kept), constraints=tuple(constraints)))


def _asking_for(claims: Claims, index: int, devices: DeviceClaim) -> Claims:
    return (*claims[:index], claims[index].asking_for(devices), *claims[index + 1 :])


def with_selector(claims: Claims, part: Part, index: int, expression: str) -> Claims:
    """The claims with another expression for a selector, or without it if that is empty."""
    selectors = list(details_of(claims, part).selectors)
    selectors[index : index + 1] = [expression] if expression else []
    return with_details(claims, part, selectors=tuple(selectors))

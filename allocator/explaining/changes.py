"""Changed copies of claims, for what a user could request instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from resourceapi.objects import Object
from resourceapi.records.claims import devices_of

Change = Callable[[Object], Object]


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


def requests_of(claim: Object) -> list[Object]:
    """The requests of a claim."""
    return devices_of(claim).get("requests") or []


def constraints_of(claim: Object) -> list[Object]:
    """The constraints of a claim."""
    return devices_of(claim).get("constraints") or []


def parts(claims: tuple[Object, ...]) -> Iterator[Part]:
    """All requests without alternatives, and all alternatives."""
    for index, claim in enumerate(claims):
        for place, request in enumerate(requests_of(claim)):
            name = request.get("name", "")
            if not request.get("firstAvailable"):
                yield Part(index, place, None, name)
            for sub, alternative in enumerate(request.get("firstAvailable") or ()):
                yield Part(index, place, sub, f"{name}/{alternative.get('name', '')}")


def details_of(claims: tuple[Object, ...], part: Part) -> Object:
    """The `exactly` of a request, or an alternative."""
    request = requests_of(claims[part.claim])[part.request]
    if part.sub is None:
        return request.get("exactly") or {}
    found: Object = request["firstAvailable"][part.sub] or {}
    return found


def with_details(claims: tuple[Object, ...], part: Part, change: Change) -> tuple[Object, ...]:
    """The claims with a change to a request or alternative."""

    def changed(request: Object) -> Object:
        if part.sub is None:
            return {**request, "exactly": change(request.get("exactly") or {})}
        return {**request, "firstAvailable": _changed(request["firstAvailable"], part.sub, change)}

    return _with_requests(
        claims, part.claim, _changed(requests_of(claims[part.claim]), part.request, changed)
    )


def with_alternatives(
    claims: tuple[Object, ...], claim: int, request: int, subs: list[int]
) -> tuple[Object, ...]:
    """The claims with only these alternatives of a request."""

    def changed(original: Object) -> Object:
        return {**original, "firstAvailable": [original["firstAvailable"][sub] for sub in subs]}

    return _with_requests(claims, claim, _changed(requests_of(claims[claim]), request, changed))


def with_constraint(
    claims: tuple[Object, ...], claim: int, constraint: int, changed: Object
) -> tuple[Object, ...]:
    """The claims with other fields of a constraint."""
    devices = devices_of(claims[claim])
    constraints = _changed(devices["constraints"], constraint, lambda each: {**each, **changed})
    return tuple(
        _with_devices(each, {**devices, "constraints": constraints}) if place == claim else each
        for place, each in enumerate(claims)
    )


def without(claims: tuple[Object, ...], dropped: frozenset[tuple[int, str, int]]) -> tuple[Object, ...]:
    """The claims without some requests and constraints.

    :param dropped: for each the index of its claim, `request` or `constraint`, and its index in the claim. Constraints that
        name only dropped requests are dropped, too.
    """
    return tuple(_without(claim, index, dropped) for index, claim in enumerate(claims))


def _without(claim: Object, index: int, dropped: frozenset[tuple[int, str, int]]) -> Object:
    kept = [
        request
        for place, request in enumerate(requests_of(claim))
        if (index, "request", place) not in dropped
    ]
    gone = {request.get("name", "") for request in requests_of(claim)} - {
        request.get("name", "") for request in kept
    }
    constraints = []
    for place, constraint in enumerate(constraints_of(claim)):
        if (index, "constraint", place) in dropped:
            continue
        named = constraint.get("requests") or []
        left = [name for name in named if name.partition("/")[0] not in gone]
        if left or not named:
            constraints.append({**constraint, "requests": left} if named else constraint)
    return _with_devices(claim, {**devices_of(claim), "requests": kept, "constraints": constraints})


def _with_requests(claims: tuple[Object, ...], index: int, requests: list[Object]) -> tuple[Object, ...]:
    return tuple(
        _with_devices(claim, {**devices_of(claim), "requests": requests}) if place == index else claim
        for place, claim in enumerate(claims)
    )


def _with_devices(claim: Object, devices: Object) -> Object:
    return {**claim, "spec": {**(claim.get("spec") or {}), "devices": devices}}


def _changed(objects: list[Object], index: int, change: Change) -> list[Object]:
    return [change(each) if place == index else each for place, each in enumerate(objects)]


def with_selector(claims: tuple[Object, ...], part: Part, index: int, expression: str) -> tuple[Object, ...]:
    """The claims with another expression for a selector, or without it if that is empty."""

    def changed(details: Object) -> Object:
        selectors = list(details["selectors"])
        selectors[index : index + 1] = [{"cel": {"expression": expression}}] if expression else []
        return {**details, "selectors": selectors}

    return with_details(claims, part, changed)

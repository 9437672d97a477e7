"""What claims ask for: per request its alternatives, of which one is to be served.

Nothing here depends on nodes or devices. A mistake is kept where it stands, since kube-scheduler reports the first
that it comes upon, and it looks at devices in between (`All`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from weakref import WeakValueDictionary

from allocator.capacity_requests import DeviceCapacities, Share, request_key
from allocator.constraint_state import Constraint
from allocator.errors import Text
from allocator.features import Features
from allocator.selection import Selector
from allocator.time_limit import TimeLimit
from resourceapi.go_text import quote
from resourceapi.model.claims import ALL, EXACT_COUNT
from resourceapi.records.claims import (
    OBJECT_BYTES,
    Claim,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    ExactRequest,
    PackedDevices,
)
from resourceapi.records.classes import DeviceClass
from resourceapi.spelling import fingerprint

ClassSelectors = dict[str, tuple[Selector, ...]]
"""The selectors of classes, by name."""
NO_CLASS = DeviceClass("")
#: About what a claim takes, an alternative, a selector of one, and what is remembered of a kind of devices.
CLAIM_BYTES, ALTERNATIVE_BYTES, SELECTOR_BYTES, MEMORY_BYTES = 1000, 900, 200, 130


class ClaimHeader:
    """A claim without its requests, as they refer to it: so a claim and its requests form no circle. Compared by identity."""

    __slots__ = ("constraints", "name", "weight")

    def __init__(self, name: str) -> None:
        #: with its namespace
        self.name = name
        self.constraints: list[Constraint] = []
        #: how many bytes the demand takes, about; grows with what is found out about devices
        self.weight = CLAIM_BYTES


class Alternative:
    """One way to serve a request: what `exactly` says, or a subrequest of `firstAvailable`."""

    __slots__ = (
        "admin_access",
        "capacity",
        "capacity_key",
        "claim",
        "class_selectors",
        "constraints",
        "count",
        "derived",
        "details",
        "device_class",
        "main",
        "name",
        "problem",
        "request_selectors",
        "required_driver",
        "selected",
        "selectors",
        "shares",
        "short_name",
        "subrequest",
        "takes_all",
        "tolerations",
    )

    def __init__(self, claim: ClaimHeader, main: str, details: ExactRequest, *, subrequest: bool) -> None:
        self.claim = claim
        #: the request's name
        self.main = main
        #: its own name, which is the request's unless it is a subrequest
        self.short_name = details.name if subrequest else main
        #: as results have it: `main` or `main/sub`
        self.name = f"{main}/{self.short_name}" if subrequest else main
        self.subrequest = subrequest
        self.details = details
        self.admin_access = not subrequest and details.admin_access is True
        self.takes_all = details.takes_all
        self.count = details.number
        self.tolerations = details.tolerations
        self.capacity = details.capacity or {}
        self.derived = details.derived
        self.capacity_key = request_key(self.capacity)
        #: whether devices of a kind (`Device.kind`) are requested, as far as it is known
        self.selected: dict[int, bool] = {}
        #: what it takes of capacities, as far as it is known
        self.shares: dict[DeviceCapacities, Share] = {}
        self.device_class = NO_CLASS
        self.class_selectors: tuple[Selector, ...] = ()
        self.request_selectors: tuple[Selector, ...] = ()
        #: those of the class, then its own
        self.selectors: tuple[Selector, ...] = ()
        #: see `Selectors.required_driver`; None before that is asked
        self.required_driver: str | None = None
        #: the claim's constraints that concern it, by their place
        self.constraints: tuple[tuple[int, Constraint], ...] = ()
        #: why it can never be served, if so
        self.problem: Text = ()

    @property
    def place(self) -> Text:
        """How error texts begin."""
        return ("claim ", self.claim, f", request {self.short_name}")


class RequestDemand:
    """A request of a claim. `problem`: what is wrong with it before its alternatives are looked at."""

    __slots__ = ("alternatives", "name", "problem")

    def __init__(self, name: str) -> None:
        self.name = name
        self.alternatives: list[Alternative] = []
        self.problem: Text = ()

    @property
    def is_list(self) -> bool:
        """Whether it is one of `firstAvailable`."""
        return self.alternatives[0].subrequest


class ClaimDemand:
    """A claim that needs devices. `problem`: what is wrong with its constraints."""

    __slots__ = ("__weakref__", "config", "header", "problem", "requests")

    def __init__(self, name: str, asked: DeviceClaim) -> None:
        self.header = ClaimHeader(name)
        #: its DeviceClaimConfigurations
        self.config = asked.config
        self.requests: list[RequestDemand] = []
        self.problem: Text = ()

    @property
    def name(self) -> str:
        """The claim's, with its namespace."""
        return self.header.name

    @property
    def constraints(self) -> list[Constraint]:
        """The claim's, in order."""
        return self.header.constraints


def read_claim(
    claim: Claim, classes: Mapping[str, DeviceClass], features: Features, time_limit: TimeLimit
) -> ClaimDemand:
    """What a claim asks for.

    :param classes: DeviceClasses by name.
    :raises allocator.time_limit.OutOfTime: if the time is over before a request.
    """
    asked = claim.devices
    demand = ClaimDemand(claim.key, asked)
    _read_constraints(demand, asked.constraints, features)
    selectors: ClassSelectors = {}
    for request in asked.requests:
        time_limit.check()
        demand.requests.append(_read_request(demand, request, classes, selectors, features))
    return demand


def _read_constraints(
    demand: ClaimDemand, constraints: Iterable[DeviceConstraint], features: Features
) -> None:
    for index, constraint in enumerate(constraints):
        requests = frozenset(constraint.requests)
        if constraint.match is not None:
            demand.constraints.append(Constraint(constraint.match, False, requests))
        elif constraint.distinct is not None and not features.basic:
            demand.constraints.append(Constraint(constraint.distinct, True, requests))
        else:
            demand.problem = (
                "claim ",
                demand.header,
                f", constraint #{index}: empty constraint (unsupported constraint type?)",
            )
            return


def _read_request(
    demand: ClaimDemand,
    request: DeviceRequest,
    classes: Mapping[str, DeviceClass],
    selectors: ClassSelectors,
    features: Features,
) -> RequestDemand:
    name = request.name
    found = RequestDemand(name)
    found.alternatives = [
        Alternative(demand.header, name, details, subrequest=request.is_list)
        for details in request.alternatives
    ]
    if request.is_list and not features.prioritized_list:
        found.problem = (
            "claim ",
            demand.header,
            f", request {name}: has subrequests, but the DRAPrioritizedList feature is disabled",
        )
    found.problem = found.problem or _capacity_problem(found, features)
    for alternative in found.alternatives:
        _complete(alternative, classes, selectors, features)
    first, *others = found.alternatives
    if features.minor < 36 and others and first.takes_all and others[0].takes_all:
        others[
            0
        ].selectors = first.selectors  # what All finds out for the first counts for the second as well
    return found


def _capacity_problem(request: RequestDemand, features: Features) -> Text:
    if features.consumable_capacity or features.basic:
        return ()
    for alternative in request.alternatives:
        if alternative.details.capacity is not None:
            main = not alternative.subrequest or features.minor < 35
            what, name = ("request", request.name) if main else ("subrequest", alternative.short_name)
            return (
                "claim ",
                alternative.claim,
                f", {what} {name}: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            )
    return ()


def _complete(
    alternative: Alternative, classes: Mapping[str, DeviceClass], known: ClassSelectors, features: Features
) -> None:
    """Finds class, selectors and constraints, or what is wrong."""
    claim, own = alternative.claim, alternative.details.selectors
    claim.weight += ALTERNATIVE_BYTES
    device_class = classes.get(alternative.details.device_class)
    reason = _problem(alternative, device_class, features)
    if reason:
        alternative.problem = (*alternative.place, reason)
        return
    assert device_class is not None
    alternative.device_class = device_class
    class_name = device_class.name
    if class_name not in known:
        known[class_name] = _selectors((f"class {class_name}",), device_class.selectors)
        claim.weight += SELECTOR_BYTES * len(known[class_name])
    alternative.class_selectors = alternative.selectors = known[class_name]
    if own:
        alternative.request_selectors = _selectors(("claim ", claim), own)
        alternative.selectors += alternative.request_selectors
    claim.weight += SELECTOR_BYTES * len(own) + 8 * len(alternative.selectors)
    alternative.constraints = tuple(
        [
            (index, constraint)
            for index, constraint in enumerate(claim.constraints)
            if constraint.applies_to(alternative.main, alternative.name)
        ]
    )


def _problem(alternative: Alternative, device_class: DeviceClass | None, features: Features) -> str:
    """The first reason for which kube-scheduler refuses, as its text goes on."""
    details = alternative.details
    if details.derived and not features.derived_attributes:
        return ": cannot handle request with derived attributes, the feature is disabled"
    if None in details.selectors:
        index = details.selectors.index(None)
        return f", selector #{index}: CEL expression empty (unsupported selector type?)"
    if not alternative.subrequest and details.admin_access is not None and not features.admin_access:
        return ": admin access is requested, but the feature is disabled"
    if not details.device_class:
        return ": missing device class name (unsupported request type?)"
    if device_class is None:
        return (
            f": could not retrieve device class {details.device_class}: "
            f"deviceclass.resource.k8s.io {quote(details.device_class)} not found"
        )
    return "" if details.mode in (ALL, EXACT_COUNT) else f": unsupported count mode {details.mode}"


def _selectors(place: Text, expressions: Iterable[str | None]) -> tuple[Selector, ...]:
    return tuple(
        [
            Selector.of((*place, f": selector #{index}"), expression or "")
            for index, expression in enumerate(expressions)
        ]
    )


# Which claims ask for the same, and what they ask for: read once for all of them, until the last one has
# gone.
# A claim's `spec.devices` is its content. What is found out for a content belongs to all its claims.

#: What the objects of a text of JSON take, for each of its characters, beside those that whoever holds the claim has as well.
_OBJECT_BYTES = 3


class Content:
    """What claims ask for that have the same `spec.devices`; compared by identity, as long as there is such a claim."""

    __slots__ = ("digest", "length", "users")

    def __init__(self, digest: str, length: int) -> None:
        self.digest = digest
        #: in JSON
        self.length = length
        #: how many claims have it
        self.users = 0


class ClaimContents:
    """The contents of the claims that have been asked for, by claim, and their demands, as long as somebody uses them."""

    def __init__(self, read: Callable[[Claim, TimeLimit], ClaimDemand]) -> None:
        """Begin without any.

        :param read: what a claim asks for.
        """
        self._read = read
        #: by claim, with its `spec.devices`: while it has these very ones, nothing has to be read
        self._claims: dict[str, tuple[object, Content]] = {}
        self._by_digest: dict[str, Content] = {}
        self._demands: WeakValueDictionary[tuple[Content, int], ClaimDemand] = WeakValueDictionary()
        #: told of each content that no claim has any more
        self.listeners: list[Callable[[Content], None]] = []

    def of(self, claim: Claim) -> Content:
        """The content of a claim, which is used until :meth:`forget`."""
        key, devices = claim.key, claim.asked.source
        known = self._claims.get(key)
        if known is not None and known[0] is devices:
            return known[1]
        text = claim.asked.spelled()
        digest = fingerprint(text)
        content = self._by_digest.get(digest)
        if content is None:
            content = self._by_digest[digest] = Content(digest, len(text))
        self._claims[key] = devices, content
        if known is None:
            content.users += 1
        elif known[1] is not content:
            content.users += 1
            self._leave(known[1])
        return content

    def demands(
        self, claims: Iterable[Claim], contents: Iterable[Content], time_limit: TimeLimit
    ) -> Iterator[ClaimDemand]:
        """What the claims of a pod ask for. Claims of one content share it with other pods' claims, not with each other."""
        seen: defaultdict[Content, int] = defaultdict(int)
        for claim, content in zip(claims, contents, strict=True):
            key = (content, seen[content])
            seen[content] += 1
            demand = self._demands.get(key)
            if demand is None:
                demand = self._demands[key] = self._read(claim, time_limit)
                size = OBJECT_BYTES if isinstance(claim.asked.source, PackedDevices) else _OBJECT_BYTES
                demand.header.weight += size * content.length
            yield demand

    def clear(self) -> None:
        """Read what claims ask for anew, as is needed when a DeviceClass changes."""
        self._demands.clear()

    def forget(self, key: str) -> None:
        """Take out a claim, `namespace/name`, if its content is known."""
        known = self._claims.pop(key, None)
        if known is not None:
            self._leave(known[1])

    def _leave(self, content: Content) -> None:
        content.users -= 1
        if not content.users:
            del self._by_digest[content.digest]
            for listener in self.listeners:
                listener(content)

"""Which pods are evicted because of taints of their devices with the effect NoExecute, by which taints, and when (KEP-5055).

As kube-controller-manager's device-taint-eviction-controller does it. What a claim tolerates is what its allocation says, not
its spec, and only tolerations whose effect is NoExecute count: one without an effect keeps pods on devices in no case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import product
from typing import NamedTuple

from allocator.devices import Device, Slice
from allocator.rules.standing import tolerates
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.kinds import DEVICE_TAINT_RULE, RESOURCE_SLICE
from resourceapi.manifests import text
from resourceapi.objects import Object
from resourceapi.records import pod_groups
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod, PodClaim
from resourceapi.records.pools import DeviceId, by_pool, newest
from resourceapi.records.taints import DeviceNames, DeviceTaintRule, read_taint
from resourceapi.times import moment

_NO_EXECUTE = "NoExecute"


class EvictingTaint(NamedTuple):
    """A taint that is not tolerated, or not for long.

    :param kind: of what puts it on devices: a DeviceTaintRule or a ResourceSlice.
    :param name: of that object.
    :param device: the device of a ResourceSlice; None for a rule, which is one reason however many devices it taints.
    :param place: of the taint among those of the device.
    :param taint: the taint (JSON).
    """

    kind: str
    name: str
    device: DeviceId | None
    place: int
    taint: Object

    def __str__(self) -> str:
        where = "" if self.device is None else f" on {self.device}"
        return f"{read_taint(self.taint)}{where} ({self.kind} {self.name})"

    @property
    def order(self) -> tuple[object, ...]:
        """Rules come first, by name; then devices by driver, pool and name."""
        return (
            self.device is not None,
            self.name if self.device is None else "",
            self.device or (),
            self.place,
        )


class Eviction(NamedTuple):
    """A pod that is evicted.

    :param when: in UTC; pods that are due at the same time go in any order.
    :param taints: all that are a reason for it, rules first.
    """

    pod: Pod
    when: datetime
    taints: Sequence[EvictingTaint]


class Tainted(NamedTuple):
    """Until when pods may use a claim, and why no longer."""

    when: datetime
    taints: Sequence[EvictingTaint]


def evictions(
    pods: Iterable[Pod], claims: Mapping[str, Claim], taints: NoExecuteTaints, limit: TimeLimit = UNLIMITED
) -> list[Eviction]:
    """The pods that are evicted, those that go first before others.

    :param pods: only those on nodes can be; those that are being deleted need not.
    :param claims: by `namespace/name`; only those that are allocated matter.
    :param taints: of their devices.
    :param limit: how long it may take.
    :raises OutOfTime: if it takes longer.
    """
    tainted = {
        key: on
        for key, claim in claims.items()
        if claim.is_allocated and (on := taints.on(claim, limit)) is not None
    }
    users = {key: _Users(claims[key]) for key in tainted}
    found = []
    for pod in pods:
        if not pod.node or pod.is_leaving:
            continue
        used = [(f"{pod.namespace}/{entry.claim}", entry) for entry in pod.claims]
        keys = dict.fromkeys(key for key, entry in used if key in users and users[key].include(pod, entry))
        if keys:
            limit.check()
            reasons = list({id(tainted[key]): tainted[key] for key in keys}.values())
            ordered = reasons[0].taints if len(reasons) == 1 else _together(each.taints for each in reasons)
            found.append(Eviction(pod, min(each.when for each in reasons), ordered))
    return sorted(found, key=lambda each: (each.when, each.pod.key))


def _together(all_taints: Iterable[Sequence[EvictingTaint]]) -> list[EvictingTaint]:
    """All taints in order, each once."""
    found = {each.order: each for taints in all_taints for each in taints}
    return [found[order] for order in sorted(found)]


class _Users:
    """The pods that use a claim; read once for all of them, as it may be reserved for thousands."""

    def __init__(self, claim: Claim) -> None:
        consumers, owners = claim.consumers, [each for each in claim.owners if each.is_controller]
        self._pods = {each.uid for each in consumers}
        self._groups = {each.name for each in consumers if each.resource == pod_groups.RESOURCE}
        self._made_for_pods = {each.uid for each in owners}
        self._made_for_groups = {each.name for each in owners if each.kind == pod_groups.KIND}

    def include(self, pod: Pod, entry: PodClaim) -> bool:
        """Whether it is reserved for the pod or its PodGroup, and has been made for one of them if it is from a template."""
        if pod.uid not in self._pods and pod.group not in self._groups:
            return False
        is_made_for_it = pod.uid in self._made_for_pods or pod.group in self._made_for_groups
        return is_made_for_it or not entry.is_generated


class NoExecuteTaints:
    """The taints with the effect NoExecute, of slices and of rules."""

    def __init__(self, slices: Iterable[Slice], rules: Iterable[DeviceTaintRule], now: datetime) -> None:
        """`slices` as drivers publish them; `now`: when those taints are added that do not say so."""
        self._now = now
        self._devices: dict[DeviceId, Device] = {}
        for each in by_pool(slices).values():
            for slice in newest(each):
                for device in slice.devices:
                    if any(taint.effect == _NO_EXECUTE for taint in device.taints):
                        self._devices.setdefault(device.id, device)
        self._rules: dict[DeviceNames, list[EvictingTaint]] = {}
        for rule in rules:
            if rule.names is not None and rule.taint.get("effect") == _NO_EXECUTE:
                taint = EvictingTaint(DEVICE_TAINT_RULE.name, rule.name, None, 0, rule.taint)
                self._rules.setdefault(rule.names, []).append(taint)
        self._known: dict[tuple[DeviceNames, str], Tainted | None] = {}

    @property
    def are_none(self) -> bool:
        """Whether there is no such taint."""
        return not (self._devices or self._rules)

    def on(self, claim: Claim, limit: TimeLimit = UNLIMITED) -> Tainted | None:
        """Until when pods may use an allocated claim; None if there is no end to it.

        :param limit: how long it may take to find out.
        :raises OutOfTime: if it takes longer.
        """
        found: dict[int, Tainted] = {}
        for result in claim.results:
            tolerations = result.object.get("tolerations") or ()
            parts = [self._not_tolerated(self._of_slice(result.device), tolerations, limit)]
            spelled = repr(tolerations)
            # what a rule leaves out may be anything
            for names in map(DeviceNames._make, product(*((None, own) for own in result.device))):
                if names in self._rules:
                    parts.append(self._by_rules(names, spelled, tolerations, limit))
            found.update((id(each), each) for each in parts if each is not None)
        reasons = list(found.values())
        if len(reasons) <= 1:
            return reasons[0] if reasons else None
        return Tainted(min(each.when for each in reasons), _together(each.taints for each in reasons))

    def _by_rules(
        self, names: DeviceNames, spelled: str, tolerations: Sequence[Object], limit: TimeLimit
    ) -> Tainted | None:
        """What rules with the same selector do where this is tolerated: found out once, as they may be for all devices."""
        key = names, spelled
        if key not in self._known:
            self._known[key] = self._not_tolerated(self._rules[names], tolerations, limit)
        return self._known[key]

    def _not_tolerated(
        self, taints: Iterable[EvictingTaint], tolerations: Sequence[Object], limit: TimeLimit
    ) -> Tainted | None:
        whens: list[datetime] = []
        found: list[EvictingTaint] = []
        for each in taints:
            limit.check()
            seconds = _tolerated(tolerations, each.taint)
            if seconds is not None:
                found.append(each)
                whens.append(later(self._added(each.taint), seconds))
        return Tainted(min(whens), _together([found])) if whens else None

    def _of_slice(self, id: DeviceId) -> Iterator[EvictingTaint]:
        device = self._devices.get(id)
        for place, taint in enumerate(device.spec.get("taints") or () if device is not None else ()):
            if device is not None and taint.get("effect") == _NO_EXECUTE:
                yield EvictingTaint(RESOURCE_SLICE.name, device.slice.name, id, place, taint)

    def _added(self, taint: Object) -> datetime:
        when = text(taint, "timeAdded")
        return moment(when) if when else self._now


def later(when: datetime, seconds: int) -> datetime:
    """A time so many seconds later; like Go's, a duration is counted in nanoseconds and wraps after 292 years."""
    nanoseconds = (seconds * 10**9 + 2**63) % 2**64 - 2**63
    try:
        return when + timedelta(microseconds=nanoseconds // 1000)
    except OverflowError:  # of a time in a file near the end of the calendar
        return when


def _tolerated(tolerations: Sequence[Object], taint: Object) -> int | None:
    """For how many seconds a device of an allocation tolerates a taint, at the least that one of its tolerations says; None if for good."""
    if not tolerations:
        return 0
    as_read = read_taint(taint)
    fitting = [each for each in tolerations if each.get("effect") == _NO_EXECUTE and tolerates(each, as_read)]
    if any(each.get("tolerationSeconds") is None for each in fitting):
        return None
    return min((max(each["tolerationSeconds"], 0) for each in fitting), default=0)

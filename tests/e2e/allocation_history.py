"""Judges what a scheduler has done with devices: nothing may be given out twice, at no moment.

It knows no allocator: it adds up what claims hold, change by change, and compares with what slices offer then.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from resourceapi.objects import Object
from resourceapi.quantity import Quantity, from_json
from resourceapi.records.claims import pod_served_by
from tests.e2e.etcd_history import Change

RESOURCES = ("resourceclaims", "pods", "resourceslices", "podgroups")
RESOURCE_OF_CLASS = "deviceclass.resource.kubernetes.io/"
FINALIZER = "resource.kubernetes.io/delete-protection"


class DeviceName(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class Holding(NamedTuple):
    """What a claim holds of a device: all of it, or a share that consumes some of its capacity."""

    device: DeviceName
    share: str | None
    capacity: tuple[tuple[str, str], ...]


class Judge:
    """Takes in changes in order; `faults` are those found so far, each with the revision at which it began."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.claims: dict[str, Object] = {}
        self.pods: dict[str, Object] = {}
        self.groups: dict[str, Object] = {}
        self.bound: dict[str, int] = {}
        """The revision at which each pod was bound, by namespace/name/uid."""
        self.allocations = 0
        self._offers = _Offers()
        self._held: dict[DeviceName, dict[str, list[Holding]]] = defaultdict(dict)

    def see_all(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.see(change)

    def see(self, change: Change) -> None:
        if change.resource == "resourceslices":
            self._offers.see(change.key, change.obj)
        elif change.resource == "resourceclaims":
            self._see_claim(change)
        elif change.resource == "pods":
            self._see_pod(change)
        elif change.resource == "podgroups":
            if change.obj is None:
                self.groups.pop(change.key, None)
            else:
                self.groups[change.key] = change.obj

    def _see_claim(self, change: Change) -> None:
        before, now = holdings(self.claims.get(change.key)), holdings(change.obj)
        if change.obj is None:
            self.claims.pop(change.key, None)
        else:
            self.claims[change.key] = change.obj
            for fault in self._made_twice(change.key, change.obj):
                self._fault(change, fault)
        if before == now:
            return
        for fault in self._taken_from_pods(before, change):
            self._fault(change, fault)
        if before and now:
            self._fault(
                change, f"{change.key} holds other devices than before, without having given them back"
            )
        for holding in before:
            self._held[holding.device].pop(change.key, None)
        for holding in now:
            self._held[holding.device].setdefault(change.key, []).append(holding)
        if now:
            self.allocations += 1
            for fault in self._given_twice(change.key, now):
                self._fault(change, fault)

    def _made_twice(self, key: str, claim: Object) -> Iterator[str]:
        """Other claims that were made for the extended resources of the same pod."""
        pod = pod_served_by(claim)
        if pod is not None:
            others = [
                other for other, each in self.claims.items() if other != key and pod_served_by(each) == pod
            ]
            if others:
                yield f"{key} is made for {pod[0]}, which has {', '.join(others)}"

    def _taken_from_pods(self, before: list[Holding], change: Change) -> Iterator[str]:
        """What pods that are bound lose, unless they have ended; nobody else may use it then."""
        if not before or holdings(change.obj):
            return
        namespace, _, name = change.key.partition("/")
        for key, pod in self.pods.items():
            if (
                _node_of(pod)
                and key.partition("/")[0] == namespace
                and name in claims_of(pod)
                and not _ended(pod)
            ):
                yield from self._bound_without(key, pod)

    def _given_twice(self, key: str, now: list[Holding]) -> Iterator[str]:
        for device in dict.fromkeys(holding.device for holding in now):
            holders = {name: held for name, held in self._held[device].items() if held}
            all_held = [holding for held in holders.values() for holding in held]
            if len(all_held) > 1 and any(holding.share is None for holding in all_held):
                yield f"{device} is given to {key}, and held by {_others(holders, key)}"
            shares = [holding.share for holding in all_held if holding.share is not None]
            if len(shares) != len(set(shares)):
                yield f"a share of {device} is given to {key}, and held by {_others(holders, key)}"
            yield from self._overdrawn_capacity(device, all_held)
        for pool, counter_set in sorted({each for held in now for each in self._offers.sets_of(held.device)}):
            yield from self._overdrawn_counters(pool, counter_set)

    def _overdrawn_capacity(self, device: DeviceName, held: list[Holding]) -> Iterator[str]:
        used: dict[str, Quantity] = {}
        for holding in held:
            for name, text in holding.capacity:
                used[name] = _sum(used.get(name), from_json(text))
        offered = self._offers.capacity(device)
        for name, amount in used.items():
            if name in offered and amount.cmp(offered[name]) > 0:
                yield f"{device} has {offered[name]} {name}, and {amount} of it are held"

    def _overdrawn_counters(self, pool: tuple[str, str], counter_set: str) -> Iterator[str]:
        used: dict[str, Quantity] = {}
        drawing = [device for device in self._held if device[:2] == pool and any(self._held[device].values())]
        for device in drawing:
            for name, counters in self._offers.consumed(device):
                if name == counter_set:
                    for counter, amount in counters.items():
                        used[counter] = _sum(used.get(counter), amount)
        offered = self._offers.counters(pool, counter_set)
        for counter, amount in used.items():
            if counter not in offered or amount.cmp(offered[counter]) > 0:
                yield (
                    f"counter {counter} of {counter_set} in pool {pool[1]} has {offered.get(counter)}, and {amount} of "
                    f"it are drawn by {', '.join(sorted(device.device for device in drawing))}"
                )

    def _see_pod(self, change: Change) -> None:
        before = self.pods.get(change.key)
        if change.obj is None:
            self.pods.pop(change.key, None)
            return
        pod = self.pods[change.key] = change.obj
        if before is not None and before["metadata"]["uid"] != pod["metadata"]["uid"]:
            before = None
        was, now = _node_of(before), _node_of(pod)
        if was == now:
            return
        if was:
            self._fault(change, f"{change.key} was bound to {was}, now to {now}")
        self.bound[f"{change.key}/{pod['metadata']['uid']}"] = change.revision
        for fault in self._bound_without(change.key, pod):
            self._fault(change, fault)

    def _bound_without(self, key: str, pod: Object) -> Iterator[str]:
        """What a pod that is bound lacks of its claims; those of its PodGroup are reserved for that."""
        node, users = _node_of(pod), {pod["metadata"]["uid"], self._group_uid(key, pod)}
        if _asks_by_extended_resource(pod) and not _made_for(pod):
            yield f"{key} is bound to {node}, and has no claim for its extended resources"
        for name in claims_of(pod):
            claim = self.claims.get(f"{key.partition('/')[0]}/{name}")
            status = (claim or {}).get("status") or {}
            allocation = status.get("allocation")
            if allocation is None:
                yield f"{key} is bound to {node}, and its claim {name} is not allocated"
                continue
            if not _allows(allocation, node):
                yield f"{key} is bound to {node}, and its claim {name} is allocated for another node"
            if users.isdisjoint(user.get("uid") for user in status.get("reservedFor") or ()):
                yield f"{key} is bound to {node}, and its claim {name} is not reserved for it"

    def _group_uid(self, key: str, pod: Object) -> str:
        """The uid of a pod's PodGroup; empty if there is none."""
        group = self.groups.get(_group_of(key, pod))
        return "" if group is None else str(group["metadata"]["uid"])

    def _fault(self, change: Change, text: str) -> None:
        self.faults.append(f"revision {change.revision}: {text}")

    # --- at the end

    def leaks(self) -> list[str]:
        """What is held by nobody now that all is quiet."""
        found = []
        users = {pod["metadata"]["uid"]: key for key, pod in self.pods.items()}
        bound = Counter(_group_of(key, pod) for key, pod in self.pods.items() if _node_of(pod))
        groups = {group["metadata"]["uid"]: key for key, group in self.groups.items()}
        for key, claim in sorted(self.claims.items()):
            status = claim.get("status") or {}
            reserved = [user.get("uid") for user in status.get("reservedFor") or ()]
            for uid in reserved:
                if uid in groups:
                    if not bound[groups[uid]]:
                        found.append(f"{key} is reserved for {groups[uid]}, of which no pod is bound")
                elif uid not in users:
                    found.append(f"{key} is reserved for a pod that is gone")
                elif not _node_of(self.pods[users[uid]]):
                    found.append(f"{key} is reserved for {users[uid]}, which is not bound")
            if status.get("allocation") and not reserved:
                found.append(f"{key} is allocated, and reserved for nobody")
            if FINALIZER in (claim["metadata"].get("finalizers") or ()) and not status.get("allocation"):
                found.append(f"{key} has the finalizer, and no allocation")
            if claim["metadata"].get("deletionTimestamp"):
                found.append(f"{key} is being deleted, and stays")
            pod = pod_served_by(claim)
            if pod is not None and key.rpartition("/")[2] not in claims_of(self._pod(pod[1])):
                found.append(f"{key} is made for {pod[0]}, which does not have it")
        for key, each in sorted(self.pods.items()):
            if _node_of(each):
                found += self._bound_without(key, each)
        return found + self.half_gangs()

    def half_gangs(self) -> list[str]:
        """PodGroups of which some pods are bound, and fewer than have to be."""
        bound = Counter(_group_of(key, pod) for key, pod in self.pods.items() if _node_of(pod))
        least = {key: min_count_of(group) for key, group in self.groups.items()}
        return [
            f"{bound[key]} of {least[key]} pods of {key} are bound"
            for key in sorted(least)
            if 0 < bound[key] < least[key]
        ]

    def _pod(self, uid: str) -> Object:
        return next((each for each in self.pods.values() if each["metadata"]["uid"] == uid), {"spec": {}})

    def unbound(self) -> list[str]:
        """Pods that are not bound now."""
        return sorted(key for key, pod in self.pods.items() if not _node_of(pod))


class _Offers:
    """What slices offer, by device; what is gone from the slices keeps what it was last."""

    def __init__(self) -> None:
        self._slices: dict[str, Object] = {}
        self._capacity: dict[DeviceName, dict[str, Quantity]] = {}
        self._consumed: dict[DeviceName, list[tuple[str, dict[str, Quantity]]]] = {}
        self._counters: dict[tuple[str, str], dict[str, dict[str, Quantity]]] = defaultdict(dict)

    def see(self, key: str, slice: Object | None) -> None:
        if slice is None:
            return
        spec = slice["spec"]
        pool = (spec["driver"], spec["pool"]["name"])
        for each in spec.get("sharedCounters") or ():
            self._counters[pool][each["name"]] = _amounts(each["counters"])
        for device in spec.get("devices") or ():
            name = DeviceName(*pool, device["name"])
            self._capacity[name] = _amounts(device.get("capacity") or {})
            self._consumed[name] = [
                (each["counterSet"], _amounts(each["counters"]))
                for each in device.get("consumesCounters") or ()
            ]

    def capacity(self, device: DeviceName) -> dict[str, Quantity]:
        return self._capacity.get(device, {})

    def consumed(self, device: DeviceName) -> list[tuple[str, dict[str, Quantity]]]:
        return self._consumed.get(device, [])

    def sets_of(self, device: DeviceName) -> list[tuple[tuple[str, str], str]]:
        return [(device[:2], name) for name, _ in self.consumed(device)]

    def counters(self, pool: tuple[str, str], counter_set: str) -> dict[str, Quantity]:
        return self._counters[pool].get(counter_set, {})


def holdings(claim: Object | None) -> list[Holding]:
    """What a claim keeps others from: not what it has with admin access."""
    return [
        Holding(
            DeviceName(result["driver"], result["pool"], result["device"]),
            result.get("shareID"),
            tuple(sorted((result.get("consumedCapacity") or {}).items())),
        )
        for result in results_of(claim)
        if result.get("adminAccess") is not True
    ]


def results_of(claim: Object | None) -> list[Any]:
    """The devices in a claim's status."""
    allocation = ((claim or {}).get("status") or {}).get("allocation") or {}
    return list((allocation.get("devices") or {}).get("results") or ())


def claims_of(pod: Object) -> list[str]:
    """The names of a pod's claims, as far as they have been made."""
    made = {
        each["name"]: each.get("resourceClaimName")
        for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    }
    names = [
        each.get("resourceClaimName") or made.get(each["name"])
        for each in pod["spec"].get("resourceClaims") or ()
    ]
    return [name for name in (*names, _made_for(pod)) if name]


def _made_for(pod: Object) -> str:
    """The claim that has been made for a pod's extended resources."""
    status = (pod.get("status") or {}).get("extendedResourceClaimStatus") or {}
    return str(status.get("resourceClaimName") or "")


def _asks_by_extended_resource(pod: Object) -> bool:
    """Whether it asks for devices of a class by the name that the class has for that."""
    return any(
        name.startswith(RESOURCE_OF_CLASS)
        for container in pod["spec"].get("containers") or ()
        for name in (container.get("resources") or {}).get("requests") or ()
    )


def min_count_of(group: Object) -> int:
    """How many pods of a PodGroup have to be bound, if any is."""
    policy = group["spec"].get("schedulingPolicy") or {}
    return int((policy.get("gang") or {}).get("minCount", 1))


def _group_of(key: str, pod: Object) -> str:
    """The key of a pod's PodGroup; empty if it has none."""
    name = (pod["spec"].get("schedulingGroup") or {}).get("podGroupName")
    return f"{key.partition('/')[0]}/{name}" if name else ""


def _node_of(pod: Object | None) -> str:
    return str(((pod or {}).get("spec") or {}).get("nodeName") or "")


def _ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _allows(allocation: Object, node: str) -> bool:
    """Whether the devices can be used on a node; only selectors of the node's name are understood."""
    terms = (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms")
    if not terms:
        return True
    return any(
        node in field["values"]
        for term in terms
        for field in term.get("matchFields") or ()
        if field["key"] == "metadata.name"
    )


def _amounts(named: dict[str, Any]) -> dict[str, Quantity]:
    return {name: from_json(each["value"]) for name, each in named.items()}


def _sum(one: Quantity | None, other: Quantity) -> Quantity:
    return other if one is None else one.add(other)


def _others(holders: dict[str, list[Holding]], key: str) -> str:
    return ", ".join(sorted(set(holders) - {key})) or f"{key} itself"

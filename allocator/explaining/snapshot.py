"""The objects of a cluster, read from files or from its API server, that an explanation is based on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple, Protocol

from allocator.allocated import AllocatedState
from allocator.answers import KnownAnswers
from allocator.demand import ClaimDemand, read_claim
from allocator.devices import Slice
from allocator.explaining.holders import Holder, OwnerOf, holder
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.pod_nodes import Exclusions
from allocator.scheduling import SchedulingState
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.quantity import UNSET
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId, PoolId
from resourceapi.records.taints import DeviceTaintRule, Taint, read_taint

GROUPS, COUNTERS, CAPACITY = "compatibilityGroups", "consumesCounters", "capacity"
"""What a change can leave out of account: without counters, their groups as well; of capacity, requests that name none."""


class Change(NamedTuple):
    """A change to a snapshot: claims released, and one of the others.

    :param released: claims that lose their allocation.
    :param without_taint: a taint that is removed from all devices.
    :param features: other feature gates.
    :param class_selector: the name of a DeviceClass, the index of a selector, and the expression that replaces it.
    :param without: GROUPS, COUNTERS or CAPACITY, if these do not count.
    :param without_patch: the name of a ResourceSlicePatch that is deleted.
    """

    released: frozenset[str] = frozenset()
    without_taint: Taint | None = None
    features: Features | None = None
    class_selector: tuple[str, int, str] | None = None
    without: str = ""
    without_patch: str = ""


class Seen(Protocol):
    """What the devices of a node are told from."""

    @property
    def features(self) -> Features:
        """The features of the scheduler."""

    @property
    def nodes(self) -> Mapping[str, Node]:
        """Nodes as JSON, by name."""

    @property
    def inventory(self) -> Inventory:
        """The slices."""

    @property
    def allocated(self) -> AllocatedState:
        """What claims hold."""

    @property
    def holders(self) -> Mapping[DeviceId, list[str]]:
        """Which claims hold a device, or a share of it, as far as that is to be told."""


class ClusterContent(NamedTuple):
    """What a snapshot is made of.

    :param classes: by name.
    :param slices: ResourceSlices of v1 in normal form, as drivers publish them.
    :param claims: those that have devices count.
    :param taint_rules: which taint their devices.
    :param patches: ResourceSlicePatches in normal form, which change them.
    """

    nodes: Iterable[Node]
    classes: Mapping[str, DeviceClass]
    slices: Iterable[Object]
    claims: Iterable[Claim] = ()
    taint_rules: Iterable[DeviceTaintRule] = ()
    patches: Iterable[Object] = ()


class Snapshot:
    """Nodes, classes, slices and allocated claims; immutable.

    :param known: slices that another snapshot has read, by name.
    :param time_limit: how long it may take to apply patches and rules to devices.
    :param owner_of: what replaces a pod, see :func:`~allocator.explaining.holders.holder`.
    :raises OutOfTime: if that takes longer.
    """

    def __init__(
        self,
        features: Features,
        content: ClusterContent,
        *,
        time_limit: TimeLimit,
        known: Mapping[str, Slice] = MappingProxyType({}),
        owner_of: OwnerOf = lambda pod: None,
    ) -> None:
        nodes, classes, slices, claims, taint_rules, patches = content
        self.features = features
        #: what explanations keep of answers
        self.known_answers = KnownAnswers()
        self._owner_of = owner_of
        self.nodes = {node.name: node for node in nodes}
        #: the nodes that pods' specs rule out
        self.exclusions = Exclusions(self.nodes.values())
        self.classes = classes
        self._published = {name_of(slice): slice for slice in slices}
        self.patches, self._rules = tuple(patches), tuple(taint_rules)
        self.claims = {claim.key: claim for claim in claims if claim.allocation is not None}
        read = (known.get(name, slice) for name, slice in self._published.items())
        self.cluster = SchedulingState(features, self.nodes.values(), classes, read)
        for rule in self._rules if features.device_taints else ():
            self.cluster.put_rule(rule)
        for patch in self.patches:
            self.cluster.put_patch(patch)
        if not self.cluster.settle(time_limit):
            raise OutOfTime
        self.allocated = self.cluster.allocated
        self.inventory = self.cluster.inventory
        #: which claims hold a device, or a share of it
        self.holders: dict[DeviceId, list[str]] = {}
        #: which claims hold devices of a pool, admin access included
        self.users: dict[PoolId, dict[str, None]] = {}
        #: which DeviceTaintRules put a taint on devices
        self.taint_rules: dict[Taint, list[str]] = {}
        for rule in self._rules:
            self.taint_rules.setdefault(read_taint(rule.taint), []).append(rule.name)
        self._places = {name: place for place, name in enumerate(self._published)}
        for name, claim in self.claims.items():
            if claim.allocation is not None:
                self.cluster.hold_allocation(name, claim.allocation)
            for result in claim.results:
                self.users.setdefault(PoolId(*result.device[:2]), {})[name] = None
                holders = self.holders.setdefault(result.device, [])
                if not result.is_admin and name not in holders:
                    holders.append(name)

    def with_allocated(self, claims: Iterable[Claim], time_limit: TimeLimit) -> Snapshot:
        """A snapshot in which these claims hold devices, too.

        :raises OutOfTime: if it takes too long to apply patches and rules to its devices.
        """
        held = [*self.claims.values(), *claims]
        return self._merged_anew(Change(), self.nodes.values(), self._published, held, time_limit)

    @cached_property
    def claim_users(self) -> dict[str, Holder]:
        """Who uses each allocated claim, by the name of the claim."""
        return {name: holder(claim, self._owner_of) for name, claim in self.claims.items()}

    def demand(self, claims: Iterable[Claim], time_limit: TimeLimit) -> list[ClaimDemand]:
        """The requests of those claims that are not allocated yet."""
        return [
            read_claim(claim, self.classes, self.features, time_limit)
            for claim in claims
            if not claim.is_allocated
        ]

    def changed(self, change: Change, node: str | None, time_limit: TimeLimit) -> Snapshot:
        """A snapshot with a change.

        :param node: if given, the new snapshot has only what matters on this node.
        :raises OutOfTime: if it takes too long to apply patches and rules to its devices.
        """
        nodes: Collection[Node] = self.nodes.values()
        names, claims = list(self._published), list(self.claims)
        if node is not None:
            pools = self.pools_near(node)
            near = {slice.name for pool in pools for slice in self.inventory.of_pool(pool)}
            names = sorted(near, key=self._places.__getitem__)
            nodes, claims = [self.nodes[node]], self.users_of(pools)
        kept = [self.claims[name] for name in claims if name not in change.released]
        if change.without:
            kept = [_without_remembered_groups(claim) for claim in kept]
        if change.features is not None or change.class_selector is not None or change.without_patch:
            return self._merged_anew(change, nodes, names, kept, time_limit)
        slices, known = [self.slices[name] for name in names], self._read_slices
        if change.without_taint is not None:
            slices = [_with_devices(each, partial(_untainted, change.without_taint)) for each in slices]
        if change.without:
            slices = [_with_devices(each, partial(_stripped, change.without)) for each in slices]
        if change.without_taint is not None or change.without:
            known = {}
        return Snapshot(
            self.features,
            ClusterContent(nodes, self.classes, slices, kept),
            time_limit=time_limit,
            known=known,
            owner_of=self._owner_of,
        )

    def _merged_anew(
        self,
        change: Change,
        nodes: Iterable[Node],
        names: Iterable[str],
        claims: Iterable[Claim],
        time_limit: TimeLimit,
    ) -> Snapshot:
        """A snapshot with other feature gates, another class or without a patch, on which depends what rules and patches do."""
        classes, features = self.classes, change.features or self.features
        if change.class_selector is not None:
            name, place, expression = change.class_selector
            classes = {**classes, name: _with_selector(classes[name], place, expression)}
        patches = [each for each in self.patches if name_of(each) != change.without_patch]
        slices = [self._published[name] for name in names]
        known = {each.name: each for each in self.inventory.published()}
        if features.reading != self.features.reading:
            known = {}
        return Snapshot(
            features,
            ClusterContent(nodes, classes, slices, claims, self._rules, patches),
            time_limit=time_limit,
            known=known,
            owner_of=self._owner_of,
        )

    @cached_property
    def slices(self) -> dict[str, Object]:
        """The slices as rules and patches make them, by name."""
        published = {each.name: each for each in self.inventory.published()}
        return {
            name: obj if self._read_slices[name] is published[name] else self._read_slices[name].as_object()
            for name, obj in self._published.items()
        }

    @cached_property
    def _read_slices(self) -> dict[str, Slice]:
        return {slice.name: slice for slice in self.inventory}

    def pools_near(self, node: str) -> list[PoolId]:
        """The pools that may have devices for a node."""
        return sorted({slice.pool for slice in self.inventory.candidates(node)})

    def users_of(self, pools: Iterable[PoolId]) -> list[str]:
        """The names of the claims that hold devices of these pools."""
        return sorted({name for pool in pools for name in self.users.get(pool, ())})


def unknown_classes(snapshot: Snapshot, demand: Iterable[ClaimDemand]) -> list[str]:
    """The DeviceClasses that requests name but that do not exist."""
    named = [
        alternative.details.device_class
        for claim in demand
        for request in claim.requests
        for alternative in request.alternatives
    ]
    return list(dict.fromkeys(name for name in named if name and name not in snapshot.classes))


def _with_devices(slice: Object, changed: Callable[[Object], Object]) -> Object:
    spec = slice.get("spec") or {}
    return {**slice, "spec": {**spec, "devices": [changed(each or {}) for each in spec.get("devices") or ()]}}


def _stripped(what: str, device: Object) -> Object:
    """The device without counters, without the groups of what it consumes, or with capacities of which 0 is taken."""
    if what == CAPACITY:
        free = {"requestPolicy": {"default": UNSET}}
        return {
            **device,
            CAPACITY: {name: {**(each or {}), **free} for name, each in (device.get(CAPACITY) or {}).items()},
        }
    if what == COUNTERS:
        return {name: value for name, value in device.items() if name != COUNTERS}
    entries = [
        {name: value for name, value in (entry or {}).items() if name != GROUPS}
        for entry in device.get(COUNTERS) or ()
    ]
    return {**device, COUNTERS: entries} if entries else device


def _without_remembered_groups(claim: Claim) -> Claim:
    allocation = {} if claim.allocation is None else claim.allocation.object
    results = [
        {name: value for name, value in each.object.items() if name != GROUPS} for each in claim.results
    ]
    devices = {**(allocation.get("devices") or {}), "results": results}
    return claim.allocated({**allocation, "devices": devices})


def _with_selector(device_class: DeviceClass, place: int, expression: str) -> DeviceClass:
    selectors = list(device_class.selectors)
    selectors[place] = expression
    return device_class._replace(selectors=tuple(selectors))


def _untainted(taint: Taint, device: Object) -> Object:
    taints = [each for each in device.get("taints") or () if read_taint(each) != taint]
    return {**device, "taints": taints} if "taints" in device else device

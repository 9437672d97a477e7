"""The devices of a cluster as they would be after a change, made of what is held of it: nodes and pods are records, not manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from allocator.expansion import Template
from allocator.explaining.snapshot import Change
from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.impact.change import LAST, NODE
from claimcheck.answers.scenario import snapshot_of
from documents.manifest import Manifest, Unwritten
from resourceapi.errors import Unanswerable
from resourceapi.kinds import DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from resourceapi.records.taints import without_time
from validation.requests import create_request

#: What can be created or replaced, beside Nodes that are not there yet: what says which devices there are, and who gets them.
APPLIED = frozenset(
    each.name for each in (DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH)
)

#: More new devices than these are not looked at.
MOST_NEW_DEVICES = 20_000


class StateChange(NamedTuple):
    """What is done to a cluster.

    :param applied: objects that are created, or replace those of the same kind and name.
    :param cordoned: a node to which no further pods come.
    :param template: a kind of nodes that are added.
    :param nodes: how many.
    """

    applied: Sequence[Manifest] = ()
    cordoned: str = ""
    template: Template | None = None
    nodes: int = 0


class DevicesAfterwards(NamedTuple):
    """The devices afterwards, and the pods that leave because of taints, which hold nothing any more."""

    devices: ClusterDevices
    leaving: Sequence[Pod] = ()


def devices_afterwards(now: ClusterDevices, change: StateChange, limit: TimeLimit) -> DevicesAfterwards:
    """Change a copy of a cluster as :func:`~claimcheck.answers.impact.impact.impact` does; pods that leave come back nowhere.

    :raises Unanswerable: if the API server would refuse the change, or what it is about does not exist.
    :raises OutOfTime: if it takes too long to find out what becomes of the devices.
    """
    state = now.state.copy()
    _apply(state, change.applied)
    if change.cordoned:
        _cordon(state, change.cordoned)
    if change.template is not None:
        _add(state, change.template, change.nodes)
    replaced = {
        name_of(each.value) for each in change.applied if each.value.get("kind") == RESOURCE_SLICE.name
    }
    known = {each.name: each for each in now.inventory.published() if each.name not in replaced}
    snapshot = snapshot_of(state, limit, known)
    then = ClusterDevices(state, limit, snapshot)
    leaving = _leaving(now, then)
    if released := _released(then, leaving):
        then = ClusterDevices(
            state, limit, snapshot.changed(Change(released=frozenset(released)), None, limit)
        )
    return DevicesAfterwards(then, leaving)


def _apply(state: ClusterState, applied: Sequence[Manifest]) -> None:
    """Create or replace objects."""
    patches = state.of(RESOURCE_SLICE_PATCH.name)
    for name, patch in patches.items():
        if "creationTimestamp" not in mapping(patch, "metadata"):
            patches[name] = _created(patch, LAST)  # older than what comes now
    for manifest in applied:
        version, kind, name = (
            text(manifest.value, "apiVersion"),
            text(manifest.value, "kind"),
            name_of(manifest.value),
        )
        is_node = (version, kind) == ("v1", NODE)
        if not (is_node or (kind in APPLIED and kind_of(version, kind))):
            known = ", ".join(sorted(APPLIED))
            raise Unanswerable(f"{kind} {name}: what can be tried are {known} and new Nodes")
        if is_node and name in state.nodes.objects:
            raise Unanswerable(
                f"Node {name} is in the cluster already: claimcheck impact tells what changes of it do"
            )
        if not is_node:
            answer = state.server.handle(create_request(manifest.value, ""))
            if not answer.accepted:
                raise Unanswerable(answer.message)
        before = patches.get(name) if kind == RESOURCE_SLICE_PATCH.name else None
        age = "" if before is None else text(mapping(before, "metadata"), "creationTimestamp")
        failures = len(state.failures)
        state.learn([Unwritten(manifest.file, _created(manifest.value, age))])
        if len(state.failures) > failures:
            raise Unanswerable(state.failures[failures].message)
        if kind == DEVICE_TAINT_RULE.name and "timeAdded" not in mapping(manifest.value, "spec", "taint"):
            state.taint_rules[name] = without_time(state.taint_rules[name])


def _created(value: Object, when: str) -> dict[str, object]:
    """An object with the time since which it exists; empty: it comes now."""
    metadata = {key: each for key, each in mapping(value, "metadata").items() if key != "creationTimestamp"}
    return {**value, "metadata": metadata | ({"creationTimestamp": when} if when else {})}


def _cordon(state: ClusterState, name: str) -> None:
    node = state.nodes.objects.get(name)
    if node is None:
        raise Unanswerable(f"Node {name} is not in the cluster")
    state.nodes.objects[name] = node._replace(is_unschedulable=True)


def _add(state: ClusterState, template: Template, nodes: int) -> None:
    """Add nodes of a kind with their slices."""
    devices = nodes * sum(len(entries(mapping(each, "spec"), "devices")) for each in template.slices)
    if devices > MOST_NEW_DEVICES:
        raise Unanswerable(f"that many nodes have {devices:,} devices; {MOST_NEW_DEVICES:,} can be tried")
    for each in state.all_nodes():  # those that only slices name would be gone beside a Node
        state.nodes.objects.setdefault(each.name, each)
    for number in range(1, nodes + 1):
        node, slices = template.made(number)
        state.nodes.objects[node.name] = node
        for slice in slices:
            state.put(RESOURCE_SLICE.name, slice)


def _leaving(now: ClusterDevices, then: ClusterDevices) -> list[Pod]:
    """The pods that are evicted and would stay, or stay longer, without the change."""
    already = {each.pod.key: each.when for each in now.evictions()}
    return [
        each.pod
        for each in then.evictions()
        if each.pod.key not in already or each.when < already[each.pod.key]
    ]


def _released(then: ClusterDevices, leaving: Sequence[Pod]) -> list[str]:
    """The claims that nobody uses any more once pods have left."""
    gone = {pod.uid for pod in leaving if pod.uid}
    used = {f"{pod.namespace}/{each.claim}" for pod in leaving for each in pod.claims if each.claim}
    claims: Mapping[str, Claim] = then.snapshot.claims
    return [
        key
        for key in used
        if key in claims
        and (
            all(each.uid in gone for each in claims[key].consumers)
            or any(each.is_controller and each.uid in gone for each in claims[key].owners)
        )
    ]

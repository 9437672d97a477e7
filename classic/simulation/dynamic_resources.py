"""The plugin DynamicResources of kube-scheduler 1.30, for claims that drivers allocate.

It asks drivers by fields of the pod's PodSchedulingContext, and goes on as soon as the status of claims has their answer.
Claims whose class has ``structuredParameters`` are not its business here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from classic import claims as of_claim
from classic.claims import NotYet, SyncError
from classic.memory_objects import MemoryObjects
from classic.simulation.api_server import Client
from resourceapi import limits
from resourceapi.errors import WriteConflict
from resourceapi.manifests import entries, key_of, mapping, name_of, text, uid_of
from resourceapi.model.v1alpha2 import IMMEDIATE, WAIT_FOR_FIRST_CONSUMER
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from resourceapi.records.pods import claims_of

NAME = "DynamicResources"


class Code(Enum):
    """What a plugin says at an extension point."""

    SUCCESS = "Success"
    SKIP = "Skip"
    UNSCHEDULABLE = "Unschedulable"
    PENDING = "Pending"
    ERROR = "Error"


class Status(NamedTuple):
    """What a plugin says, and why, in its words; `detail` names what it is about."""

    code: Code
    reason: str = ""
    detail: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the attempt goes on."""
        return self.code in (Code.SUCCESS, Code.SKIP)


SUCCESS = Status(Code.SUCCESS)


def _unschedulable(reason: str, detail: str = "") -> Status:
    return Status(Code.UNSCHEDULABLE, reason, detail)


@dataclass
class PodClaim:
    """A claim of a pod, as it was when the attempt began.

    :ivar entry: its name in ``spec.resourceClaims`` of the pod.
    :ivar nodes: a node selector: where the claim is available, or may be allocated; None if anywhere.
    :ivar unsuitable: the nodes for which it cannot be allocated; None if its driver has not said yet.
    """

    entry: str
    claim: Object
    nodes: Object | None = None
    unsuitable: frozenset[str] | None = None

    @property
    def is_allocated(self) -> bool:
        """Whether a driver has allocated it."""
        return of_claim.is_allocated(self.claim)


@dataclass
class CycleState:
    """What the plugin remembers during an attempt.

    :ivar context: the PodSchedulingContext, if the pod has one.
    :ivar unavailable: the claims that were not available on some node, and may be deallocated.
    :ivar selected_node: to be written, if not None.
    :ivar potential_nodes: to be written, if not None.
    """

    claims: list[PodClaim] = field(default_factory=list)
    context: Object | None = None
    unavailable: list[PodClaim] = field(default_factory=list)
    selected_node: str | None = None
    potential_nodes: list[str] | None = None
    is_prescored: bool = False

    @property
    def is_dirty(self) -> bool:
        """Whether the PodSchedulingContext is to be written."""
        return self.selected_node is not None or self.potential_nodes is not None

    def spec(self, name: str) -> object:
        """A field of the spec of the PodSchedulingContext; None if it is not set."""
        return mapping(self.context, "spec").get(name)

    @property
    def pending(self) -> list[PodClaim]:
        """The claims that drivers have not allocated."""
        return [each for each in self.claims if not each.is_allocated]


def pod_claims(objects: MemoryObjects, pod: Object) -> list[tuple[str, Object]]:
    """The claims of a pod, by the names of their entries.

    :raises SyncError: if one is missing, or not to be used; NotYet if it has not been made yet.
    """
    found, namespace = [], of_claim.namespace_of(pod)
    for entry in claims_of(pod):
        name = of_claim.claim_name(entry)
        if name is None:
            continue
        claim = objects.get("ResourceClaim", namespace, name)
        if claim is None:
            raise NotYet(f'resourceclaim.resource.k8s.io "{name}" not found')
        if of_claim.is_leaving(claim):
            raise NotYet(f'resourceclaim "{name}" is being deleted')
        if entry.is_generated and not of_claim.is_controlled_by(claim, pod):
            raise SyncError(f"ResourceClaim {key_of(claim)} was not created for pod {key_of(pod)}")
        found.append((entry.entry, claim))
    return found


def pre_filter(objects: MemoryObjects, pod: Object, state: CycleState) -> Status:
    """Look at the claims: whether they are there, free, and not about to be deallocated."""
    try:
        found = pod_claims(objects, pod)
    except (NotYet, SyncError) as error:
        return _unschedulable(str(error))
    if not found:
        return Status(Code.SKIP)
    state.context = objects.get("PodSchedulingContext", of_claim.namespace_of(pod), name_of(pod))
    if state.context is not None and not of_claim.is_controlled_by(state.context, pod):
        name = key_of(pod)
        return Status(Code.ERROR, f"PodSchedulingContext is not owned by Pod {name}")
    claims = []
    for entry, claim in found:
        claims.append(PodClaim(entry, claim))
        status = _checked(objects, pod, claims[-1], state)
        if not status.is_success:
            return status
    state.claims = claims
    return SUCCESS


def _checked(objects: MemoryObjects, pod: Object, each: PodClaim, state: CycleState) -> Status:
    """Whether a pod may use a claim, and where it may be."""
    status = mapping(each.claim, "status")
    if of_claim.is_deallocation_requested(each.claim):
        return _unschedulable("resourceclaim must be reallocated", key_of(each.claim))
    if each.is_allocated:
        allocation = mapping(status, "allocation")
        can_share = allocation.get("shareable") is True or not of_claim.is_reserved(each.claim)
        if not can_share and not is_reserved_for(pod, each.claim):
            return _unschedulable("resourceclaim in use", key_of(each.claim))
        each.nodes = allocation.get("availableOnNodes")
        return SUCCESS
    name = of_claim.class_name_of(each.claim)
    resource_class = objects.get("ResourceClass", "", name)
    if resource_class is None:
        return _unschedulable(f"resource class {name} does not exist")
    each.nodes = resource_class.get("suitableNodes")
    for told in entries(mapping(state.context, "status"), "resourceClaims"):
        if text(told, "name") == each.entry:
            each.unsuitable = frozenset(entries(told, "unsuitableNodes"))
    if of_claim.allocation_mode(each.claim) == IMMEDIATE:
        return _unschedulable("unallocated immediate resourceclaim", key_of(each.claim))
    return SUCCESS


def is_reserved_for(pod: Object, claim: Object) -> bool:
    """Whether a pod is among those that may use a claim."""
    users = entries(mapping(claim, "status"), "reservedFor")
    return any(text(each, "uid") == uid_of(pod) for each in users)


def filter_node(node: Node, state: CycleState) -> Status:
    """Whether a node is where the claims are, or may be.

    All claims are looked at before a node is refused for one that is allocated elsewhere: PostFilter wants to know all
    of these.
    """
    elsewhere = []
    for each in state.claims:
        matches = each.nodes is None or selects(each.nodes, node)
        if each.is_allocated:
            if not matches:
                elsewhere.append(each)
        elif not matches:
            return _unschedulable(
                "excluded by resource class node filter", of_claim.class_name_of(each.claim)
            )
        elif node.name in (each.unsuitable or ()):
            reason = "resourceclaim cannot be allocated for the node (unsuitable)"
            return _unschedulable(reason, key_of(each.claim))
    if not elsewhere:
        return SUCCESS
    for each in elsewhere:
        is_delayed = of_claim.allocation_mode(each.claim) == WAIT_FOR_FIRST_CONSUMER
        if is_delayed and each not in state.unavailable:
            state.unavailable.append(each)
    names = ", ".join(key_of(each.claim) for each in elsewhere)
    return _unschedulable("resourceclaim not available on the node", names)


async def post_filter(
    client: Client, pod: Object, state: CycleState, choose: Callable[[Sequence[PodClaim]], PodClaim]
) -> Status:
    """No node fits: have a claim deallocated that keeps the pod away from some node, and that nobody else uses.

    :param choose: one of several claims; kube-scheduler chooses at random.
    """
    if not state.claims:
        return _unschedulable("no new claims to deallocate")
    unused = [each for each in state.unavailable if not _is_used_by_others(pod, each.claim)]
    if not unused:
        return _unschedulable("still not schedulable")
    chosen = choose(unused)
    if state.spec("selectedNode"):
        # Else the driver would allocate the claim for the same node again.
        state.selected_node = ""
        await publish(client, pod, state)
    status = {key: value for key, value in chosen.claim["status"].items() if key != "reservedFor"}
    requested = {**chosen.claim, "status": {**status, "deallocationRequested": True}}
    try:
        await client.update_claim_status(requested)
    except WriteConflict as error:
        return Status(Code.ERROR, str(error))
    return _unschedulable("deallocation of ResourceClaim completed", key_of(chosen.claim))


def _is_used_by_others(pod: Object, claim: Object) -> bool:
    users = entries(mapping(claim, "status"), "reservedFor")
    return bool(users) and not (len(users) == 1 and is_reserved_for(pod, claim))


def pre_score(state: CycleState, nodes: Sequence[str]) -> str:
    """Remember which nodes drivers are to be asked about. It is called only if there is more than one to choose from.

    :return: what was decided.
    """
    state.is_prescored = True
    if not state.pending:
        return "all claims are allocated"
    known = state.spec("potentialNodes") or ()
    if isinstance(known, list) and set(nodes) <= set(known):
        return "drivers have been asked about these nodes"
    # Of more nodes than fit, kube-scheduler takes some at random.
    state.potential_nodes = sorted(nodes[: limits.CLASSIC_NODES_PER_LIST])
    return "drivers are to be asked about these nodes"


def reserve(state: CycleState, node: str) -> Status:
    """Decide whether to have the claims allocated for a node; what is to be written is written by PreBind.

    With one claim that is not allocated, the node is selected at once. With several, only when all drivers have said which
    nodes are not suitable.
    """
    pending = state.pending
    if not pending:
        return SUCCESS
    known = state.spec("potentialNodes") or ()
    if not state.is_prescored and not (isinstance(known, list) and node in known):
        state.potential_nodes = [node]
    told = sum(each.unsuitable is not None for each in pending)
    if (len(pending) == 1 or told == len(pending)) and state.spec("selectedNode") != node:
        state.selected_node = node
    if state.is_dirty:
        return SUCCESS
    return Status(Code.PENDING, "waiting for resource driver to provide information")


async def unreserve(client: Client, pod: Object, state: CycleState) -> str:
    """The attempt ends: write what is still to be written, and take the pod from the users of its claims.

    :return: what was done.
    """
    uid, done = uid_of(pod), "nothing is reserved for the pod"
    if state.is_dirty:
        await publish(client, pod, state)
    for each in state.claims:
        if each.is_allocated and is_reserved_for(pod, each.claim):
            await client.patch_status("ResourceClaim", each.claim, lambda status: _without_user(status, uid))
            done = "the claims are not reserved for the pod any more"
    return done


async def pre_bind(client: Client, pod: Object, state: CycleState) -> Status:
    """Write what drivers are to know, or else reserve the claims for the pod."""
    if state.is_dirty:
        await publish(client, pod, state)
        return Status(Code.PENDING, "waiting for resource driver")
    user = of_claim.pod_reference(pod)
    for each in state.claims:
        if not is_reserved_for(pod, each.claim):
            each.claim = await client.patch_status(
                "ResourceClaim", each.claim, lambda status: _with_user(status, user)
            )
    return SUCCESS


async def post_bind(client: Client, pod: Object, state: CycleState) -> None:
    """The pod is bound: delete its PodSchedulingContext."""
    if state.claims:
        await client.delete("PodSchedulingContext", of_claim.namespace_of(pod), name_of(pod))


async def publish(client: Client, pod: Object, state: CycleState) -> None:
    """Create or update the PodSchedulingContext. Nobody else writes its spec, so a conflict is overruled."""
    wanted = {"selectedNode": state.selected_node, "potentialNodes": state.potential_nodes}
    changed = {name: value for name, value in wanted.items() if value is not None}
    if state.context is None:
        await client.create(_new_context(pod, changed))
    else:
        try:
            await client.update("PodSchedulingContext", _with_spec(state.context, changed))
        except WriteConflict:
            newest = await client.context(of_claim.namespace_of(pod), name_of(pod))
            if newest is not None:
                await client.update("PodSchedulingContext", _with_spec(newest, changed))
    state.selected_node = state.potential_nodes = None


def _new_context(pod: Object, spec: Object) -> Object:
    return {
        "apiVersion": CLASSIC_API_VERSION,
        "kind": "PodSchedulingContext",
        "metadata": {
            "name": name_of(pod),
            "namespace": of_claim.namespace_of(pod),
            "ownerReferences": [of_claim.controlling_owner(pod)],
        },
        "spec": spec,
    }


def _with_spec(context: Object, changed: Object) -> Object:
    spec = {**mapping(context, "spec"), **changed}
    return {**context, "spec": {name: value for name, value in spec.items() if value}}


def _with_user(status: Object, user: Object) -> Object:
    # kube-scheduler adds it by a strategic merge patch, which puts new entries first.
    return {**status, "reservedFor": [user, *entries(status, "reservedFor")]}


def _without_user(status: Object, uid: str) -> Object:
    kept = [each for each in entries(status, "reservedFor") if text(each, "uid") != uid]
    rest = {key: value for key, value in status.items() if key != "reservedFor"}
    return {**rest, "reservedFor": kept} if kept else rest

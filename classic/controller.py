"""What a driver's controller does about one claim, or one PodSchedulingContext.

A step looks at an object as it is now, calls the driver and writes what follows. It may be interrupted anywhere, and is taken
again after that, by this process or the next one: what a driver has begun is finished, or taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum

from classic import claims as of_claim
from classic.claims import NotYet, SyncError, because, together
from classic.driver import ClaimAllocation, Driver
from classic.driver_calls import CALL_SECONDS, ClaimsInUse, DriverCalls
from classic.writes import ClaimWrites, Events, FailureEvents, Objects
from cluster.leading import Fence
from resourceapi import limits
from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from resourceapi.manifests import entries, full_name, key_of, mapping, name_of, text
from resourceapi.model.v1alpha2 import IMMEDIATE, WAIT_FOR_FIRST_CONSUMER
from resourceapi.objects import Object
from resourceapi.records.pods import PodClaim, claims_of

# ``status.resourceClaims`` of a PodSchedulingContext: the nodes for which claims cannot be allocated.

#: All names of nodes together: a part of what API servers accept for an object (1.5 MiB), as other drivers write there, too.
MOST_CHARACTERS = 256 * 1024


def nodes_to_check(context: Object) -> list[str]:
    """The potential nodes; the selected one is added if the scheduler has not listed it."""
    spec = mapping(context, "spec")
    nodes = [node for node in entries(spec, "potentialNodes") if isinstance(node, str)]
    selected = text(spec, "selectedNode")
    return nodes if not selected or selected in nodes else [*nodes, selected]


def reported(unsuitable: Iterable[str], checked: Sequence[str], selected_node: str) -> list[str]:
    """What the API server is told of a driver's answer: the nodes that were asked about, once each, and not too many.

    Of too many the last ones are told, and the selected one in any case: the scheduler must not select it again.
    """
    asked = frozenset(checked)
    nodes = [node for node in dict.fromkeys(unsuitable) if node in asked]
    kept = nodes[-limits.CLASSIC_NODES_PER_LIST :]
    if selected_node in nodes and selected_node not in kept:
        kept = [selected_node, *kept[1:]]
    return kept


def with_unsuitable_nodes(
    context: Object, claims: Iterable[tuple[str, ClaimAllocation]], checked: Sequence[str]
) -> Object | None:
    """The context with what a driver says of its claims; None if it says that already.

    :param claims: with the name that the pod has for each.
    """
    selected = text(mapping(context, "spec"), "selectedNode")
    before = entries(mapping(context, "status"), "resourceClaims")
    after = {text(entry, "name"): entry for entry in before}
    nodes_of = {name: reported(claim.unsuitable_nodes, checked, selected) for name, claim in claims}
    for name, nodes in _fitting(nodes_of).items():
        if name not in after or entries(after[name], "unsuitableNodes") != nodes:
            after[name] = {"name": name, **({"unsuitableNodes": nodes} if nodes else {})}
    if list(after.values()) == before:
        return None
    return {**context, "status": {**mapping(context, "status"), "resourceClaims": list(after.values())}}


def _fitting(nodes_of: dict[str, list[str]]) -> dict[str, list[str]]:
    """The nodes of each claim; of too many, each node once: the scheduler avoids nodes that do not suit any of the claims."""
    if sum(len(node) for nodes in nodes_of.values() for node in nodes) <= MOST_CHARACTERS:
        return nodes_of
    told: set[str] = set()
    fitting = {}
    for name, nodes in nodes_of.items():
        fitting[name] = [node for node in nodes if node not in told]
        told.update(nodes)
    return fitting


ALLOCATING, DEALLOCATING = "Allocating", "Deallocating"
#: What a pod may have in ``spec.resourceClaims``: API servers of 1.30 take as many entries as fit into a request.
MOST_CLAIMS = 256


class Next(Enum):
    """What follows a step that came to its end."""

    NOTHING = "nothing, until the object changes"
    RECHECK = "the same step, after a while: what the driver says of nodes may have changed"


def _unfenced() -> None:
    """For a controller that runs only once."""


class Controller:
    """The controller of one driver; :mod:`classic.service` has it look at the objects of a cluster as they change."""

    def __init__(
        self,
        driver_name: str,
        driver: Driver,
        objects: Objects,
        *,
        events: Events | None = None,
        fence: Fence = _unfenced,
        reserve: bool = True,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        """Make it ready.

        :param driver_name: as in ``driverName`` of the driver's ResourceClasses.
        :param events: where failures are told.
        :param fence: called right before each write and each call of the driver; raises NotLeading if this process must not act
            any more.
        :param reserve: whether a claim that is allocated for a pod is reserved for it at once, as the scheduler expects.
        :param call_seconds: after which a call of the driver is given up.
        """
        self.driver_name = driver_name
        self._objects = objects
        self._reserve = reserve
        self._in_use = ClaimsInUse()
        self._calls = DriverCalls(driver, self._in_use, fence, call_seconds)
        self._writes = ClaimWrites(objects, driver_name, fence)
        self._events = FailureEvents(events)

    @property
    def in_use(self) -> ClaimsInUse:
        """The claims that the driver is being asked about."""
        return self._in_use

    async def sync_claim(self, namespace: str, name: str) -> Next:
        """Look at a claim: allocate it, if it is to be allocated immediately, or take its allocation back.

        :raises SyncError: if that has failed, which has been told in an event.
        :raises NotYet: if something else has to happen first; WriteConflict if the claim has changed meanwhile.
        """
        key = full_name(namespace, name)
        with self._in_use.take(key):
            claim = await self._objects.claim(namespace, name)
            if claim is None:
                self._calls.forget(key)
            elif of_claim.is_reserved(claim):
                pass
            elif (
                of_claim.is_leaving(claim)
                or of_claim.is_deallocation_requested(claim)
                or self._was_interrupted(claim)
            ):
                with self._telling("ResourceClaim", claim, DEALLOCATING):
                    await self._deallocate(claim)
            elif not of_claim.is_allocated(claim) and of_claim.allocation_mode(claim) == IMMEDIATE:
                with self._telling("ResourceClaim", claim, ALLOCATING):
                    await self._allocate_immediately(claim)
        return Next.NOTHING

    async def sync_context(self, namespace: str, name: str) -> Next:
        """Look at a PodSchedulingContext: tell the scheduler about nodes, and allocate the claims for the selected one.

        :raises SyncError: if that has failed, which has been told in an event.
        :raises NotYet: if something else has to happen first; WriteConflict if an object has changed meanwhile.
        """
        context = await self._objects.context(namespace, name)
        if context is None or of_claim.is_leaving(context) or not nodes_to_check(context):
            return Next.NOTHING
        with self._telling("PodSchedulingContext", context, ALLOCATING), ExitStack() as taken:
            pod = await self._pod(namespace, name)
            if pod is None or of_claim.is_leaving(pod) or not of_claim.is_controlled_by(context, pod):
                return Next.NOTHING
            taken.enter_context(self._telling("Pod", pod, ALLOCATING))
            claims = await self._pending_claims(pod, taken)
            if claims:
                await self._negotiate(context, pod, claims)
        return Next.RECHECK

    # --- claims

    async def _deallocate(self, claim: Object) -> None:
        if not of_claim.has_finalizer(claim, self._writes.finalizer):
            return
        if of_claim.is_allocated(claim):
            await self._calls.deallocate(claim, "deallocate")
            if self._is_own_allocation(claim):
                claim = await self._writes.remove_allocation(claim)
        else:
            await self._calls.deallocate(claim, "stop allocation")
        await self._writes.remove_finalizer(claim)

    def _was_interrupted(self, claim: Object) -> bool:
        """Whether another process was allocating or deallocating a claim that nobody may want allocated any more."""
        return (
            of_claim.has_finalizer(claim, self._writes.finalizer)
            and not of_claim.is_allocated(claim)
            and of_claim.allocation_mode(claim) == WAIT_FOR_FIRST_CONSUMER
            and not self._calls.has_begun(claim)
        )

    def _is_own_allocation(self, claim: Object) -> bool:
        return text(mapping(claim, "status"), "driverName") == self.driver_name

    async def _allocate_immediately(self, claim: Object) -> None:
        resource_class = await self._class_of(claim)
        if not self._serves(resource_class):
            return
        parameters = await self._parameters(claim, resource_class)
        await self._allocate([ClaimAllocation("", claim, resource_class, *parameters)], "", None)

    async def _class_of(self, claim: Object) -> Object:
        name = of_claim.class_name_of(claim)
        found = await self._objects.resource_class(name)
        if found is None:
            raise SyncError(f"ResourceClass {name} does not exist")
        return found

    def _serves(self, resource_class: Object) -> bool:
        """Whether this driver allocates the claims of a class; with structured parameters, the scheduler does."""
        return (
            resource_class.get("driverName") == self.driver_name
            and resource_class.get("structuredParameters") is not True
        )

    async def _parameters(self, claim: Object, resource_class: Object) -> tuple[object, object]:
        """Parameters of the claim, and of its class."""
        try:
            of_class = await self._calls.class_parameters(claim, resource_class)
        except SyncError as error:
            self._events.warn("ResourceClass", resource_class, ALLOCATING, str(error))
            raise
        return await self._calls.claim_parameters(claim, resource_class, of_class), of_class

    # --- claims of pods

    async def _pod(self, namespace: str, name: str) -> Object | None:
        try:
            return await self._objects.pod(namespace, name)
        except Unavailable as error:
            raise because("read the pod", error) from error

    async def _pending_claims(self, pod: Object, taken: ExitStack) -> list[tuple[str, ClaimAllocation]]:
        """The claims of a pod that this driver is to allocate, by the names that the pod has for them; each is taken.

        A pod may use the same claim under several names.
        """
        wanted = entries(mapping(pod, "spec"), "resourceClaims")
        if len(wanted) > MOST_CLAIMS:
            raise SyncError(
                f"the pod has {len(wanted):,} claims: drivers allocate for pods with up to {MOST_CLAIMS}"
            )
        found: list[tuple[str, ClaimAllocation]] = []
        by_claim: dict[str, ClaimAllocation | None] = {}
        for entry in claims_of(pod):
            try:
                name = of_claim.claim_name(entry)
                if name is not None and name not in by_claim:
                    by_claim[name] = await self._pending_claim(pod, entry, name, taken)
            except SyncError as error:
                raise because(f"pod claim {entry.entry}", error) from error
            pending = by_claim.get(name or "")
            if pending is not None:
                found.append((entry.entry, pending))
        return found

    async def _pending_claim(
        self, pod: Object, entry: PodClaim, name: str, taken: ExitStack
    ) -> ClaimAllocation | None:
        namespace = of_claim.namespace_of(pod)
        if _is_settled(await self._objects.claim(namespace, name)):
            return None
        taken.enter_context(self._in_use.take(full_name(namespace, name)))
        claim = await self._objects.claim(namespace, name)
        if claim is None or of_claim.is_leaving(claim):
            raise NotYet(f"claim {name} {'is being deleted' if claim else 'does not exist'}")
        if entry.is_generated and not of_claim.is_controlled_by(claim, pod):
            raise SyncError(f"claim {name} was not made for the pod")
        if _is_settled(claim):
            return None
        resource_class = await self._class_of(claim)
        if not self._serves(resource_class):
            return None
        try:
            parameters = await self._parameters(claim, resource_class)
        except SyncError as error:
            self._events.warn("ResourceClaim", claim, ALLOCATING, str(error))
            raise
        return ClaimAllocation(entry.entry, claim, resource_class, *parameters)

    async def _negotiate(
        self, context: Object, pod: Object, named: Sequence[tuple[str, ClaimAllocation]]
    ) -> None:
        """Check the nodes, allocate for the selected one if it suits all claims, and tell what was found."""
        claims = list(dict.fromkeys(claim for _, claim in named))
        nodes, selected = nodes_to_check(context), text(mapping(context, "spec"), "selectedNode")
        await self._calls.unsuitable_nodes(pod, claims, nodes)
        if selected and not any(selected in each.unsuitable_nodes for each in claims):
            consumer = of_claim.pod_reference(pod) if self._reserve else None
            await self._allocate(claims, selected, consumer)
        changed = with_unsuitable_nodes(context, named, nodes)
        if changed is not None:
            await self._writes.store_context_status(changed)

    # --- allocation

    async def _allocate(
        self, claims: Sequence[ClaimAllocation], selected_node: str, consumer: Object | None
    ) -> None:
        """Have the driver allocate claims, all of which get the finalizer before it begins, and store what it says.

        :raises SyncError: if any of the claims is not allocated; the others are.
        """
        for each in claims:
            each.claim = await self._prepared(each.claim, selected_node)
        await self._calls.allocate(claims, selected_node)
        failed, conflict = [], None
        for each in claims:
            try:
                await self._store(each, consumer)
            except SyncError as error:
                failed.append(because(f"claim {name_of(each.claim)}", error))
            except WriteConflict as error:
                conflict = error
        if failed:
            raise together(failed)
        if conflict is not None:
            raise conflict

    async def _prepared(self, claim: Object, selected_node: str) -> Object:
        """The claim with the finalizer, and without what an earlier allocation may have left with the driver.

        If the finalizer is there, an allocation has begun. Whether it has come to its end, nobody knows, unless this process
        has begun it for the same node: then the driver is asked for the same once more.
        """
        if not of_claim.has_finalizer(claim, self._writes.finalizer):
            self._calls.begin(claim, selected_node)
            return await self._writes.add_finalizer(claim)
        if not self._calls.has_begun(claim, selected_node):
            await self._calls.deallocate(claim, "stop allocation")
            self._calls.begin(claim, selected_node)
        return claim

    async def _store(self, allocated: ClaimAllocation, consumer: Object | None) -> None:
        if allocated.error is not None:
            raise allocated.error
        assert allocated.allocation is not None
        stored = await self._writes.store_allocation(allocated.claim, allocated.allocation, consumer)
        self._calls.forget(key_of(stored))

    # --- failures

    @contextmanager
    def _telling(self, kind: str, obj: Object, action: str) -> Iterator[None]:
        try:
            yield
        except SyncError as error:
            self._events.warn(kind, obj, action, str(error))
            raise


def _is_settled(claim: Object | None) -> bool:
    """Whether nothing has to be done about a claim of a pod that is to be scheduled."""
    return claim is not None and (
        of_claim.is_allocated(claim) or of_claim.allocation_mode(claim) != WAIT_FOR_FIRST_CONSUMER
    )

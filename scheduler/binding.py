"""The extender's bind: writes what filter found for a pod, and binds the pod to its node."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Lock

from allocator.node_fit import NO_FOOTPRINTS, NO_POD, ClaimFootprint, PodOnNode, pod_status, with_footprints
from allocator.node_resources import PodNeeds
from allocator.pod_claims import extended_resources_of
from allocator.scheduling_outcome import device_reasons
from allocator.time_limit import OutOfTime, TimeLimit
from cluster.leading import Fence, Leader
from resourceapi.api_client import (
    CREATED,
    FIRST_OF_CLIENT,
    FIRST_OF_SERVER,
    NOT_FOUND,
    OK,
    Api,
    Unavailable,
    expect,
)
from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import mapping, text, uid_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, Consumer, allocation_of
from resourceapi.records.pods import claims_of, pod_path, read_pod
from scheduler.binding_conditions import BindingConditions
from scheduler.claim_writes import ClaimConflict, ClaimWrites, same_devices
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decision, Decisions
from scheduler.extended_resources import Needed
from scheduler.extender_api import BindingRequest
from scheduler.picture_lock import SearchTime
from scheduler.pod_allocation import Grant, PodAllocation, Undoing
from scheduler.pod_status import write_pod_status

#: How long it may take to check devices before they are taken; that their selectors have to be evaluated again is rare.
CHECK_SECONDS = 0.5


class BindError(ClaimcheckError):
    """A pod is not bound; kube-scheduler tries again."""


class Binder:
    """Binds pods, each in one thread at a time."""

    def __init__(
        self,
        api: Api,
        picture: ClusterPicture,
        decisions: Decisions,
        leader: Leader,
        writes: ClaimWrites,
        undoing: Undoing,
        conditions: BindingConditions,
        search_time: SearchTime,
    ) -> None:
        """Make it ready."""
        self._api = api
        self._picture = picture
        self._decisions = decisions
        self._leader = leader
        self._writes = writes
        self._undoing = undoing
        self._conditions = conditions
        self._search_time = search_time
        self._lock = Lock()  # for the next one
        self._running: dict[str, tuple[str, Future[str]]] = {}

    def bind(self, request: BindingRequest) -> str:
        """Bind a pod to a node; why it is not bound, or nothing if it is.

        A request that is repeated while it is being answered gets the same answer.
        """
        with self._lock:
            running = self._running.get(request.uid)
            if running is None:
                answer: Future[str] = Future()
                self._running[request.uid] = (request.node, answer)
        if running is not None:
            node, other = running
            found = other.result()
            return found if node == request.node else f"the pod was being bound to {node}"
        try:
            answer.set_result(self._answer(request))
        except BaseException as error:
            answer.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running[request.uid]
        return answer.result()

    def _answer(self, request: BindingRequest) -> str:
        try:
            self._bind(request)
        except ClaimcheckError as error:
            self._note_torn(request)
            return str(error)
        finally:
            self._decisions.ended(request.uid)
        return ""

    def _note_torn(self, request: BindingRequest) -> None:
        """What the others of the pod's gang need is to be kept for them, if some of them are bound."""
        pod = self._picture.pods.objects.get(f"{request.namespace}/{request.name}")
        if pod is not None and pod.group:
            with self._picture.lock:
                self._picture.group_devices.torn.add(pod.group_key)

    def _bind(self, request: BindingRequest) -> None:
        term = self._leader.term
        decision = self._decisions.take(request.uid)
        if decision is None:
            self._bind_undecided(request, partial(self._leader.insist, term))
            return
        fence = partial(self._leader.insist, decision.term)
        fence()
        claims = [*decision.claims_on(request.node), *decision.allocated]
        needed = decision.needed.get(request.node)
        with self._undoing.holding((each.key for each in claims), waits=True):
            allocation, footprints = self._assumed(request, decision, fence)
            self._decisions.bound(request.uid, request.namespace)
            try:
                allocation.write()
                status = {} if needed is None else self._claim_status(request, needed)
                if footprints or decision.had_footprints:
                    status |= NO_FOOTPRINTS | pod_status(footprints)
                if status:
                    self._write_status(request, status, fence)
                delay = self._conditions.delay(each.key for each in claims)
                if delay is not None:
                    raise _KeepAllocationError(delay.reason)
                self._post(request, fence)
                # the pod is bound from here on: what follows must not raise, as its devices would be taken back
            except _KeepAllocationError:
                raise
            except Exception:
                self._note_torn(request)
                self._undoing.take_back(allocation)
                self._take_nothing_of_nodes(request, footprints, fence)
                raise

    def _bind_undecided(self, request: BindingRequest, fence: Fence) -> None:
        """Bind a pod about which there is no decision: one without claims, or one that is bound already."""
        pod = self._pod(request)
        if self._is_bound(pod, request):
            return
        if any(each.is_needed for each in claims_of(pod)) or self._needs_claim(pod, request):
            raise BindError("its devices have to be found again")
        on_node = self._picture.room.of(pod)
        if on_node.needs is not None:
            with self._search_time.holding(self._picture.lock, request.namespace, 0):
                self._insist_on_room(request, on_node)
                self._picture.room.assume(request.uid, request.node, on_node.needs)
        try:
            self._post(request, fence)
        except _KeepAllocationError:
            raise
        except ClaimcheckError:
            self._take_nothing_of_nodes(request, (), fence)
            raise

    def _needs_claim(self, pod: Object, request: BindingRequest) -> bool:
        """Whether a claim is to be made for a pod on the node, or has been made for it."""
        if not extended_resources_of(mapping(pod, "spec")):
            return False
        with self._search_time.holding(self._picture.lock, request.namespace, 1):
            found, extended = read_pod(pod), self._picture.extended
            needs = extended.needs(found, pod, [request.node], extended.made(found))
        return bool(needs.by_node) or needs.made is not None

    # --- what was found, if it is still so

    def _assumed(
        self, request: BindingRequest, decision: Decision, fence: Fence
    ) -> tuple[PodAllocation, Sequence[ClaimFootprint]]:
        """Take the devices in memory, and what they take of the node; nothing is written yet.

        :raises ClaimConflict: if that cannot be done any more.
        """
        consumer = Consumer.pod(request.name, request.uid)
        with self._search_time.holding(self._picture.lock, request.namespace, 1):
            results = decision.results(request.node)
            if results is None:
                raise BindError(f"its claims do not fit on {request.node}")
            grants, allocated = self._settled(request, decision, results)
            new, found = [each.claim for each in grants], [each.allocation for each in grants]
            if not self._still_fits(new, request.node, found):
                raise ClaimConflict("devices that were found for it are in use by now, or no longer match")
            held = [*[each.claim.allocated(each.allocation) for each in grants], *allocated]
            footprints = self._taken_of_node(request, decision.on_node, held)
            allocation = PodAllocation(
                self._picture, self._writes, consumer, fence, grants, allocated, decision.shared
            )
            allocation.assume()
        return allocation, footprints

    def _taken_of_node(
        self, request: BindingRequest, pod: PodOnNode, claims: Sequence[Claim]
    ) -> Sequence[ClaimFootprint]:
        """What the devices of a pod's claims take of its node, which counts from now on.

        :raises BindError: if the node has too little left by now.
        """
        if pod is NO_POD:
            return ()
        state = self._picture.state
        self._picture.group_devices.take_from_node(request.uid)
        lack = state.lack(pod, request.node, claims)
        self._insist_on_room(request, pod, "" if lack is None else " and ".join(device_reasons(lack)))
        footprints = state.footprints(pod, request.node, claims)
        self._picture.room.assume(
            request.uid, request.node, with_footprints(pod.needs or PodNeeds(), footprints)
        )
        return footprints

    def _settled(
        self, request: BindingRequest, decision: Decision, results: Sequence[Object]
    ) -> tuple[list[Grant], list[Claim]]:
        """The claims that are to get devices, and those that have what was found for them: other pods may have been bound meanwhile.

        :raises ClaimConflict: if one is not as it was, or has other devices.
        """
        keys = [each.key for each in (*decision.claims_on(request.node), *decision.allocated)]
        held = self._picture.group_devices.take(keys)
        grants, allocated = [], []
        to_make = decision.to_make(request.node)
        if to_make is not None:
            *results, result = results
            if self._picture.claims.get(to_make.claim.key) is not None:
                raise ClaimConflict(f"ResourceClaim {to_make.claim.key!r} has been created meanwhile")
            grants.append(Grant(to_make.claim, result, to_make.body(request.name, request.uid)))
        for decided, result in zip(decision.claims, results, strict=True):
            claim = self._current(decided)
            if not claim.is_allocated:
                grants.append(Grant(claim, result))
            else:
                allocated.append(_with_devices(claim, result))
        for decided in decision.allocated:
            claim = self._current(decided)
            if not claim.is_allocated and decided.key in held:
                grants.append(Grant(claim, held[decided.key]))
            else:
                allocated.append(_with_devices(claim, allocation_of(decided.object)))
        return grants, allocated

    def _insist_on_room(self, request: BindingRequest, pod: PodOnNode, lack: str = "") -> None:
        """Take a node for a pod only if it has enough left; for who holds the picture's lock.

        :param lack: what it lacks for the pod's devices.
        :raises BindError: if it has not.
        """
        if lack := lack or self._picture.room.short_beside_bindings(pod, [request.node]).get(
            request.node, ""
        ):
            raise BindError(f"{request.node} cannot take it by now: {lack}")

    def _still_fits(self, claims: Sequence[Claim], node: str, results: Sequence[Object]) -> bool:
        """Whether the devices can still be had; the filter has found out already what selectors say of them."""
        limit = TimeLimit(CHECK_SECONDS)
        try:
            return self._picture.state.still_fits(claims, node, results, limit)
        except OutOfTime:
            raise BindError("there was no time to check its devices") from None

    def _current(self, decided: Claim) -> Claim:
        """A claim as it is now, if it is the one about which the decision was made.

        :raises ClaimConflict: if not.
        """
        claim = self._picture.claims.get(decided.key)
        if claim is None or claim.uid != decided.uid:
            raise ClaimConflict(f"ResourceClaim {decided.key!r} has been deleted")
        return claim.for_a_moment()

    # --- the pod

    def _claim_status(self, request: BindingRequest, needed: Needed) -> Object:
        """Which claim has the devices for the pod's extended resources: kubelet finds them by that."""
        with self._search_time.holding(self._picture.lock, request.namespace, 1):
            return needed.pod_status()

    def _write_status(self, request: BindingRequest, status: Object, fence: Fence) -> None:
        fence()
        write_pod_status(self._api, request.namespace, request.name, request.uid, status)

    def _take_nothing_of_nodes(
        self, request: BindingRequest, footprints: Sequence[ClaimFootprint], fence: Fence
    ) -> None:
        """Count the pod no longer, and have its status say nothing of the node, if that can be written: the next attempt tells what is so then."""
        with self._search_time.holding(self._picture.lock, request.namespace, 0):
            self._picture.room.forget(request.uid)
        if footprints:
            with suppress(ClaimcheckError):
                self._write_status(request, NO_FOOTPRINTS, fence)

    def _post(self, request: BindingRequest, fence: Fence) -> None:
        """Create the Binding.

        :raises _KeepAllocationError: if the pod may be bound later nevertheless.
        :raises BindError: if it is not, and will not be by this request.
        """
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": request.namespace, "name": request.name, "uid": request.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": request.node},
        }
        fence()
        try:
            code, answer = self._api.request(
                "POST", f"{pod_path(request.namespace, request.name)}/binding", body
            )
            if code in (OK, CREATED):
                return
            if not FIRST_OF_CLIENT <= code < FIRST_OF_SERVER:
                raise _KeepAllocationError(f"the Binding was not answered: {code} {text(answer, 'message')}")
            # It may have been sent twice, and the first one have arrived.
            if self._is_bound(self._pod(request), request):
                return
        except Unavailable as error:
            raise _KeepAllocationError(f"the Binding was not answered: {error.reason}") from None
        raise BindError(f"the Binding was refused: {code} {text(answer, 'message')}")

    def _pod(self, request: BindingRequest) -> Object:
        """The pod as the API server has it.

        :raises BindError: if it is gone.
        """
        path = pod_path(request.namespace, request.name)
        code, answer = self._api.request("GET", path)
        pod: Object = {} if code == NOT_FOUND else expect((code, answer), f"GET {path}", OK)
        if uid_of(pod) != request.uid:
            raise BindError("the pod has been deleted")
        return pod

    def _is_bound(self, pod: Object, request: BindingRequest) -> bool:
        """Whether the pod is bound to the node of the request.

        :raises BindError: if it is bound to another one.
        """
        node = text(mapping(pod, "spec"), "nodeName")
        if node and node != request.node:
            raise BindError(f"the pod is bound to {node} already")
        return bool(node)


def _with_devices(claim: Claim, allocation: Object | None) -> Claim:
    """A claim, if it has the devices of an allocation.

    :raises ClaimConflict: if not.
    """
    if not same_devices(allocation_of(claim.object), allocation):
        raise ClaimConflict(f"ResourceClaim {claim.key!r} has other devices by now")
    return claim


class _KeepAllocationError(BindError):
    """A pod is not bound yet, and keeps its devices."""

"""The verbs of the extender as routes of a server: ``/filter``, ``/prioritize``, ``/bind`` and ``/preempt``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from cluster.leading import NotLeading
from resourceapi.objects import Object
from resourceapi.records.pods import read_pod
from scheduler.extender_api import (
    BindingRequest,
    CandidateNodes,
    PreemptionRequest,
    Victims,
    binding_result,
    filter_result,
    host_priorities,
    preemption_result,
    read_binding,
    read_candidates,
    read_preemption,
)
from scheduler.filtering import Filter, NobodyWaits
from serving.routes import Caller, HTTPError, Route, Waiting

if TYPE_CHECKING:  # metrics' files are opened with the import
    from scheduler.metrics import Metrics

BINDING_BYTES = 64 * 1024 - 1
#: Of a request to prioritize that takes longer than a millisecond: with some hundred nodes.
MANY_NODES_BYTES = 8 * 1024
_Answer = TypeVar("_Answer")


class Binder(Protocol):
    """What binds pods."""

    def bind(self, request: BindingRequest) -> str:
        """Bind a pod to a node, with its claims allocated and reserved.

        :returns: why that failed; empty if the pod is bound.
        """


class Verbs(NamedTuple):
    """What answers each verb."""

    filter: Filter
    prioritize: Callable[[CandidateNodes], Mapping[str, int]]
    binder: Binder
    preempt: Callable[[PreemptionRequest], Mapping[str, Victims]]


def make_routes(verbs: Verbs, metrics: Metrics, most_bytes: int) -> Iterator[Route]:
    """The routes of the extender.

    :param most_bytes: of a request.
    """
    yield Route(
        "/filter",
        partial(_filter, verbs.filter, metrics),
        most_bytes,
        may_block=lambda decoded, size: True,
        decode=read_candidates,
        lane="filter",
        log_fields=_pod_fields,
    )
    yield Route(
        "/prioritize",
        partial(_prioritize, verbs, metrics),
        most_bytes,
        may_block=lambda decoded, size: size >= MANY_NODES_BYTES,
        decode=read_candidates,
        lane="prioritize",
        log_fields=_pod_fields,
    )
    yield Route(
        "/preempt",
        partial(_preempt, verbs, metrics),
        most_bytes,
        may_block=lambda decoded, size: True,
        decode=read_preemption,
        lane="preempt",
        log_fields=_pod_fields,
    )
    yield Route(
        "/bind",
        partial(_bind, verbs.binder, metrics),
        BINDING_BYTES,
        decode=read_binding,
        lane="bind",
        log_fields=lambda request: {"pod": f"{request.namespace}/{request.name}"},
    )


def _filter(filtering: Filter, metrics: Metrics, candidates: CandidateNodes, caller: Caller) -> Object:
    verdicts = _by_leader(lambda: filtering.answer(candidates, caller.deadline.is_open))
    metrics.count("filter", "fits" if verdicts.fitting else "refused")
    return filter_result(verdicts, read_pod(candidates.pod).nominated_node)


def _prioritize(verbs: Verbs, metrics: Metrics, candidates: CandidateNodes, caller: Caller) -> list[Object]:
    scores = verbs.prioritize(candidates)
    metrics.count("prioritize", "scored")
    return host_priorities(scores)


def _preempt(verbs: Verbs, metrics: Metrics, request: PreemptionRequest, caller: Caller) -> Object:
    victims = _by_leader(lambda: verbs.preempt(request))
    metrics.count("preempt", "fits" if victims else "refused")
    return preemption_result(victims)


def _bind(binder: Binder, metrics: Metrics, request: BindingRequest, caller: Caller) -> Waiting:
    def finish() -> Object:
        error = binder.bind(request)
        metrics.count("bind", "failed" if error else "bound")
        return binding_result(error)

    return Waiting(
        finish,
        too_late="the pod could not be bound in time; it may still be",
        too_many="too many pods are being bound",
        # pods that share a claim are bound one after the other: those of others find a thread meanwhile
        namespace=request.namespace,
        shares=True,
    )


def _by_leader(work: Callable[[], _Answer]) -> _Answer:
    """What work returns.

    :raises HTTPError: if another replica leads by now, or nobody waits for the answer.
    """
    try:
        return work()
    except NotLeading as error:
        raise HTTPError(str(error), 503) from None
    except NobodyWaits:
        raise HTTPError("there was no time for the answer", 503) from None


def _pod_fields(request: CandidateNodes | PreemptionRequest) -> Mapping[str, str]:
    metadata = request.pod["metadata"]
    return {"pod": f"{metadata.get('namespace', '')}/{metadata['name']}"}

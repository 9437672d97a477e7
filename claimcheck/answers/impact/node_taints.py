"""The pods that leave their nodes because a change gives these taints with the effect NoExecute.

As kube-controller-manager's taint-eviction-controller does it: of a pod's tolerations the first one that is for a taint counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from allocator.evictions import later
from allocator.rules.standing import tolerates
from allocator.time_limit import TimeLimit
from claimcheck.answers.impact.change import NODE, POD, ChangedObjects, ObjectId
from resourceapi.manifests import entries, mapping
from resourceapi.objects import Object
from resourceapi.phrases import some
from resourceapi.records.nodes import read_node
from resourceapi.records.pods import Pod
from resourceapi.records.taints import Taint

_NO_EXECUTE = "NoExecute"
#: An int64 of nanoseconds has no more seconds; so long is for good.
_FOR_GOOD = 2**63 // 10**9


class NodeEviction(NamedTuple):
    """A pod that is evicted from its node.

    :param why: the taints that it does not tolerate, or not for long, as a phrase after "because of".
    """

    pod: Pod
    when: datetime
    why: str


def evicted_from_nodes(
    objects: ChangedObjects, pods: Iterable[Pod], now: datetime, limit: TimeLimit
) -> Iterator[NodeEviction]:
    """The pods that do not stay on their nodes with the taints that these have after the change and have not before.

    :param pods: those on nodes.
    :param limit: how long it may take.
    :raises OutOfTime: if it takes longer.
    """
    tainted = {name: taints for name in objects.applied_nodes if (taints := _added(objects, name))}
    for pod in pods:
        # kubelet's own pods stay, whatever is deleted of them
        if pod.node not in tainted or pod.is_leaving or (pod.workloads and pod.workloads[-1][0] == NODE):
            continue
        spec = mapping(objects.get(ObjectId(POD, pod.namespace, pod.name)) or {}, "spec")
        tolerations = [each for each in entries(spec, "tolerations") if isinstance(each, dict)]
        fitting: list[tuple[Taint, int | None]] = []
        for taint in tainted[pod.node]:
            limit.check()
            fitting.append((taint, _tolerated(tolerations, taint)))
        reasons = [(taint, seconds) for taint, seconds in fitting if seconds is not None]
        if reasons:
            when = later(now, min(seconds for _, seconds in reasons))
            why = some([str(taint) for taint, _ in reasons])
            yield NodeEviction(pod, when, f"{why} ({NODE} {pod.node})")


def _added(objects: ChangedObjects, name: str) -> list[Taint]:
    """The taints that evict pods and that a Node has after the change and has not before."""
    after = objects.get(ObjectId(NODE, "", name))
    before, then = read_node(objects.applied_nodes[name]), None if after is None else read_node(after)
    known = before.taints if before is not None else ()
    return [
        each for each in (then.taints if then else ()) if each.effect == _NO_EXECUTE and each not in known
    ]


def _tolerated(tolerations: Sequence[Object], taint: Taint) -> int | None:
    """For how many seconds a pod tolerates a taint; None if for good."""
    first = next((each for each in tolerations if tolerates(each, taint)), None)
    if first is None:
        return 0
    seconds = first.get("tolerationSeconds")
    if not isinstance(seconds, int) or seconds >= _FOR_GOOD:
        return None
    return max(seconds, 0)

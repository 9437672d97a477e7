"""The bodies of the extender protocol, as kube-scheduler sends and expects them.

Source: Kubernetes, `k8s.io/kube-scheduler/extender/v1`. Go matches the names of members without regard to case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cluster.event_writer import shown
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.objects import Object
from serving.routes import HTTPError, decode_json

#: The lowest score that an extender may give.
MIN_SCORE = 0


class CandidateNodes(NamedTuple):
    """ExtenderArgs: a pod, and the nodes in question.

    :param pod: as kube-scheduler has it.
    """

    pod: Object
    nodes: Sequence[str]


class BindingRequest(NamedTuple):
    """ExtenderBindingArgs: which pod is to be bound to which node."""

    namespace: str
    name: str
    uid: str
    node: str


class Verdicts(NamedTuple):
    """ExtenderFilterResult: the nodes that fit, and why others do not.

    :param failed: nodes on which the deletion of other pods might help.
    :param beyond_preemption: nodes on which it cannot.
    """

    fitting: Sequence[str]
    failed: Mapping[str, str]
    beyond_preemption: Mapping[str, str]


class Victims(NamedTuple):
    """MetaVictims: pods on a node to be deleted for another pod, by uid, those of higher priority first.

    :param violations: how many PodDisruptionBudgets that violates.
    """

    uids: Sequence[str]
    violations: int


class PreemptionRequest(NamedTuple):
    """ExtenderPreemptionArgs: a pod, and the victims on each node without which it would fit, as far as kube-scheduler knows."""

    pod: Object
    victims: Mapping[str, Victims]


def read_candidates(body: bytes) -> CandidateNodes:
    """Read ExtenderArgs with node names.

    :raises HTTPError: for anything else.
    """
    value = decode_json(body)
    pod, nodes = mapping(value, "Pod"), mapping(value).get("NodeNames")
    if not name_of(pod) or not isinstance(nodes, list) or not all(isinstance(each, str) for each in nodes):
        raise HTTPError("expected ExtenderArgs with Pod and NodeNames (nodeCacheCapable: true)")
    return CandidateNodes(pod, nodes)


def read_binding(body: bytes) -> BindingRequest:
    """Read ExtenderBindingArgs.

    :raises HTTPError: for anything else.
    """
    value = decode_json(body)
    request = BindingRequest(
        text(value, "PodNamespace"), text(value, "PodName"), text(value, "PodUID"), text(value, "Node")
    )
    if not all(request):
        raise HTTPError("expected ExtenderBindingArgs")
    return request


def read_preemption(body: bytes) -> PreemptionRequest:
    """Read ExtenderPreemptionArgs with the uids of victims.

    :raises HTTPError: for anything else.
    """
    value = decode_json(body)
    pod, victims = mapping(value, "Pod"), mapping(value).get("NodeNameToMetaVictims")
    if not name_of(pod) or not isinstance(victims, dict):
        raise HTTPError(
            "expected ExtenderPreemptionArgs with Pod and NodeNameToMetaVictims (nodeCacheCapable: true)"
        )
    return PreemptionRequest(pod, {node: _read_victims(each) for node, each in victims.items()})


def _read_victims(value: object) -> Victims:
    violations = mapping(value).get("NumPDBViolations")
    uids = [uid for each in entries(value, "Pods") if (uid := text(each, "UID"))]
    return Victims(uids, violations if isinstance(violations, int) else 0)


def filter_result(verdicts: Verdicts, nominated: str = "") -> Object:
    """An ExtenderFilterResult.

    kube-scheduler has found room for the pod on each of these nodes. So it would look there in vain for victims, and tell the
    user "expected at least one victim pod" after the reason. Only on the node that the pod is nominated for it has to
    look: it sees that victims are leaving, and deletes no others.

    :param nominated: the node of which kube-scheduler has deleted pods for this one, if any.
    """
    reasons = {**verdicts.failed, **verdicts.beyond_preemption}
    texts = {reason: shown(reason) for reason in set(reasons.values())}
    said = {node: texts[reason] for node, reason in reasons.items()}
    failed = {nominated: said.pop(nominated)} if nominated in verdicts.failed else {}
    return {
        "NodeNames": list(verdicts.fitting),
        "FailedNodes": failed,
        "FailedAndUnresolvableNodes": said,
        "Error": "",
    }


def host_priorities(scores: Mapping[str, int]) -> list[Object]:
    """A HostPriorityList."""
    return [{"Host": node, "Score": score} for node, score in scores.items()]


def preemption_result(victims: Mapping[str, Victims]) -> Object:
    """An ExtenderPreemptionResult."""
    return {
        "NodeNameToMetaVictims": {
            node: {"Pods": [{"UID": uid} for uid in each.uids], "NumPDBViolations": each.violations}
            for node, each in victims.items()
        }
    }


def binding_result(error: str = "") -> Object:
    """An ExtenderBindingResult; the pod is bound if there is no error."""
    return {"Error": shown(error)}

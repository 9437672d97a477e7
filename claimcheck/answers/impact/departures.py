"""The pods that leave their nodes because of a change, and what they leave behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from claimcheck.answers.cluster_state import CLAIM
from claimcheck.answers.impact.change import POD, ChangedObjects, ObjectId
from resourceapi.manifests import entries, mapping, text, uid_of
from resourceapi.objects import Object
from resourceapi.records.pods import Pod, claims_of

#: Its pods stay on a node that is drained, and none comes elsewhere for one that is gone.
_DAEMON_SET = "DaemonSet"


class Departure(NamedTuple):
    """A pod that leaves its node.

    :param when: `at once`, or in how many seconds.
    :param why: what makes it leave, as a phrase after "because of".
    """

    pod: Pod
    when: str
    why: str

    @property
    def returns(self) -> bool:
        """Whether its owner makes another pod, which needs a place."""
        owner = self.pod.owner
        return owner is not None and owner[0] != _DAEMON_SET


def emptied(objects: ChangedObjects, pods: Iterable[Pod]) -> list[Departure]:
    """The pods that leave because they or their nodes are deleted, or as their nodes are drained.

    :param pods: those on nodes.
    """
    found = []
    for pod in pods:
        if pod.key in objects.deleted_pods:
            found.append(Departure(pod, "at once", "its deletion"))
        elif pod.node in objects.emptied:
            with_daemons = objects.emptied[pod.node]
            # kubelet's own pods belong to their Node
            stays = pod.workloads[-1:] and pod.workloads[-1][0] in (_DAEMON_SET, "Node")
            if with_daemons or not stays:
                why = f"the deletion of {pod.node}" if with_daemons else f"the drain of {pod.node}"
                found.append(Departure(pod, "at once", why))
    return found


def leave(objects: ChangedObjects, departures: Sequence[Departure]) -> None:
    """Let pods leave: claims that nobody uses any more are deallocated, or go if they were made for the pod; owners make new pods."""
    gone = {each.pod.uid: each for each in departures}
    for departure in departures:
        pod = departure.pod
        id = ObjectId(POD, pod.namespace, pod.name)
        value = objects.get(id)
        if value is None:
            continue
        for claim in claims_of(value):
            if claim.claim:
                _release(objects, ObjectId(CLAIM, pod.namespace, claim.claim), pod, set(gone))
        objects.remove(id)
        if departure.returns:
            # those that have waited longer come before it
            objects.add(id, _another(value))


def _release(objects: ChangedObjects, id: ObjectId, pod: Pod, gone: set[str]) -> None:
    """Let a claim go that a pod has used."""
    claim = objects.get(id)
    if claim is None:
        return
    owners = [
        each for each in entries(mapping(claim, "metadata"), "ownerReferences") if each.get("controller")
    ]
    if any(uid_of({"metadata": each}) == pod.uid for each in owners):
        objects.remove(id)
        return
    status = mapping(claim, "status")
    users = [each for each in entries(status, "reservedFor") if text(each, "uid") not in gone]
    if users:
        objects.replace(id, {**claim, "status": {**status, "reservedFor": users}})
    elif "deletionTimestamp" in mapping(claim, "metadata"):
        objects.remove(id)
    else:
        objects.replace(id, {name: value for name, value in claim.items() if name != "status"})


def _another(pod: Object) -> Object:
    """The pod that the owner of a pod makes in its place: on no node, without claims from templates."""
    spec = {name: value for name, value in mapping(pod, "spec").items() if name != "nodeName"}
    return {name: value for name, value in pod.items() if name != "status"} | {"spec": spec}

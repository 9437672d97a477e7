"""The pods that leave their nodes because of a change, and what they leave behind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from claimcheck.answers.cluster_state import CLAIM
from claimcheck.answers.impact.change import DAEMON_SET, POD, ChangedObjects, ObjectId, without_status
from resourceapi.manifests import mapping
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod


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
        return owner is not None and owner[0] != DAEMON_SET  # whose pods come nowhere else


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
            stays = pod.workloads[-1:] and pod.workloads[-1][0] in (DAEMON_SET, "Node")
            if with_daemons or not stays:
                why = f"the deletion of {pod.node}" if with_daemons else f"the drain of {pod.node}"
                found.append(Departure(pod, "at once", why))
    return found


def leave(objects: ChangedObjects, departures: Sequence[Departure]) -> None:
    """Let pods leave: claims that nobody uses any more are deallocated, or go if they were made for the pod; owners make new pods."""
    take_away(
        objects, [each.pod for each in departures], {each.pod.key for each in departures if each.returns}
    )


def take_away(objects: ChangedObjects, pods: Sequence[Pod], returning: Collection[str] = ()) -> None:
    """Take pods away with their claims.

    :param returning: those of which another one like it comes, by ``namespace/name``.
    """
    gone = {pod.uid for pod in pods if pod.uid}
    used: dict[ObjectId, None] = {}
    for pod in pods:
        id = ObjectId(POD, pod.namespace, pod.name)
        value = objects.get(id)
        if value is None:
            continue
        used.update((ObjectId(CLAIM, pod.namespace, each.claim), None) for each in pod.claims if each.claim)
        objects.remove(id)
        if pod.key in returning:
            # those that have waited longer come before it
            objects.add(id, _another(value))
    for claim in used:
        _release(objects, claim, gone)


def _release(objects: ChangedObjects, id: ObjectId, gone: Collection[str]) -> None:
    """Let a claim go that pods have used which are gone."""
    value = objects.get(id)
    if value is None:
        return
    claim = Claim(value)
    users = [each.reference for each in claim.consumers if each.uid not in gone]
    if any(each.is_controller and each.uid in gone for each in claim.owners):
        objects.remove(id)
    elif users:
        objects.replace(id, {**value, "status": {**mapping(value, "status"), "reservedFor": users}})
    elif "deletionTimestamp" in mapping(value, "metadata"):
        objects.remove(id)
    else:
        objects.replace(id, without_status(value))


def _another(pod: Object) -> Object:
    """The pod that the owner of a pod makes in its place: on no node, without claims from templates."""
    spec = {name: value for name, value in mapping(pod, "spec").items() if name != "nodeName"}
    return without_status(pod) | {"spec": spec}

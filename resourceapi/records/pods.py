"""Pods, and the claims that they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import quote

from resourceapi.caches import remember
from resourceapi.manifests import entries, has_ended, labels_of, mapping, name_of, text, uid_of
from resourceapi.objects import Object

MOST_LABEL_CHARACTERS = 10_000
#: So many texts of labels are known, to have each once. Python 3.12 never lets go of what `sys.intern` was given.
MOST_LABEL_TEXTS = 65_536
_label_texts: dict[str, str] = {}
#: Of further claims of a pod nothing is kept: kube-apiserver stores pods with more than 60,000. Pods of the scheduler may have
#: far fewer (`scheduler.pod_claims.MOST_CLAIMS`); those of others lose what they have beyond these only when they have ended.
MOST_CLAIMS_KEPT = 1_024


class PodClaim(NamedTuple):
    """An entry of ``spec.resourceClaims``, of pods of any release: 1.30 has a ``source`` in it.

    :param entry: its name in the pod.
    :param claim: the name of the ResourceClaim; empty while one from a template does not exist, and if none is needed.
    :param is_generated: whether the claim comes from a template.
    :param is_needed: False if kube-controller-manager found that the pod needs no claim for this entry.
    :param template: the name of the ResourceClaimTemplate, if it names one.
    """

    entry: str
    claim: str
    is_generated: bool
    is_needed: bool = True
    template: str = ""

    @property
    def source(self) -> tuple[str, str, str]:
        """What the spec says: the entry's name, and the template or the claim."""
        return self.entry, self.template, "" if self.is_generated else self.claim


class Pod(NamedTuple):
    """A pod.

    :param node: the node that it is on; empty if it has none yet.
    :param priority: of two pods, the one with less may be preempted.
    :param is_leaving: whether it is being deleted.
    :param is_running: whether its devices have been prepared, and a container has been started.
    :param started: when kubelet has begun with it (RFC 3339); empty if it has not.
    :param labels: for budgets; none if they are larger than any pod needs.
    :param gates: the names of its scheduling gates.
    :param extended_claim: the name of the claim that kube-scheduler has made for its extended resources.
    :param nominated_node: the node of which kube-scheduler has deleted pods for this one.
    :param group: the name of its PodGroup; empty if it is scheduled by itself.
    :param workloads: what has made it (kind, name): its controller, and the Deployment after which a ReplicaSet is named.
    :param requests: what it takes of its node beside devices, by resource; only where the collection is asked for that.
    :param assumed: CPU and memory that it counts for where nodes are compared; only where the collection is asked for that.
    """

    namespace: str
    name: str
    uid: str
    node: str
    scheduler_name: str
    priority: int
    claims: tuple[PodClaim, ...]
    is_leaving: bool
    is_running: bool = False
    started: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    gates: tuple[str, ...] = ()
    extended_claim: str = ""
    nominated_node: str = ""
    group: str = ""
    workloads: tuple[tuple[str, str], ...] = ()
    requests: Mapping[str, int] = MappingProxyType({})
    assumed: Mapping[str, int] = MappingProxyType({})

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"

    @property
    def group_key(self) -> str:
        """Its PodGroup as ``namespace/name``; empty if it has none."""
        return f"{self.namespace}/{self.group}" if self.group else ""

    @property
    def owner(self) -> tuple[str, str] | None:
        """What makes another one once it has ended (kind, name); None if nothing does. kubelet's own pods have their Node."""
        return self.workloads[-1] if self.workloads and self.workloads[-1][0] != "Node" else None

    @property
    def claim_keys(self) -> list[str]:
        """The claims that exist, as ``namespace/name``; that for extended resources comes last, which may be gone."""
        made = [self.extended_claim] if self.extended_claim else []
        return [
            f"{self.namespace}/{each}" for each in (*(entry.claim for entry in self.claims), *made) if each
        ]


def importance(pod: Pod) -> tuple[int, bool, str, str]:
    """Sorts pods, the most important first: of equal priority, those that have run longest."""
    return -pod.priority, not pod.started, pod.started, pod.key


def pod_with_claims(pod: Object) -> Pod | None:
    """A pod that references claims; None for any other, and for one that has ended."""
    if has_ended(pod) or not entries(mapping(pod, "spec"), "resourceClaims"):
        return None
    return read_pod(pod)


def read_pod(pod: Object) -> Pod:
    """A pod, or the template of one, of any release, also with mistakes."""
    metadata, spec = mapping(pod, "metadata"), mapping(pod, "spec")
    priority, status = spec.get("priority"), mapping(pod, "status")
    labels = labels_of(pod)
    if sum(len(key) + len(value) for key, value in labels.items()) > MOST_LABEL_CHARACTERS:
        labels = {}
    return Pod(
        namespace=text(metadata, "namespace"),
        name=name_of(pod),
        uid=uid_of(pod),
        node=text(spec, "nodeName"),
        scheduler_name=text(spec, "schedulerName"),
        priority=priority if isinstance(priority, int) else 0,
        claims=tuple(claims_of(pod)),
        is_leaving=bool(metadata.get("deletionTimestamp")),
        is_running=status.get("phase") == "Running",
        started=text(status, "startTime"),
        labels=tuple((_once(key), _once(value)) for key, value in labels.items()),
        gates=tuple(text(each, "name") for each in entries(spec, "schedulingGates")),
        extended_claim=text(status.get("extendedResourceClaimStatus"), "resourceClaimName"),
        nominated_node=text(status, "nominatedNodeName"),
        group=text(mapping(spec, "schedulingGroup"), "podGroupName"),
        workloads=tuple(_workloads_of(pod)),
    )


def _once(label: str) -> str:
    """The text that is known of those that are equal: most pods have labels of others."""
    known = _label_texts.get(label)
    if known is None:
        remember(_label_texts, label, label, MOST_LABEL_TEXTS)
        known = label
    return known


def claims_of(pod: Object) -> list[PodClaim]:
    """The claims that a pod, or a PodGroup, references, ``MOST_CLAIMS_KEPT`` at most.

    Of those from templates, kube-controller-manager writes the names into ``status.resourceClaimStatuses``; an entry there
    without a name says that the pod needs none.
    """
    generated = {
        text(each, "name"): each for each in entries(mapping(pod, "status"), "resourceClaimStatuses")
    }
    found = []
    for each in entries(mapping(pod, "spec"), "resourceClaims")[:MOST_CLAIMS_KEPT]:
        source = mapping(each, "source") or each
        entry, named = text(each, "name"), text(source, "resourceClaimName")
        if named:
            found.append(PodClaim(entry, named, is_generated=False))
            continue
        status, template = generated.get(entry), text(source, "resourceClaimTemplateName")
        claim = text(status, "resourceClaimName")
        is_needed = status is None or bool(claim)
        found.append(PodClaim(entry, claim, is_generated=True, is_needed=is_needed, template=template))
    return found


def containers_by_entry(spec: Object) -> dict[str, list[str]]:
    """The containers of a pod with this `spec` that use each entry of its ``resourceClaims``, once for each request that they name of it."""
    found: dict[str, list[str]] = defaultdict(list)
    for kind in ("initContainers", "containers"):
        for container in entries(spec, kind):
            for use in entries(mapping(container, "resources"), "claims"):
                found[text(use, "name")].append(text(container, "name"))
    return found


def controller_of(obj: Object) -> tuple[str, str] | None:
    """The kind and name of what makes an object again once it is gone; None if nothing does."""
    for owner in entries(mapping(obj, "metadata"), "ownerReferences"):
        if mapping(owner).get("controller") is True:
            return text(owner, "kind"), text(owner, "name")
    return None


def _workloads_of(pod: Object) -> Iterator[tuple[str, str]]:
    controller = controller_of(pod)
    if controller is not None:
        yield controller
        kind, name = controller
        suffix = f"-{labels_of(pod).get('pod-template-hash', '')}"
        if kind == "ReplicaSet" and name.endswith(suffix):
            yield "Deployment", name.removesuffix(suffix)


def pod_path(namespace: str, name: str) -> str:
    """Where the API server has a pod."""
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"

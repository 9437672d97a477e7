"""Workloads that request devices: pods with the claims that they would get, and claims without a pod."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from allocator.gangs import Gang
from allocator.node_fit import PodOnNode
from allocator.node_resources import NodeResources, PodNeeds, needs_of
from allocator.pod_claims import (
    ClaimsOnNodes,
    asks_for_devices,
    claim_for,
    claims_by_nodes,
    classes_by_resource,
    origins,
)
from allocator.words import NOTHING, Words, for_all, joined
from cluster.objects import CLAIM, TEMPLATE, ClusterObjects
from documents.manifest import Unwritten
from resourceapi.decoding import DecodingError
from resourceapi.manifests import (
    claim_from_template,
    displayed_name,
    entries,
    group_of,
    mapping,
    namespace_of,
    pod_count,
    text,
    uid_of,
)
from resourceapi.model.versions import GROUP
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import nearest
from resourceapi.records.claim_use import objection
from resourceapi.records.claims import POD_CLAIM_NAME, Claim, Consumer
from resourceapi.records.classes import EXTENDED_RESOURCES_GATE
from resourceapi.records.pod_groups import KIND as POD_GROUP
from resourceapi.records.pod_groups import PodGroup
from resourceapi.records.pods import PodClaim, containers_by_entry, read_pod
from validation.device_claims import check_admin_access
from validation.requests import create_request
from validation.workloads import template_of

if TYPE_CHECKING:
    from allocator.time_limit import TimeLimit
    from documents.manifest import Manifest


#: So many names are compared with those that do not exist, each time that workloads are read: a tenth of a millisecond each.
MOST_COMPARED = 10_000
#: Pods that ask for more resources are not answered: each node can lack all of them.
MOST_RESOURCES = 64
#: Owners whose pods kube-scheduler spreads over nodes and zones by default, and what else makes it look at other pods.
SPREAD = frozenset(("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"))
POD_AFFINITIES = frozenset(("podAffinity", "podAntiAffinity"))


class Workload:
    """The pods of one object of the input, all alike, or a claim or template without a pod.

    `kind`, `namespace` and `name` are those of the object.
    """

    def __init__(self, manifest: Manifest, namespace: str, pod: Object = EMPTY) -> None:
        self.manifest = manifest
        self.kind: str = manifest.value["kind"]
        self.namespace = namespace
        self.name = displayed_name(manifest.value)
        self.pod = read_pod(pod)
        self.pod_spec: Object = pod.get("spec") or EMPTY
        #: what its pods are scheduled together with
        self.group: PodGroup | None = None
        #: the same with the number of its pods that are on nodes
        self.gang: Gang | None = None
        #: what it needs of a node beside devices
        self.needs = PodNeeds()
        #: the DeviceClass that stands for each extended resource that a pod asks for
        self.classes: dict[str, str] = {}
        #: the same for all resources that could stand for devices, if the gate for it is off
        self.classes_with_gate: dict[str, str] = {}
        #: what kube-scheduler has said of a pod that it could not place
        self.scheduler_message = ""
        #: the claims of a pod, in v1 with defaults; that for extended resources is the last
        self.claims: list[Claim] = []
        #: the indices in ``claims`` of those from templates; each pod gets its own
        self.from_templates: list[int] = []
        #: the containers that use each claim, in the order of ``claims``
        self.containers: list[list[str]] = []
        #: the claims that its pods share by their PodGroup, as `namespace/name`
        self.shared: set[str] = set()
        #: the templates of claims that have been made from one, or will be, both as `namespace/name`
        self.templates: dict[str, str] = {}
        #: the number of pods
        self.copies = 1
        #: those of them that are on nodes already, by `namespace/name`
        self.running: list[str] = []
        #: why nothing can be said about it
        self.problem = ""
        #: the claims, templates and PodGroup that it waits for, which do not exist or cannot be used
        self.missing: list[Words] = []
        #: the quota without which no further claim is made for it; empty if there is enough
        self.refused = ""

    @property
    def file(self) -> str:
        """The file that has the object."""
        return self.manifest.file

    @property
    def line(self) -> int:
        """The line on which it begins; all positions of the file are found out for it."""
        return self.manifest.line

    @property
    def title(self) -> str:
        """``Pod default/train``."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def full_name(self) -> str:
        """``default/train``."""
        return f"{self.namespace}/{self.name}"

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod, or makes pods: a claim or template without a pod needs nothing but devices."""
        return bool(self.pod_spec)

    @property
    def is_spread(self) -> bool:
        """Whether kube-scheduler chooses among nodes by where other pods are, too; those of Services aside."""
        affinity = self.pod_spec.get("affinity") or EMPTY
        asks = self.pod_spec.get("topologySpreadConstraints") or affinity.keys() & POD_AFFINITIES
        return bool(asks or SPREAD & {self.kind, *(kind for kind, _ in self.pod.workloads)})

    @property
    def lacks(self) -> list[Words]:
        """What kube-scheduler waits for before it looks at any of its pods: claims, templates, a PodGroup, the removal of gates."""
        gates = self.pod.gates
        return [
            *self.missing,
            *([for_all(f"the removal of its scheduling gates: {', '.join(gates)}")] if gates else ()),
        ]

    @property
    def waits(self) -> Words:
        """The same with quota, if no further claim is made for it; NOTHING if it waits for nothing."""
        return joined([*self.lacks, *([for_all(self.refused)] if self.refused else ())], " and for ")

    @property
    def waits_for(self) -> str:
        """The same for those who may read everything."""
        return self.waits.text

    @property
    def has_its_devices(self) -> bool:
        """Whether it is a pod that has got a node and the devices of all its claims."""
        return bool(self.pod.node) and bool(self.claims) and all(each.is_allocated for each in self.claims)

    @property
    def extended_resources(self) -> list[str]:
        """The resources in its containers that can stand for devices."""
        return sorted(name for name in self.needs.requests if asks_for_devices(name))

    @property
    def made_for(self) -> dict[str, str]:
        """What the requests of the claim for extended resources are made for, by `claim:request`."""
        if not self.classes:
            return {}
        claim = self.claims[-1]
        return {f"{claim.key}:{request}": what for request, what in origins(self.pod_spec, claim).items()}

    def consumer(self, claim: str, pod: str) -> Consumer:
        """For whom kube-scheduler reserves a claim that a pod uses: for the pod, or for its PodGroup.

        :param claim: its `namespace/name`.
        :param pod: the name of the pod.
        """
        if self.group is not None and claim in self.shared:
            return self.group.consumer
        return Consumer.pod(pod, f"{self.namespace}/{pod}")

    @property
    def reserved_for_group(self) -> dict[str, Object]:
        """By claim, the entry of `status.reservedFor` that its first pod leaves to the others of its PodGroup.

        None of a gang that needs several: kube-scheduler tries them before it has reserved anything.
        """
        if self.group is None or self.gang is None or self.gang.min_count > 1:
            return {}
        return dict.fromkeys(self.shared, self.group.consumer.reference)

    def claims_by_nodes(self, resources: NodeResources, number: int = 0) -> list[ClaimsOnNodes]:
        """The claims of a pod on the nodes that have some of its extended resources from device plugins.

        :param resources: the nodes with what they have.
        :param number: that of the pod.
        """
        if not self.classes or self.claims[-1].is_allocated:
            return []
        *others, own = self.claims_of_copy(number)
        return [
            ClaimsOnNodes(
                each.nodes,
                others if each.claim is None else [*others, each.claim.named(own.name)],
            )
            for each in claims_by_nodes(
                self.name, self.namespace, self.pod_spec, self.needs, self.classes, resources
            )
        ]

    def on_node(self, resources: NodeResources) -> PodOnNode:
        """Its first pod as nodes see it.

        :param resources: the nodes with what they have left.
        """
        needs = self.needs if self.is_pod else None
        return PodOnNode(
            self.pod_spec, needs, resources, containers=self.containers_of_copy(0), uid=self.pod.uid
        )

    def containers_of_copy(self, number: int) -> dict[str, list[str]]:
        """The containers of a pod that use each of its claims, by the number of the pod."""
        found: dict[str, list[str]] = {}
        for claim, containers in zip(self.claims_of_copy(number), self.containers, strict=False):
            found[claim.key] = [*found.get(claim.key, ()), *containers]
        return found

    def claims_of_copy(self, number: int) -> list[Claim]:
        """The claims of a pod by its number: those from templates are its own."""
        if not number:
            return self.claims
        return [
            claim.named(f"{claim.name}-{number}") if index in self.from_templates else claim
            for index, claim in enumerate(self.claims)
        ]

    def renamed(self, name: str, claims: Mapping[str, str]) -> Workload:
        """A pod that asks for the same and has other names, no UIDs, and no claim with devices.

        :param name: that of the pod, after which claims are named that do not exist yet.
        :param claims: the names of the others, by those that they have.
        """
        other = copy(self)
        metadata = {"namespace": self.namespace, "name": name}
        other.manifest = Unwritten(self.file, {"apiVersion": "v1", "kind": self.kind, "metadata": metadata})
        other.name, other.scheduler_message = name, ""
        used = [each._replace(claim=claims.get(each.claim, each.claim)) for each in self.pod.claims]
        other.pod = self.pod._replace(
            name=name,
            uid="",
            claims=tuple(used),
            extended_claim=claims.get(self.pod.extended_claim, ""),
        )
        references = [
            each if entry.is_generated else {**each, "resourceClaimName": entry.claim}
            for each, entry in zip(entries(self.pod_spec, "resourceClaims"), used, strict=False)
        ]
        other.pod_spec = {**self.pod_spec, "resourceClaims": references}
        names = {
            each.key: claims.get(each.name, f"{name}{each.name.removeprefix(self.name)}")
            for each in self.claims
        }
        other.claims = [each.requested(names[each.key]) for each in self.claims]
        keys = dict(zip((each.key for each in self.claims), (each.key for each in other.claims), strict=True))
        other.templates = {keys[key]: template for key, template in self.templates.items()}
        return other


class WorkloadReader:
    """Finds the workloads in manifests, and adds their claims and templates to those of the cluster.

    :param objects: the objects of the cluster.
    :param default_namespace: the namespace of manifests that do not name one.
    :param unread: why objects of a kind in a namespace could not be read; empty if they were read.
    :param where: what to add of claims that do not exist: where they were looked for.
    """

    def __init__(
        self,
        objects: ClusterObjects,
        default_namespace: str,
        unread: Callable[[str, str], str],
        where: str = " in the files or the inventory",
    ) -> None:
        self._where = where
        self._objects = objects
        self._unread = unread
        self._default_namespace = default_namespace
        self._used: set[tuple[str, str]] = set()
        self._names: dict[str, _Names] = {}
        self._hints: dict[tuple[str, str, str], Words] = {}
        self._comparisons = 0
        #: why the server rejects claims and templates in the files
        self._refused: dict[tuple[str, str], str] = {}
        self._generated_names = 0

    def workloads(self, manifests: Iterable[Manifest], limit: TimeLimit) -> list[Workload]:
        """Pods, kinds with a pod template, and claims and templates that none of them uses, in the order of the input.

        :param limit: how long it may take.
        :raises OutOfTime: if it takes longer.
        """
        self._comparisons = 0
        read = [(manifest, *self._read(manifest, limit)) for manifest in manifests]
        pods = {
            index: self._pod(manifest, obj, problem, limit)
            for index, (manifest, obj, problem) in enumerate(read)
            if group_of(manifest.value) != GROUP
        }
        found = []
        for index, (manifest, obj, problem) in enumerate(read):
            workload = pods.get(index) or self._claim(manifest, obj, problem)
            if workload is not None and (
                workload.claims
                or workload.problem
                or workload.missing
                or workload.extended_resources
                or workload.group
            ):
                found.append(workload)
        return found

    def _read(self, manifest: Manifest, limit: TimeLimit) -> tuple[Object, str]:
        """The object as the server stores it, or why it rejects it. Claims and templates are added to the cluster."""
        limit.check()
        answer = self._objects.server.handle(create_request(manifest.value, self._default_namespace))
        if not answer.accepted or answer.object is None:
            named = (
                f"{namespace_of(manifest.value, self._default_namespace)}/{displayed_name(manifest.value)}"
            )
            self._refused[manifest.value["kind"], named] = answer.message
            return manifest.value, answer.message
        if group_of(manifest.value) != GROUP:
            return answer.object, ""
        try:
            obj = self._objects.normal_form(answer.object)
            given = self._objects.normal_form(manifest.value)
        except DecodingError as error:
            return manifest.value, error.text
        kind = manifest.value["kind"]
        namespace = namespace_of(manifest.value, self._default_namespace)
        obj = {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}
        key = f"{namespace}/{displayed_name(obj)}"
        known = self._objects.of(kind).get(key, given)
        if kind == CLAIM and known is given and not uid_of(manifest.value):
            self._objects.new_claims.add(key)
        if kind == CLAIM and "status" in known:
            obj = {**obj, "status": known["status"]}
        self._objects.put(kind, obj)
        return obj, ""

    def _pod(self, manifest: Manifest, obj: Object, problem: str, limit: TimeLimit) -> Workload:
        kind = manifest.value["kind"]
        pod = obj
        if not problem and kind != "Pod":
            pod = template_of(kind, obj) or {}
        namespace = namespace_of(manifest.value, self._default_namespace)
        if problem:
            workload = Workload(manifest, namespace)
            workload.problem = problem
            return workload
        workload = Workload(manifest, namespace, {**pod, "status": mapping(manifest.value, "status")})
        workload.copies = pod_count(obj)
        workload.scheduler_message = _scheduler_message(manifest.value)
        if workload.pod.group:
            self._add_group(workload)
        containers = containers_by_entry(workload.pod_spec)
        for entry in workload.pod.claims:
            limit.check()
            self._add_claim(workload, entry, containers.get(entry.entry, []))
        needs = needs_of(workload.pod_spec, self._objects.profile)
        if len(needs.requests) > MOST_RESOURCES:
            asked = f"{len(needs.requests):,} resources beside devices"
            workload.problem = workload.problem or f"it asks for {asked}; {MOST_RESOURCES} are looked at"
            return workload
        wanted = {name: self._classes[name] for name in needs.requests if name in self._classes}
        if EXTENDED_RESOURCES_GATE in self._objects.profile.gates:
            workload.classes = wanted
        else:
            workload.classes_with_gate = wanted
        workload.needs = needs._replace(by_claim=frozenset(workload.classes))
        self._add_claim_of_scheduler(workload)
        return workload

    @cached_property
    def _classes(self) -> dict[str, str]:
        """The DeviceClass that stands for each extended resource, where the gate is on."""
        return classes_by_resource(self._objects.classes.values())

    def _add_claim_of_scheduler(self, workload: Workload) -> None:
        """The claim for extended resources: that which kube-scheduler has made, or the one that it would make."""
        made = workload.pod.extended_claim
        known = self._objects.of(CLAIM).get(f"{workload.namespace}/{made}") if made else None
        claim = None if known is None else Claim(known)
        if claim is None:
            workload.from_templates.append(len(workload.claims))
            claim = claim_for(workload.name, workload.namespace, workload.pod_spec, workload.classes)
        if claim is None:
            workload.from_templates.pop()
            workload.classes = {}
        else:
            workload.claims.append(claim)

    def _add_group(self, workload: Workload) -> None:
        """The PodGroup of a workload's pods, without which kube-scheduler does not look at them."""
        name = workload.pod.group
        group = self._objects.pod_groups.objects.get(f"{workload.namespace}/{name}")
        if group is None:
            self._note_missing(workload, POD_GROUP, POD_GROUP, name)
            return
        workload.group = group
        workload.gang = Gang(group.key, group.min_count, self._running[group.key])

    @cached_property
    def _running(self) -> Counter[str]:
        """How many pods of each PodGroup are on nodes."""
        pods = self._objects.pods.objects.values()
        return Counter(pod.group_key for pod in pods if pod.group)

    def _add_claim(self, workload: Workload, entry: PodClaim, containers: list[str]) -> None:
        group = workload.group
        shared = group.shared(entry) if group is not None else None
        known = entry.claim
        if group is not None and shared is not None:
            known = known or shared.claim or self._made_for_groups.get((group.key, entry.entry), "")
        kind, name = (CLAIM, known) if known else (TEMPLATE, entry.template)
        self._used.add((kind, f"{workload.namespace}/{name}"))
        found = self._objects.of(kind).get(f"{workload.namespace}/{name}")
        if found is None:
            self._note_missing(workload, "claim" if kind == CLAIM else "template", kind, name)
            return
        if kind == TEMPLATE:
            if group is None or shared is None:
                workload.from_templates.append(len(workload.claims))
                found = claim_from_template(found, workload.namespace, f"{workload.name}-{entry.entry}")
            else:
                found = _claim_of_group(found, group, entry.entry)
            if refusal := self._refusal(found, workload.namespace):
                of = f"template {workload.namespace}/{name}"
                workload.missing.append(
                    for_all(f"a claim from {of}, which the API server refuses: {refusal}")
                )
        claim = Claim(found)
        # the pod as the server would create it has none
        user = workload.pod._replace(uid=uid_of(workload.manifest.value) if workload.kind == "Pod" else "")
        if kind == CLAIM and not user.node and (reason := objection(user, entry, claim)):
            workload.missing.append(for_all(f"claim {claim.key}, which {reason}"))
        workload.claims.append(claim)
        workload.containers.append(containers)
        if shared is not None:
            workload.shared.add(claim.key)
        if entry.template:
            workload.templates[claim.key] = f"{workload.namespace}/{entry.template}"

    def _refusal(self, claim: Object, namespace: str) -> str:
        """Why no claim is made from a template that is there: its namespace may have lost the label that it had."""
        labels = self._objects.namespaces.objects.get(namespace)
        if labels is None:  # files need not have it
            return ""
        checks = self._objects.server.checks()
        check_admin_access(mapping(claim, "spec"), checks, labels)
        return next((each.detail for each in checks.errors), "")

    @cached_property
    def _made_for_groups(self) -> dict[tuple[str, str], str]:
        """The claims that have been made for PodGroups, by `namespace/name` of the group and its entry."""
        found = {}
        for claim in map(Claim, self._objects.of(CLAIM).values()):
            owner = next((each for each in claim.owners if each.is_controller), None)
            if owner is not None and owner.kind == POD_GROUP and claim.entry:
                found[f"{claim.namespace}/{owner.name}", claim.entry] = claim.name
        return found

    def _note_missing(self, workload: Workload, noun: str, kind: str, name: str) -> None:
        """A claim, template or PodGroup is not there: the pod waits for it, unless it may exist and only could not be read."""
        namespace = workload.namespace
        named = f"{noun} {namespace}/{name}"
        if refused := self._refused.get((kind, f"{namespace}/{name}")):
            workload.problem = f"{named} is not valid: {refused}"
        elif reason := self._unread(kind, namespace):
            workload.problem = f"{named} could not be read ({reason})"
        else:
            absent, more = f"{named}, which does not exist{self._where}", self._hint(kind, namespace, name)
            workload.missing.append(Words(f"{absent}{more.text}", f"{absent}{more.for_tenants}"))

    def _hint(self, kind: str, namespace: str, name: str) -> Words:
        """Which object may have been meant by a name that none has; empty if there is none, or too many have been compared."""
        known = self._hints.get((kind, namespace, name))
        if known is not None:
            return known
        if kind not in self._names:
            self._names[kind] = _Names(self._objects.collection(kind).objects)
        names, left = self._names[kind], MOST_COMPARED - self._comparisons
        here, elsewhere = names.of_namespace[namespace], names.namespaces_of[name]
        self._comparisons += min(len(here) + len(elsewhere), left)
        hint = NOTHING
        if meant := nearest(name, islice(here, left)):
            hint = for_all(f"; did you mean {meant}?")
        elif elsewhere:
            near = nearest(namespace, islice(elsewhere, max(left - len(here), 0)))
            hint = Words(f"; there is one in namespace {near or elsewhere[0]}")
        self._hints[kind, namespace, name] = hint
        return hint

    def _claim(self, manifest: Manifest, obj: Object, problem: str) -> Workload | None:
        """A claim or template that no workload uses: as if a pod used only that."""
        kind, namespace = manifest.value["kind"], namespace_of(manifest.value, self._default_namespace)
        if (kind, f"{namespace}/{displayed_name(obj)}") in self._used and not problem:
            return None
        workload = Workload(manifest, namespace)
        workload.problem = problem
        if not problem:
            prefix = "" if manifest.value["metadata"].get("name") else obj["metadata"].get("generateName", "")
            if prefix:
                # The server generates a name for each; our answers all have the same.
                self._generated_names += 1
                obj = {**obj, "metadata": {**obj["metadata"], "name": f"{prefix}{self._generated_names}"}}
            workload.claims = [
                Claim(claim_from_template(obj, namespace, displayed_name(obj)) if kind == TEMPLATE else obj)
            ]
            workload.from_templates = [0] if kind == TEMPLATE else []
        return workload


class _Names:
    """The names of the objects of a kind by namespace, and the namespaces that have each name."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Sort keys, as `namespace/name`."""
        self.of_namespace: dict[str, list[str]] = defaultdict(list)
        self.namespaces_of: dict[str, list[str]] = defaultdict(list)
        for key in keys:
            namespace, _, name = key.partition("/")
            self.of_namespace[namespace].append(name)
            self.namespaces_of[name].append(namespace)


def _claim_of_group(template: Object, group: PodGroup, entry: str) -> Object:
    """The claim that kube-controller-manager makes for an entry of a PodGroup."""
    claim = claim_from_template(template, group.namespace, f"{group.name}-{entry}")
    annotations = {**mapping(claim, "metadata", "annotations"), POD_CLAIM_NAME: entry}
    owner = {"kind": POD_GROUP, "name": group.name, "uid": group.uid, "controller": True}
    metadata = {**claim["metadata"], "annotations": annotations, "ownerReferences": [owner]}
    return {**claim, "metadata": metadata}


def _scheduler_message(value: Object) -> str:
    """The message of a pod's condition PodScheduled, if that is False."""
    for condition in entries(mapping(value, "status"), "conditions"):
        if text(condition, "type") == "PodScheduled" and text(condition, "status") == "False":
            return text(condition, "message")
    return ""

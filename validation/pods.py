"""kube-apiserver, as far as it answers requests for pods and for the kinds that hold a pod template."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.equality import equal
from resourceapi.field_errors import FORBIDDEN, FieldError
from resourceapi.field_path import Key, Path, render
from resourceapi.kinds import Kind, Lifecycle
from resourceapi.model import workloads
from resourceapi.objects import Object
from validation import formats, statuses
from validation.checks import Checks
from validation.merging import merge
from validation.object_meta import check_metadata, check_metadata_update
from validation.owners import without_repeated_owners
from validation.pod_defaults import default_pod, drop_disabled, prepare_pod
from validation.pod_specs import MIRROR, check_images, check_pod_spec
from validation.requests import CREATE, STATUS, Answer, Request
from validation.workloads import check_workload, default_workload, label_job, template_of

if TYPE_CHECKING:
    from validation.setting import Setting

POD = "Pod"
NAME_ORIGIN = "format=k8s-long-name"
SPEC: Path = ("spec",)
NAME_WARNING = (
    "metadata.name: this is used in {use}, which can result in surprising behavior; "
    "a DNS label is recommended: [{details}]"
)
NAMED_USES = {
    POD: "the Pod's hostname",
    **dict.fromkeys(
        ("CronJob", "Deployment", "Job", "ReplicaSet", "ReplicationController"), "Pod names and hostnames"
    ),
}
DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
# What an update may change in the spec of a pod.
MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def review_of(
    setting: Setting, request: Request, group: str, version: str
) -> Callable[[Object], Answer] | None:
    """What answers a request for a pod or workload once its body is read; None if there is no such kind."""
    if version != "v1" or request.kind not in workloads.KINDS.get(group, ()):
        return None
    return lambda obj: _Review(setting, request, group, obj).answer()


class _Review:
    """One request, once its body is read."""

    def __init__(self, setting: Setting, request: Request, group: str, obj: Object) -> None:
        self.setting = setting
        self.request = request
        self.group = group
        self.obj = obj
        self.is_pod = request.kind == POD
        self._default(obj)
        self.old: Object | None = None
        if request.old is not None:
            self.old = decode(workloads.schema(), request.kind, request.old).object
            self._default(self.old)

    def answer(self) -> Answer:
        return without_repeated_owners(self.obj, self._answer)

    def _answer(self) -> Answer:
        refusal = self._identify()
        if refusal is not None:
            return refusal
        self._prepare()
        errors = self._errors()
        kind = self.request.kind
        if errors:
            return statuses.invalid(kind, self.obj["metadata"].get("name", ""), errors, self.group)
        created = self.request.verb == CREATE
        type_meta = {"kind": kind, "apiVersion": self.request.api_version}
        return Answer(
            201 if created else 200,
            build=lambda: {**type_meta, **encode(workloads.schema(), kind, self.obj)},
            warnings=self._warnings() if created or not self.is_pod else [],
        )

    def _default(self, obj: Object) -> None:
        if self.is_pod:
            default_pod(obj)
        else:
            default_workload(self.request.kind, obj)

    def _identify(self) -> Answer | None:
        if self.request.verb == CREATE:
            return statuses.identify_new(self.obj, self.request, namespaced=True)
        assert self.old is not None
        kind = self.request.kind
        described = Kind(kind, workloads.RESOURCES[kind], namespaced=True, versions={"v1": Lifecycle(0)})
        return statuses.identify_stored(self.obj, self.old, self.request, described, unconditional=True)

    def _prepare(self) -> None:
        if self.request.verb == STATUS and self.old is not None:
            self.obj["spec"] = self.old.get("spec", {})
        elif self.is_pod and self.old is None:
            prepare_pod(self.obj, self.setting.profile)
        elif self.is_pod and self.old is not None:
            stored = self.old.get("spec", {})
            _keep_admitted(self.obj["spec"], stored)
            drop_disabled(self.obj["spec"], self.setting.profile, stored)
        elif (template := template_of(self.request.kind, self.obj)) is not None:
            before = None if self.old is None else template_of(self.request.kind, self.old)
            drop_disabled(template["spec"], self.setting.profile, (before or {}).get("spec"))
            if self.request.kind == "Job" and self.request.verb == CREATE:
                label_job(self.obj)

    def _errors(self) -> list[FieldError]:
        checks = self.setting.checks()
        if self.old is None:
            is_label = self.request.kind == "StatefulSet"
            origin = NAME_ORIGIN if self.request.kind == "ReplicationController" else ""
            check_metadata(self.obj, checks, namespaced=True, is_label=is_label, name_origin=origin)
        else:
            check_metadata_update(self.obj, self.old, checks)
        if self.is_pod and self.request.verb != STATUS:
            check_pod(self.obj, self.old, checks)
        elif self.request.verb != STATUS:
            check_workload(self.request.kind, self.obj, checks)
        if not self.setting.profile.declarative:
            return merge(checks.errors, [], lambda path: path)
        # Of the declarative rules for these kinds, only that for the name above tells in the order of errors.
        by_hand = [error for error in checks.errors if not error.covered]
        return merge(by_hand, [error for error in checks.errors if error.covered], lambda path: path)

    def _warnings(self) -> list[str]:
        warnings = self._name_warnings() if self.request.verb == CREATE else []
        if self.is_pod:
            return warnings + spec_warnings(self.obj["spec"], SPEC)
        template = template_of(self.request.kind, self.obj)
        path = (*workloads.TEMPLATES[self.request.kind], "spec")
        return warnings if template is None else warnings + spec_warnings(template["spec"], path)

    def _name_warnings(self) -> list[str]:
        use = NAMED_USES.get(self.request.kind)
        problems = formats.dns_label(self.obj["metadata"].get("name", "")) if use else []
        details = " ".join(problem.detail for problem in problems)
        return [NAME_WARNING.format(use=use, details=details)] if problems else []


def _keep_admitted(spec: Object, stored: Object) -> None:
    """What admission has filled in when the pod was created, it fills in again if an update leaves it out."""
    for name in ("priority", "preemptionPolicy"):
        if name in stored:
            spec.setdefault(name, stored[name])


def check_pod(pod: Object, old: Object | None, checks: Checks) -> None:
    """A pod but for its metadata; ``old``: the stored one, in an update."""
    meta, spec = pod["metadata"], pod["spec"]
    annotations = meta.get("annotations") or {}
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        checks.invalid(("metadata", "annotations", Key(MIRROR)), annotations[MIRROR], detail)
    check_pod_spec(spec, meta, SPEC, checks)
    check_images(spec, SPEC, checks)
    if old is not None:
        _check_update(spec, old.get("spec", {}), checks)
        return
    if spec.get("ephemeralContainers"):
        checks.report(FORBIDDEN, (*SPEC, "ephemeralContainers"), "", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        checks.report(FORBIDDEN, (*SPEC, "nodeName"), "", detail)


def _check_update(spec: Object, stored: Object, checks: Checks) -> None:
    for name in ("containers", "initContainers"):
        if len(spec.get(name) or ()) != len(stored.get(name) or ()):
            checks.report(FORBIDDEN, (*SPEC, name), "", "pod updates may not add or remove containers")
            return
    if not equal(_fixed(spec), _fixed(stored)):
        checks.report(FORBIDDEN, SPEC, "", MUTABLE)


def _fixed(spec: Object) -> Object:
    """The part of a pod's spec that an update cannot change."""
    changeable = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
    fixed = {name: value for name, value in spec.items() if name not in changeable}
    for name in ("containers", "initContainers"):
        fixed[name] = [
            {field: value for field, value in container.items() if field != "image"}
            for container in spec.get(name) or []
        ]
    return fixed


def spec_warnings(spec: Object, path: Path) -> list[str]:
    """What the server warns about in the spec of a pod: old labels of nodes, fractions of bytes."""
    warnings = [
        f"{render((*path, 'nodeSelector', Key(label)))}: {DEPRECATED_LABELS[label]}"
        for label in spec.get("nodeSelector") or {}
        if label in DEPRECATED_LABELS
    ]
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(name) or []):
            warnings += _fraction_warnings(container, (*path, name, index))
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        at = render((*path, "terminationGracePeriodSeconds"))
        warnings.append(f"{at}: must be >= 0; negative values are invalid and will be treated as 1")
    return warnings


def _fraction_warnings(container: Object, path: Path) -> list[str]:
    resources = container.get("resources", {})
    warnings = []
    for resource in ("memory", "ephemeral-storage"):
        for kind in ("limits", "requests"):
            amount = (resources.get(kind) or {}).get(resource)
            if amount is not None and amount.milli_value() % 1000:
                at = render((*path, "resources", kind, Key(resource)))
                warnings.append(f'{at}: fractional byte value "{amount}" is invalid, must be an integer')
    return warnings

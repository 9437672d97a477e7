"""What must hold for a Pod, and what an update may change in its spec: also its nodes, if scheduling gates hold it back."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING

from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.equality import equal
from resourceapi.field_errors import (
    DUPLICATE,
    FORBIDDEN,
    REQUIRED,
    FieldError,
    Key,
    Path,
    TooManyErrors,
    render,
)
from resourceapi.kind import Kind, Lifecycle
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.model import workloads
from resourceapi.model.meta import NodeSelector, ObjectMeta
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import Profile
from resourceapi.schema import Schema
from validation import formats
from validation.checks import Checks
from validation.kind_rules import KindRules, in_words_of, merge
from validation.object_meta import (
    check_common_metadata,
    check_common_metadata_update,
    check_metadata,
    check_metadata_update,
)
from validation.pod_defaults import default_pod, items_of, prepare_pod, without_disabled
from validation.pod_node_resources import check_node_resources
from validation.pod_specs import MIRROR, check_image_spaces, check_images, check_pod_spec
from validation.requests import CREATE, STATUS, Request

if TYPE_CHECKING:
    from validation.setting import Setting


NAME_WARNING = (
    "metadata.name: this is used in {use}, which can result in surprising behavior; "
    "a DNS label is recommended: [{details}]"
)
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


class PodKindRules(KindRules):
    """The rules of a kind that is, or holds, the spec of a pod.

    :param name_use: what the name of an object is used in, where a DNS label would do better.
    :param name_is_label: whether the name must be a DNS label, not only a subdomain.
    :param name_origin: the origin of the declarative rule that reports a bad name as well, if there is one.
    """

    def __init__(
        self, group: str, name: str, *, name_use: str = "", name_is_label: bool = False, name_origin: str = ""
    ) -> None:
        resource = workloads.RESOURCES[name]
        self.kind = Kind(name, resource, namespaced=True, versions={"v1": Lifecycle(0)})
        self.group = group
        self._name_use = name_use
        self._name_is_label = name_is_label
        self._name_origin = name_origin

    @abstractmethod
    def default(self, obj: Object) -> None:
        """Fill in the defaults."""

    @abstractmethod
    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Drop what is switched off, in any request but one about the status."""

    @abstractmethod
    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """All but the metadata, in any request but one about the status."""

    @abstractmethod
    def check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed object, its metadata included; what is common to all kinds has been checked."""

    def check_new(self, obj: Object, checks: Checks) -> None:
        """A new object, its metadata included."""
        self.check_own_metadata(obj, checks)
        self.check(obj, None, checks)

    def check_own_metadata(self, obj: Object, checks: Checks) -> None:
        """The metadata of a new object."""
        check_metadata(
            obj, checks, namespaced=True, is_label=self._name_is_label, name_origin=self._name_origin
        )

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status: the metadata is checked again, of the status nothing."""
        check_metadata_update(obj, old, checks)

    def has_status(self, profile: Profile) -> bool:
        """Whether the server has a URL for the status."""
        return "status" in workloads.schema()[self.kind.name].by_name

    def read(self, obj: Object, version: str, setting: Setting) -> Object:
        """The object with its defaults."""
        self.default(obj)
        return obj

    def read_stored(self, stored: Object, version: str, setting: Setting) -> Object:
        """The stored object with its defaults: those that a client leaves out need not be written to a file."""
        return self.read(decode(_schema(setting), self.kind.name, stored).object, version, setting)

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """An update of the status changes nothing else."""
        if verb == STATUS and old is not None:
            obj["spec"] = old.get("spec", {})
        else:
            self.prepare_spec(obj, old, setting)

    def errors(
        self, request: Request, version: str, obj: Object, old: Object | None, setting: Setting
    ) -> list[FieldError]:
        """Those of the metadata, then those of the rest."""
        checks = setting.checks()
        with suppress(TooManyErrors):
            self._check(request.verb, obj, old, checks)
        if setting.profile.is_classic:
            return in_words_of(CLASSIC_MINOR, checks.errors)
        # Of the declarative rules for these kinds, only that for the name above tells in the order of errors.
        declarative = [error for error in checks.errors if error.covered and setting.profile.declarative]
        by_hand = [error for error in checks.errors if error not in declarative]
        errors = merge(by_hand, declarative, lambda path: path, minor=setting.profile.minor)
        return in_words_of(setting.profile.minor, errors)

    def _check(self, verb: str, obj: Object, old: Object | None, checks: Checks) -> None:
        if old is None:
            self.check_new(obj, checks)
            return
        check_common_metadata(obj, checks, namespaced=True)
        check_common_metadata_update(obj, old, checks)
        if verb == STATUS:
            self.check_status(obj, old, checks)
        else:
            self.check_update(obj, old, checks)

    def name_warnings(self, obj: Object) -> list[str]:
        """What the server warns about in the name of a new object."""
        problems = formats.dns_label(obj["metadata"].get("name", "")) if self._name_use else []
        details = " ".join(problem.detail for problem in problems)
        return [NAME_WARNING.format(use=self._name_use, details=details)] if problems else []

    def present(self, obj: Object, api_version: str, setting: Setting) -> Object:
        """The object as JSON."""
        encoded = encode(_schema(setting), self.kind.name, obj)
        return {"kind": self.kind.name, "apiVersion": api_version, **encoded}


def _schema(setting: Setting) -> Schema:
    return workloads.schema(setting.profile.minor)


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


CLAIM_STATUSES = "resourceClaimStatuses"


def check_claim_statuses(status: Object, spec: Object, checks: Checks) -> None:
    """Each tells the name of the claim of one entry in the spec."""
    entries = {claim.get("name", "") for claim in items_of(spec, "resourceClaims")}
    seen: set[str] = set()
    for index, claim in enumerate(items_of(status, CLAIM_STATUSES)):
        at: Path = ("status", CLAIM_STATUSES, index)
        name = claim.get("name", "")
        if name not in entries:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            checks.invalid((*at, "name"), name, detail)
        if name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        seen.add(name)
        if "resourceClaimName" in claim:
            field = (
                "name" if checks.profile.minor < 36 else "resourceClaimName"
            )  # up to 1.35 it is named wrongly
            checks.problems(formats.dns_subdomain(claim["resourceClaimName"]), (*at, field))


MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
LABELS = ObjectMeta["labels"].type
TERMS = NodeSelector["nodeSelectorTerms"].type


def check_spec_update(spec: Object, stored: Object, path: Path, checks: Checks) -> None:
    """The change of ``stored`` to ``spec``."""
    for name in ("containers", "initContainers"):
        if len(items_of(spec, name)) != len(items_of(stored, name)):
            checks.report(FORBIDDEN, (*path, name), "", "pod updates may not add or remove containers")
            return
        _check_changed_images(items_of(spec, name), (*path, name), checks)
    _check_gates(items_of(spec, "schedulingGates"), items_of(stored, "schedulingGates"), path, checks)
    is_gated = bool(items_of(stored, "schedulingGates"))
    if is_gated:
        _check_node_selector(spec.get("nodeSelector"), stored.get("nodeSelector"), path, checks)
        _check_affinity(_required_terms(spec), _required_terms(stored), path, checks)
    if not equal(_fixed(spec, is_gated=is_gated), _fixed(stored, is_gated=is_gated)):
        checks.report(FORBIDDEN, path, "", MUTABLE)


def _check_changed_images(containers: list[Object], path: Path, checks: Checks) -> None:
    """Those of any spec have been checked as well: up to 1.30 errors come twice."""
    for index, container in enumerate(containers):
        if not container.get("image"):
            checks.report(REQUIRED, (*path, index, "image"))
        check_image_spaces(container, (*path, index), checks)


def _check_gates(gates: list[Object], stored: list[Object], path: Path, checks: Checks) -> None:
    """Gates are removed, never added."""
    before = {gate.get("name", "") for gate in stored}
    added = {gate.get("name", ""): index for index, gate in enumerate(gates)}
    for name, index in added.items():
        if name not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            checks.report(FORBIDDEN, (*path, "schedulingGates", index, "name"), "", detail)


def _check_node_selector(
    labels: dict[str, str] | None, stored: dict[str, str] | None, path: Path, checks: Checks
) -> None:
    if not (stored or {}).items() <= (labels or {}).items():
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        checks.invalid((*path, "nodeSelector"), checks.internal(LABELS, labels), detail)


def _required_terms(spec: Object) -> list[Object] | None:
    affinity = spec.get("affinity", EMPTY).get("nodeAffinity", EMPTY)
    terms: list[Object] | None = affinity.get(REQUIRED_AFFINITY, EMPTY).get("nodeSelectorTerms")
    return terms


def _check_affinity(
    terms: list[Object] | None, stored: list[Object] | None, path: Path, checks: Checks
) -> None:
    """Each term may get further requirements, behind those that it has; one without any matches no node."""
    if not stored:
        return
    path = (*path, "affinity", "nodeAffinity", REQUIRED_AFFINITY, "nodeSelectorTerms")
    if terms is None or len(terms) != len(stored):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        checks.invalid(path, checks.internal(TERMS, terms), detail)
        return
    for index, (term, before) in enumerate(zip(terms, stored, strict=True)):
        if not _has_only_additions(term, before):
            shown = checks.internal("NodeSelectorTerm", term)
            checks.invalid((*path, index), shown, "only additions are allowed (no mutations or deletions)")


def _has_only_additions(term: Object, stored: Object) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(items_of(stored, name) for name in fields):
        return not any(items_of(term, name) for name in fields)
    return all(
        equal(items_of(term, name)[: len(items_of(stored, name))], items_of(stored, name)) for name in fields
    )


def _fixed(spec: Object, *, is_gated: bool) -> Object:
    """The part of a pod's spec that an update cannot change, or whose changes have been checked."""
    changeable = ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"]
    if is_gated:
        changeable += ["nodeSelector", "affinity"]
    fixed = {name: value for name, value in spec.items() if name not in changeable}
    for name in ("containers", "initContainers"):
        fixed[name] = [
            {field: value for field, value in container.items() if field != "image"}
            for container in items_of(spec, name)
        ]
    if is_gated:
        affinity = spec.get("affinity", EMPTY)
        fixed["affinity"] = {name: value for name, value in affinity.items() if name != "nodeAffinity"}
    return fixed


SPEC: Path = ("spec",)


class PodRules(PodKindRules):
    """Pod."""

    def __init__(self) -> None:
        super().__init__("", "Pod", name_use="the Pod's hostname")

    def default(self, obj: Object) -> None:
        """Fill in the defaults."""
        default_pod(obj)

    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Drop what is switched off; a new pod is pending, an update keeps what admission has filled in."""
        if old is None:
            prepare_pod(obj, setting.profile)
            return
        stored = old.get("spec", {})
        _keep_admitted(obj["spec"], stored)
        obj["spec"] = without_disabled(obj["spec"], setting.profile, stored)

    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """A pod but for its metadata."""
        _check_pod(obj, old, checks)

    def check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        """The metadata is checked as that of an update, then as that of a new pod: up to 1.30 errors come twice."""
        check_metadata_update(obj, old, checks)
        self.check_own_metadata(obj, checks)
        self.check(obj, old, checks)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """Of the status only which claims are the pod's, and what they take of its node."""
        super().check_status(obj, old, checks)
        check_claim_statuses(obj.get("status", EMPTY), obj["spec"], checks)
        check_node_resources(obj.get("status", EMPTY), obj["spec"], checks)

    def warnings(self, verb: str, obj: Object, profile: Profile) -> list[str]:
        """Only a new pod gets warnings."""
        return self.name_warnings(obj) + spec_warnings(obj["spec"], SPEC) if verb == CREATE else []


def _keep_admitted(spec: Object, stored: Object) -> None:
    """What admission has filled in when the pod was created, it fills in again if an update leaves it out."""
    for name in ("priority", "preemptionPolicy"):
        if name in stored:
            spec.setdefault(name, stored[name])


def _check_pod(pod: Object, old: Object | None, checks: Checks) -> None:
    meta, spec = pod["metadata"], pod["spec"]
    annotations = meta.get("annotations") or {}
    if MIRROR in annotations and not spec.get("nodeName"):
        detail = "must set spec.nodeName if mirror pod annotation is set"
        checks.invalid(("metadata", "annotations", Key(MIRROR)), annotations[MIRROR], detail)
    check_pod_spec(spec, meta, SPEC, checks)
    check_images(spec, SPEC, checks)
    if old is not None:
        check_spec_update(spec, old.get("spec", {}), SPEC, checks)
        return
    if spec.get("ephemeralContainers"):
        checks.report(FORBIDDEN, (*SPEC, "ephemeralContainers"), "", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        checks.report(FORBIDDEN, (*SPEC, "nodeName"), "", detail)

"""What must hold for the kinds that hold a pod template: metadata, selector, and the template itself.

Of the workload's own fields only those are checked that the table below names; strategies, policies, schedules and
volume claim templates are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from resourceapi.field_errors import FORBIDDEN, REQUIRED, Verbatim, not_supported
from resourceapi.field_path import Path
from resourceapi.go_text import json_text, quote
from resourceapi.model.workloads import TEMPLATES
from resourceapi.objects import Object
from validation import formats, label_selectors
from validation.checks import Checks
from validation.object_meta import check_annotations, check_labels
from validation.pod_defaults import default_pod_spec, drop_disabled
from validation.pod_kinds import PodKindRules, spec_warnings
from validation.pod_specs import ALWAYS, check_pod_spec
from validation.pods import PodRules
from validation.requests import CREATE

if TYPE_CHECKING:
    from validation.setting import Setting

CRON_JOB_NAME_CHARACTERS = 52
JOB_RESTART_POLICIES = ("OnFailure", "Never")
JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
# Kinds that take their labels from the template where they have none.
LABELLED_BY_TEMPLATE = ("Job", "ReplicationController")
NOT_SELECTED = "`selector` does not match template `labels`"


class WorkloadRules(PodKindRules):
    """The rules of a kind that holds a pod template.

    :param selector: whether it has a selector, which ``required`` says whether it must have.
    :param empty_name: what an error about an empty selector calls the kind.
    :param counts_before: its numbers that must not be negative, as far as they are checked before the template.
    :param counts_after: those that are checked after it.
    """

    def __init__(
        self,
        group: str,
        name: str,
        *,
        selector: bool = False,
        required: bool = True,
        empty_name: str = "",
        counts_before: tuple[str, ...] = (),
        counts_after: tuple[str, ...] = (),
        name_use: str = "",
        name_is_label: bool = False,
        name_origin: str = "",
    ) -> None:
        super().__init__(group, name, name_use=name_use, name_is_label=name_is_label, name_origin=name_origin)
        self.selector = selector
        self.required = required
        self.empty_name = empty_name
        self.counts_before = counts_before
        self.counts_after = counts_after

    def default(self, obj: Object) -> None:
        """Fill in the defaults of the template, and what follows from it."""
        _default_workload(self.kind.name, obj)

    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Drop what is switched off in the template, and label the pods of a new job."""
        kind = self.kind.name
        template = template_of(kind, obj)
        if template is None:
            return
        before = None if old is None else template_of(kind, old)
        drop_disabled(template["spec"], setting.profile, (before or {}).get("spec"))
        if kind == "Job" and old is None:
            _label_job(obj)

    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """All but the metadata."""
        kind, spec = self.kind.name, obj.get("spec", {})
        template, path = template_of(kind, obj), TEMPLATES[kind]
        _check_counts(spec, self.counts_before, checks)
        if kind == "StatefulSet" and spec.get("serviceName"):
            checks.problems(formats.dns_label(spec["serviceName"]), ("spec", "serviceName"))
        usable = True
        if kind == "ReplicationController":
            _check_plain_selector(spec, template, path, checks)
        elif self.selector:
            usable = _check_selector(self, spec, template or {}, checks)
        if template is not None and usable:
            _check_template(kind, template, path, checks)
        elif template is not None and kind == "StatefulSet":
            _check_run(kind, template["spec"], (*path, "spec"), checks)
        _check_counts(spec, self.counts_after, checks)
        if kind == "CronJob":
            _check_cron_job_name(obj, checks)

    def warnings(self, verb: str, obj: Object) -> list[str]:
        """About the name of a new object, and about the spec of its pods."""
        warnings = self.name_warnings(obj) if verb == CREATE else []
        template = template_of(self.kind.name, obj)
        path = (*TEMPLATES[self.kind.name], "spec")
        return warnings if template is None else warnings + spec_warnings(template["spec"], path)


def template_of(kind: str, obj: Object) -> Object | None:
    """The pod template of a workload; None if a ReplicationController has none."""
    holder = obj
    for name in TEMPLATES[kind][:-1]:
        holder = holder.setdefault(name, {})
    name = TEMPLATES[kind][-1]
    template: Object | None = (
        holder.get(name) if kind == "ReplicationController" else holder.setdefault(name, {})
    )
    return template


def _default_workload(kind: str, obj: Object) -> None:
    """What the server fills in from the template: the labels, and for a ReplicationController the selector."""
    template = template_of(kind, obj)
    if template is None:
        return
    default_pod_spec(template.setdefault("spec", {}))
    labels = template.get("metadata", {}).get("labels")
    if labels and kind in LABELLED_BY_TEMPLATE:
        meta = obj.setdefault("metadata", {})
        meta["labels"] = meta.get("labels") or dict(labels)
    if labels and kind == "ReplicationController":
        obj["spec"]["selector"] = obj["spec"].get("selector") or dict(labels)


def _label_job(job: Object) -> None:
    """A job marks its pods with its name, unless it is told not to; the uid, another mark, is the server's to know."""
    if job["spec"].get("manualSelector"):
        return
    meta = job["spec"]["template"].setdefault("metadata", {})
    labels = meta.get("labels")
    shared = labels == job["metadata"].get("labels")  # taken from the template
    marks = {label: job["metadata"].get("name", "") for label in JOB_NAME_LABELS}
    meta["labels"] = {**(labels or {}), **marks}
    if labels and shared:
        job["metadata"]["labels"] = dict(meta["labels"])


def _check_counts(spec: Object, fields: tuple[str, ...], checks: Checks) -> None:
    for field in fields:
        if spec.get(field, 0) < 0:
            checks.invalid(("spec", field), spec[field], formats.NOT_NEGATIVE)


def _check_selector(workload: WorkloadRules, spec: Object, template: Object, checks: Checks) -> bool:
    """Check the selector, and that it selects the template.

    :returns: whether to check the template.
    """
    path: Path = ("spec", "selector")
    selector: Object | None = spec.get("selector")
    if selector is not None:
        label_selectors.check_selector(selector, path, checks)
    elif workload.required:
        checks.report(REQUIRED, path)
    usable = selector is None or label_selectors.is_usable(selector, checks)
    empty = selector is not None and label_selectors.is_empty(selector)
    labels = template.get("metadata", {}).get("labels")
    if empty and workload.required:
        _report_empty(workload, selector, checks)
    if not usable and workload.required:
        detail = "" if workload.empty_name == "statefulset" else "invalid label selector"
        checks.invalid(path, label_selectors.shown(selector), detail)
        return False
    if usable and not label_selectors.selects(selector, labels or {}):
        checks.invalid(("spec", "template", "metadata", "labels"), Verbatim(json_text(labels)), NOT_SELECTED)
    if empty and not workload.required:
        _report_empty(workload, selector, checks)
    return True


def _report_empty(workload: WorkloadRules, selector: Object | None, checks: Checks) -> None:
    detail = f"empty selector is invalid for {workload.empty_name}"
    checks.invalid(("spec", "selector"), label_selectors.shown(selector), detail)


def _check_plain_selector(spec: Object, template: Object | None, path: Path, checks: Checks) -> None:
    """A ReplicationController selects by equal labels only."""
    selector: dict[str, str] = spec.get("selector") or {}
    if not selector:
        checks.report(REQUIRED, ("spec", "selector"))
    if template is None:
        checks.report(REQUIRED, path)
        return
    labels = template.get("metadata", {}).get("labels")
    if any((labels or {}).get(key) != value for key, value in selector.items()):
        checks.invalid((*path, "metadata", "labels"), Verbatim(json_text(labels)), NOT_SELECTED)


def _check_template(kind: str, template: Object, path: Path, checks: Checks) -> None:
    meta, spec = template.get("metadata", {}), template.setdefault("spec", {})
    _check_template_metadata(meta, path, checks)
    checked = spec
    if kind == "StatefulSet":
        # The controller sets these two itself.
        checked = {name: value for name, value in spec.items() if name not in ("hostname", "subdomain")}
    check_pod_spec(checked, None, (*path, "spec"), checks)
    if spec.get("ephemeralContainers"):
        detail = "ephemeral containers not allowed in pod template"
        checks.report(FORBIDDEN, (*path, "spec", "ephemeralContainers"), "", detail)
    if kind == "StatefulSet":
        _check_template_metadata(meta, path, checks)
    _check_run(kind, spec, (*path, "spec"), checks)


def _check_template_metadata(meta: Object, path: Path, checks: Checks) -> None:
    check_labels(meta.get("labels") or {}, (*path, "labels"), checks)
    check_annotations(meta.get("annotations") or {}, (*path, "annotations"), checks)


def _check_run(kind: str, spec: Object, path: Path, checks: Checks) -> None:
    """Pods of a job end, those of other workloads do not."""
    policy, at = spec.get("restartPolicy", ""), (*path, "restartPolicy")
    if kind in ("Job", "CronJob"):
        if policy in ("", ALWAYS):
            checks.report(REQUIRED, at, "", "valid values: " + ", ".join(map(quote, JOB_RESTART_POLICIES)))
        elif policy not in JOB_RESTART_POLICIES:
            checks.errors.append(not_supported(at, policy, JOB_RESTART_POLICIES))
    elif kind != "PodTemplate":
        if policy != ALWAYS:
            checks.errors.append(not_supported(at, policy, (ALWAYS,)))
        if "activeDeadlineSeconds" in spec:
            named = "ReplicaSet" if kind == "Deployment" else kind
            detail = f"activeDeadlineSeconds in {named} is not Supported"
            checks.report(FORBIDDEN, (*path, "activeDeadlineSeconds"), "", detail)


def _check_cron_job_name(obj: Object, checks: Checks) -> None:
    """The controller appends eleven characters to make a job's name."""
    name = obj.get("metadata", {}).get("name", "")
    if len(name.encode()) > CRON_JOB_NAME_CHARACTERS:
        detail = f"must be no more than {CRON_JOB_NAME_CHARACTERS} characters"
        checks.invalid(("metadata", "name"), name, detail)


_SCALED = ("replicas", "minReadySeconds")
_NAMES = "Pod names and hostnames"
RULES: Mapping[tuple[str, str], PodKindRules] = {
    (rules.group, rules.kind.name): rules
    for rules in (
        PodRules(),
        WorkloadRules("", "PodTemplate"),
        WorkloadRules("", "ReplicationController", name_use=_NAMES, name_origin="format=k8s-long-name"),
        WorkloadRules(
            "apps",
            "Deployment",
            selector=True,
            empty_name="deployment",
            counts_before=("replicas",),
            counts_after=("minReadySeconds",),
            name_use=_NAMES,
        ),
        WorkloadRules(
            "apps",
            "ReplicaSet",
            selector=True,
            empty_name="deployment",
            counts_before=_SCALED,
            name_use=_NAMES,
        ),
        WorkloadRules(
            "apps",
            "StatefulSet",
            selector=True,
            empty_name="statefulset",
            counts_before=_SCALED,
            name_is_label=True,
        ),
        WorkloadRules(
            "apps",
            "DaemonSet",
            selector=True,
            required=False,
            empty_name="daemonset",
            counts_after=("minReadySeconds",),
        ),
        WorkloadRules(
            "batch",
            "Job",
            counts_before=("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
            name_use=_NAMES,
        ),
        WorkloadRules("batch", "CronJob", name_use=_NAMES),
    )
}

"""What must hold for the kinds that hold a pod template: metadata, selector, and the template itself.

Of the workload's own fields only those are checked that the table below names; strategies, policies, schedules and
volume claim templates are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from resourceapi.field_errors import FORBIDDEN, INVALID, REQUIRED, Path, not_supported
from resourceapi.go_text import quote
from resourceapi.model.meta import ObjectMeta
from resourceapi.model.workloads import TEMPLATES
from resourceapi.objects import Object
from resourceapi.releases import Profile
from validation import formats, selectors
from validation.checks import Checks
from validation.kind_rules import keep_stored
from validation.object_meta import check_annotations, check_labels, check_metadata_update
from validation.pod_defaults import default_pod_spec, without_disabled
from validation.pod_specs import ALWAYS, check_pod_spec
from validation.pods import PodKindRules, PodRules, spec_warnings
from validation.requests import CREATE, STATUS

if TYPE_CHECKING:
    from validation.setting import Setting

CRON_JOB_NAME_CHARACTERS = 52
JOB_RESTART_POLICIES = ("OnFailure", "Never")
JOB_NAME_LABELS = ("batch.kubernetes.io/job-name", "job-name")
LABELS = ObjectMeta["labels"].type
IMMUTABLE = "field is immutable"
STATEFUL_SET_KEEPS = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',{}"
    " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
NOT_SELECTED = "`selector` does not match template `labels`"


class WorkloadRules(PodKindRules):
    """The rules of a kind that holds a pod template.

    :param selector: whether it has a selector, which ``required`` says whether it must have.
    :param empty_name: what an error about an empty selector calls the kind.
    :param counts_before: its numbers that must not be negative, as far as they are checked before the template.
    :param counts_after: those that are checked after it.
    :param running_kind: what an error about a deadline calls the kind, if not by its name.
    :param twice_until: the last release that checks an update as a new object, before it checks it as an update.
    :param keeps_selector: whether the selector never changes.
    :param unusable: what an error says about a selector that cannot be used.
    :cvar labelled_by_template: whether an object without labels takes those of the template.
    :cvar repeats_metadata: whether the server reports errors in the template's metadata twice.
    """

    labelled_by_template = False
    repeats_metadata = False

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
        running_kind: str = "",
        unusable: str = "invalid label selector",
        name_use: str = "",
        name_is_label: bool = False,
        name_origin: str = "",
        twice_until: int = 0,
        keeps_selector: bool = False,
    ) -> None:
        super().__init__(group, name, name_use=name_use, name_is_label=name_is_label, name_origin=name_origin)
        self.twice_until = twice_until
        self.keeps_selector = keeps_selector
        self.selector = selector
        self.required = required
        self.empty_name = empty_name
        self.counts_before = counts_before
        self.counts_after = counts_after
        self.running_kind = running_kind or name
        self.unusable = unusable

    def default(self, obj: Object) -> None:
        """Fill in the defaults of the template, and what follows from it."""
        template = self.template_of(obj)
        if template is None:
            return
        default_pod_spec(template.setdefault("spec", {}))
        labels = template.get("metadata", {}).get("labels")
        if labels and self.labelled_by_template:
            meta = obj.setdefault("metadata", {})
            meta["labels"] = meta.get("labels") or dict(labels)

    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Drop what is switched off in the template."""
        template = self.template_of(obj)
        if template is None:
            return
        before = None if old is None else self.template_of(old)
        stored = (before or {}).get("spec")
        template["spec"] = without_disabled(template["spec"], setting.profile, stored)

    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """All but the metadata."""
        spec, template, path = obj.get("spec", {}), self.template_of(obj), self.template_path
        _check_counts(spec, self.counts_before, checks)
        is_usable = self.check_selector(spec, template, checks)
        if template is not None and is_usable:
            self.check_template(template, path, checks)
        elif template is not None:
            self.check_unselected(template, path, checks)
        _check_counts(spec, self.counts_after, checks)

    def check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        """Some kinds are checked as new objects are, and then as updates, so that errors come twice (up to 1.36)."""
        if checks.minor <= self.twice_until:
            self.check_new(obj, checks)
        check_metadata_update(obj, old, checks)
        self.check(obj, old, checks)
        self.check_kept(obj, old, checks)

    def check_kept(self, obj: Object, old: Object, checks: Checks) -> None:
        """That the selector is the stored one."""
        selector = obj.get("spec", {}).get("selector")
        if self.keeps_selector and selector != old.get("spec", {}).get("selector"):
            checks.invalid(("spec", "selector"), selectors.shown(selector, checks), IMMUTABLE)

    def check_selector(self, spec: Object, template: Object | None, checks: Checks) -> bool:
        """The selector, if the kind has one.

        :returns: whether to check the template.
        """
        return not self.selector or _check_selector(self, spec, template or {}, checks)

    def check_template(self, template: Object, path: Path, checks: Checks) -> None:
        """The pod template."""
        spec = template.setdefault("spec", {})
        _check_template_metadata(template, path, checks)
        check_pod_spec(self.checked_part(spec), None, (*path, "spec"), checks)
        if spec.get("ephemeralContainers"):
            detail = "ephemeral containers not allowed in pod template"
            checks.report(FORBIDDEN, (*path, "spec", "ephemeralContainers"), "", detail)
        if self.repeats_metadata:
            _check_template_metadata(template, path, checks)
        self.check_run(spec, (*path, "spec"), checks)

    def check_unselected(self, template: Object, path: Path, checks: Checks) -> None:
        """The template of an object whose selector cannot be used."""

    def checked_part(self, spec: Object) -> Object:
        """The fields of the pods' spec that are checked as those of any pod."""
        return spec

    def check_run(self, spec: Object, path: Path, checks: Checks) -> None:
        """The restart policy and the deadline: these pods do not end."""
        policy = spec.get("restartPolicy", "")
        if policy != ALWAYS:
            checks.errors.append(not_supported((*path, "restartPolicy"), policy, (ALWAYS,)))
        if "activeDeadlineSeconds" in spec:
            detail = f"activeDeadlineSeconds in {self.running_kind} is not Supported"
            checks.report(FORBIDDEN, (*path, "activeDeadlineSeconds"), "", detail)

    def warnings(self, verb: str, obj: Object, profile: Profile) -> list[str]:
        """About the name of a new object, and about the spec of its pods."""
        warnings = self.name_warnings(obj) if verb == CREATE else []
        template = self.template_of(obj)
        path = (*self.template_path, "spec")
        return warnings if template is None else warnings + spec_warnings(template["spec"], path)

    @property
    def template_path(self) -> tuple[str, ...]:
        """Where the pod template is."""
        return TEMPLATES[self.kind.name]

    def template_of(self, obj: Object) -> Object | None:
        """The pod template; an empty one if there is none, where the kind cannot do without."""
        for name in self.template_path:
            obj = obj.setdefault(name, {})
        return obj


class ReplicationControllerRules(WorkloadRules):
    """ReplicationController: its selector is a map of labels, and it can be without a template."""

    labelled_by_template = True

    def template_of(self, obj: Object) -> Object | None:
        """The pod template, None if there is none."""
        template: Object | None = obj.setdefault("spec", {}).get("template")
        return template

    def default(self, obj: Object) -> None:
        """Where the selector is left out, it is the labels of the template."""
        super().default(obj)
        labels = (self.template_of(obj) or {}).get("metadata", {}).get("labels")
        if labels:
            obj["spec"]["selector"] = obj["spec"].get("selector") or dict(labels)

    def check_selector(self, spec: Object, template: Object | None, checks: Checks) -> bool:
        """That there are a selector and a template, and that the one selects the other."""
        _check_plain_selector(spec, template, self.template_path, checks)
        return True


class DeploymentRules(WorkloadRules):
    """Deployment."""

    def prepare(self, verb: str, obj: Object, old: Object | None, setting: Setting) -> None:
        """An update of the status does not change the labels."""
        super().prepare(verb, obj, old, setting)
        if verb == STATUS and old is not None:
            keep_stored(obj["metadata"], old["metadata"], "labels")


class DaemonSetRules(WorkloadRules):
    """DaemonSet."""

    def check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        """Since 1.34 the selector comes first."""
        if checks.minor < 34:
            super().check_update(obj, old, checks)
            return
        check_metadata_update(obj, old, checks)
        self.check_kept(obj, old, checks)
        self.check(obj, old, checks)


class StatefulSetRules(WorkloadRules):
    """StatefulSet."""

    repeats_metadata = True

    def check_selector(self, spec: Object, template: Object | None, checks: Checks) -> bool:
        """The name of the service, then the selector."""
        if spec.get("serviceName"):
            checks.problems(formats.dns_label(spec["serviceName"]), ("spec", "serviceName"))
        return super().check_selector(spec, template, checks)

    def check_template(self, template: Object, path: Path, checks: Checks) -> None:
        """Up to 1.33 nobody looks at the spec of the pods, but for how they end."""
        if checks.minor >= 34:
            super().check_template(template, path, checks)
            return
        _check_template_metadata(template, path, checks)
        self.check_run(template["spec"], (*path, "spec"), checks)

    def checked_part(self, spec: Object) -> Object:
        """The controller sets the name of each host itself."""
        return {name: value for name, value in spec.items() if name not in ("hostname", "subdomain")}

    def check_kept(self, obj: Object, old: Object, checks: Checks) -> None:
        """That neither the selector nor the service is another; of other fields nothing is said here."""
        spec, stored = obj.get("spec", {}), old.get("spec", {})
        changed = [name for name in ("selector", "serviceName") if spec.get(name) != stored.get(name)]
        if changed and checks.minor < 37:
            limit = "" if checks.minor < 33 else " 'revisionHistoryLimit',"
            checks.report(FORBIDDEN, ("spec",), "", STATEFUL_SET_KEEPS.format(limit))
        elif "selector" in changed:
            path = ("spec", "selector")
            shown = selectors.shown(spec.get("selector"), checks)
            checks.report(INVALID, path, shown, IMMUTABLE, origin="immutable", covered=True)
        if "serviceName" in changed and checks.minor >= 37:
            shown = spec.get("serviceName", "")
            checks.report(
                INVALID, ("spec", "serviceName"), shown, IMMUTABLE, origin="immutable", covered=True
            )

    def check_unselected(self, template: Object, path: Path, checks: Checks) -> None:
        """The restart policy is checked all the same."""
        self.check_run(template["spec"], (*path, "spec"), checks)


class PodTemplateRules(WorkloadRules):
    """PodTemplate: what becomes of its pods is for others to say."""

    def check_run(self, spec: Object, path: Path, checks: Checks) -> None:
        """Nothing."""


class EndingPodRules(WorkloadRules):
    """The rules of a kind whose pods end."""

    def check_run(self, spec: Object, path: Path, checks: Checks) -> None:
        """The restart policy lets pods end."""
        _check_ends(spec, path, checks)


class CronJobRules(EndingPodRules):
    """CronJob, whose pods end as those of its jobs do."""

    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """The controller appends eleven characters to the name to make a job's name."""
        if not obj.get("spec", {}).get("schedule"):
            checks.report(REQUIRED, ("spec", "schedule"), covered=checks.minor >= 37)
        super().check(obj, old, checks)
        name = obj.get("metadata", {}).get("name", "")
        if len(name.encode()) > CRON_JOB_NAME_CHARACTERS:
            detail = f"must be no more than {CRON_JOB_NAME_CHARACTERS} characters"
            checks.invalid(("metadata", "name"), name, detail)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """Nothing."""


class JobRules(EndingPodRules):
    """Job."""

    labelled_by_template = True

    def prepare_spec(self, obj: Object, old: Object | None, setting: Setting) -> None:
        """Label the pods of a new job."""
        super().prepare_spec(obj, old, setting)
        if old is None:
            _label_job(obj)


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
        selectors.check_selector(selector, path, checks)
    elif workload.required:
        checks.report(REQUIRED, path)
    usable = selector is None or selectors.is_usable(selector, checks)
    empty = selector is not None and selectors.is_empty(selector)
    labels = template.get("metadata", {}).get("labels")
    if empty and workload.required:
        _report_empty(workload, selector, checks)
    if not usable and workload.required:
        checks.invalid(path, selectors.shown(selector, checks), workload.unusable)
        return False
    if usable and not selectors.selects(selector, labels or {}):
        checks.invalid(
            ("spec", "template", "metadata", "labels"), checks.internal(LABELS, labels), NOT_SELECTED
        )
    if empty and not workload.required:
        _report_empty(workload, selector, checks)
    return True


def _report_empty(workload: WorkloadRules, selector: Object | None, checks: Checks) -> None:
    detail = f"empty selector is invalid for {workload.empty_name}"
    checks.invalid(("spec", "selector"), selectors.shown(selector, checks), detail)


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
        checks.invalid((*path, "metadata", "labels"), checks.internal(LABELS, labels), NOT_SELECTED)


def _check_template_metadata(template: Object, path: Path, checks: Checks) -> None:
    meta = template.get("metadata", {})
    check_labels(meta.get("labels") or {}, (*path, "labels"), checks)
    check_annotations(meta.get("annotations") or {}, (*path, "annotations"), checks)


def _check_ends(spec: Object, path: Path, checks: Checks) -> None:
    policy, at = spec.get("restartPolicy", ""), (*path, "restartPolicy")
    if policy in ("", ALWAYS):
        checks.report(REQUIRED, at, "", "valid values: " + ", ".join(map(quote, JOB_RESTART_POLICIES)))
    elif policy not in JOB_RESTART_POLICIES:
        checks.errors.append(not_supported(at, policy, JOB_RESTART_POLICIES))


_SCALED = ("replicas", "minReadySeconds")
_NAMES = "Pod names and hostnames"
RULES: Mapping[tuple[str, str], PodKindRules] = {
    (rules.group, rules.kind.name): rules
    for rules in (
        PodRules(),
        PodTemplateRules("", "PodTemplate"),
        ReplicationControllerRules(
            "",
            "ReplicationController",
            name_use=_NAMES,
            name_origin="format=k8s-long-name",
            twice_until=34,
        ),
        DeploymentRules(
            "apps",
            "Deployment",
            selector=True,
            empty_name="deployment",
            counts_before=("replicas",),
            counts_after=("minReadySeconds",),
            running_kind="ReplicaSet",
            name_use=_NAMES,
            keeps_selector=True,
        ),
        WorkloadRules(
            "apps",
            "ReplicaSet",
            selector=True,
            empty_name="deployment",
            counts_before=_SCALED,
            name_use=_NAMES,
            twice_until=33,
            keeps_selector=True,
        ),
        StatefulSetRules(
            "apps",
            "StatefulSet",
            selector=True,
            empty_name="statefulset",
            unusable="",
            counts_before=_SCALED,
            name_is_label=True,
        ),
        DaemonSetRules(
            "apps",
            "DaemonSet",
            selector=True,
            required=False,
            empty_name="daemonset",
            counts_after=("minReadySeconds",),
            twice_until=33,
            keeps_selector=True,
        ),
        JobRules(
            "batch",
            "Job",
            counts_before=("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
            name_use=_NAMES,
            twice_until=36,
        ),
        CronJobRules("batch", "CronJob", name_use=_NAMES),
    )
}
_WORKLOADS = {rules.kind.name: rules for rules in RULES.values() if isinstance(rules, WorkloadRules)}


def template_of(kind: str, obj: Object) -> Object | None:
    """The pod template of a workload; None if it has none and can do without."""
    return _WORKLOADS[kind].template_of(obj)

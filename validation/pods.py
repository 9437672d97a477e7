"""What must hold for a Pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi.field_errors import FORBIDDEN, Key, Path
from resourceapi.objects import EMPTY, Object
from resourceapi.releases import Profile
from validation.checks import Checks
from validation.object_meta import check_metadata_update
from validation.pod_defaults import default_pod, prepare_pod, without_disabled
from validation.pod_kinds import PodKindRules, spec_warnings
from validation.pod_specs import MIRROR, check_images, check_pod_spec
from validation.pod_statuses import check_claim_statuses
from validation.pod_updates import check_spec_update
from validation.requests import CREATE

if TYPE_CHECKING:
    from validation.setting import Setting

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
        """Of the status only which claims are the pod's."""
        super().check_status(obj, old, checks)
        check_claim_statuses(obj.get("status", EMPTY), obj["spec"], checks)

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

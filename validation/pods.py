"""What must hold for a Pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi.equality import equal
from resourceapi.field_errors import FORBIDDEN
from resourceapi.field_path import Key, Path
from resourceapi.objects import Object
from validation.checks import Checks
from validation.pod_defaults import default_pod, drop_disabled, prepare_pod
from validation.pod_kinds import PodKindRules, spec_warnings
from validation.pod_specs import MIRROR, check_images, check_pod_spec
from validation.requests import CREATE

if TYPE_CHECKING:
    from validation.setting import Setting

SPEC: Path = ("spec",)
# What an update may change in the spec of a pod.
MUTABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


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
        drop_disabled(obj["spec"], setting.profile, stored)

    def check(self, obj: Object, old: Object | None, checks: Checks) -> None:
        """A pod but for its metadata."""
        _check_pod(obj, old, checks)

    def warnings(self, verb: str, obj: Object) -> list[str]:
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

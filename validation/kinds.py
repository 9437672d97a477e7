"""The server's behaviour per kind: what is prepared, which rules hold, what is warned about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from resourceapi.go_text import quote
from resourceapi.objects import EMPTY, Object
from validation import claim_status, claims, classes, node_features, slices, statuses, taint_rules
from validation.checks import Checks
from validation.object_meta import check_common_metadata, check_common_metadata_update
from validation.requests import CREATE, STATUS, Answer

if TYPE_CHECKING:
    from validation.setting import Setting

Labels = Mapping[str, str]
CheckNew = Callable[[Object, Checks, Labels], None]
CheckChanged = Callable[[Object, Object, Checks, Labels], None]


class KindRules:
    """How the server treats one kind.

    ``spec``: the struct of its spec.  ``has_status``: it has a status, which only requests to ``/status`` change.
    ``unconditional``: versions whose updates may leave out the resourceVersion (None: all).
    """

    __slots__ = ("changed", "has_status", "name", "namespaced", "new", "spec", "status", "unconditional")

    def __init__(
        self,
        name: str,
        spec: str,
        *,
        new: CheckNew,
        changed: CheckChanged,
        status: CheckChanged | None = None,
        namespaced: bool = False,
        unconditional: tuple[str, ...] | None = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self.new = new
        self.changed = changed
        self.status = status
        self.has_status = status is not None
        self.namespaced = namespaced
        self.unconditional = unconditional

    def prepare(self, obj: Object, old: Object | None, now: str) -> None:
        """What a create or an update cannot set: the status."""
        if self.has_status:
            _keep(obj, old, "status")
        if self.name == "DeviceTaintRule" and old is not None:
            _restart_taint(obj, old, now)

    def prepare_status(self, obj: Object, old: Object) -> None:
        """What a status update cannot change: everything else."""
        _keep(obj, old, "spec")
        meta, before = obj["metadata"], old.get("metadata", EMPTY)
        for name in _NOT_OF_STATUS:
            _keep(meta, before, name)

    def check(self, verb: str, obj: Object, old: Object | None, checks: Checks, labels: Labels) -> None:
        """Hand-written rules, in the server's order."""
        if verb == CREATE:
            self.new(obj, checks, labels)
            if not checks.errors:
                check_common_metadata(obj, checks, namespaced=self.namespaced)
            return
        assert old is not None
        check_common_metadata(obj, checks, namespaced=self.namespaced)
        check_common_metadata_update(obj, old, checks)
        check = self.status if verb == STATUS else self.changed
        assert check is not None
        check(obj, old, checks, labels)

    def tidy_status(self, obj: Object, old: Object) -> None:
        """Reports on devices that a status update has deallocated go with them."""
        if self.name == "ResourceClaim":
            claim_status.drop_deallocated(obj, old)

    def admit(self, obj: Object, setting: Setting) -> Answer | None:
        """What admission refuses once the rules hold."""
        if self.name == "ResourceSlice" and node_features.FEATURE in setting.profile.gates:
            try:
                reason = node_features.refuse_slice(obj, setting.nodes)
            except node_features.UnusableSelector as error:
                return statuses.bad_request(str(error))
            if reason:
                return statuses.forbidden("resourceslices", obj["metadata"]["name"], reason)
        return None

    def warnings(self, obj: Object) -> list[str]:
        """What the server warns about an object that it takes."""
        driver = obj.get("spec", EMPTY).get("driver", "") if self.name == "ResourceSlice" else ""
        if driver != driver.lower():
            return [
                f"spec.driver: driver names should be lowercase; {quote(driver)} contains uppercase characters"
            ]
        return []


_NOT_OF_STATUS = (
    "deletionTimestamp",
    "finalizers",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "selfLink",
)


def _keep(obj: Object, old: Object | None, name: str) -> None:
    """Put back what is stored."""
    if old is not None and name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def _restart_taint(obj: Object, old: Object, now: str) -> None:
    """A taint whose effect changes was added now, unless the client says otherwise."""
    taint, before = obj["spec"]["taint"], old.get("spec", EMPTY).get("taint", EMPTY)
    same_time = taint.get("timeAdded") == before.get("timeAdded")
    if taint.get("effect", "") != before.get("effect", "") and same_time:
        taint["timeAdded"] = now


RULES = {
    rules.name: rules
    for rules in (
        KindRules(
            "ResourceClaim",
            "ResourceClaimSpec",
            new=claims.check_claim,
            changed=lambda obj, old, checks, labels: claims.check_claim_update(obj, old, checks),
            status=claim_status.check_claim_status,
            namespaced=True,
        ),
        KindRules(
            "ResourceClaimTemplate",
            "ResourceClaimTemplateSpec",
            new=claims.check_template,
            changed=lambda obj, old, checks, labels: claims.check_template_update(obj, old, checks),
            namespaced=True,
        ),
        KindRules(
            "DeviceClass",
            "DeviceClassSpec",
            new=lambda obj, checks, labels: classes.check_class(obj, checks),
            changed=lambda obj, old, checks, labels: classes.check_class_update(obj, old, checks),
        ),
        KindRules(
            "ResourceSlice",
            "ResourceSliceSpec",
            new=lambda obj, checks, labels: slices.check_slice(obj, checks),
            changed=lambda obj, old, checks, labels: slices.check_slice_update(obj, old, checks),
        ),
        KindRules(
            "DeviceTaintRule",
            "DeviceTaintRuleSpec",
            new=lambda obj, checks, labels: taint_rules.check_rule(obj, checks),
            changed=lambda obj, old, checks, labels: taint_rules.check_rule_update(obj, old, checks),
            status=lambda obj, old, checks, labels: taint_rules.check_rule_status(obj, old, checks),
            unconditional=("v1beta2", "v1alpha3"),
        ),
    )
}

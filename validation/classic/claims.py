"""What must hold for a ResourceClaim of v1alpha2, and for a ResourceClaimTemplate."""

from __future__ import annotations

from resourceapi.classic_kinds import CLAIM, CLAIM_TEMPLATE
from resourceapi.equality import equal
from resourceapi.field_errors import Path, not_supported
from resourceapi.model.v1alpha2 import ALLOCATION_MODES
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.classic.kind_rules import ClassicKindRules
from validation.classic.parameters import check_parameters_reference
from validation.object_meta import check_template_metadata


class ClaimRules(ClassicKindRules):
    """ResourceClaim: its spec never changes."""

    __slots__ = ()
    kind = CLAIM
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """What is claimed."""
        _check_claim_spec(obj.get("spec", EMPTY), ("spec",), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec stays as it is."""
        _check_same_spec("ResourceClaimSpec", obj, old, checks)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status of a stored claim."""
        from validation.classic.claim_status import check_claim_status

        check_claim_status(obj, old, checks)


class ClaimTemplateRules(ClassicKindRules):
    """ResourceClaimTemplate: its spec never changes."""

    __slots__ = ()
    kind = CLAIM_TEMPLATE
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """Everything that a claim made from the template must satisfy."""
        spec = obj.get("spec", EMPTY)
        check_template_metadata(spec.get("metadata", EMPTY), ("spec", "metadata"), checks)
        _check_claim_spec(spec.get("spec", EMPTY), ("spec", "spec"), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec stays as it is."""
        _check_same_spec("ResourceClaimTemplateSpec", obj, old, checks)


def _check_claim_spec(spec: Object, path: Path, checks: Checks) -> None:
    """A class by its name, whose format is all that is checked of it, perhaps parameters, and when to allocate."""
    name = spec.get("resourceClassName", "")
    checks.problems(formats.dns_subdomain(name), (*path, "resourceClassName"))
    check_parameters_reference(spec.get("parametersRef"), (*path, "parametersRef"), checks)
    mode = spec.get("allocationMode", "")
    if mode not in ALLOCATION_MODES:
        checks.errors.append(not_supported((*path, "allocationMode"), mode, ALLOCATION_MODES))


def _check_same_spec(struct: str, obj: Object, old: Object, checks: Checks) -> None:
    spec = obj.get("spec", EMPTY)
    if not equal(spec, old.get("spec", EMPTY)):
        checks.invalid(("spec",), checks.internal(struct, spec), "field is immutable")

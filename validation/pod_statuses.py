"""What must hold for the status of a pod: its claims, nothing else."""

from __future__ import annotations

from resourceapi.field_errors import DUPLICATE, Path
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks
from validation.pod_defaults import items_of

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

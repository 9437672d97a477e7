"""The kinds of classic DRA (``resource.k8s.io/v1alpha2``), a row each; loaded when an object of that version is met."""

from __future__ import annotations

from resourceapi.kind import Kind, Lifecycle
from resourceapi.model import v1alpha2
from resourceapi.model.v1alpha2 import V1ALPHA2
from resourceapi.model.versions import CLASSIC_VERSION

_UP_TO_30 = {CLASSIC_VERSION: Lifecycle(27, removed=31)}
_STRUCTURED = {CLASSIC_VERSION: Lifecycle(30, removed=31)}

RESOURCE_CLASS = Kind("ResourceClass", "resourceclasses", versions=_UP_TO_30, schema=V1ALPHA2)
CLAIM = Kind(
    "ResourceClaim",
    "resourceclaims",
    namespaced=True,
    versions=_UP_TO_30,
    default=v1alpha2.default_claim,
    schema=V1ALPHA2,
)
CLAIM_TEMPLATE = Kind(
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    namespaced=True,
    versions=_UP_TO_30,
    default=v1alpha2.default_template,
    schema=V1ALPHA2,
)
POD_SCHEDULING_CONTEXT = Kind(
    "PodSchedulingContext", "podschedulingcontexts", namespaced=True, versions=_UP_TO_30, schema=V1ALPHA2
)
CLAIM_PARAMETERS = Kind(
    "ResourceClaimParameters",
    "resourceclaimparameters",
    namespaced=True,
    versions=_STRUCTURED,
    schema=V1ALPHA2,
)
CLASS_PARAMETERS = Kind(
    "ResourceClassParameters",
    "resourceclassparameters",
    namespaced=True,
    versions=_STRUCTURED,
    schema=V1ALPHA2,
)
RESOURCE_SLICE = Kind("ResourceSlice", "resourceslices", versions=_STRUCTURED, schema=V1ALPHA2)

KINDS = {
    kind.name: kind
    for kind in (
        RESOURCE_CLASS,
        CLAIM,
        CLAIM_TEMPLATE,
        POD_SCHEDULING_CONTEXT,
        CLAIM_PARAMETERS,
        CLASS_PARAMETERS,
        RESOURCE_SLICE,
    )
}

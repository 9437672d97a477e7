"""The kinds of ``resource.k8s.io``, a row each: what depends on a kind and is no rule about its fields.

The rest of what is special about a kind stands in two modules: its fields and their defaults in
:mod:`resourceapi.model`, its rules in :mod:`validation`.  The kinds of classic DRA, which share names with those of
today, are in :mod:`resourceapi.classic_kinds`.
"""

from __future__ import annotations

from collections.abc import Mapping

from resourceapi.kind import UNRELEASED, Column, Kind, Lifecycle
from resourceapi.measured import NEWEST
from resourceapi.model import claims, pool_status_requests, slices
from resourceapi.model.versions import CLASSIC_VERSION, GROUP, LAST_FLAT_V1ALPHA3, OWN_GROUP
from resourceapi.releases import Profile

_GA_IN_34 = {"v1": Lifecycle(34), "v1beta2": Lifecycle(33, 36, 39), "v1beta1": Lifecycle(32, 35, 38)}
_FORMER = {"v1alpha3": Lifecycle(31, removed=LAST_FLAT_V1ALPHA3 + 1)}
CLAIM = Kind(
    "ResourceClaim",
    "resourceclaims",
    namespaced=True,
    versions=_GA_IN_34,
    former=_FORMER,
    default=claims.default_claim,
    claim_spec=("spec",),
)
CLAIM_TEMPLATE = Kind(
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    namespaced=True,
    versions=_GA_IN_34,
    former=_FORMER,
    default=claims.default_template,
    claim_spec=("spec", "spec"),
)
DEVICE_CLASS = Kind("DeviceClass", "deviceclasses", versions=_GA_IN_34, former=_FORMER)
RESOURCE_SLICE = Kind(
    "ResourceSlice",
    "resourceslices",
    versions=_GA_IN_34,
    former=_FORMER,
    default=slices.default_slice,
    columns=(
        Column("Node", ".spec.nodeName"),
        Column("Driver", ".spec.driver"),
        Column("Pool", ".spec.pool.name"),
    ),
    selectable_fields=(".spec.driver", ".spec.nodeName", ".spec.pool.name"),
)
DEVICE_TAINT_RULE = Kind(
    "DeviceTaintRule",
    "devicetaintrules",
    versions={"v1": Lifecycle(37), "v1beta2": Lifecycle(36, 39, 42), "v1alpha3": Lifecycle(33, 36, 39)},
    default=slices.default_taint_rule,
    columns=(
        Column("Key", ".spec.taint.key"),
        Column("Value", ".spec.taint.value"),
        Column("Effect", ".spec.taint.effect"),
        Column("TimeAdded", ".spec.taint.timeAdded", "date"),
    ),
)
POOL_STATUS_REQUEST = Kind(
    "ResourcePoolStatusRequest",
    "resourcepoolstatusrequests",
    versions={"v1alpha3": Lifecycle(36, 39, 42)},
    default=pool_status_requests.default_request,
    columns=(Column("Driver", ".spec.driver"),),
    diagnostic=True,
)
RESOURCE_SLICE_PATCH = Kind(
    "ResourceSlicePatch",
    "resourceslicepatches",
    versions={"v1alpha3": Lifecycle(UNRELEASED)},
    columns=(
        Column("Class", ".spec.devices.filter.deviceClassName"),
        Column("Driver", ".spec.devices.filter.driver"),
        Column("Pool", ".spec.devices.filter.pool"),
        Column("Device", ".spec.devices.filter.device"),
        Column("Priority", ".spec.devices.priority", "integer"),
    ),
    further_group=OWN_GROUP,
)
KINDS = {
    kind.name: kind
    for kind in (
        CLAIM,
        CLAIM_TEMPLATE,
        DEVICE_CLASS,
        RESOURCE_SLICE,
        DEVICE_TAINT_RULE,
        POOL_STATUS_REQUEST,
        RESOURCE_SLICE_PATCH,
    )
}


def kinds_of(profile: Profile) -> Mapping[str, Kind]:
    """The kinds that a release has, by name, whether it serves them or not."""
    if not profile.is_classic:
        return KINDS
    from resourceapi import classic_kinds

    return classic_kinds.KINDS


def kind_of(api_version: object, kind: object) -> Kind | None:
    """The kind of an object as it says itself; None if it is none of these kinds, in whatever version.

    :param api_version: group and version, or what stands in their place.
    """
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group, _, version = api_version.rpartition("/")
    return kind_in(group, kind, version)


def kind_in(group: str, kind: str, version: str = "") -> Kind | None:
    """The kind that an API group has under a name; None if it has none, or is another group.

    :param version: tells a kind of classic DRA from its namesake of today; any other need not exist.
    """
    if version == CLASSIC_VERSION and group == GROUP:
        from resourceapi import classic_kinds

        if kind in classic_kinds.KINDS:
            return classic_kinds.KINDS[kind]
    row = KINDS.get(kind)
    return row if row is not None and group in row.groups else None


def claim_spec_of(kind: str) -> tuple[str, ...] | None:
    """Where objects of a kind hold the spec of a claim; None for a kind that holds none, and for an unknown one."""
    row = KINDS.get(kind)
    return None if row is None else row.claim_spec


def deprecation_warning(kind: Kind, version: str, minor: int = NEWEST) -> str:
    """What a server of release 1.``minor`` warns about a deprecated version, or nothing."""
    lifecycle = kind.lifecycle(version)
    assert lifecycle is not None
    if not lifecycle.deprecated or lifecycle.deprecated > minor:
        return ""
    text = f"{GROUP}/{version} {kind.name} is deprecated in v1.{lifecycle.deprecated}+, unavailable in v1.{lifecycle.removed}+"
    return f"{text}; use {lifecycle.replacement}" if lifecycle.replacement else text

"""The kinds of ``resource.k8s.io``, a row each: what depends on a kind and is no rule about its fields.

The rest of what is special about a kind stands in two modules: its fields and their defaults in
:mod:`resourceapi.model`, its rules in :mod:`validation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from resourceapi.model import claims, pool_status_requests, slices, taint_rules
from resourceapi.model.versions import GROUP, OWN_GROUP, V1
from resourceapi.objects import Object
from resourceapi.releases import NEWEST, Profile
from resourceapi.runtime_config import ALL, is_served

Default = Callable[[Object, str, str], None]
"""Fills in the defaults of an object of the hub, given the version that it came in and the time (RFC 3339)."""


UNRELEASED = 1_000_000
"""In place of the release that introduced a version: none has; an enhancement proposal describes it."""


class Lifecycle:
    """The releases (minor numbers) in which one version of a kind appears, is deprecated and goes away."""

    __slots__ = ("deprecated", "introduced", "removed", "replacement")

    def __init__(self, introduced: int, deprecated: int = 0, removed: int = 0, replacement: str = "") -> None:
        self.introduced = introduced
        self.deprecated = deprecated
        self.removed = removed
        self.replacement = replacement


class Column:
    """A column that ``kubectl get`` shows: its title, and the path and type (OpenAPI, or ``date``) of its value."""

    __slots__ = ("path", "title", "type")

    def __init__(self, title: str, path: str, type: str = "string") -> None:
        self.title = title
        self.path = path
        self.type = type


class Kind:
    """One kind.

    :param name: the name of the kind and of its struct in the schemas.
    :param resource: the plural, as URLs have it.
    :param namespaced: whether its objects are in a namespace.
    :param versions: its versions, newest first.
    :param default: what fills in its defaults.
    :param claim_spec: where an object holds the spec of a claim; None for kinds that hold none.
    :param columns: what ``kubectl get`` shows of the built-in kind, as far as a path can tell it.
    :param selectable_fields: paths of fields by which the server selects when it lists.
    :param diagnostic: whether its objects only ask for a report about the cluster, so that nothing depends on them.
    :param further_group: another API group that has the kind, with the same fields, as a CRD; empty if there is none.
    """

    __slots__ = (
        "claim_spec",
        "columns",
        "default",
        "diagnostic",
        "further_group",
        "name",
        "namespaced",
        "resource",
        "selectable_fields",
        "versions",
    )

    def __init__(
        self,
        name: str,
        resource: str,
        *,
        namespaced: bool = False,
        versions: Mapping[str, Lifecycle],
        default: Default | None = None,
        claim_spec: tuple[str, ...] | None = None,
        columns: tuple[Column, ...] = (),
        selectable_fields: tuple[str, ...] = (),
        diagnostic: bool = False,
        further_group: str = "",
    ) -> None:
        self.name = name
        self.resource = resource
        self.namespaced = namespaced
        self.versions = versions
        self.default = default
        self.claim_spec = claim_spec
        self.columns = columns
        self.selectable_fields = selectable_fields
        self.diagnostic = diagnostic
        self.further_group = further_group

    @property
    def has_expressions(self) -> bool:
        """Whether its objects can hold CEL expressions."""
        return _holds(self.name, "CELDeviceSelector")

    @property
    def has_status(self) -> bool:
        """Whether its objects have a status, which is changed through a URL of its own."""
        return "status" in V1[self.name].by_name

    @property
    def groups(self) -> tuple[str, ...]:
        """The API groups that have the kind."""
        return (GROUP, self.further_group) if self.further_group else (GROUP,)

    @property
    def proposed(self) -> bool:
        """Whether no release has the kind, only an enhancement proposal."""
        return all(lifecycle.introduced == UNRELEASED for lifecycle in self.versions.values())

    def path_in(self, group: str) -> str:
        """Where an API server has the kind in its newest version, in one of its groups."""
        return f"/apis/{group}/{next(iter(self.versions))}/{self.resource}"

    def served(self, version: str, minor: int) -> bool:
        """Whether release 1.``minor`` can serve the version (perhaps only when asked to)."""
        lifecycle = self.versions.get(version)
        return lifecycle is not None and lifecycle.introduced <= minor

    def can_be_served_by(self, version: str, profile: Profile) -> bool:
        """Whether a server can serve the version in ``resource.k8s.io``, perhaps only when asked to."""
        if self.proposed:
            return version in self.versions and profile.proposed_kinds
        return self.served(version, profile.minor)

    def served_by(self, version: str, profile: Profile, group: str = GROUP) -> bool:
        """Whether a server serves the version; the further group, which a CRD brings, any server does."""
        if group and group == self.further_group:
            return version in self.versions
        # of custom resources it serves all unless it is told not to
        apis = {**ALL, **profile.apis} if self.proposed else profile.apis
        return self.can_be_served_by(version, profile) and is_served(version, self.resource, apis)

    def newest_served_by(self, profile: Profile) -> str:
        """The newest version that a server serves; empty if it serves none."""
        return next((version for version in self.versions if self.served_by(version, profile)), "")


def _holds(struct: str, wanted: str) -> bool:
    """Whether a struct of v1 is, or has in it, another; none of the API contains itself."""
    return struct == wanted or any(
        _holds(field.type.struct_within, wanted) for field in V1[struct].fields if field.type.struct_within
    )


_GA_IN_34 = {
    "v1": Lifecycle(34),
    "v1beta2": Lifecycle(33, 36, 39),
    "v1beta1": Lifecycle(32, 35, 38),
}
CLAIM = Kind(
    "ResourceClaim",
    "resourceclaims",
    namespaced=True,
    versions=_GA_IN_34,
    default=claims.default_claim,
    claim_spec=("spec",),
)
CLAIM_TEMPLATE = Kind(
    "ResourceClaimTemplate",
    "resourceclaimtemplates",
    namespaced=True,
    versions=_GA_IN_34,
    default=claims.default_template,
    claim_spec=("spec", "spec"),
)
DEVICE_CLASS = Kind("DeviceClass", "deviceclasses", versions=_GA_IN_34)
RESOURCE_SLICE = Kind(
    "ResourceSlice",
    "resourceslices",
    versions=_GA_IN_34,
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
    versions={
        "v1": Lifecycle(37),
        "v1beta2": Lifecycle(36, 39, 42),
        "v1alpha3": Lifecycle(33, 36, 39),
    },
    default=taint_rules.default_rule,
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


def kind_of(api_version: object, kind: object) -> Kind | None:
    """The kind of an object as it says itself; None if it is none of these kinds, in whatever version.

    :param api_version: group and version, or what stands in their place.
    """
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return kind_in(api_version.rpartition("/")[0], kind)


def kind_in(group: str, kind: str) -> Kind | None:
    """The kind that an API group has under a name; None if it has none, or is another group."""
    row = KINDS.get(kind)
    return row if row is not None and group in row.groups else None


def claim_spec_of(kind: str) -> tuple[str, ...] | None:
    """Where objects of a kind hold the spec of a claim; None for a kind that holds none, and for an unknown one."""
    row = KINDS.get(kind)
    return None if row is None else row.claim_spec


def deprecation_warning(kind: Kind, version: str) -> str:
    """What the server of the newest release warns about a deprecated version, or nothing."""
    lifecycle = kind.versions[version]
    if not lifecycle.deprecated or lifecycle.deprecated > NEWEST:
        return ""
    text = f"{GROUP}/{version} {kind.name} is deprecated in v1.{lifecycle.deprecated}+, unavailable in v1.{lifecycle.removed}+"
    return f"{text}; use {lifecycle.replacement}" if lifecycle.replacement else text

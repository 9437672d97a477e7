"""The releases whose answers are known, and what each of them serves.

A profile is a release plus the gates that are on.  ``kep`` is the newest release with the fields that enhancement
proposals describe and no release has yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from resourceapi import gates as feature_gates
from resourceapi.model.versions import GROUP, SCHEMAS, SCHEMAS_WITH_PROPOSALS
from resourceapi.schema import Schema

OLDEST, NEWEST = 34, 37
PROPOSALS = "kep"
RELEASES = (*(f"1.{minor}" for minor in range(OLDEST, NEWEST + 1)), PROPOSALS)
# Gates that guard a field which only the proposals have, and so are on where that field is asked for.
PROPOSED_GATES = ("DRADeviceCompatibilityGroups",)


class UnknownRelease(ValueError):
    """A release that is not in the table."""


class Profile:
    """A server to answer as: a release and the feature gates that are on.

    :param release: ``1.34`` … ``1.37`` (a leading ``v`` and a patch number are ignored) or ``kep``.
    :param settings: feature gates as given to the server.
    :raises UnknownRelease: for another release.
    :raises resourceapi.gates.GateError: for settings that the server refuses.
    """

    __slots__ = ("gates", "minor", "name", "schemas")

    def __init__(self, release: str = f"1.{NEWEST}", settings: Mapping[str, bool] | None = None) -> None:
        self.name = _normalized(release)
        proposals = self.name == PROPOSALS
        self.minor = NEWEST if proposals else int(self.name.partition(".")[2])
        self.schemas: Mapping[str, Schema] = SCHEMAS_WITH_PROPOSALS if proposals else SCHEMAS
        self.gates = feature_gates.effective(
            self.minor, settings or {}, defaults_on=PROPOSED_GATES if proposals else ()
        )

    @property
    def declarative(self) -> bool:
        """Whether rules with a declarative twin are reported by the declarative pass."""
        return "DeclarativeValidationBeta" in self.gates


def _normalized(release: str) -> str:
    name = release.removeprefix("v")
    if name != PROPOSALS:
        name = ".".join(name.split(".")[:2])
    if name not in RELEASES:
        raise UnknownRelease(f"unknown release {release!r}: known are {', '.join(RELEASES)}")
    return name


class Lifecycle:
    """The releases (minor numbers) in which one version of a kind appears, is deprecated and goes away."""

    __slots__ = ("deprecated", "introduced", "removed", "replacement")

    def __init__(self, introduced: int, deprecated: int = 0, removed: int = 0, replacement: str = "") -> None:
        self.introduced = introduced
        self.deprecated = deprecated
        self.removed = removed
        self.replacement = replacement


class Kind:
    """A kind: its resource name, whether it lives in a namespace, and its versions."""

    __slots__ = ("name", "namespaced", "resource", "versions")

    def __init__(
        self, name: str, resource: str, *, namespaced: bool, versions: Mapping[str, Lifecycle]
    ) -> None:
        self.name = name
        self.resource = resource
        self.namespaced = namespaced
        self.versions = versions

    def served(self, version: str, minor: int) -> bool:
        """Whether release 1.``minor`` can serve the version (perhaps only when asked to)."""
        lifecycle = self.versions.get(version)
        return lifecycle is not None and lifecycle.introduced <= minor


_GA_IN_34 = {
    "v1": Lifecycle(34),
    "v1beta2": Lifecycle(33, 36, 39),
    "v1beta1": Lifecycle(32, 35, 38),
}
KINDS = {
    kind.name: kind
    for kind in (
        Kind("ResourceClaim", "resourceclaims", namespaced=True, versions=_GA_IN_34),
        Kind("ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True, versions=_GA_IN_34),
        Kind("DeviceClass", "deviceclasses", namespaced=False, versions=_GA_IN_34),
        Kind("ResourceSlice", "resourceslices", namespaced=False, versions=_GA_IN_34),
        Kind(
            "DeviceTaintRule",
            "devicetaintrules",
            namespaced=False,
            versions={
                "v1": Lifecycle(37),
                "v1beta2": Lifecycle(36, 39, 42),
                "v1alpha3": Lifecycle(33, 36, 39),
            },
        ),
    )
}


def split_api_version(api_version: str) -> tuple[str, str]:
    """``resource.k8s.io/v1`` as group and version; the core group is empty."""
    group, _, version = api_version.rpartition("/")
    return group, version


def deprecation_warning(kind: Kind, version: str) -> str:
    """What the server of the newest release warns about a deprecated version, or nothing."""
    lifecycle = kind.versions[version]
    if not lifecycle.deprecated or lifecycle.deprecated > NEWEST:
        return ""
    text = f"{GROUP}/{version} {kind.name} is deprecated in v1.{lifecycle.deprecated}+, unavailable in v1.{lifecycle.removed}+"
    return f"{text}; use {lifecycle.replacement}" if lifecycle.replacement else text

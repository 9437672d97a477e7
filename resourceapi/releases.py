"""The releases whose answers are known, and the feature gates that are on.

A profile is a release plus the gates that are on.  ``kep`` is the newest release with the fields that enhancement
proposals describe and no release has yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from resourceapi import gates as feature_gates
from resourceapi import runtime_config
from resourceapi.measured import CLASSIC_MINOR, MODERN_MINORS, NEWEST
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS, schemas_in
from resourceapi.schema import Schema

PROPOSALS = "kep"
CLASSIC = f"1.{CLASSIC_MINOR}"
MODERN_RELEASES = (*(f"1.{minor}" for minor in MODERN_MINORS), PROPOSALS)
RELEASES = (CLASSIC, *MODERN_RELEASES)
# The gates by which servers up to 1.36 let the declarative pass report; those of 1.36 compare what it finds, and no more.
_DECLARATIVE = dict.fromkeys(range(CLASSIC_MINOR, 37), "") | {35: "DeclarativeValidationTakeover"}
# Nobody asks a release before 1.34 about DRA unless its gate is on.
_GA_SINCE = 34
_SWITCHED_ON = ("DynamicResourceAllocation",)
# Gates that guard a field which only the proposals have, and so are on where that field is asked for.
PROPOSED_GATES = ("DRADeviceCompatibilityGroups",)


class UnknownRelease(ValueError):
    """A release that is not in the table."""


class Profile:
    """A server to answer as: a release and the feature gates that are on.

    :param release: ``1.30``, ``1.34`` … ``1.37`` (a leading ``v`` and a patch number are ignored) or ``kep``.
    :param settings: feature gates as given to the server.
    :param apis: the server's ``--runtime-config``; if it is not given, the server serves every version that it can.
    :param proposed_kinds: whether it has the kinds that no release has, as CRDs in ``resource.k8s.io``; ``kep`` has them.
    :raises UnknownRelease: for another release.
    :raises resourceapi.gates.GateError: for settings that the server refuses.
    """

    __slots__ = ("apis", "gates", "hub", "minor", "name", "proposed_kinds", "schemas")

    def __init__(
        self,
        release: str = f"1.{NEWEST}",
        settings: Mapping[str, bool] | None = None,
        apis: Mapping[str, bool] = runtime_config.ALL,
        *,
        proposed_kinds: bool = False,
    ) -> None:
        self.name = _normalized(release)
        proposals = self.name == PROPOSALS
        self.minor = NEWEST if proposals else int(self.name.partition(".")[2])
        self.apis = apis
        self.proposed_kinds = proposed_kinds or proposals
        self.schemas: Mapping[str, Schema] = _schemas(self.name, self.minor)
        #: the structs that every version is brought to
        self.hub = next(iter(self.schemas.values()))
        self.gates = _gates(self.name, self.minor, settings or {})

    def with_all_apis(self) -> Profile:
        """The same server, serving every version that it can."""
        from copy import copy

        other = copy(self)
        other.apis = runtime_config.ALL
        return other

    @property
    def is_classic(self) -> bool:
        """Whether it is the release of classic DRA."""
        return self.name == CLASSIC

    @property
    def declarative(self) -> bool:
        """Whether rules with a declarative twin are reported by the declarative pass."""
        return _DECLARATIVE.get(self.minor, "DeclarativeValidationBeta") in self.gates


def _schemas(name: str, minor: int) -> Mapping[str, Schema]:
    """The schemas of a release, that of the hub first."""
    if name == CLASSIC:
        from resourceapi.model.v1alpha2 import SCHEMAS as CLASSIC_SCHEMAS

        return CLASSIC_SCHEMAS
    return SCHEMAS_WITH_PROPOSALS if name == PROPOSALS else schemas_in(minor)


def _gates(name: str, minor: int, settings: Mapping[str, bool]) -> frozenset[str]:
    """The gates that are on: those of the release, and those that no release knows."""
    unreleased = feature_gates.UNRELEASED_GATES
    of_release = {gate: value for gate, value in settings.items() if gate not in unreleased}
    defaults_on = PROPOSED_GATES if name == PROPOSALS else _SWITCHED_ON if minor < _GA_SINCE else ()
    on = feature_gates.effective(minor, of_release, defaults_on=defaults_on)
    return on | {gate for gate, default in unreleased.items() if settings.get(gate, default)}


def _normalized(release: str) -> str:
    name = release.removeprefix("v")
    if name != PROPOSALS:
        name = ".".join(name.split(".")[:2])
    if name not in RELEASES:
        raise UnknownRelease(f"unknown release {release!r}; use one of {', '.join(RELEASES)}")
    return name


def split_api_version(api_version: str) -> tuple[str, str]:
    """``resource.k8s.io/v1`` as group and version; the core group is empty."""
    group, _, version = api_version.rpartition("/")
    return group, version

"""The releases whose answers are known, and the feature gates that are on.

A profile is a release plus the gates that are on.  ``kep`` is the newest release with the fields that enhancement
proposals describe and no release has yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from resourceapi import gates as feature_gates
from resourceapi import runtime_config
from resourceapi.model.versions import SCHEMAS, SCHEMAS_WITH_PROPOSALS
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
    :param apis: the server's ``--runtime-config``; if it is not given, the server serves every version that it can.
    :param proposed_kinds: whether it has the kinds that no release has, as CRDs in ``resource.k8s.io``; ``kep`` has them.
    :raises UnknownRelease: for another release.
    :raises resourceapi.gates.GateError: for settings that the server refuses.
    """

    __slots__ = ("apis", "gates", "minor", "name", "proposed_kinds", "schemas")

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
        self.schemas: Mapping[str, Schema] = SCHEMAS_WITH_PROPOSALS if proposals else SCHEMAS
        self.gates = _gates(self.minor, settings or {}, proposals)

    def with_all_apis(self) -> Profile:
        """The same server, serving every version that it can."""
        from copy import copy

        other = copy(self)
        other.apis = runtime_config.ALL
        return other

    @property
    def declarative(self) -> bool:
        """Whether rules with a declarative twin are reported by the declarative pass."""
        return "DeclarativeValidationBeta" in self.gates


def _gates(minor: int, settings: Mapping[str, bool], proposals: bool) -> frozenset[str]:
    """The gates that are on: those of the release, and those that no release knows."""
    unreleased = feature_gates.UNRELEASED_GATES
    of_release = {gate: value for gate, value in settings.items() if gate not in unreleased}
    on = feature_gates.effective(minor, of_release, defaults_on=PROPOSED_GATES if proposals else ())
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

"""The releases whose answers are known, and the feature gates that are on.

A profile is a release plus the gates that are on.  ``kep`` is the newest release with the fields that enhancement
proposals describe and no release has yet.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from resourceapi import gates as feature_gates
from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import BOOLEANS, quote
from resourceapi.measured import CLASSIC_MINOR, MODERN_MINORS, NEWEST
from resourceapi.model.versions import GROUP, SCHEMAS, SCHEMAS_WITH_PROPOSALS, schemas_in
from resourceapi.schema import Schema

# Which versions a server serves of those that it can: the stable ones, and what its ``--runtime-config``
# adds or takes away.

#: Every version that the release can serve.
ALL_VERSIONS = {"api/all": True}
_STABLE = "api/ga"
_STAGES = {"api/beta": "beta", "api/alpha": "alpha"}
# They stand for nothing any more, and are taken all the same.
_WITHOUT_EFFECT = frozenset(("api/legacy",))


class RuntimeConfigError(ClaimcheckError):
    """A ``--runtime-config`` that the server would not start with; the text is the server's."""


def parse_runtime_config(text: str, versions: Container[str] = SCHEMAS) -> dict[str, bool]:
    """``resource.k8s.io/v1beta1=true,api/alpha`` as a mapping; of keys that are repeated the last counts.

    :param versions: the versions of this group that the server knows.
    :raises RuntimeConfigError: as the server does, for what is about all APIs or about this group.
    """
    values: dict[str, str] = {}
    for part in text.split(","):
        key, _, value = part.strip().partition("=")
        if key:
            values[key.strip()] = value.strip()
    settings = {}
    for key, value in values.items():
        _check(key, versions)
        if value and value not in BOOLEANS:
            raise RuntimeConfigError(
                f"invalid value of {key}: {value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax"
            )
        settings[key] = not value or BOOLEANS[value]
    return settings


def _check(key: str, versions: Container[str]) -> None:
    """Refuse what is no API, as far as that can be known without the other groups' versions."""
    group, slash, version = key.partition("/")
    if key == "v1":  # the core group
        return
    if not slash or key.count("/") > 2:
        raise RuntimeConfigError(f"runtime-config invalid key {key}")
    if group == "api" and key not in {"api/all", _STABLE, *_STAGES, *_WITHOUT_EFFECT}:
        raise RuntimeConfigError(f"unknown api groups {key}")
    if group == GROUP and version.partition("/")[0] not in versions:
        raise RuntimeConfigError(
            f"group version {GROUP}/{version.partition('/')[0]} that has not been registered"
        )


@cache
def _stage_of(version: str) -> str:
    """The key by which all versions as stable as this one are set."""
    return next((key for key, name in _STAGES.items() if name in version), _STABLE)


def is_served(version: str, resource: str, settings: Mapping[str, bool], *, group: str = GROUP) -> bool:
    """Whether a server that can serve a version of a resource of a group does so.

    By default it serves the stable versions alone, in every release.

    :param resource: the plural, as in URLs.
    """
    stage = _stage_of(version)
    served = stage == _STABLE
    if not settings:
        return served
    # from the least to the most specific: a later one overrides
    for key in ("api/all", stage, f"{group}/{version}", f"{group}/{version}/{resource}"):
        served = settings.get(key, served)
    return served


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
        apis: Mapping[str, bool] = ALL_VERSIONS,
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
        other.apis = ALL_VERSIONS
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

"""Pools as their drivers see them: which slices there are, whether they are complete, what is wrong with them, and what releases drop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from advice.findings import Finding
from advice.lints.table import DROPPED
from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.validate.beside_state import BesideState, as_written
from documents.manifest import Unwritten
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import entries, mapping, name_of
from resourceapi.measured import MODERN_MINORS
from resourceapi.objects import Object
from resourceapi.phrases import number, some
from resourceapi.records.pools import PoolId
from resourceapi.releases import Profile
from validation.requests import UNKNOWN_FIELD

if TYPE_CHECKING:
    from collections.abc import Mapping

#: So many slices of a pool are looked at: those of the newest generation first.
MOST_SLICES = 50
#: The first release that serves the version in which slices are looked at.
_SERVES_V1 = 34
_INDEX_OR_KEY = re.compile(r"\[[^\]]*+\]")


class PublishedSlice(NamedTuple):
    """A ResourceSlice: how many slices its pool has, as it says, and how many devices are in it."""

    name: str
    generation: int
    count_in_pool: int
    devices: int
    node: str


class Check(NamedTuple):
    """Something that holds of a sound pool, whether it does, and what is there instead."""

    title: str
    holds: bool
    detail: str = ""


class Dropped(NamedTuple):
    """Fields that a release does not keep, each with the number of places."""

    release: str
    fields: Mapping[str, int]


class PoolChecks(NamedTuple):
    """What is to be said of a pool.

    :param findings: of its slices, by the name of the slice.
    :param dropped: by the release, where some are.
    :param releases: those that were asked.
    :param unseen: how many of its slices nobody looked at for findings.
    """

    slices: Sequence[PublishedSlice]
    checks: Sequence[Check]
    findings: Sequence[tuple[str, Finding]]
    dropped: Sequence[Dropped]
    releases: Sequence[str]
    unseen: int


def slices_by_pool(state: ClusterState) -> dict[PoolId, list[Object]]:
    """The slices of each pool, the newest generation first."""
    found: dict[PoolId, list[Object]] = {}
    for each in state.of(RESOURCE_SLICE.name).values():
        spec = mapping(each, "spec")
        found.setdefault(PoolId(spec.get("driver", ""), _pool(each).get("name", "")), []).append(each)
    for slices in found.values():
        slices.sort(key=lambda each: (-_pool(each).get("generation", 0), name_of(each)))
    return dict(sorted(found.items()))


def _pool(slice: Object) -> Object:
    return mapping(slice, "spec", "pool")


def published(slice: Object) -> PublishedSlice:
    """What a slice says of itself and its pool."""
    spec, pool = mapping(slice, "spec"), _pool(slice)
    devices = len(entries(spec, "devices"))
    node = str(spec.get("nodeName") or "")
    return PublishedSlice(
        name_of(slice), pool.get("generation", 0), pool.get("resourceSliceCount", 0), devices, node
    )


class Trouble(NamedTuple):
    """What keeps pools from being used, by pool: why they are invalid, and the counters of which too much is allocated."""

    invalid: Mapping[PoolId, str]
    overdrawn: Mapping[PoolId, Sequence[tuple[str, str]]]

    @classmethod
    def of(cls, devices: ClusterDevices) -> Trouble:
        """That of all pools."""
        return cls(dict(devices.invalid_pools()), dict(devices.overdrawn()))


def checks_of(trouble: Trouble, id: PoolId, slices: Sequence[Object]) -> list[Check]:
    """The list of what holds of a sound pool.

    :param slices: all of the pool.
    """
    told = [published(each) for each in slices]
    newest = max(each.generation for each in told)
    current = [each for each in told if each.generation == newest]
    wanted = max(each.count_in_pool for each in current)
    counts = {each.count_in_pool for each in current}
    older = [each.name for each in told if each.generation < newest]
    invalid, overdrawn = trouble.invalid.get(id, ""), trouble.overdrawn.get(id, ())
    said = ", ".join(str(each) for each in sorted(counts))
    return [
        Check(
            f"All slices of generation {newest} are there",
            len(current) == wanted,
            f"{len(current)} of {number(wanted, 'slice')}",
        ),
        Check(
            "All of them tell the same number of slices", len(counts) == 1, f"resourceSliceCount is {said}"
        ),
        Check(
            "No slices of older generations are left",
            not older,
            f"{some(older)}: drivers delete them once the new ones are there" if older else "",
        ),
        Check("kube-scheduler can use the pool", not invalid, invalid),
        Check(
            "Claims take no more from its counters than these have",
            not overdrawn,
            some([f"{counter_set}/{counter}" for counter_set, counter in overdrawn]),
        ),
    ]


def check_pool(devices: ClusterDevices, id: PoolId, slices: Sequence[Object], limit: TimeLimit) -> PoolChecks:
    """Check a pool.

    :param slices: all of it, the newest generation first.
    :param limit: how long it may take; what there was no time for is left out.
    """
    state = devices.state
    seen = slices[:MOST_SLICES]
    own = ClusterState(state.profile, state.default_namespace)
    for each in slices:
        own.put(RESOURCE_SLICE.name, each)
    findings = _findings(own, state.profile, seen)
    dropped, releases = [], []
    for minor in MODERN_MINORS:
        if minor < _SERVES_V1 or limit.is_over:
            continue
        profile = Profile(f"1.{minor}")
        fields = Counter(_dropped_fields(own, profile, seen))
        releases.append(profile.name)
        if fields:
            dropped.append(Dropped(profile.name, fields))
    told = [published(each) for each in slices]
    found = checks_of(Trouble.of(devices), id, slices)
    return PoolChecks(told, found, findings, dropped, releases, len(slices) - len(seen))


def _findings(own: ClusterState, profile: Profile, slices: Sequence[Object]) -> list[tuple[str, Finding]]:
    outcome = BesideState(own, profile).answer(Unwritten(name_of(each), _as_created(each)) for each in slices)
    return [(result.name, finding) for result, finding in outcome.findings()]


def _dropped_fields(own: ClusterState, profile: Profile, slices: Sequence[Object]) -> Iterator[str]:
    for _, finding in _findings(own, profile, slices):
        if finding.rule in (DROPPED.code, UNKNOWN_FIELD):
            yield _INDEX_OR_KEY.sub("[]", finding.field)


def _as_created(slice: Object) -> dict[str, object]:
    """A slice as its driver creates it."""
    written = as_written(RESOURCE_SLICE.name, slice)
    return {**written, "metadata": {"name": name_of(slice)}}

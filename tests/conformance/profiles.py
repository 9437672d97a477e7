"""The servers whose answers are measured: a release with its flags, by the profile names of the corpus.

Each recorded release has two, `real-1.36` with its default gates and `real-1.36-all` with all alpha and beta gates; the others
are in `profiles.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from resourceapi.kinds import KINDS
from resourceapi.measured import CLASSIC_MINOR, measured
from resourceapi.measured import NEWEST as NEWEST_MINOR
from tests.resourceapi.tables import recorded_releases

_GA_SINCE = 34
_SWITCHED_ON = "DynamicResourceAllocation"


class ServerProfile(NamedTuple):
    """`flags` of kube-apiserver, and what they come to: gates set, versions served by kind.

    `release`: that of kube-apiserver itself, down to the patch.
    """

    name: str
    flags: list[str]
    release: str
    gates: Mapping[str, bool]
    served: Mapping[str, list[str]]


NEWEST = measured(NEWEST_MINOR)
CLASSIC = measured(CLASSIC_MINOR)


def server_profile(
    name: str, version: str, flags: list[str], served: Mapping[str, list[str]]
) -> ServerProfile:
    """A profile of a server of release `version`; `served` has the kinds by version, as `tests/resourceapi/data/releases` has them."""
    values = dict(flag.split("=", 1) for flag in flags)
    settings = [setting.split("=") for setting in values.get("--feature-gates", "").split(",") if setting]
    gates = {gate: value == "true" for gate, value in settings}
    kinds = sorted({kind for each in served.values() for kind in each}, key=_place)
    by_kind = {kind: [version for version in served if kind in served[version]] for kind in kinds}
    return ServerProfile(name, flags, version, gates, by_kind)


def _place(kind: str) -> tuple[int, str]:
    names = list(KINDS)
    return names.index(kind) if kind in names else len(names), kind


def of_release(version: str, record: Mapping[str, Any]) -> Iterator[ServerProfile]:
    """The profile with default gates and that with all, of a server of `version` and what is recorded of its release.

    In both all versions of the group are served; DRA itself is on.
    """
    release, served = version.rpartition(".")[0], record["servedWithAll"]
    config = ",".join(f"resource.k8s.io/{each}=true" for each in reversed(served) if each != "v1")
    flags = [f"--runtime-config={config}"]
    if int(release.partition(".")[2]) < _GA_SINCE:
        flags.append(f"--feature-gates={_SWITCHED_ON}=true")
    yield server_profile(f"real-{release}", version, flags, served)
    every = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"]
    yield server_profile(f"real-{release}-all", version, every, served)


def _profiles() -> Iterator[ServerProfile]:
    recorded = recorded_releases()
    named = json.loads(Path(__file__).with_name("profiles.json").read_text())
    for name, entry in named.items():
        release = entry["release"]
        yield server_profile(name, _measured(release), entry["flags"], recorded[release]["servedWithAll"])
    for release, record in recorded.items():
        if release not in named and release != f"1.{CLASSIC_MINOR}":
            yield from of_release(_measured(release), record)


def _measured(release: str) -> str:
    return measured(int(release.partition(".")[2]))


PROFILES: dict[str, ServerProfile] = {profile.name: profile for profile in _profiles()}

#: The profiles whose servers have today's kinds, which random requests are made for.
MODERN = tuple(name for name, profile in PROFILES.items() if profile.release != CLASSIC)

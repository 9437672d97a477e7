"""The servers that cases are put to: profiles of the conformance corpus, and releases with single gates set.

`1.37-all` is a profile; `1.37 DRAConsumableCapacity=false` is a release with settings; `kep` is no server at all.
"""

from __future__ import annotations

from resourceapi.kinds import KINDS
from resourceapi.measured import measured
from resourceapi.releases import PROPOSALS, Profile
from tests.conformance.profiles import PROFILES, ServerProfile

_RUNTIME_CONFIG = ",".join(
    f"resource.k8s.io/{version}=true" for version in ("v1beta1", "v1beta2", "v1alpha3")
)


def known_profile(name: str) -> ServerProfile:
    """The profile of that name, made known to replaying and recording if it is one with settings of its own."""
    if name not in PROFILES:
        release, _, settings = name.partition(" ")
        gates = {
            gate: value == "true" for gate, value in (pair.split("=") for pair in settings.split(",") if pair)
        }
        PROFILES[name] = ServerProfile(name, _flags(settings), _measured(release), gates, _served(release))
    return PROFILES[name]


def _measured(release: str) -> str:
    return release if release == PROPOSALS else measured(Profile(release).minor)


def _flags(settings: str) -> list[str]:
    flags = [f"--runtime-config={_RUNTIME_CONFIG}"]
    return [*flags, f"--feature-gates={settings}"] if settings else flags


def _served(release: str) -> dict[str, list[str]]:
    minor = Profile(release).minor
    return {
        kind.name: [version for version in kind.versions if kind.served(version, minor)]
        for kind in KINDS.values()
    }

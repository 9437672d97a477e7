"""The servers that cases are put to: profiles of the conformance corpus, and releases with single gates set.

`1.37-all` is a profile; `1.37 DRAConsumableCapacity=false` is a release with settings; `kep` is no server at all.
"""

from __future__ import annotations

from resourceapi.kinds import KINDS
from resourceapi.releases import PROPOSALS
from tests.conformance.profiles import NEWEST, PROFILES, ServerProfile

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
        PROFILES[name] = ServerProfile(
            name, _flags(release, settings), release, gates, _served(release), NEWEST
        )
    return PROFILES[name]


def _flags(release: str, settings: str) -> list[str]:
    flags = [f"--emulated-version={release}", f"--runtime-config={_RUNTIME_CONFIG}"]
    return [*flags, f"--feature-gates={settings}"] if settings else flags


def _served(release: str) -> dict[str, list[str]]:
    minor = 37 if release == PROPOSALS else int(release.partition(".")[2])
    return {
        kind.name: [version for version in kind.versions if kind.served(version, minor)]
        for kind in KINDS.values()
    }

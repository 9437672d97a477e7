"""The servers whose answers are measured: a release with its flags, by the profile names of the corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from resourceapi.measured import CLASSIC_MINOR, measured
from resourceapi.measured import NEWEST as NEWEST_MINOR


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


def _profile(
    name: str, flags: list[str], served: Mapping[str, list[str]], release: str = NEWEST
) -> ServerProfile:
    values = dict(flag.split("=", 1) for flag in flags)
    settings = [setting.split("=") for setting in values.get("--feature-gates", "").split(",") if setting]
    gates = {gate: value == "true" for gate, value in settings}
    return ServerProfile(name, flags, release, gates, served)


PROFILES: dict[str, ServerProfile] = {
    name: _profile(name, **entry)
    for name, entry in json.loads(Path(__file__).with_name("profiles.json").read_text()).items()
}

#: The profiles whose servers have today's kinds, which random requests are made for.
MODERN = tuple(name for name, profile in PROFILES.items() if profile.release != CLASSIC)

"""Which versions a server serves of those that it can: the stable ones, and what its ``--runtime-config`` adds or takes away."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache

from resourceapi.errors import ClaimcheckError
from resourceapi.go_text import BOOLEANS, quote
from resourceapi.model.versions import GROUP, SCHEMAS

#: Every version that the release can serve.
ALL = {"api/all": True}
_STABLE = "api/ga"
_STAGES = {"api/beta": "beta", "api/alpha": "alpha"}
# They stand for nothing any more, and are taken all the same.
_WITHOUT_EFFECT = frozenset(("api/legacy",))


class RuntimeConfigError(ClaimcheckError):
    """A ``--runtime-config`` that the server would not start with; the text is the server's."""


def parse(text: str, versions: Container[str] = SCHEMAS) -> dict[str, bool]:
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

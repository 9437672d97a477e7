"""Hints for API versions and kinds that the release does not serve."""

from __future__ import annotations

from typing import Any

from advice.hints.hint import Hint
from advice.hints.problem import Problem
from advice.hints.snippet import yaml
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.nearness import nearest
from resourceapi.releases import Profile
from validation.rule_names import NOT_SERVED, SERVER_WARNING

# The last release (1.x) that served what is gone, by version, and by kind where that differs.
LAST_SERVED = {"v1alpha1": 26, "v1alpha2": 30, "v1alpha3": 33}
CLASSIC_KINDS = {
    "ResourceClass": "DeviceClass",
    "PodScheduling": "",
    "PodSchedulingContext": "",
    "ResourceClassParameters": "DeviceClass",
    "ResourceClaimParameters": "ResourceClaim",
}
FORMER_KINDS = frozenset((*KINDS, *CLASSIC_KINDS))
OTHER_GROUPS = ("core.k8s.io", "", "apps", "k8s.io", "resources.k8s.io", "resource.kubernetes.io")


def is_of_the_group(api_version: str, kind: str) -> bool:
    """Whether an object that nothing knows was meant for DRA: its group, or its kind in a group of Kubernetes itself."""
    group = api_version.rpartition("/")[0]
    if group == GROUP:
        return True
    if kind not in FORMER_KINDS:
        return False
    return group in OTHER_GROUPS or bool(nearest(group, (GROUP,)))


def newest_served(kind: str, profile: Profile) -> str:
    """The newest version of a kind that the release serves, or nothing."""
    if kind not in KINDS:
        return ""
    return next(
        (version for version in KINDS[kind].versions if KINDS[kind].served(version, profile.minor)), ""
    )


def _missing(problem: Problem) -> str:
    """No apiVersion or no kind: look for a key in wrong case, or say what it should be."""
    written = problem.object if isinstance(problem.object, dict) else {}
    lines = []
    for key in ("apiVersion", "kind"):
        if key in written:
            continue
        slip = nearest(key, (name for name in written if isinstance(name, str)))
        if slip:
            lines.append(f"write `{key}` instead of `{slip}`")
        elif key == "apiVersion" and problem.kind in KINDS:
            lines.append(f"add `apiVersion: {GROUP}/{newest_served(problem.kind, problem.profile)}`")
        else:
            lines.append(f"add `{key}`, which every object needs")
    return "; ".join(lines)


def _former_version(problem: Problem) -> str:
    """A version that is gone: name the last release that served it, and show what to write now."""
    kind, version = problem.kind, problem.version
    if version not in LAST_SERVED or kind not in FORMER_KINDS or not _meant_for_group(problem):
        return ""
    if version in KINDS.get(kind, KINDS["DeviceClass"]).versions:
        return ""  # this release does not serve it, others do
    place = f"{GROUP}/{version}" if problem.api_version.startswith(GROUP) else problem.api_version
    text = f"the last release that served {GROUP}/{version} {kind} is 1.{LAST_SERVED[version]}"
    if place != f"{GROUP}/{version}":
        text = f"there is no group {place.rpartition('/')[0]}, {kind} was in {GROUP}; {text}"
    return f"{text}; {_rewrite(problem)}"


def _meant_for_group(problem: Problem) -> bool:
    return is_of_the_group(problem.api_version, problem.kind)


def _rewrite(problem: Problem) -> str:
    kind = problem.kind
    now = newest_served(KINDS[kind].name if kind in KINDS else CLASSIC_KINDS[kind], problem.profile)
    if problem.version == "v1alpha3" and now:
        requests = _requests(problem.object)
        if requests:
            return (
                f"run `claimcheck convert --to {now} FILE` to rewrite it, with `apiVersion: {GROUP}/{now}` and these requests:\n"
                + yaml(requests)
            )
        return f"write `apiVersion: {GROUP}/{now}`"
    if CLASSIC_KINDS.get(kind) == "":
        return "it has no successor; the scheduler now allocates devices itself"
    if kind in ("ResourceClass", "ResourceClassParameters"):
        return f"use a DeviceClass ({GROUP}/{now}) instead, which selects devices with CEL"
    return (
        f"classic DRA was removed; write a {GROUP}/{now} claim with `spec.devices.requests`, each with the "
        "`deviceClassName` of a DeviceClass"
    )


def _requests(manifest: Any) -> list[Any]:
    """The requests of a claim or template with flat requests, each with its fields under `exactly`."""
    spec = manifest.get("spec") if isinstance(manifest, dict) else None
    if isinstance(spec, dict) and isinstance(spec.get("spec"), dict):
        spec = spec["spec"]
    devices = spec.get("devices") if isinstance(spec, dict) else None
    requests = devices.get("requests") if isinstance(devices, dict) else None
    rewritten = []
    for request in requests if isinstance(requests, list) else []:
        if not isinstance(request, dict) or "exactly" in request or "firstAvailable" in request:
            return []
        exactly = {key: value for key, value in request.items() if key != "name"}
        rewritten.append({"name": request.get("name"), "exactly": exactly})
    return rewritten


def _not_yet(problem: Problem) -> str:
    """A version that other releases serve."""
    kind, version = problem.kind, problem.version
    if problem.api_version != f"{GROUP}/{version}" or kind not in KINDS:
        return ""
    lifecycle = KINDS[kind].versions.get(version)
    if lifecycle is None:
        return ""
    served = newest_served(kind, problem.profile)
    text = f"{kind} {version} is served from 1.{lifecycle.introduced}"
    return f"{text}; for {problem.profile.name} use {GROUP}/{served}" if served else text


def _wrong_group(problem: Problem) -> str:
    kind = problem.kind
    now = newest_served(kind, problem.profile)
    if problem.api_version.rpartition("/")[0] == GROUP or not now:
        return ""
    return f"{kind} is in {GROUP}; write `apiVersion: {GROUP}/{now}`"


def _near_kind(problem: Problem) -> str:
    served = [kind for kind in KINDS if newest_served(kind, problem.profile)]
    meant = nearest(problem.kind, served)
    if meant:
        return f"did you mean `kind: {meant}`?"
    now = newest_served(problem.kind, problem.profile)
    if now:
        return f"write `apiVersion: {GROUP}/{now}`"
    return f"{GROUP} has {', '.join(served)}"


HINTS = (
    Hint(
        "deprecated-version",
        (SERVER_WARNING,),
        "run `claimcheck convert --to v1 --in-place FILE` to rewrite the file, keeping comments and layout; "
        "servers only serve {version} where --runtime-config enables it",
        message="is deprecated in",
    ),
    Hint("former-version", (NOT_SERVED,), _former_version),
    Hint("not-yet-served", (NOT_SERVED,), _not_yet),
    Hint("missing-type", (NOT_SERVED,), lambda problem: _missing(problem) if _lacks_type(problem) else ""),
    Hint("wrong-group", (NOT_SERVED,), _wrong_group),
    Hint("near-kind", (NOT_SERVED,), _near_kind),
)


def _lacks_type(problem: Problem) -> bool:
    return not problem.api_version or not problem.kind

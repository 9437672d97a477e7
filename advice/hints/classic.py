"""Hints for the release of classic DRA: what was written for another one, and what its own objects lack."""

from __future__ import annotations

from typing import Any

from advice.hints.group import is_of_the_group
from advice.hints.hint import Advice, Hint, Problem, yaml
from resourceapi.field_errors import INVALID, REQUIRED
from resourceapi.kinds import KINDS, kinds_of
from resourceapi.manifests import MISSING
from resourceapi.measured import OLDEST
from resourceapi.model.versions import CLASSIC_API_VERSION, CLASSIC_VERSION
from resourceapi.releases import CLASSIC, PROPOSALS
from validation.requests import NOT_SERVED, UNKNOWN_FIELD

SOURCES = ("resourceClaimName", "resourceClaimTemplateName")
# What kinds of other releases were called in this one.
_FORMERLY = {"PodScheduling": "PodSchedulingContext", "DeviceClass": "ResourceClass"}


def _not_served(problem: Problem) -> str | Advice:
    """An object of another release, or one of this release where the version is switched off."""
    kind, kinds = problem.kind, kinds_of(problem.profile)
    if not is_of_the_group(problem.api_version, kind) and kind not in kinds:
        return ""
    if problem.api_version == CLASSIC_API_VERSION and kind in kinds:
        return f"pass `--runtime-config {CLASSIC_API_VERSION}=true`: {CLASSIC} serves {kind} only with it"
    if kind not in kinds:
        return _other_kind(problem)
    if decodes_as_classic(problem.object, kind):
        return Advice(
            f"write `apiVersion: {CLASSIC_API_VERSION}` for {CLASSIC}", (("apiVersion",), CLASSIC_API_VERSION)
        )
    return f"{_ask_another(problem)}; the {kind} of {CLASSIC} has other fields"


def _other_kind(problem: Problem) -> str:
    kind = problem.kind
    if kind in _FORMERLY:
        return f"{_ask_another(problem)}; for {CLASSIC} write a {CLASSIC_API_VERSION} {_FORMERLY[kind]}"
    return f"{_ask_another(problem)}: {CLASSIC} has no {kind}" if kind in KINDS else ""


def _ask_another(problem: Problem) -> str:
    """Which release to ask about an object."""
    row = KINDS.get(problem.kind)
    lifecycle = row.versions.get(problem.version) if row is not None else None
    if row is None or lifecycle is None:
        return "ask another release with `--kube-version`"
    if row.proposed:
        return f"pass `--kube-version {PROPOSALS}`"
    return f"pass `--kube-version 1.{max(lifecycle.introduced, OLDEST)}` or a later release"


def decodes_as_classic(manifest: Any, kind: str) -> bool:
    """Whether an object is one of v1alpha2, whatever its own ``apiVersion`` says."""
    from conversion.hub import hub_object
    from resourceapi.decoding import DecodingError
    from resourceapi.model.v1alpha2 import SCHEMAS

    try:
        hub_object(manifest, SCHEMAS, kind=kind, version=CLASSIC_VERSION, defaults=None, strict=True)
    except DecodingError:
        return False
    return True


def _pod_claim_source(problem: Problem) -> str | Advice:
    """The fields of an entry as later releases have them, or the struct around them under another name."""
    entry = problem.parent
    if not isinstance(entry, dict):
        return ""
    if problem.key in SOURCES:
        moved = {key: entry[key] for key in SOURCES if key in entry}
    elif isinstance(problem.value, dict) and set(problem.value) <= set(SOURCES):
        moved = problem.value
    else:
        return ""
    if "source" in entry:
        return f"remove `{problem.key}`: the entry has a `source`"
    rest = {key: value for key, value in entry.items() if key not in SOURCES and key != problem.key}
    rewritten = {**rest, "source": moved}
    return Advice(
        f"name the claim or the template under `source`, as {CLASSIC} has it:\n" + yaml([rewritten]),
        (problem.path[:-1], rewritten),
    )


def _later_field(problem: Problem) -> str:
    """A field of a claim, class or slice of today."""
    if problem.api_version != CLASSIC_API_VERSION:
        return ""
    instead = {
        "ResourceClaim": "`resourceClassName`, and `parametersRef` for parameters",
        "ResourceClaimTemplate": "`resourceClassName`, and `parametersRef` for parameters",
        "ResourceSlice": "`nodeName`, `driverName` and `namedResources` at the top level",
    }.get(problem.kind)
    return f"write {instead}; `{problem.key}` came after {CLASSIC}" if instead else ""


# What to write into fields that must not be missing or empty, by place.
WANTED = (
    (r"(^|\.)driverName$", "write the driver's name, a DNS name such as `gpu.example.com`"),
    (
        r"\.resourceClassName$",
        "write the name of a ResourceClass, such as one that `kubectl get resourceclasses` lists",
    ),
    (r"(parametersRef|generatedFrom)\.kind$", "write the kind of the object with the parameters"),
    (r"(parametersRef|generatedFrom)\.name$", "write the name of the object with the parameters"),
    (
        r"reservedFor\[\]\.resource$",
        "write the resource of the consumer in the plural, such as `pods`",
    ),
    (r"reservedFor\[\]\.(name|uid)$", "write the consumer's `metadata.{key}` as the cluster has it"),
)


def _wanted(problem: Problem) -> str:
    import re

    if problem.rule == INVALID and problem.value not in ("", MISSING, None):
        return ""
    text = next((text for place, text in WANTED if re.search(place, problem.place)), "")
    return text.format(key=problem.key)


HINTS = (
    Hint("classic-version", (NOT_SERVED,), _not_served),
    Hint("classic-pod-claim", (UNKNOWN_FIELD,), _pod_claim_source, place=r"resourceClaims\[\]\.\w+$"),
    Hint("later-field", (UNKNOWN_FIELD,), _later_field, place=r"^spec\.(devices|driver|pool)$|^spec$"),
    Hint("classic-wanted", (REQUIRED, INVALID), _wanted),
    Hint(
        "classic-source-missing",
        (INVALID,),
        "set `resourceClaimName` to use an existing claim, or `resourceClaimTemplateName` "
        "to create one for each pod",
        place=r"resourceClaims\[\]\.source$",
        message="must specify one of",
    ),
)

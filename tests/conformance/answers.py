"""Answers as the conformance corpus writes them (`expect`): which parts they have, and what is taken out first.

Both sides use this: what a real server answered is written down with it, and what the product answers is brought
into the same form before the two are compared.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from resourceapi.go_text import quote

Json = Any
Case = dict[str, Any]
"""One line of a corpus file."""

_SET_BY_STORAGE = ("uid", "creationTimestamp", "resourceVersion", "managedFields", "generation", "selfLink")

# Fields that are Go maps: errors about their entries come in any order.
_MAP = re.compile(
    r"^(.*?(?:\.(?:attributes|capacity\.requests|capacity|counters|nodeAllocatableResources|consumedCapacity"
    r"|labels|annotations)|resources\.(?:requests|limits)|^spec\.nodeSelector))(?=\[|\.(?!nodeSelectorTerms)|$)"
)

# The server collects the scheduling gates that an update adds in a map.
_ADDED_GATES = "only deletion is allowed, but found new scheduling gate"


def expectation(
    code: int,
    *,
    case: Case,
    status: Mapping[str, Any] | None = None,
    object: Json = None,
    converted: Mapping[str, Json] | None = None,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """An answer in the form of `expect`.

    `status`: the `v1.Status` of a refusal; `object` and `converted` (by version): what came back, already without
    what storage sets (see `without_storage_fields`, `pod_extract`).
    """
    expect: dict[str, Any] = {"code": code}
    if status is not None:
        details = dict(status.get("details") or {})
        causes = details.pop("causes", None)
        expect["reason"] = status.get("reason", "")
        expect["message"] = status.get("message", "")
        if causes:
            expect["causes"] = [
                {"reason": cause["reason"], "message": cause["message"], "field": cause.get("field", "")}
                for cause in causes
            ]
            if unordered(expect["causes"]):
                expect["unordered"] = True
        if details:
            expect["details"] = details
    elif object is not None and same_json(object, case["object"]):
        expect["unchanged"] = True
    else:
        expect["object"] = object
    texts = list(warnings)
    if texts:
        expect["warnings"] = texts
    if converted is not None:
        expect["converted"] = dict(converted)
    return expect


def unordered(causes: Iterable[Mapping[str, str]]) -> bool:
    """Whether these errors (`field`, `message`) come in any order: more than one of them is about the same Go map."""
    maps = Counter(filter(None, map(_go_map, causes)))
    return any(count > 1 for count in maps.values())


def _go_map(cause: Mapping[str, str]) -> str | None:
    """The map that the server goes through to find an error; none if it goes through a list."""
    if _ADDED_GATES in cause["message"]:
        return _ADDED_GATES
    match = _MAP.match(cause["field"])
    return match and match[1]


def without_storage_fields(object: Json) -> Json:
    """A copy of an object without what the server sets when it stores one: uid, resourceVersion, times, …"""
    if not isinstance(object, dict):
        return object
    copy = dict(object)
    if isinstance(copy.get("metadata"), dict):
        copy["metadata"] = {
            key: value for key, value in copy["metadata"].items() if key not in _SET_BY_STORAGE
        }
    spec = copy.get("spec")
    if copy.get("kind") == "ResourceClaimTemplate" and isinstance(spec, dict):
        template = spec.get("metadata")
        if isinstance(template, dict) and "creationTimestamp" in template:
            kept = {key: value for key, value in template.items() if key != "creationTimestamp"}
            copy["spec"] = {**spec, "metadata": kept}
    return copy


def pod_extract(pod: Mapping[str, Any]) -> Json:
    """Of a Pod what concerns claims: its name and namespace, claims and resources of the pod and its containers."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    extract: dict[str, Any] = {}
    for field in ("initContainers", "containers"):
        if field in spec:
            extract[field] = [
                {key: container[key] for key in ("name", "resources") if key in container}
                for container in spec[field] or ()
            ]
    extract.update({field: spec[field] for field in ("resourceClaims", "resources") if field in spec})
    return {
        "metadata": {key: metadata[key] for key in ("name", "namespace") if key in metadata},
        "spec": extract,
    }


_TEMPLATES = {
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "PodTemplate": ("template",),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"),
        ("spec", "template"),
    ),
}
"""Where the kinds that hold a pod template hold it."""

WORKLOADS = tuple(_TEMPLATES)


def holds_pods(kind: str) -> bool:
    """Whether objects of the kind are pods or hold a template of pods."""
    return kind == "Pod" or kind in _TEMPLATES


def extract(kind: str, object: Json) -> Json:
    """What is compared of an object that a server returned: of pods and pod templates only what concerns claims."""
    if kind == "Pod":
        return pod_extract(object)
    if kind not in _TEMPLATES:
        return without_storage_fields(object)
    metadata = {key: object["metadata"][key] for key in ("name", "namespace") if key in object["metadata"]}
    for field in _TEMPLATES[kind]:
        object = object.get(field) or {}
    return {"metadata": metadata, "template": pod_extract(object)}


def name_prefix(case: Case) -> str:
    """What the server makes a name from, if the case is to create an object that has none."""
    if case["verb"] in ("update", "status"):
        return ""
    object = case["object"]
    if "raw" in case:
        try:
            object = json.loads(case["raw"])
        except ValueError:
            return ""
    metadata = object.get("metadata") if isinstance(object, dict) else None
    if not isinstance(metadata, dict) or metadata.get("name"):
        return ""
    prefix = metadata.get("generateName")
    return prefix if isinstance(prefix, str) else ""


def with_name_marked(value: Json, name: str) -> Json:
    """An answer with `<generated>` for a name that the server has made, also where it stands quoted in a text."""
    if isinstance(value, dict):
        # What the name was made from is not touched.
        return {
            key: item if key == "generateName" else with_name_marked(item, name)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [with_name_marked(item, name) for item in value]
    if not isinstance(value, str):
        return value
    # Not within a longer word: the prefix may be longer than the part of it that is used, and all of one letter.
    spellings = "|".join(re.escape(text) for text in (name, json.dumps(name)[1:-1], quote(name)[1:-1]))
    return re.sub(rf"(?<!\w)(?:{spellings})(?!\w)", "<generated>", value)


def same_json(one: Json, other: Json) -> bool:
    """Whether two JSON values are the same; unlike Python's `==`, `true` and 1 differ, as do 1 and 1.0."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same_json(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(same_json(left, right) for left, right in zip(one, other, strict=True))
        )
    return type(one) is type(other) and bool(one == other)

"""What `kubectl apply` makes of a stored object: what the manifest says is changed, and what it does not mention stays.

The patch is a three-way one: what the manifest said when it was last applied and says no longer is removed.
"""

from __future__ import annotations

from typing import Any

from resourceapi import deep_json
from resourceapi.json_values import JSONError
from resourceapi.manifests import mapping, text
from resourceapi.objects import Object

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Lists that are merged entry by entry, with what their entries are known by (patchMergeKey); all others are replaced.
_MERGE_KEYS = {
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "ports": "containerPort",
    "resourceClaims": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
_FINALIZERS = "finalizers"


def applied(stored: Object, manifest: Object) -> Object:
    """The object that the server is asked to store.

    :param stored: the object as the server returns it in the manifest's version.
    """
    annotations = mapping(mapping(stored, "metadata"), "annotations")
    try:
        before = deep_json.loads(text(annotations, LAST_APPLIED) or "{}")
    except JSONError:
        before = {}
    return _merged(stored, manifest, before if isinstance(before, dict) else {})


def _merged(stored: Object, given: Object, before: Object) -> Object:
    merged = {key: value for key, value in stored.items() if key in given or key not in before}
    for key, value in given.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _value(key, merged.get(key), value, before.get(key))
    return merged


def _value(key: str, stored: Any, given: Any, before: Any) -> Any:
    if isinstance(stored, dict) and isinstance(given, dict):
        return _merged(stored, given, before if isinstance(before, dict) else {})
    if not isinstance(stored, list) or not isinstance(given, list):
        return given
    before = before if isinstance(before, list) else []
    if key == _FINALIZERS:
        return [*(each for each in stored if each in given or each not in before), *_missing(given, stored)]
    known_by = _MERGE_KEYS.get(key)
    if known_by is None or not all(_has_key(each, known_by) for each in (*stored, *given)):
        return given
    return _entries(known_by, stored, given, [each for each in before if _has_key(each, known_by)])


def _entries(known_by: str, stored: list[Object], given: list[Object], before: list[Object]) -> list[Object]:
    """The entries of a list, each merged with the one that is known by the same; new ones at the end."""
    wanted = {each[known_by]: each for each in given}
    former = {each[known_by]: each for each in before}
    merged = [
        _merged(each, wanted[each[known_by]], former.get(each[known_by], {}))
        if each[known_by] in wanted
        else each
        for each in stored
        if each[known_by] in wanted or each[known_by] not in former
    ]
    known = {each[known_by] for each in stored}
    return [*merged, *(each for each in given if each[known_by] not in known)]


def _missing(given: list[Any], stored: list[Any]) -> list[Any]:
    return [each for each in given if each not in stored]


def _has_key(entry: Any, known_by: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(known_by), (str, int))

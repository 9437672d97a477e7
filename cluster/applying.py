"""What `kubectl apply` asks for: an object is created as the manifest says, or a stored one is changed.

The patch of a stored object is a three-way one: what the manifest says is changed, what it does not mention stays, and what
it said when it was last applied and says no longer is removed. For that, kubectl keeps the manifest in an annotation.
"""

from __future__ import annotations

from typing import Any

from resourceapi import deep_json
from resourceapi.go_text import json_text
from resourceapi.json_values import JSONError
from resourceapi.key_order import with_sorted_keys
from resourceapi.manifests import mapping, text
from resourceapi.object_names import ANNOTATIONS_BYTES
from resourceapi.objects import Object, without_nulls

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Lists that are merged entry by entry, with what their entries are known by (patchMergeKey); all others are replaced.
MERGE_KEYS = {
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
FINALIZERS = "finalizers"


def created(manifest: Object, namespace: str) -> Object:
    """The object that the server is asked to create.

    The annotation is left out where it is far too small to be refused: nothing else of it is looked at.

    :param namespace: the namespace of the object; empty for a kind without.
    """
    prepared = _prepared(manifest, namespace)
    written = deep_json.dumps(prepared)
    body: Object = without_nulls(prepared) if "null" in written else prepared
    if 3 * deep_json.most_bytes_of(written) > ANNOTATIONS_BYTES:
        _annotate(body, _last_applied(prepared))
    return body


def applied(stored: Object, manifest: Object, namespace: str) -> Object | None:
    """The object that the server is asked to store; None if there is nothing to change, so that it is not asked.

    :param stored: the object as the server returns it in the manifest's version.
    :param namespace: as for :func:`created`.
    """
    annotations = mapping(mapping(stored, "metadata"), "annotations")
    try:
        before = deep_json.loads(text(annotations, LAST_APPLIED) or "{}")
    except JSONError:
        before = {}
    prepared = _prepared(manifest, namespace)
    _annotate(prepared, _last_applied(prepared))
    result = merged(stored, prepared, before if isinstance(before, dict) else {})
    return None if deep_json.equal(result, stored) else with_sorted_keys(result)


def _prepared(manifest: Object, namespace: str) -> Object:
    """A copy of a manifest as kubectl takes it up: in its namespace, and without the annotation of an earlier time."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return dict(manifest)
    metadata = dict(metadata)
    if namespace and not metadata.get("namespace"):
        metadata["namespace"] = namespace
    given = metadata.get("annotations")
    if given is None or isinstance(given, dict):
        metadata["annotations"] = {
            key: "" if value is None else value for key, value in (given or {}).items() if key != LAST_APPLIED
        }
    return {**manifest, "metadata": metadata}


def _last_applied(prepared: Object) -> str:
    return json_text(with_sorted_keys(prepared)) + "\n"


def _annotate(prepared: Object, configuration: str) -> None:
    metadata = prepared.get("metadata")
    if isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict):
        annotations = {**metadata["annotations"], LAST_APPLIED: configuration}
        prepared["metadata"] = {**metadata, "annotations": annotations}


def merged(stored: Object, given: Object, before: Object) -> Object:
    """An object with what is given, and without what was given before and is no longer."""
    result = {key: value for key, value in stored.items() if key in given or key not in before}
    for key, value in given.items():
        if value is None:
            result.pop(key, None)
        elif key in result:
            result[key] = _value(key, result[key], value, before.get(key))
        else:
            result[key] = without_nulls(value)
    return result


def _value(key: str, stored: Any, given: Any, before: Any) -> Any:
    if isinstance(stored, dict) and isinstance(given, dict):
        return merged(stored, given, before if isinstance(before, dict) else {})
    if not isinstance(stored, list) or not isinstance(given, list):
        return given
    before = before if isinstance(before, list) else []
    if key == FINALIZERS:
        wanted, former, known = ({json_text(each) for each in some} for some in (given, before, stored))
        kept = [each for each in stored if json_text(each) in wanted or json_text(each) not in former]
        return [*kept, *(each for each in given if json_text(each) not in known)]
    known_by = MERGE_KEYS.get(key)
    if known_by is None or not all(_has_key(each, known_by) for each in (*stored, *given)):
        return given
    return _entries(known_by, stored, given, [each for each in before if _has_key(each, known_by)])


def _entries(known_by: str, stored: list[Object], given: list[Object], before: list[Object]) -> list[Object]:
    """The entries of a list, each merged with the one that is known by the same; new ones at the end."""
    wanted = {each[known_by]: each for each in given}
    former = {each[known_by]: each for each in before}
    result = [
        merged(each, wanted[each[known_by]], former.get(each[known_by], {}))
        if each[known_by] in wanted
        else each
        for each in stored
        if each[known_by] in wanted or each[known_by] not in former
    ]
    known = {each[known_by] for each in stored}
    return [*result, *(each for each in given if each[known_by] not in known)]


def _has_key(entry: Any, known_by: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(known_by), (str, int))

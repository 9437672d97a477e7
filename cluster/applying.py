"""What `kubectl apply` asks for: an object is created as the manifest says, or a stored one is changed.

The patch of a stored object is a three-way one: what the manifest says is changed, what it does not mention stays, and what
it said when it was last applied and says no longer is removed. For that, kubectl keeps the manifest in an annotation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from resourceapi import deep_json
from resourceapi.go_text import json_text
from resourceapi.json_values import JSONError
from resourceapi.manifests import mapping, text
from resourceapi.names import ANNOTATIONS_BYTES
from resourceapi.objects import Object, without_nulls
from resourceapi.recognition import with_sorted_keys

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# Lists that are merged entry by entry, with what their entries are known by (patchMergeKey; none for texts); all others are replaced.
MERGE_KEYS: Mapping[str, tuple[str, ...]] = {
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "evictionResponders": ("name",),
    "finalizers": (),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort",),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
# Keys of entries that have a default.
KEY_DEFAULTS = {"protocol": "TCP"}


class Merging:
    """How what is given is merged with what is stored.

    :ivar keys: the lists that are merged, with what their entries are known by.
    :ivar atomic: the maps, and the lists whose entries, are replaced as a whole.
    """

    __slots__ = ("atomic", "keys")

    def __init__(self, keys: Mapping[str, tuple[str, ...]], atomic: frozenset[str] = frozenset()) -> None:
        self.keys = keys
        self.atomic = atomic


BY_KUBECTL = Merging(MERGE_KEYS)


def created(manifest: Object, namespace: str) -> Object:
    """The object that the server is asked to create.

    The annotation is left out where it is far too small to be refused: nothing else of it is looked at.

    :param namespace: the namespace of the object; empty for a kind without.
    """
    prepared = _prepared(manifest, namespace)
    written = deep_json.dumps(prepared)
    body: Object = without_nulls(prepared) if "null" in written else prepared
    # A character is six bytes at most, and counting costs as much as writing.
    if 18 * len(written) > ANNOTATIONS_BYTES and 3 * deep_json.most_bytes_of(written) > ANNOTATIONS_BYTES:
        _annotate(body, _last_applied(prepared))
    elif mapping(prepared, "metadata").get("annotations") == {}:
        del body["metadata"]["annotations"]  # no server keeps an empty map
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


def merged(stored: Object, given: Object, before: Object, merging: Merging = BY_KUBECTL) -> Object:
    """An object with what is given, and without what was given before and is no longer."""
    result = {key: value for key, value in stored.items() if key in given or key not in before}
    for key, value in given.items():
        if value is None:
            result.pop(key, None)
        elif key in result:
            result[key] = _value(key, result[key], value, before.get(key), merging)
        else:
            result[key] = without_nulls(value)
    return result


def _value(key: str, stored: Any, given: Any, before: Any, merging: Merging) -> Any:
    if isinstance(stored, dict) and isinstance(given, dict):
        if key in merging.atomic:
            return given
        return merged(stored, given, before if isinstance(before, dict) else {}, merging)
    names = merging.keys.get(key)
    if names is None or not isinstance(stored, list) or not isinstance(given, list):
        return given
    if not all(has_keys(each, names) for each in (*stored, *given)):
        return given
    known = {keys_of(each, names) for each in stored}
    wanted = {keys_of(each, names): each for each in given}
    before = [each for each in before if has_keys(each, names)] if isinstance(before, list) else []
    former = {keys_of(each, names): each for each in before}
    # kubectl compares how often an entry is there: one that was named twice goes when it is named once
    gone = Counter(keys_of(each, names) for each in before) - Counter(keys_of(each, names) for each in given)

    def entry(at: str, each: Any) -> Any:
        if at not in wanted or not names:
            return each
        if key in merging.atomic:
            return wanted[at]
        return merged(each, wanted[at], former.get(at, {}), merging)

    result = [entry(at, each) for each in stored if (at := keys_of(each, names)) not in gone]
    return [*result, *(each for each in given if keys_of(each, names) not in known)]


def keys_of(entry: Any, names: tuple[str, ...]) -> str:
    """What an entry of a list is known by: the values of its keys, or all of it if there are none."""
    if not names or not isinstance(entry, dict):
        return json_text(entry)
    return json_text([entry.get(name, KEY_DEFAULTS.get(name)) for name in names])


def has_keys(entry: Any, names: tuple[str, ...]) -> bool:
    """Whether an entry of a list can be told from others."""
    if not names:
        return True
    return isinstance(entry, dict) and all(
        isinstance(entry.get(name, KEY_DEFAULTS.get(name)), (str, int)) for name in names
    )

"""Saves and restores a cluster's DRA objects when CRDs start or stop serving the group.

API servers store custom resources under other keys than built-in ones, so objects of one are not visible in the other.
All objects are therefore saved before the change and created again after it, with their status. As nothing may allocate
devices in between, a running scheduler is an error. Objects of diagnostic kinds are left alone: they ask for one report,
which they got when they were made. So are those of kinds that the built-in API does not have.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from cluster.budget import Budget
from cluster.live_objects import Discovery
from conversion.crd_list_keys import without_empty_list_keys
from conversion.documents import ConversionError, convert_document
from resourceapi.api_client import FORBIDDEN, MOST_OBJECTS, Api, Listing, Unavailable, expect
from resourceapi.decoding import DecodingError
from resourceapi.deep_json import equal
from resourceapi.errors import ClaimcheckError
from resourceapi.kind import Kind
from resourceapi.kinds import CLAIM, KINDS
from resourceapi.manifests import mapping, name_of, text
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.releases import PROPOSALS, Profile, split_api_version
from validation.server import Server

# Claims last, when the objects that they refer to exist.
ORDER = (*(kind for kind in KINDS if kind != CLAIM.name), CLAIM.name)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/"
WRITERS = ("kube-scheduler", "kube-controller-manager")
# By default they renew their leases every 2 seconds.
LEASE_SECONDS = 6.0
KEPT_METADATA = (
    "name",
    "namespace",
    "generateName",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
# The server's message about an exceeded quota. The hint is for the built-in quota, which goes by the status that
# kube-controller-manager writes; webhooks, whose messages the server quotes, go by the spec.
EXCEEDED, BY_WEBHOOK = "exceeded quota: ", "denied the request"
HINT_FOR_QUOTA = (
    "\n  hint: raise the limit where it counts while kube-controller-manager is stopped: "
    "kubectl patch quota NAME --namespace NAMESPACE --subresource=status --type=merge "
    """-p '{"status": {"hard": {"RESOURCE": "LIMIT"}}}'"""
)
_READER = Server(Profile(PROPOSALS))


class Refused(ClaimcheckError):
    """The cluster does not allow a step; the message names the object."""


class Key(NamedTuple):
    """Identifies an object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def check_controllers_stopped(api: Api, pause: Callable[[float], None] = time.sleep) -> None:
    """Check that no scheduler or controller manager runs, by whether it renews its lease.

    :param pause: waits for a number of seconds.
    :raises Refused: if one of them runs.
    """
    before = {name: _renewed(api, name) for name in WRITERS}
    if not any(before.values()):
        return
    pause(LEASE_SECONDS)
    for name, then in before.items():
        if then and _renewed(api, name) != then:
            raise Refused(f"{name} is running (it renews its lease): stop it first")


def _renewed(api: Api, name: str) -> str:
    code, lease = api.request("GET", LEASES + name)
    return text(mapping(lease, "spec"), "renewTime") if code == 200 else ""


def saved(api: Api) -> Iterator[Object]:
    """All DRA objects of a cluster but those that are left alone, each in the newest version that it serves.

    :raises Refused: if some cannot be read.
    """
    budget = Budget()
    for kind, version in _served(api).items():
        for obj in _listed(api, KINDS[kind], version, budget):
            yield without_empty_list_keys(kind, obj)


def restore(api: Api, objects: Iterable[Object], tell: Callable[[str], None]) -> int:
    """Create these objects and delete all other DRA objects.

    Objects that are as they should be are left alone, so that it can be repeated after a failure.

    :param tell: is called for every object that is created or deleted.
    :returns: the number of objects in the cluster.
    :raises Refused: before the first change, if the cluster lists versions that it does not serve; then for the first
        object that it does not accept, or that differs in the end.
    """
    _check_discovery(api)
    served = _served(api)
    wanted = _wanted(objects, served)
    there = _all(api, served)
    for key, obj in there.items():
        if key not in wanted or not same(obj, wanted[key]):
            _delete(api, served[key.kind], key, obj)
            tell(f"deleted {key}")
    for name in ORDER:
        for key, obj in wanted.items():
            if key.kind == name and not (key in there and same(there[key], obj)):
                _create(api, key, obj)
                tell(f"created {key}")
    there = _all(api, served)
    for key in wanted.keys() | there.keys():
        if key not in wanted or key not in there or not same(there[key], wanted[key]):
            raise Refused(
                f"{key}: the cluster has it with other content than was saved: something else writes to it"
            )
    return len(there)


def clear(api: Api, objects: Iterable[Object], tell: Callable[[str], None]) -> int:
    """Delete all DRA objects of a cluster, provided that they have been saved. It can be repeated.

    :param objects: the saved objects.
    :param tell: is called for every object that is deleted.
    :returns: the number of deleted objects.
    :raises Refused: before the first change, if an object is not saved or was changed since; then for the first that
        cannot be deleted.
    """
    served = _served(api)
    kept = _wanted(objects, served)
    there = _all(api, served)
    for key, obj in there.items():
        if key not in kept or not same(_undeleted(obj), _undeleted(kept[key])):
            raise Refused(
                f"{key}: the cluster has it with other content than was saved: save everything again"
            )
    for key, obj in there.items():
        _delete(api, served[key.kind], key, obj)
        tell(f"deleted {key}")
    return len(there)


def key_of(obj: Object) -> Key:
    """The key of an object with ``kind`` and ``metadata``."""
    return Key(text(obj, "kind"), text(mapping(obj, "metadata"), "namespace"), name_of(obj))


def same(one: Object, other: Object) -> bool:
    """Whether two objects of one version have the same content, whether CRDs or the built-in API serve them."""
    return equal(_content(one), _content(other))


def _content(obj: Object) -> Object:
    whole = without_empty_list_keys(text(obj, "kind"), obj)
    metadata = mapping(obj, "metadata")
    kept: Object = {name: metadata[name] for name in KEPT_METADATA if metadata.get(name)}
    kept["deleted"] = "deletionTimestamp" in metadata
    try:
        read = _READER.read({**whole, "metadata": {}}, text(obj, "apiVersion"), answered=True)
    except DecodingError as error:
        raise Refused(f"{key_of(obj)}: {error}") from None
    status = {name: value for name, value in mapping(read, "status").items() if value}
    return {"metadata": kept, "spec": read.get("spec"), "status": status}


def _undeleted(obj: Object) -> Object:
    """An object without its deletionTimestamp: a deletion that waits for finalizers has not changed it yet."""
    metadata = {
        name: value for name, value in mapping(obj, "metadata").items() if name != "deletionTimestamp"
    }
    return {**obj, "metadata": metadata}


def _wanted(objects: Iterable[Object], served: Mapping[str, str]) -> dict[Key, Object]:
    """The saved objects, in the versions that are served."""
    wanted: dict[Key, Object] = {}
    for obj in objects:
        kind = text(obj, "kind")
        if _is_left_alone(KINDS[kind]):
            continue
        if kind not in served:
            raise Refused(
                f"{key_of(obj)}: the cluster does not serve {kind}: apply its CRD, or switch it on in the API server "
                "(--runtime-config, --feature-gates), or remove the objects of this kind from the file; then repeat the command"
            )
        wanted[key_of(obj)] = _in_version(obj, served[kind])
    return wanted


def _in_version(obj: Object, version: str) -> Object:
    if split_api_version(text(obj, "apiVersion"))[1] == version:
        return obj
    try:
        return convert_document(obj, version)
    except ConversionError as error:
        raise Refused(f"{key_of(obj)}: {error}") from None


def _discovered(api: Api) -> Discovery:
    try:
        return Discovery(api)
    except Unavailable as error:
        if not error.code:
            raise
        raise Refused(f"the cluster does not serve {GROUP}: {error.reason}") from None


def _served(api: Api) -> dict[str, str]:
    """The newest version of each kind that a cluster serves, without those that are left alone."""
    return {kind.name: version for kind, version in _discovered(api).kinds() if not _is_left_alone(kind)}


def _is_left_alone(kind: Kind) -> bool:
    """Whether objects of a kind are not moved: nothing depends on them, or the built-in API has none."""
    return kind.diagnostic or kind.proposed


def _check_discovery(api: Api) -> None:
    """Refuse CRDs in a group that is built in, which are listed and not served.

    Then the garbage collector, which goes by the list, sees no objects of the group at all.

    :raises Refused: if a version is listed and answers 404.
    """
    missing = [f"{GROUP}/{version}" for version in _discovered(api).not_served]
    if missing:
        raise Refused(
            f"the cluster lists {' and '.join(missing)} and answers 404 for what it lists: CRDs stand beside the built-in "
            "API. Set `served: false` in them for every version but v1 (docs/how-to/crds.md has the command)"
        )


def _all(api: Api, served: Mapping[str, str]) -> dict[Key, Object]:
    budget = Budget()
    return {
        key_of(obj): obj
        for kind, version in served.items()
        for obj in _listed(api, KINDS[kind], version, budget)
    }


def _listed(api: Api, kind: Kind, version: str, budget: Budget) -> Iterator[Object]:
    try:
        for item in Listing(api, f"/apis/{GROUP}/{version}/{kind.resource}", MOST_OBJECTS):
            budget.hold(item)
            yield {**item, "apiVersion": f"{GROUP}/{version}", "kind": kind.name}
    except Unavailable as error:
        if not error.code:
            raise
        raise Refused(f"{kind.resource}: {error.code} {error.reason}") from None


def _path(version: str, key: Key, *, named: bool = True) -> str:
    namespace = f"/namespaces/{quote(key.namespace, safe='')}" if key.namespace else ""
    path = f"/apis/{GROUP}/{version}{namespace}/{KINDS[key.kind].resource}"
    return f"{path}/{quote(key.name, safe='')}" if named else path


def _delete(api: Api, version: str, key: Key, obj: Object) -> None:
    """Delete an object without waiting for its finalizers, as it will be created again or is not needed."""
    path = _path(version, key)
    uid = text(mapping(obj, "metadata"), "uid")
    options = {"preconditions": {"uid": uid}} if uid else {}
    code, answer = api.request("DELETE", path, options)
    if code == 200 and mapping(obj, "metadata").get("finalizers"):
        code, answer = api.request("PATCH", path, {"metadata": {"finalizers": None}})
    if code not in (200, 404):
        raise Refused(f"{key}: not deleted: {code} {text(answer, 'message')}")


def _create(api: Api, key: Key, obj: Object) -> None:
    version = split_api_version(text(obj, "apiVersion"))[1]
    metadata = mapping(obj, "metadata")
    body = {name: value for name, value in obj.items() if name != "status"}
    body["metadata"] = {name: metadata[name] for name in KEPT_METADATA if name in metadata}
    created = _written(api, "POST", _path(version, key, named=False), body, key)
    if mapping(obj, "status"):
        created["status"] = obj["status"]
        _written(api, "PUT", _path(version, key) + "/status", created, key)
    if "deletionTimestamp" in metadata:
        _written(api, "DELETE", _path(version, key), {}, key)


def _written(api: Api, verb: str, path: str, body: Object, key: Key) -> Object:
    code, answer = api.request(verb, path, body)
    if code not in (200, 201):
        message = text(answer, "message")
        by_server = code == FORBIDDEN and EXCEEDED in message and BY_WEBHOOK not in message
        raise Refused(f"{key}: {verb}: {code} {message}" + (HINT_FOR_QUOTA if by_server else ""))
    created: Object = expect((code, answer), f"{verb} {path}", code)
    return created

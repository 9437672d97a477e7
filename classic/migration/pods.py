"""Pods and what holds a pod template: the names of claims and templates, which were in a ``source``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from classic.migration.kinds import is_misplaced_workload, workload_version
from classic.migration.remarks import CannotMigrate
from resourceapi.manifests import CONTAINERS, entries, mapping, text
from validation.requests import WARN, create_request

if TYPE_CHECKING:
    from classic.migration.remarks import Remarks
    from resourceapi.field_errors import Path
    from validation.server import Server

#: What held the names, in 1.26 to 1.30, and in early texts.
_HOLDERS = ("source", "template", "claim")
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
_CLAIMS = "resourceClaims"
#: The least that a pod has, to ask about a claim of it.
_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {"containers": [{"name": "container", "image": "image"}]},
}
#: Pod specs deeper than that are in no kind of workload.
_MAX_DEPTH = 30


def migrate_pods(value: dict[str, Any], remarks: Remarks, server: Server) -> dict[str, Any]:
    """The object with every pod spec in it as it is written today; the same if there is nothing to change.

    :param server: what must accept the claims that are written anew; the rest of a pod is as right as it was.
    :raises CannotMigrate: if it would not accept them.
    """
    if is_misplaced_workload(value):
        version = workload_version(text(value, "kind"))
        remarks.note(("apiVersion",), f"a {value['kind']} is of {version}")
        value = {**value, "apiVersion": version}
    migrated = _walk(value, (), remarks, server)
    assert isinstance(migrated, dict)
    return migrated


def _walk(value: Any, path: Path, remarks: Remarks, server: Server) -> Any:
    if len(path) > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        changed = {name: _walk(each, (*path, name), remarks, server) for name, each in value.items()}
        if any(changed[name] is not each for name, each in value.items()):
            value = changed
        if isinstance(value.get("containers"), list):
            value = _pod_spec(value, path, remarks, server)
    elif isinstance(value, list):
        items = [_walk(each, (*path, index), remarks, server) for index, each in enumerate(value)]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            value = items
    return value


def _pod_spec(spec: dict[str, Any], path: Path, remarks: Remarks, server: Server) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    claims = spec.get(_CLAIMS)
    if isinstance(claims, list):
        migrated = [
            _claim(each, (*path, _CLAIMS, index), remarks, server) for index, each in enumerate(claims)
        ]
        if any(new is not old for new, old in zip(migrated, claims, strict=True)):
            changed[_CLAIMS] = migrated
    for name in CONTAINERS:
        containers = spec.get(name)
        if isinstance(containers, list):
            migrated = [_container(each, (*path, name, i), remarks) for i, each in enumerate(containers)]
            if any(new is not old for new, old in zip(migrated, containers, strict=True)):
                changed[name] = migrated
    return {**spec, **changed} if changed else spec


def _claim(claim: Any, path: Path, remarks: Remarks, server: Server) -> Any:
    """``source: {resourceClaimName: a}`` becomes ``resourceClaimName: a``."""
    if not isinstance(claim, dict):
        return claim
    result: dict[str, Any] = {}
    for name, each in claim.items():
        is_holder = name in _HOLDERS and (each is None or _holds_names(each))
        if name == "source" and not is_holder:
            raise CannotMigrate((*path, name), f"expected nothing but {' or '.join(_NAMES)}")
        if is_holder and name != "source":
            remarks.note((*path, name), "no release had this field; its names are taken from there")
        for key, member in ((each or {}) if is_holder else {name: each}).items():
            if result.setdefault(key, member) != member:
                raise CannotMigrate(path, f"has two values of {key}")
    if result.keys() == claim.keys():
        return claim
    _insist_on_valid(result, path, server)
    return result


def _insist_on_valid(claim: dict[str, Any], path: Path, server: Server) -> None:
    """That the API server accepts a claim of a pod.

    :raises CannotMigrate: if it refuses it.
    """
    request = create_request({**_POD, "spec": {**_POD["spec"], _CLAIMS: [claim]}}, "default")
    # fields that no release knows were as wrong before
    answer = server.handle(request._replace(field_validation=WARN))
    place = ("spec", _CLAIMS, 0)
    for error in answer.errors:
        raise CannotMigrate((*path, *error.path[len(place) :]), f"would be refused: {error.message}")
    if not answer.accepted:
        raise CannotMigrate((*path, *answer.path[len(place) :]), f"would be refused: {answer.message}")


def _holds_names(value: Any) -> bool:
    return isinstance(value, dict) and all(name in _NAMES for name in value)


def _container(container: Any, path: Path, remarks: Remarks) -> Any:
    """``claims: ["gpu"]`` becomes ``claims: [{name: gpu}]``."""
    resources = mapping(container, "resources")
    claims = entries(resources, "claims")
    if not any(isinstance(each, str) for each in claims):
        return container
    remarks.note((*path, "resources", "claims"), "the claims of a container are mappings with a name")
    named = [{"name": each} if isinstance(each, str) else each for each in claims]
    return {**container, "resources": {**resources, "claims": named}}

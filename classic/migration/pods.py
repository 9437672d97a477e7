"""Pods and what holds a pod template: the names of claims and templates, which were in a ``source``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from classic.migration.kinds import is_misplaced_workload, workload_version
from resourceapi.manifests import CONTAINERS, entries, mapping, text

if TYPE_CHECKING:
    from classic.migration.remarks import Remarks
    from resourceapi.field_path import Path

#: What held the names, in 1.26 to 1.30, and in early texts.
_HOLDERS = ("source", "template", "claim")
_NAMES = ("resourceClaimName", "resourceClaimTemplateName")
#: Pod specs deeper than that are in no kind of workload.
_MAX_DEPTH = 30


def migrate_pods(value: dict[str, Any], remarks: Remarks) -> dict[str, Any]:
    """The object with every pod spec in it as it is written today; the same if there is nothing to change."""
    if is_misplaced_workload(value):
        version = workload_version(text(value, "kind"))
        remarks.note(("apiVersion",), f"a {value['kind']} is of {version}")
        value = {**value, "apiVersion": version}
    migrated = _walk(value, (), remarks)
    assert isinstance(migrated, dict)
    return migrated


def _walk(value: Any, path: Path, remarks: Remarks) -> Any:
    if len(path) > _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        changed = {name: _walk(each, (*path, name), remarks) for name, each in value.items()}
        if any(changed[name] is not each for name, each in value.items()):
            value = changed
        if isinstance(value.get("containers"), list):
            value = _pod_spec(value, path, remarks)
    elif isinstance(value, list):
        items = [_walk(each, (*path, index), remarks) for index, each in enumerate(value)]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            value = items
    return value


def _pod_spec(spec: dict[str, Any], path: Path, remarks: Remarks) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    claims = spec.get("resourceClaims")
    if isinstance(claims, list):
        migrated = [
            _claim(each, (*path, "resourceClaims", index), remarks) for index, each in enumerate(claims)
        ]
        if any(new is not old for new, old in zip(migrated, claims, strict=True)):
            changed["resourceClaims"] = migrated
    for name in CONTAINERS:
        containers = spec.get(name)
        if isinstance(containers, list):
            migrated = [_container(each, (*path, name, i), remarks) for i, each in enumerate(containers)]
            if any(new is not old for new, old in zip(migrated, containers, strict=True)):
                changed[name] = migrated
    return {**spec, **changed} if changed else spec


def _claim(claim: Any, path: Path, remarks: Remarks) -> Any:
    """``source: {resourceClaimName: a}`` becomes ``resourceClaimName: a``."""
    if not isinstance(claim, dict):
        return claim
    result: dict[str, Any] = {}
    for name, each in claim.items():
        if name not in _HOLDERS or not (each is None or _holds_names(each)):
            result.setdefault(name, each)
            continue
        if name != "source":
            remarks.note((*path, name), "no release had this field; its names are taken from there")
        result.update(each if isinstance(each, dict) else {})
    return result if result.keys() != claim.keys() else claim


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

"""Rights of the service's account: what it needs, and what manifests grant it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from resourceapi.objects import Object
from tests.case_files import read_yaml

Right = tuple[str, str, str, str, str]
"""Group, resource, verb, and the namespace and name that it is limited to."""
Account = tuple[str, str]
"""Namespace and name."""
SERVICE: Account = ("claimcheck-system", "claimcheck")
MODES = ("built-in-guard", "built-in-guard-with-quota", "crd-served")
"""Of which manifests: the modes, and that in which quota is left to an option."""
INJECTOR: Account = ("claimcheck-system", "claimcheck-ca")


def needed(mode: str) -> frozenset[Right]:
    """What the service asks for, with the configuration of that mode; what the injector does, with `injector-` before it."""
    entries = read_yaml(Path(__file__).with_name("rights.yaml"))[mode]
    return frozenset(
        (entry.get("group", ""), entry["resource"], verb, entry.get("namespace", ""), name)
        for entry in _flat(entries)
        for verb in entry["verbs"]
        for name in entry.get("names", [""])
    )


def _flat(entries: list[Any]) -> Iterator[Object]:
    for entry in entries:
        if isinstance(entry, list):
            yield from _flat(entry)
        else:
            yield entry


def granted(objects: list[Object], account: Account = SERVICE) -> frozenset[Right]:
    """What the roles allow that the account is bound to."""
    bound = {
        _role_of(obj) for obj in objects if obj["kind"].endswith("RoleBinding") and _is_for(obj, account)
    }
    return frozenset(
        (group, resource, verb, obj["metadata"].get("namespace", ""), name)
        for obj in objects
        if (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) in bound
        for rule in obj["rules"]
        for group in rule.get("apiGroups", [""])
        for resource in rule.get("resources", rule.get("nonResourceURLs", ()))
        for verb in rule["verbs"]
        for name in rule.get("resourceNames") or [""]
    )


def _role_of(binding: Object) -> tuple[str, str, str]:
    role = binding["roleRef"]
    return role["kind"], binding["metadata"].get("namespace", ""), role["name"]


def _is_for(binding: Object, account: Account) -> bool:
    subjects: Iterable[Object] = binding["subjects"]
    return any(
        (subject["kind"], subject["namespace"], subject["name"]) == ("ServiceAccount", *account)
        for subject in subjects
    )

"""Whether kubectl knows what an object is: its kind and version, and which documents are lists of others."""

from __future__ import annotations

import re

from resourceapi import builtin_kinds, runtime_config
from resourceapi.field_path import Path
from resourceapi.go_text import json_text, quote
from resourceapi.key_order import with_sorted_keys
from resourceapi.kinds import kinds_of
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile, split_api_version
from resourceapi.request_body import scheme_in

_LIST = "List"
_KUBECONFIG = ("v1", "Config")
_KUSTOMIZE_PLUGIN = "builtin"  # the apiVersion of its transformers and generators
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
# What a CRD can have for its group and version.
_is_custom = re.compile(rf"{_LABEL}(?:\.{_LABEL})+/(?=[a-z]){_LABEL}", re.ASCII).fullmatch
NOT_FOUND = "the server could not find the requested resource"


def is_typed(value: Object) -> bool:
    """Whether a document says what it is, rightly or not."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    return bool(api_version and kind and isinstance(api_version, str) and isinstance(kind, str))


def is_manifest(value: Object) -> bool:
    """Whether a document was meant for Kubernetes, or looks like it: other tools write ``apiVersion`` and ``kind``, too."""
    if not is_typed(value) or (value["apiVersion"], value["kind"]) == _KUBECONFIG:
        return False
    if value["apiVersion"] == _KUSTOMIZE_PLUGIN:
        return False
    api_version = value["apiVersion"].strip().lower()
    return split_api_version(api_version)[0] in builtin_kinds.GROUPS or bool(_is_custom(api_version))


def is_of_kubernetes(value: Object) -> bool:
    """Whether a document has a group of Kubernetes itself, or a group or version that no CRD can have."""
    api_version = str(value["apiVersion"])
    return split_api_version(api_version)[0] in builtin_kinds.GROUPS or not _is_custom(api_version)


def is_known(value: Object, profile: Profile) -> bool:
    """Whether a server has the kind of a typed document; of other groups than Kubernetes' own, everything is taken to be there."""
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    if not is_of_kubernetes(value):
        return True
    return builtin_kinds.is_served(api_version, kind, profile)


def is_preview(value: Object) -> bool:
    """Whether a document is in an alpha or beta version, which a cluster may serve or not."""
    return not runtime_config.is_served(split_api_version(str(value["apiVersion"]))[1], "", {})


def refusal(value: Object, profile: Profile) -> tuple[str, Path]:
    """What kubectl says of a document of which it does not know what it is, and the field that this is about."""
    problems = {key: _problem(key, value.get(key)) for key in ("apiVersion", "kind")}
    found = [problem for problem in problems.values() if problem]
    if found:
        field = next(key for key, problem in problems.items() if problem)
        return (found[0] if len(found) == 1 else f"[{', '.join(found)}]"), (field,)
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    if not kind:
        return f"Object 'Kind' is missing in '{json_text(with_sorted_keys(value))}'", ("kind",)
    if api_version in ("", "/"):
        return NOT_FOUND, ("apiVersion",)
    if meant := _spelt_otherwise(api_version, kind, profile):
        body = f"{kind} in version {quote(split_api_version(api_version)[1])}"
        known = f"no kind {quote(kind)} is registered for version {quote(api_version)} in scheme {quote(scheme_in(profile.minor))}"
        return f"{body} cannot be handled as a {meant}: {known}", ("kind",)
    return f'no matches for kind "{kind}" in version "{api_version}"', ("apiVersion",)


def _problem(key: str, value: object) -> str:
    if value is None:
        return f"{key} not set"
    if not isinstance(value, str):
        return f"{key} isn't string type"
    return f"unexpected GroupVersion string: {value}" if key == "apiVersion" and value.count("/") > 1 else ""


def _spelt_otherwise(api_version: str, kind: str, profile: Profile) -> str:
    group, version = split_api_version(api_version)
    if group not in (GROUP, OWN_GROUP):
        return builtin_kinds.spelt_otherwise(api_version, kind, profile)
    rows = kinds_of(profile).values()
    served = [row.name for row in rows if version in row.versions and row.served_by(version, profile, group)]
    return next((name for name in served if name.lower() == kind), "")


def is_list(value: Object, profile: Profile) -> bool:
    """Whether kubectl takes a document for a list: for that it looks at ``items`` alone, but it has to know the kind."""
    if not is_typed(value):
        return False
    api_version, kind = str(value["apiVersion"]), str(value["kind"])
    listed = kind.removesuffix(_LIST)
    if listed == kind and "items" not in value:
        return False
    if not is_of_kubernetes(value):
        return listed != kind
    if split_api_version(api_version)[0] == GROUP:  # whether it has the version is a question about each item
        return listed in ("", *kinds_of(profile)) or listed != kind
    if not listed:
        return builtin_kinds.has_version(api_version, profile)
    return builtin_kinds.is_served(api_version, listed, profile)

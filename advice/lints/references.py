"""CC002 to CC005: names of objects that do not exist, which the server does not check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from advice.lints.facts import Facts, Named
from advice.lints.table import (
    UNKNOWN_CLAIM,
    UNKNOWN_CLASS,
    UNKNOWN_REQUEST,
    UNKNOWN_TEMPLATE,
    Lint,
    Warning,
)
from resourceapi.field_path import Path
from resourceapi.manifests import containers, entries, pod_spec, request_details, text
from resourceapi.nearness import did_you_mean

ADD = "add its file, or give the cluster's objects with --inventory DIR"


def check_classes(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about the classes that a claim or template names and that are not among the objects."""
    for path, details in request_details(manifest):
        name = text(details, "deviceClassName")
        if name and name not in facts.classes:
            yield Warning(
                UNKNOWN_CLASS.code,
                (*path, "deviceClassName"),
                f'DeviceClass "{name}" is not among the given objects',
                did_you_mean(name, sorted(facts.classes)) or ADD,
            )


def check_pod(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about templates, claims and requests that a pod or workload names and that are not among the objects."""
    path, spec = pod_spec(manifest)
    claims = entries(spec, "resourceClaims")
    if not claims:
        return
    namespace = facts.namespace_of(manifest)
    requests: dict[str, frozenset[str]] = {}
    for index, claim in enumerate(claims):
        at = (*path, "resourceClaims", index)
        for key, kind, known, lint in (
            ("resourceClaimTemplateName", "ResourceClaimTemplate", facts.templates, UNKNOWN_TEMPLATE),
            ("resourceClaimName", "ResourceClaim", facts.claims, UNKNOWN_CLAIM),
        ):
            name = text(claim, key)
            if not name:
                continue
            if (namespace, name) in known:
                requests[text(claim, "name")] = known[namespace, name]
            else:
                yield _missing(lint, (*at, key), kind, namespace, name, known)
    yield from _check_requests(spec, path, requests)


def _check_requests(
    spec: dict[str, Any], path: Path, requests: dict[str, frozenset[str]]
) -> Iterator[Warning]:
    for place, container in containers(spec):
        resources = container.get("resources")
        for index, claim in enumerate(entries(resources, "claims")):
            known, request = requests.get(text(claim, "name")), text(claim, "request")
            if known is not None and request and "/" not in request and request not in known:
                yield Warning(
                    UNKNOWN_REQUEST.code,
                    (*path, *place, "resources", "claims", index, "request"),
                    f'the claim "{text(claim, "name")}" has no request "{request}"',
                    did_you_mean(request, sorted(known))
                    or "its requests: " + ", ".join(f"`{name}`" for name in sorted(known)),
                )


def _missing(
    lint: Lint, path: Path, kind: str, namespace: str, name: str, known: Mapping[Named, frozenset[str]]
) -> Warning:
    elsewhere = sorted(where for where, other in known if other == name)
    if elsewhere:
        hint = f"there is one in namespace {elsewhere[0]}, but a pod can only use those of its own namespace"
    else:
        hint = did_you_mean(name, sorted(other for where, other in known if where == namespace)) or ADD
    message = f'{kind} "{name}" is not among the given objects in namespace {namespace}'
    return Warning(lint.code, path, message, hint)

"""CC002 to CC005: names of objects that do not exist, which the server does not check.

With an inventory or a cluster every object is known, and a name that none has is a mistake. Files alone are rarely the
whole cluster: the object may be in other files, come with a driver, or be made by a controller. There an unknown name is
noted, and a mistake only with a sign of one: it is almost the name of an object, or the name of one in another namespace
in the same file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import CLASSIC_CLASS, Facts
from advice.lints.named_objects import NamedObjects
from advice.lints.table import (
    UNKNOWN_CLAIM,
    UNKNOWN_CLASS,
    UNKNOWN_REQUEST,
    UNKNOWN_TEMPLATE,
    Lint,
    Warning,
)
from resourceapi.field_errors import Path
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, DEVICE_CLASS, claim_spec_of, kinds_of
from resourceapi.manifests import containers, entries, mapping, pod_spec, request_details, text
from resourceapi.phrases import did_you_mean

ADD = "add its file, or give the cluster's objects with --inventory DIR"


class _Reference:
    """The name of an object of one kind in a field."""

    def __init__(
        self, lint: Lint, kind: str, known: NamedObjects, namespace: str, facts: Facts, file: str
    ) -> None:
        self.lint = lint
        self.kind = kind
        self.known = known
        self.namespace = namespace
        self.facts = facts
        self.file = file

    def check(self, name: str, path: Path) -> Iterator[Warning]:
        """Warn if there is no such object, or note it if there may be one elsewhere."""
        known, facts = self.known, self.facts
        if known.has(self.namespace, name):
            return
        meant = known.meant_by(self.namespace, name)
        if not meant and facts.renaming.gives(name, known, self.namespace):
            return
        elsewhere = known.namespaces(name)
        if elsewhere and facts.renaming.sets_namespace(self.file):
            return
        is_complete = facts.knows_all(self.kind, self.namespace)
        beside = sorted(where for where, named in elsewhere.items() if self.file in named.files)
        if beside or (is_complete and elsewhere):
            where = (beside or sorted(elsewhere))[0]
            hint = f"there is one in namespace {where}, but a pod can only use those of its own namespace"
        elif is_complete:
            hint = did_you_mean(name, sorted(known.names(self.namespace))) or self._where_to_look()
        else:
            hint = f"did you mean `{meant}`?" if meant else self._where_to_look()
        message = f'{self.kind} "{name}" is not {self._where(is_live=facts.is_live and is_complete)}'
        is_note = not (is_complete or meant or beside)
        yield Warning(self.lint.code, path, message, hint, is_note=is_note)

    def _where(self, *, is_live: bool) -> str:
        if is_live:
            return f"in namespace {self.namespace} of the cluster" if self.namespace else "in the cluster"
        return "among the given objects" + (f" in namespace {self.namespace}" if self.namespace else "")

    def _where_to_look(self) -> str:
        if not self.facts.is_live:
            return ADD
        from shlex import quote

        options = f" --namespace {quote(self.namespace)}" if self.namespace else ""
        return f"create it first, or use one that is there: `kubectl get {kinds_of(self.facts.profile)[self.kind].resource}{options}`"


def check_classes(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about the classes that a claim or template names and that are not among the objects."""
    if not facts.classes and DEVICE_CLASS.name not in facts.complete:
        return  # classes come with the driver: without any, there is nothing to say about one
    reference = _Reference(UNKNOWN_CLASS, DEVICE_CLASS.name, facts.classes, "", facts, "")
    for path, details in request_details(manifest):
        name = text(details, "deviceClassName")
        if name:
            yield from reference.check(name, (*path, "deviceClassName"))


def check_classic_class(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """The same for the class of classic DRA that a claim or template names."""
    path = claim_spec_of(text(manifest, "kind"))
    if path is None or not facts.classes:
        return
    name = text(mapping(manifest, *path), "resourceClassName")
    if name:
        reference = _Reference(UNKNOWN_CLASS, CLASSIC_CLASS, facts.classes, "", facts, "")
        yield from reference.check(name, (*path, "resourceClassName"))


def check_pod(manifest: dict[str, Any], facts: Facts, file: str) -> Iterator[Warning]:
    """Warn about templates, claims and requests that a pod or workload names and that are not among the objects."""
    path, spec = pod_spec(manifest)
    claims = entries(spec, "resourceClaims")
    if not claims:
        return
    namespace = facts.namespace_of(manifest)
    fields = {
        "resourceClaimTemplateName": _Reference(
            UNKNOWN_TEMPLATE, CLAIM_TEMPLATE.name, facts.templates, namespace, facts, file
        ),
        "resourceClaimName": _Reference(UNKNOWN_CLAIM, CLAIM.name, facts.claims, namespace, facts, file),
    }
    requests: dict[str, frozenset[str]] = {}
    for index, claim in enumerate(claims):
        source = ("source",) if facts.profile.is_classic else ()
        for field, reference in fields.items():
            name = text(mapping(claim, *source), field)
            if not name:
                continue
            if reference.known.has(namespace, name):
                requests[text(claim, "name")] = reference.known.requests(namespace, name)
            else:
                yield from reference.check(name, (*path, "resourceClaims", index, *source, field))
    yield from _check_requests(spec, path, requests)


def _check_requests(
    spec: dict[str, Any], path: Path, requests: dict[str, frozenset[str]]
) -> Iterator[Warning]:
    for place, container in containers(spec):
        resources = container.get("resources")
        for index, claim in enumerate(entries(resources, "claims")):
            known, request = requests.get(text(claim, "name")), text(claim, "request")
            if known and request and "/" not in request and request not in known:
                yield Warning(
                    UNKNOWN_REQUEST.code,
                    (*path, *place, "resources", "claims", index, "request"),
                    f'the claim "{text(claim, "name")}" has no request "{request}"',
                    did_you_mean(request, sorted(known))
                    or "its requests: " + ", ".join(f"`{name}`" for name in sorted(known)),
                )

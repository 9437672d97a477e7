"""What Kubernetes 1.30 checks about the claims of a pod, each of which has its source in a struct of its own."""

from __future__ import annotations

from resourceapi.field_errors import DUPLICATE, REQUIRED, Path, Verbatim
from resourceapi.go_syntax import go_syntax
from resourceapi.measured import CLASSIC_MINOR
from resourceapi.model import workloads
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks

CLAIM, TEMPLATE = "resourceClaimName", "resourceClaimTemplateName"
_BOTH_SOURCES = f"at most one of `{CLAIM}` or `{TEMPLATE}` may be specified"
_NO_SOURCE = f"must specify one of: `{CLAIM}`, `{TEMPLATE}`"


def check_pod_claims(claims: list[Object], meta: Object | None, path: Path, checks: Checks) -> None:
    """``meta``: the metadata of a pod; None for a template."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at: Path = (*path, index)
        name, source = claim.get("name", ""), claim.get("source", EMPTY)
        if not name:
            checks.report(REQUIRED, (*at, "name"))
        elif name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        else:
            _check_name(name, source, meta, (*at, "name"), checks)
            seen.add(name)
        _check_source(source, (*at, "source"), checks)


def _check_name(name: str, source: Object, meta: Object | None, path: Path, checks: Checks) -> None:
    """A claim made from a template is named after the pod and the entry."""
    problems = formats.dns_label(name)
    checks.problems(problems, path)
    if problems or meta is None or TEMPLATE not in source:
        return
    full_name = f"{meta.get('name', '')}-{name}"
    for problem in formats.dns_subdomain(full_name):
        checks.invalid(path, full_name, f"final ResourceClaim name: {problem.detail}")


def _check_source(source: Object, path: Path, checks: Checks) -> None:
    named = [name for name in (CLAIM, TEMPLATE) if name in source]
    if len(named) != 1:
        shown = Verbatim(go_syntax(workloads.schema(CLASSIC_MINOR), "ClaimSource", source, package="core"))
        checks.invalid(path, shown, _BOTH_SOURCES if named else _NO_SOURCE)
    for name in named:
        checks.problems(formats.dns_subdomain(source[name]), (*path, name))

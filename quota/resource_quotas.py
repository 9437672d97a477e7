"""ResourceQuota objects: reading them as the server does, and refusing those that it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from resourceapi.decoding import Decoded
from resourceapi.encoding import encode, go_json
from resourceapi.field_errors import REQUIRED, Key, Path, TooManyErrors, Verbatim
from resourceapi.model.quotas import KIND, SCHEMA, SCOPES
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import ZERO, Amounts
from resourceapi.request_body import BadRequest
from resourceapi.request_body import read as read_body
from resourceapi.schema import Schema
from validation import formats, statuses
from validation.checks import Checks
from validation.object_meta import check_metadata
from validation.pod_defaults import round_to_milli
from validation.pod_resources import COUNTED, HUGE_PAGES, STANDARD_RESOURCES, check_resource_name, is_extended
from validation.requests import Answer, Request
from validation.server import Server

SPEC: Path = ("spec",)
_COMPUTE = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
_OF_PODS = _COMPUTE | {"pods"}
# The standard resources that a quota restricted to a scope can limit.
_SCOPES = {
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "BestEffort": frozenset(("pods",)),
    "NotBestEffort": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
    "CrossNamespacePodAffinity": _OF_PODS,
}
_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)


class ResourceQuota(NamedTuple):
    """A quota and what is used of it.

    ``hard``: the limits.  ``used``: what is used of each of them.  ``scopes``: selectors to which the quota is
    restricted (entries of ``spec.scopeSelector.matchExpressions``; ``spec.scopes`` as such).
    """

    name: str
    namespace: str
    hard: Amounts
    used: Amounts
    scopes: tuple[Object, ...] = ()
    uid: str = ""


def review(server: Server, value: Any, namespace: str) -> Answer:
    """The server's answer when a ResourceQuota (JSON) is created in a namespace."""
    request = Request(api_version="v1", kind=KIND, namespace=namespace, body=value)
    try:
        quota = _decoded(value).object
    except BadRequest as refusal:
        return statuses.bad_request(str(refusal), path=refusal.path, decoding=refusal.problems)
    refused = statuses.identify_new(quota, request, namespaced=True)
    if refused is not None:
        return refused
    quota.pop("status", None)
    checks = server.checks()
    with suppress(TooManyErrors):
        check_metadata(quota, checks, namespaced=True)
        check_spec(quota.get("spec", EMPTY), checks)
    if checks.errors:
        return statuses.invalid(KIND, quota["metadata"].get("name", ""), checks.errors, "")
    build = {"kind": KIND, "apiVersion": "v1", **encode(SCHEMA, KIND, quota)}
    return Answer(201, build=lambda: build)


def from_object(value: Any) -> ResourceQuota:
    """A quota with its usage, from an object (JSON) that :func:`review` accepts or that a server has stored.

    Limits are those of the spec; what the status says is used of them counts, all else is unused.
    """
    quota = _decoded(value).object
    spec, metadata = quota.get("spec", EMPTY), quota.get("metadata", EMPTY)
    status = quota.get("status", EMPTY)
    hard: Amounts = spec.get("hard") or {}
    used: Amounts = status.get("used") or {}
    return ResourceQuota(
        metadata.get("name", ""),
        metadata.get("namespace", ""),
        hard,
        {name: used.get(name, ZERO) for name in hard},
        tuple(_selectors(spec)),
        metadata.get("uid", ""),
    )


def check_spec(spec: Object, checks: Checks) -> None:
    """Names and values of the limits, and whether the scopes go together with them and each other."""
    for name, amount in (spec.get("hard") or {}).items():
        path: Path = (*SPEC, "hard", Key(name))
        check_resource_name(name, path, checks)
        if "/" not in name and not _is_standard(name):
            checks.invalid(path, name, "must be a standard resource for quota")
        if amount.sign() < 0:
            checks.invalid(path, str(amount), formats.NOT_NEGATIVE)
        if (name in COUNTED or is_extended(name)) and amount.milli_value() % 1000:
            checks.invalid(path, str(amount), "must be an integer")
    _check_scopes(spec, checks)
    if "scopeSelector" in spec:
        _check_selector(spec, checks)


def _decoded(value: Any) -> Decoded:
    decoded = read_body(body=value, api_version="v1", kind=KIND, schema_of=_schema_of)
    for part, name in (("spec", "hard"), ("status", "hard"), ("status", "used")):
        round_to_milli(decoded.object.get(part, {}), name)
    return decoded


def _schema_of(group: str, version: str, kind: str) -> Schema | None:
    return SCHEMA if (group, version, kind) == ("", "v1", KIND) else None


def _selectors(spec: Object) -> Iterator[Object]:
    for scope in spec.get("scopes") or ():
        yield {"scopeName": scope, "operator": "Exists"}
    yield from spec.get("scopeSelector", EMPTY).get("matchExpressions") or ()


def _is_standard(name: str) -> bool:
    is_page = name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))
    return is_page or (name in STANDARD_RESOURCES and name != "storage")


def _check_scopes(spec: Object, checks: Checks) -> None:
    scopes: list[str] = spec.get("scopes") or []
    path: Path = (*SPEC, "scopes")
    shown = checks.internal(SCOPES, scopes)
    for scope in scopes:
        if scope not in _SCOPES:
            checks.invalid(path, shown, "unsupported scope")
        for _ in _out_of_scope(scope, spec):
            checks.invalid(path, shown, "unsupported scope applied to resource")
    for pair in _CONFLICTING:
        if set(pair) <= set(scopes):
            checks.invalid(path, shown, "conflicting scopes")


def _check_selector(spec: Object, checks: Checks) -> None:
    path: Path = (*SPEC, "scopeSelector", "matchExpressions")
    selector = spec["scopeSelector"]
    expressions = selector.get("matchExpressions") or []
    for expression in expressions:
        scope = expression.get("scopeName", "")
        if scope not in _SCOPES:
            checks.invalid((*path, "scopeName"), scope, "unsupported scope")
        for _ in _out_of_scope(scope, spec):
            shown = Verbatim(go_json(SCHEMA, "ScopeSelector", selector, internal=True))
            checks.invalid(path, shown, "unsupported scope applied to resource")
        _check_operator(expression, scope, path, checks)
    scopes = {expression.get("scopeName", "") for expression in expressions}
    for pair in _CONFLICTING:
        if set(pair) <= scopes:
            shown = checks.internal(SCOPES, spec.get("scopes"))
            checks.invalid(path, shown, "conflicting scopes")


def _check_operator(expression: Object, scope: str, path: Path, checks: Checks) -> None:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if scope in _SCOPES and scope not in ("PriorityClass", "VolumeAttributesClass") and operator != "Exists":
        checks.invalid((*path, "operator"), operator, _ONLY_EXISTS)
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            checks.report(REQUIRED, (*path, "values"), "", detail)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            checks.invalid((*path, "values"), checks.internal(SCOPES, values), detail)
    else:
        checks.invalid((*path, "operator"), operator, "not a valid selector operator")


def _out_of_scope(scope: str, spec: Object) -> Iterator[str]:
    """The standard resources that a quota of this scope cannot limit."""
    allowed = _SCOPES.get(scope)
    if allowed is not None:
        yield from (
            name for name in sorted(spec.get("hard") or {}) if _is_standard(name) and name not in allowed
        )

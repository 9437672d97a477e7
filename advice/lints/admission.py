"""CC025: admission policies and webhooks about DRA objects of versions that the server does not have, or their fields.

A rule matches requests in the versions that it names and, with the matchPolicy Equivalent, requests in others that the server can
convert to one of these, if it *serves* that one. With no such version the policy is never asked. And `has(e.adminAccess)` is false
of every object of a version in which the field has moved. Either way what the policy should refuse is let in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from advice.lints.table import FORMER_VERSION, Warning
from resourceapi.field_errors import Path, Segment
from resourceapi.kinds import CLAIM, KINDS
from resourceapi.limits import CEL_EXPRESSION_BYTES
from resourceapi.manifests import entries, mapping, text
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from advice.hints.hint import Change
    from advice.lints.facts import Facts
    from resourceapi.kind import Kind
    from resourceapi.releases import Profile

_ALL = "*"
_EXACT = "Exact"
_BY_RESOURCE = {kind.resource: kind for kind in KINDS.values()}
_WEBHOOKS = frozenset(("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"))
_MOST_EXPRESSIONS = 200


class _Rule:
    """A rule about DRA objects."""

    def __init__(self, path: Path, rule: Any, kinds: list[Kind], profile: Profile) -> None:
        self.path: Path = (*path, "apiVersions")
        self.kind = kinds[0]
        self.has_one_kind = len(kinds) == 1
        self.named = [each for each in entries(rule, "apiVersions") if isinstance(each, str)]
        self.served = [version for version in self.kind.versions if self.kind.served_by(version, profile)]
        #: the versions in which objects get to it
        self.matched = [each for each in self.served if each in self.named or _ALL in self.named]


def check(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about the rules and expressions of a policy or webhook configuration that are for former versions."""
    if manifest.get("kind") in _WEBHOOKS:
        for index, webhook in enumerate(entries(manifest, "webhooks")):
            at: Path = ("webhooks", index)
            rules = list(_rules((*at, "rules"), entries(webhook, "rules"), facts.profile))
            yield from _check(at, webhook, rules, text(webhook, "matchPolicy"), facts.profile)
        return
    spec = mapping(manifest, "spec")
    for field in ("matchConstraints", "matchResources"):  # the second of bindings
        constraints = mapping(spec, field)
        at = ("spec", field, "resourceRules")
        rules = list(_rules(at, entries(constraints, "resourceRules"), facts.profile))
        yield from _check(("spec",), spec, rules, text(constraints, "matchPolicy"), facts.profile)


def _rules(path: Path, rules: list[Any], profile: Profile) -> Iterator[_Rule]:
    for index, rule in enumerate(rules):
        groups = entries(rule, "apiGroups")
        if GROUP not in groups and _ALL not in groups:
            continue
        named = [each.partition("/")[0] for each in entries(rule, "resources") if isinstance(each, str)]
        kinds = [_BY_RESOURCE[each] for each in dict.fromkeys(named) if each in _BY_RESOURCE]
        if not kinds and GROUP in groups and _ALL in named:
            kinds = [CLAIM, *(kind for kind in KINDS.values() if kind is not CLAIM)]
        if kinds:
            found = _Rule((*path, index), rule, kinds, profile)
            if found.served:
                yield found


def _check(at: Path, holder: Any, rules: list[_Rule], policy: str, profile: Profile) -> Iterator[Warning]:
    """The warnings about rules, and about the expressions for the objects that they match."""
    kinds = {rule.kind.name for rule in rules if rule.has_one_kind}
    versions = {version for rule in rules for version in rule.matched or rule.served[:1]}
    found: list[Warning] = []
    if len(kinds) == 1 and all(rule.has_one_kind for rule in rules):
        found = list(_check_expressions(at, holder, kinds.pop(), versions, rules[0].served[0], profile))
    rewritten: tuple[Change, ...] = tuple(change for warning in found for change in warning.changes)
    is_fixable = all(warning.changes for warning in found)
    for rule in rules:
        newest = rule.served[0]
        if not rule.matched:
            message = (
                f"nothing matches this rule: Kubernetes {profile.name} serves {rule.kind.resource} in "
                f"{' and '.join(rule.served)} only, so that every request passes"
            )
        elif policy == _EXACT and (missing := [each for each in rule.served if each not in rule.matched]):
            message = f"with the matchPolicy Exact, requests in {' and '.join(missing)} pass without being looked at"
        else:
            continue
        hint = f'write `apiVersions: ["{newest}"]`'
        changes: tuple[Change, ...] = ((rule.path, [newest]),)
        if rule.matched:
            hint += " and leave out the matchPolicy, so that all requests are converted to it"
            changes = ()
        yield Warning(
            FORMER_VERSION.code,
            rule.path,
            message,
            hint,
            changes=(*changes, *rewritten) if changes and is_fixable else (),
        )
    yield from found


def _check_expressions(
    at: Path, holder: Any, kind: str, versions: set[str], newest: str, profile: Profile
) -> Iterator[Warning]:
    from advice.lints.moved_fields import Reader

    readers = [Reader(profile.schemas, version, kind) for version in sorted(versions)]
    writer = Reader(profile.schemas, newest, kind)
    for path, expression in _expressions(at, holder):
        if "object" not in expression.lower() and "variables" not in expression:
            continue
        variable = text(_parent(holder, path, at), "name")
        fixed = writer.rewritten(expression, variable)
        for problem in filter(None, [reader.problem(expression, variable) for reader in readers]):
            hint = f"for {newest}, write `{fixed}`" if fixed else problem.hint
            change = ((path, fixed),) if fixed and versions == {newest} else ()
            yield Warning(
                FORMER_VERSION.code, path, problem.message, hint, stretch=problem.stretch, changes=change
            )
            break


def _expressions(at: Path, holder: Any) -> Iterator[tuple[Path, str]]:
    """The expressions about an object that is admitted."""
    left = _MOST_EXPRESSIONS
    for field, key in (
        ("variables", "expression"),
        ("matchConditions", "expression"),
        ("validations", "expression"),
        ("validations", "messageExpression"),
        ("auditAnnotations", "valueExpression"),
    ):
        for index, each in enumerate(entries(holder, field)):
            expression = text(each, key)
            if expression and len(expression) <= CEL_EXPRESSION_BYTES and left:
                left -= 1
                yield (*at, field, index, key), expression


def _parent(holder: Any, path: Path, at: Path) -> Any:
    """What an expression stands in."""
    value = holder
    segment: Segment
    for segment in path[len(at) : -1]:
        value = value[segment]
    return value if path[len(at)] == "variables" else {}

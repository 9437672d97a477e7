"""CC025: admission policies and webhooks about DRA objects of versions that the server does not have, or their fields.

A rule matches requests in the versions that it names and, with the matchPolicy Equivalent, requests in others that the server can
convert to one of these, if it *serves* that one. With no such version the policy is never asked. And `has(e.adminAccess)` is false
of every object of a version in which the field has moved. Either way what the policy should refuse is let in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from advice.lints.table import FORMER_VERSION, Warning
from deviceselectors.ast import Call, Comprehension, Ident, Literal, Node, Select
from deviceselectors.issues import Issues, Source
from deviceselectors.lookups import children
from deviceselectors.parser import parse
from resourceapi.decoding import fields_of
from resourceapi.field_errors import Path, Segment
from resourceapi.kinds import CLAIM, KINDS
from resourceapi.limits import CEL_EXPRESSION_BYTES
from resourceapi.manifests import entries, mapping, text
from resourceapi.model.versions import GROUP
from resourceapi.schema import Field, Schema, Type, ref

if TYPE_CHECKING:
    from advice.hints.hint import Change
    from advice.lints.facts import Facts
    from resourceapi.kind import Kind
    from resourceapi.releases import Profile


_OBJECTS = frozenset(("object", "oldObject"))
_VARIABLES = "variables"
_METADATA = frozenset(("metadata", "apiVersion", "kind"))
# What may stand beside `a && b` without changing what it means.
_BEFORE, _AFTER = ("(", ",", "&&", "||", "?", ":"), (")", ",", "&&", "||", "?", ":")


class ExpressionProblem(NamedTuple):
    """A field that objects of a version do not have where an expression looks for it."""

    message: str
    hint: str
    stretch: tuple[int, int]


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


class Reader:
    """Reads the expressions of a policy for objects of one version and kind, in their order.

    :param schemas: those of all versions that the release has.
    """

    def __init__(self, schemas: Mapping[str, Schema], version: str, kind: str) -> None:
        self._schemas = schemas
        self._schema = schemas[version]
        self._version = version
        self._kind = kind
        self._variables: dict[str, Type | None] = {}
        self._text = ""
        self._problems: list[ExpressionProblem] = []
        self._edits: list[_Edit | None] = []

    def problem(self, expression: str, variable: str = "") -> ExpressionProblem | None:
        """The first field that is not there.

        :param variable: the name of the variable that the expression is the value of, if it is.
        """
        self._text, self._problems, self._edits = expression, [], []
        issues = Issues(Source(expression))
        root = parse(issues)
        if issues.count:
            return None
        found = self._type(root, {})
        if variable:
            self._variables[variable] = found
        return self._problems[0] if self._problems else None

    def rewritten(self, expression: str, variable: str = "") -> str:
        """The expression for objects of this version; empty if that takes more than to look for fields where they are."""
        if self.problem(expression, variable) is None:
            return expression
        edits = [edit for edit in dict.fromkeys(self._edits) if edit is not None]
        if len(edits) != len(dict.fromkeys(self._edits)):
            return ""
        edits.sort()
        if any(before.end > after.start for before, after in pairwise(edits)):
            return ""
        for edit in reversed(edits):
            expression = expression[: edit.start] + edit.text + expression[edit.end :]
        return expression if self.problem(expression) is None else ""

    def _type(self, node: Node, scope: Mapping[str, Type | None]) -> Type | None:
        """The type of a value; None for one that is no part of the object."""
        if isinstance(node, Select):
            return self._member(node, self._type(node.operand, scope), node.field, scope)
        if isinstance(node, Ident):
            if node.name in scope:
                return scope[node.name]
            return ref(self._kind) if node.name in _OBJECTS else None
        if isinstance(node, Call):
            parts = [
                self._type(each, scope) for each in (*((node.target,) if node.target else ()), *node.args)
            ]
            if node.function == "_[_]" and parts[0] is not None:
                return parts[0].element
            if node.function == "_?._" and isinstance(node.args[1], Literal):
                return self._member(node, parts[0], str(node.args[1].value), scope)
            return parts[0] if node.function in ("orValue", "value") and parts else None
        if isinstance(node, Comprehension):
            found = self._type(node.iter_range, scope)
            element = found.element if found is not None else None
            names: dict[str, Type | None] = {node.accu_var: self._type(node.accu_init, scope)}
            if node.macro not in ("bind", "optMap", "optFlatMap"):
                names[node.accu_var] = None
                of_first = (
                    element if not node.iter_var2 and found is not None and found.kind == "list" else None
                )
                names |= {node.iter_var: of_first, node.iter_var2: element}
            inner = {**scope, **names}
            for part in (node.condition, node.step):
                self._type(part, inner)
            self._type(node.result, inner)
            return found if node.macro == "filter" else None
        for part in children(node):
            self._type(part, scope)
        return None

    def _member(
        self, node: Select | Call, operand: Type | None, name: str, scope: Mapping[str, Type | None]
    ) -> Type | None:
        if isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == _VARIABLES:
            return None if _VARIABLES in scope else self._variables.get(name)
        if operand is None or operand.kind != "struct" or operand.struct not in self._schema:
            return None
        if name in _METADATA or name.startswith("__"):
            return None
        fields = _fields(self._schema, operand.struct)
        if name in fields:
            return fields[name].type
        for outer, field in fields.items():
            inner = field.type
            if inner.kind == "struct" and name in (there := _fields(self._schema, inner.struct)):
                self._report(node, operand, name, f"{outer}.{name}", f"{outer}.")
                return there[name].type
        former = (_fields(schema, operand.struct).get(name) for schema in self._schemas.values())
        for field_then in former:
            if field_then is not None and field_then.type.kind == "struct":
                self._report(node, operand, name, "", "")
                return operand
        self._report(node, operand, name, None, "")
        return None

    def _report(
        self, node: Select | Call, operand: Type, name: str, place: str | None, inserted: str
    ) -> None:
        """Note a field that is not there.

        :param place: where it is; empty if its own fields stand in its place, None if it is not anywhere.
        """
        is_test = isinstance(node, Select) and node.test_only
        message = f'{operand.struct} of {self._version} has no field "{name}"'
        message += ", so that `has` is always false" if is_test else ""
        hint = (
            f"it is `{place}`"
            if place
            else ""
            if place is None
            else f"what was in `{name}` stands in its place"
        )
        at = self._text.find(name, node.position)
        self._problems.append(ExpressionProblem(message, hint, (max(at, 0), len(name))))
        self._edits.append(
            None if place is None or isinstance(node, Call) else self._edit(node, name, inserted)
        )

    def _edit(self, node: Select, name: str, inserted: str) -> _Edit | None:
        """What to change in the text, if that is certain."""
        if not node.test_only:
            found = re.compile(rf"\.\s*{re.escape(name)}\b").match(self._text, node.position)
            if found is None:
                return None
            return (
                _Edit(found.start() + 1, found.start() + 1, inserted)
                if inserted
                else _Edit(*found.span(), "")
            )
        found = re.compile(rf"\(\s*([\w.\[\]]+)\s*\.\s*{re.escape(name)}\s*\)").match(
            self._text, node.position
        )
        macro = self._text[: node.position].rstrip()
        if found is None or not macro.endswith("has"):
            return None
        start, end = len(macro) - len("has"), found.end()
        if not inserted:
            return _Edit(start, end, "true")
        outer = f"{found[1]}.{inserted.removesuffix('.')}"
        guarded = f"has({outer}) && has({outer}.{name})"
        before, after = self._text[:start].rstrip(), self._text[end:].lstrip()
        alone = (not before or before.endswith(_BEFORE)) and (not after or after.startswith(_AFTER))
        return _Edit(start, end, guarded if alone else f"({guarded})")


def _fields(schema: Schema, struct: str) -> dict[str, Field]:
    return fields_of(schema, struct) if struct in schema else {}


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

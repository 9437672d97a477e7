"""The fields of DRA objects that a CEL expression of an admission policy looks at, and which of them a version has elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from deviceselectors.ast import Call, Comprehension, Ident, Literal, Node, Select
from deviceselectors.issues import Issues, Source
from deviceselectors.lookups import children
from deviceselectors.parser import parse
from resourceapi.schema import Field, Schema, Type, ref

_OBJECTS = frozenset(("object", "oldObject"))
_VARIABLES = "variables"
_METADATA = frozenset(("metadata", "apiVersion", "kind"))
# What may stand beside `a && b` without changing what it means.
_BEFORE, _AFTER = ("(", ",", "&&", "||", "?", ":"), (")", ",", "&&", "||", "?", ":")


class Problem(NamedTuple):
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
        self._problems: list[Problem] = []
        self._edits: list[_Edit | None] = []

    def problem(self, expression: str, variable: str = "") -> Problem | None:
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
        fields = self._fields(self._schema, operand.struct)
        if name in fields:
            return fields[name].type
        for outer, field in fields.items():
            inner = field.type
            if inner.kind == "struct" and name in (there := self._fields(self._schema, inner.struct)):
                self._report(node, operand, name, f"{outer}.{name}", f"{outer}.")
                return there[name].type
        former = (self._fields(schema, operand.struct).get(name) for schema in self._schemas.values())
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
        self._problems.append(Problem(message, hint, (max(at, 0), len(name))))
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

    @staticmethod
    def _fields(schema: Schema, struct: str) -> dict[str, Field]:
        """The fields of a struct by name, those of embedded ones among them."""
        found: dict[str, Field] = {}
        if struct in schema:
            for field in schema[struct].fields:
                found |= Reader._fields(schema, field.type.struct) if field.inline else {field.name: field}
        return found

"""The rules that fields declare, checked over an object in the version of the URL: the newer generation's way.

Since 1.37 (gate DeclarativeValidationBeta) the server walks objects so, besides its hand-written validation.  Rules
that are newer than that are enforced so by every release that has their field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from resourceapi import field_errors as errors
from resourceapi import rules
from resourceapi.encoding import go_json
from resourceapi.equality import equal, equal_fields
from resourceapi.field_errors import FieldError, Key, Path, Verbatim
from resourceapi.schema import Field, Schema, Struct, Type

Walk = Callable[[Any, Any, Path, list[FieldError]], object]
"""A compiled check: new value, old value (None: nothing to compare with), path, where errors go."""
Check = Callable[[Any, Any, Path, list[FieldError]], bool]
"""A :data:`Walk` for one rule; False if the value must not be looked into."""


class DeclarativePass:
    """The declarative rules of one version's structs that are enforced under a set of gates; ``beta``: those with a hand-written twin, too.

    Structs without any such rule below them are not visited; data that an update leaves as it was is not checked
    again.
    """

    def __init__(self, schema: Schema, gates: frozenset[str], *, beta: bool) -> None:
        self._schema = schema
        self._gates = gates
        self._beta = beta
        self._structs: dict[str, Walk | None] = {}

    def check(self, struct: str, new: Any, old: Any, found: list[FieldError]) -> None:
        """Check an object (in normal form of this version); ``old`` is the stored one, or None on create."""
        walk = self._struct(struct)
        if walk is not None:
            walk(new, old, (), found)

    def _struct(self, name: str) -> Walk | None:
        if name not in self._structs:
            self._structs[name] = None  # a struct that contains itself has no rules of its own in this API
            self._structs[name] = self._compile_struct(self._schema[name])
        return self._structs[name]

    def _compile_struct(self, struct: Struct) -> Walk | None:
        unions = [
            partial(_one_of_fields, rule, tuple(filter(struct.by_name.__contains__, rule.members)))
            for rule in struct.rules
            if isinstance(rule, rules.OneOfFields) and self._enforced(rule)
        ]
        steps = [
            (field.name, field.inline, field.pointer, _what_needs_no_check(field), walk)
            for field in struct.fields
            if (walk := self._field(field)) is not None
        ]
        if not unions and not steps:
            return None

        def walk_struct(new: Any, old: Any, path: Path, found: list[FieldError]) -> None:
            for union in unions:
                union(new, old, path, found)
            for name, inline, pointer, unchecked, walk in steps:
                if inline:
                    walk(new, old, path, found)
                    continue
                value = new.get(name)
                if not value and (unchecked == _EMPTY or (unchecked == _ABSENT and value is None)):
                    continue
                if old is None:
                    walk(value, None, (*path, name), found)
                elif not _is_unchanged(name, pointer, value, before := old.get(name)):
                    walk(value, _Before(before), (*path, name), found)

        return walk_struct

    def _enforced(self, rule: rules.Rule) -> bool:
        return self._beta or rule.stage == rules.STANDARD

    def _field(self, field: Field) -> Walk | None:
        """A field's own rules, then those of its type; a value that needs no check is not brought here."""
        if field.inline:
            return self._struct(field.type.struct)
        own = list(field.rules)
        if own and type(own[0]) is rules.Optional:
            del own[0]
        inner = self._value(field)
        while inner is None and own and (type(own[-1]) is rules.Optional or not self._enforced(own[-1])):
            own.pop()
        if not own:
            return inner
        checks = [
            self._rule(rule, field) if self._enforced(rule) else self._unheard(rule, field) for rule in own
        ]
        if inner is None and len(checks) == 1:
            return checks[0]

        def walk_field(new: Any, old: Any, path: Path, found: list[FieldError]) -> None:
            for check in checks:
                if not check(new, old, path, found):
                    return
            if inner is not None and new is not None:
                inner(new, old, path, found)

        return walk_field

    def _unheard(self, rule: rules.Rule, field: Field) -> Check:
        """A rule that is not enforced: it reports nothing, and yet what it refuses is not looked into."""
        check = self._rule(rule, field)
        return lambda new, old, path, found: check(new, old, path, [])

    def _rule(self, rule: rules.Rule, field: Field) -> Check:
        if type(rule) is rules.ForbiddenWithout and rule.gate in self._gates:
            return lambda new, old, path, found: True
        if type(rule) is rules.Optional:
            if field.pointer:
                return lambda new, old, path, found: new is not None
            return lambda new, old, path, found: bool(new)
        if type(rule) is rules.Required and field.pointer:
            return _declared_set
        if type(rule) is rules.Unique:
            return partial(self._unique, rule, field.type)
        if type(rule) is rules.Subfield:
            return self._subfield(rule)
        return partial(_DECLARATIVE[type(rule)], rule)

    def _unique(
        self, rule: rules.Unique, type: Type, value: Any, old: Any, path: Path, found: list[FieldError]
    ) -> bool:
        """A later entry that equals an earlier one in its keys is shown whole, in this version's JSON."""
        if not value or len(value) == 1:
            return True
        for index in rule.repeated(value, absent=None):
            shown = value[index]
            if rule.keys:
                shown = Verbatim(go_json(self._schema, _element(type), shown, internal=False))
            found.append(errors.duplicate((*path, index), shown))
        return True

    def _subfield(self, rule: rules.Subfield) -> Check:
        name = rule.name

        def check(new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
            value = (new or {}).get(name)
            before = old.value or {} if old is not None else {}
            if old is None or before.get(name) != value:
                for inner in rule.rules:
                    if not _DECLARATIVE[type(inner)](inner, value, None, (*path, name), found):
                        break
            return True

        return check

    def _value(self, field: Field) -> Walk | None:
        """The rules of what a field holds: a struct, the entries of a list or map, an enumeration."""
        of = field.type
        if of.kind == "struct":
            struct = self._struct(of.struct)
            return (
                None
                if struct is None
                else lambda new, old, path, found: struct(new, old and old.value, path, found)
            )
        if of.kind in ("list", "map"):
            return self._entries(field, _element(of))
        checks = self._checks(of)
        return partial(_check_all, checks) if checks else None

    def _checks(self, of: Type) -> list[Check]:
        """The checks of the rules that a type has by itself."""
        return [partial(_DECLARATIVE[type(rule)], rule) for rule in of.rules if self._enforced(rule)]

    def _entries(self, field: Field, element: Type) -> Walk | None:
        if element.kind == "struct":
            struct = self._struct(element.struct)
            if struct is None:
                return None
            if field.type.kind == "map":
                return partial(_walk_map, struct)
            keys = next((rule.keys for rule in field.rules if type(rule) is rules.Unique), ())
            return partial(_walk_list, struct, keys)
        checks = self._checks(element)
        return partial(_walk_texts, checks) if checks else None


def _is_unchanged(name: str, pointer: bool, new: Any, old: Any) -> bool:
    """Whether a field has the value that is stored; a pointer to nothing differs from one to an empty value."""
    if pointer and (new is None or old is None):
        return new is old
    return equal_fields(name, new, old)


_NOTHING, _ABSENT, _EMPTY = range(3)


def _what_needs_no_check(field: Field) -> int:
    """Whether there is nothing to check about the field where it is absent, or even where its value is empty."""
    if field.type.rules and not field.rules and not field.pointer:
        return _NOTHING
    for rule in field.rules:
        if type(rule) is rules.Optional:
            return _EMPTY if rule is field.rules[0] and not field.pointer else _ABSENT
        if type(rule) is not rules.MaxItems:
            return _NOTHING
    return _ABSENT


class _Before:
    """The stored value that a new one is compared with; itself never None, so that unset and absent differ."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _element(of: Type) -> Type:
    assert of.element is not None
    return of.element


def _check_all(checks: Iterable[Check], new: Any, old: Any, path: Path, found: list[FieldError]) -> None:
    for check in checks:
        check(new, None, path, found)


def _walk_list(
    struct: Walk, keys: tuple[str, ...], new: Any, old: Any, path: Path, found: list[FieldError]
) -> None:
    stored: dict[tuple[Any, ...], Any] = {}
    if old is not None and keys:
        for item in old.value or ():
            stored.setdefault(tuple(item.get(name) for name in keys), item)
    for index, item in enumerate(new):
        before = stored.get(tuple(item.get(name) for name in keys)) if stored else None
        if before is None or not equal(before, item):
            struct(item, before, (*path, index), found)


def _walk_map(struct: Walk, new: Any, old: Any, path: Path, found: list[FieldError]) -> None:
    stored = (old.value if old is not None else None) or {}
    for key, item in new.items():
        before = stored.get(key)
        if before is None or not equal(before, item):
            struct(item, before, (*path, Key(key)), found)


def _walk_texts(checks: list[Check], new: Any, old: Any, path: Path, found: list[FieldError]) -> None:
    stored = frozenset((old.value if old is not None else None) or ())
    for index, item in enumerate(new):
        if item not in stored:
            _check_all(checks, item, None, (*path, index), found)


def _one_of_fields(
    rule: Any, known: tuple[str, ...], new: Any, old: Any, path: Path, found: list[FieldError]
) -> None:
    chosen = [name for name in rule.members if _is_set(new.get(name))]
    if old is not None and chosen == [name for name in rule.members if _is_set(old.get(name))]:
        return
    members = ", ".join(f"`{name}`" for name in known)
    if not chosen:
        found.append(errors.invalid(path, "", f"must specify one of: {members}", origin="union"))
    elif len(chosen) > 1:
        shown = "{" + ", ".join(chosen) + "}"
        found.append(errors.invalid(path, shown, f"must specify exactly one of: {members}", origin="union"))


def _is_set(value: Any) -> bool:
    return value is not None and value != []


def _declared_required(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if not new:
        found.append(errors.required(path))
    return bool(new)


def _declared_set(new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    """A pointer is required: what it points to may be empty."""
    if new is None:
        found.append(errors.required(path))
    return new is not None


def _declared_max_items(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if new and len(new) > rule.limit:
        found.append(errors.too_many(path, len(new), rule.limit, origin="maxItems"))
        return False
    return True


def _declared_format(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    for kind, shown, detail in rule.problems(new):
        found.append(FieldError(kind, path, shown, detail, origin=rule.origin))
    return True


def _declared_each_key(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    stored = (old.value if old is not None else None) or {}
    for key in new:
        if key not in stored:
            _declared_format(rule.format, key, None, path, found)
    return True


def _declared_each_value(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    stored = frozenset((old.value if old is not None else None) or ())
    for index, item in enumerate(new):
        if item not in stored:
            _declared_format(rule.format, item, None, (*path, index), found)
    return True


def _declared_max_length(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if len(new) > rule.limit:
        found.append(errors.too_long(path, rule.limit, unit="characters", origin="maxLength"))
    return True


def _declared_max_bytes(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if len(new.encode()) > rule.limit:
        found.append(errors.too_long(path, rule.limit, origin="maxBytes"))
    return True


def _declared_minimum(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if new < rule.limit:
        detail = f"must be greater than or equal to {rule.limit}"
        found.append(errors.invalid(path, new, detail, origin="minimum"))
    return True


def _declared_maximum(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if new > rule.limit:
        found.append(
            errors.invalid(path, new, f"must be less than or equal to {rule.limit}", origin="maximum")
        )
    return True


def _declared_one_of_values(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if new not in rule.values:
        found.append(errors.not_supported(path, new or "", rule.values))
    return True


def _declared_immutable(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if old is not None:
        found.append(errors.invalid(path, None, "field is immutable", origin="immutable"))
        return False
    return True


def _declared_not_modified(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if old is not None and old.value is not None and new is not None:
        found.append(errors.invalid(path, None, "field cannot be modified once set", origin="update"))
        return False
    return True


def _declared_forbidden(rule: Any, new: Any, old: Any, path: Path, found: list[FieldError]) -> bool:
    if new is not None:
        found.append(errors.forbidden(path, ""))
        return False
    return True


_DECLARATIVE: dict[type[rules.Rule], Callable[[Any, Any, Any, Path, list[FieldError]], bool]] = {
    rules.Optional: lambda rule, new, old, path, found: bool(new),
    rules.Required: _declared_required,
    rules.MaxItems: _declared_max_items,
    rules.Format: _declared_format,
    rules.EachKey: _declared_each_key,
    rules.EachValue: _declared_each_value,
    rules.MaxLength: _declared_max_length,
    rules.MaxBytes: _declared_max_bytes,
    rules.Minimum: _declared_minimum,
    rules.Maximum: _declared_maximum,
    rules.OneOfValues: _declared_one_of_values,
    rules.Immutable: _declared_immutable,
    rules.NotModified: _declared_not_modified,
    rules.ForbiddenWithout: _declared_forbidden,
}

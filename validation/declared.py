"""The rules that fields declare, checked where hand-written validation does, in its wording.

Up to 1.36 this is mostly the only check of them.  Later :mod:`validation.declarative` checks them as well, and
:mod:`validation.kind_rules` lets its reports take the place of these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi import field_errors as errors
from resourceapi import rules
from resourceapi.field_errors import FieldError, Path
from resourceapi.schema import Field

Check = Callable[[Any, Any, Path, list[FieldError]], bool]


def by_hand(field: Field, value: Any, path: Path, found: list[FieldError]) -> bool:
    """Check a field's declared rules in the wording of hand-written validation; False if it must not be looked into."""
    for rule, check in _checks(field):
        if check is None:
            if value is None or not (value or field.pointer):
                return True
        elif not check(rule, value, path, found):
            return check is not max_items
    return True


def _checks(field: Field) -> list[tuple[Any, Check | None]]:
    """A field's rules with what checks them (None: that there is a value); not those that are only ever declared."""
    found = _known.get(field)
    if found is None:
        found = _known[field] = [
            (rule, _HAND_WRITTEN[type(rule)])
            for rule in (*field.rules, *field.type.rules)
            if type(rule) is rules.Optional or rule.stage != rules.STANDARD
        ]
    return found


def of_list(field: Field) -> tuple[rules.MaxItems | None, rules.Unique | None]:
    """A list's declared limit, and what no two of its entries agree in."""
    found = _of_lists.get(field)
    if found is None:
        declared = {type(rule): rule for rule, _check in _checks(field)}
        found = _of_lists[field] = declared.get(rules.MaxItems), declared.get(rules.Unique)
    return found


def _covered(error: FieldError) -> FieldError:
    error.covered = True
    return error


def max_items(rule: rules.MaxItems, value: Any, path: Path, found: list[FieldError]) -> bool:
    """Check the limit of a list; False if there are too many entries."""
    if value and len(value) > rule.limit:
        found.append(_covered(errors.too_many(path, len(value), rule.limit, origin="maxItems")))
        return False
    return True


def _required(rule: rules.Required, value: Any, path: Path, found: list[FieldError]) -> bool:
    if not value:
        found.append(_covered(errors.required(path)))
    return bool(value)


def unique(
    rule: rules.Unique, value: Any, path: Path, found: list[FieldError], *, names_key: bool = False
) -> bool:
    """Check that the entries of a list are unique; ``names_key``: errors are about the field that must differ."""
    if not value or len(value) == 1:
        return True
    for index in rule.repeated(value, absent=""):
        item = value[index]
        shown = item.get(rule.keys[0], "") if rule.keys else item
        at = (*path, index, *rule.keys[:1]) if names_key else (*path, index)
        found.append(_covered(errors.duplicate(at, shown)))
    return True


def _format(rule: rules.Format, value: Any, path: Path, found: list[FieldError]) -> bool:
    for kind, shown, detail in rule.by_hand(value):
        found.append(FieldError(kind, path, shown, detail, origin=rule.origin, covered=True))
    return True


def _max_bytes(rule: rules.MaxBytes, value: Any, path: Path, found: list[FieldError]) -> bool:
    if len(value.encode()) > rule.limit:
        found.append(_covered(errors.too_long(path, rule.limit, origin="maxBytes")))
    return True


def _one_of_values(rule: rules.OneOfValues, value: Any, path: Path, found: list[FieldError]) -> bool:
    if value not in rule.values:
        found.append(_covered(errors.not_supported(path, value, rule.values)))
    return True


def _each_key(rule: rules.EachKey, value: Any, path: Path, found: list[FieldError]) -> bool:
    for key in value or ():
        _format(rule.format, key, path, found)
    return True


_HAND_WRITTEN: dict[type[rules.Rule], Check | None] = {
    rules.Optional: None,
    rules.MaxItems: max_items,
    rules.Required: _required,
    rules.Unique: unique,
    rules.Format: _format,
    rules.MaxBytes: _max_bytes,
    rules.OneOfValues: _one_of_values,
    rules.EachKey: _each_key,
}
_known: dict[Field, list[tuple[Any, Check | None]]] = {}  # as many as the model has
_of_lists: dict[Field, tuple[rules.MaxItems | None, rules.Unique | None]] = {}

"""What an object with parameters asks for, according to the mapping of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.expressions import (
    ExpressionError,
    condition,
    joined,
    pattern_of_glob,
    with_value,
)
from classic.migration.mapping import WHOLE
from classic.migration.remarks import CannotMigrate, step

if TYPE_CHECKING:
    from classic.migration.mapping import Condition, ConfigRule, ParametersRule, SelectorRule
    from deviceselectors.ast import Node
    from resourceapi.field_errors import Path

#: Conditions of one selector, and how deep they may be in each other; longer ones fit in no selector.
MAX_CONDITIONS, MAX_DEPTH = 500, 16
_NOT_SAID = "the mapping does not say what it becomes"
_TYPE = ("apiVersion", "kind", "metadata", "status")


class Parameters(NamedTuple):
    """What parameters ask for.

    :ivar devices: how many devices; 0 if they do not say it.
    :ivar config: the configuration for the driver; None if there is none.
    :ivar lost: fields that are not carried over, and why.
    :ivar shared: fields with a part of a device that others could share.
    """

    devices: int
    selectors: list[str]
    config: dict[str, Any] | None
    lost: list[tuple[Path, str]]
    shared: list[Path]


def read_parameters(value: dict[str, Any], rule: ParametersRule) -> Parameters:
    """What an object with parameters asks for.

    :raises CannotMigrate: with the path in it, if its fields are not what the mapping expects.
    """
    reader = _Reader(value, rule)
    return Parameters(reader.count(), list(reader.selectors()), reader.config(), reader.lost(), reader.shared)


class _Reader:
    def __init__(self, value: dict[str, Any], rule: ParametersRule) -> None:
        self._value = value
        self._rule = rule
        self._covered: set[Path] = set()
        self._lost: list[tuple[Path, str]] = []
        self._conditions = 0
        self.shared: list[Path] = []

    def count(self) -> int:
        """How many devices."""
        count = self._take(self._rule.count) if self._rule.count else None
        if count is None:
            return 0
        if type(count) is not int or not 0 < count < 2**31:
            raise CannotMigrate(self._rule.count, "expected a number of devices")
        return count

    def selectors(self) -> Iterator[str]:
        """The conditions that devices have to meet."""
        for selector in self._rule.selectors:
            value = self._take(selector.field) if selector.field else ""
            if value is None:
                continue
            if selector.shared:
                self.shared.append(selector.field)
            try:
                tree = self._tree(selector, value, selector.field, 0)
                if tree is not None:
                    yield condition(tree)
            except ExpressionError as error:
                raise CannotMigrate(selector.field, str(error)) from None

    def config(self) -> dict[str, Any] | None:
        """The configuration for the driver."""
        rule = self._rule.config
        if rule is None:
            return None
        if rule == WHOLE:
            members = {name: each for name, each in self._value.items() if name not in ("metadata", "status")}
            self._covered.update((name,) for name in members)
            return members
        return self._made(rule)

    def _made(self, rule: ConfigRule) -> dict[str, Any] | None:
        config: dict[str, Any] = {"apiVersion": rule.api_version, "kind": rule.kind}
        found = False
        for to, source in rule.fields:
            value = self._take(source)
            if value is None:
                continue
            found = True
            holder = config
            for name in to[:-1]:
                holder = holder.setdefault(str(name), {})
            holder[str(to[-1])] = value
        return {name: each for name, each in config.items() if each != ""} if found else None

    def lost(self) -> list[tuple[Path, str]]:
        """The fields that are not carried over; to be asked last."""
        rule = self._rule
        for path in {**rule.lost, **rule.ignored}:
            value = self._take(path)
            if value is not None and value not in rule.ignored.get(path, ()):
                self._lost.append((path, rule.lost.get(path, _NOT_SAID)))
        self._lost += [(path, _NOT_SAID) for path in self._left(self._value, ())]
        return self._lost

    def _take(self, path: Path) -> Any:
        """The value of a field, which is dealt with."""
        value: Any = self._value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        self._covered.add(path)
        return value

    def _left(self, value: Any, path: Path) -> Iterator[Path]:
        """The fields that nothing has dealt with."""
        if path in self._covered or value is None or (len(path) == 1 and path[0] in _TYPE):
            return
        if isinstance(value, dict) and any(path == each[: len(path)] for each in self._covered):
            for name, member in value.items():
                yield from self._left(member, (*path, name))
        elif value not in ({}, []):
            yield tuple(step(str(each)) for each in path)

    def _tree(self, selector: SelectorRule, value: Any, path: Path, depth: int) -> Node | None:
        """The condition of a field; None if it is always met, or lost."""
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS or depth > MAX_DEPTH:
            raise ExpressionError("more conditions than a selector can have")
        if not selector.properties:
            return self._condition(selector.condition, value, path)
        if not isinstance(value, dict):
            raise ExpressionError("expected a mapping")
        trees = []
        for name, member in value.items():
            place = (*path, name)
            if name in (selector.all, selector.any):
                if not isinstance(member, list):
                    raise ExpressionError("expected a list of conditions")
                inner = [
                    self._tree(selector, each, (*place, index), depth + 1)
                    for index, each in enumerate(member)
                ]
                trees.append(_all(inner) if name == selector.all else _any(inner))
            elif name in selector.properties:
                trees.append(self._condition(selector.properties[name], member, place))
            else:
                self._lost.append((place, _NOT_SAID))
        return _all(trees)

    def _condition(self, rule: Condition, value: Any, path: Path) -> Node | None:
        if not rule.expression:
            self._lost.append((path, rule.reason))
            return None
        if rule.suffix is not None:
            if isinstance(value, bool) or not isinstance(value, (int, str)):
                raise ExpressionError("expected a number")
            value = f"{value}{rule.suffix}"
        if rule.is_glob:
            if not isinstance(value, str):
                raise ExpressionError("expected a string")
            value = pattern_of_glob(value)
        return with_value(rule.expression, value, is_comparison=rule.is_comparison)


def _all(trees: list[Node | None]) -> Node | None:
    known = [tree for tree in trees if tree is not None]
    return joined(known, "_&&_") if known else None


def _any(trees: list[Node | None]) -> Node | None:
    known = [tree for tree in trees if tree is not None]
    return joined(known, "_||_") if known and len(known) == len(trees) else None

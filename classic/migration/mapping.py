"""What the parameters of a driver become, kind by kind: a mapping, and the file that holds one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.expressions import (
    ExpressionError,
    condition,
    joined,
    pattern_of_glob,
    problem_of,
    with_value,
)
from classic.migration.remarks import CannotMigrate, step
from documents import Document, DocumentError, parse
from documents.source import read_file

if TYPE_CHECKING:
    from deviceselectors.ast import Node
    from resourceapi.field_errors import Path


#: Longer files are not read as mappings.
MAX_BYTES = 200_000
#: The mappings that are built in, of parameters that were published.
BUILT_IN = ("example", "intel", "nvidia")
#: A configuration that is the parameters' object itself, without its metadata.
WHOLE = "whole"


def _field(name: str) -> Path:
    """A field as a path."""
    return tuple(name.split(".")) if name else ()


class Condition:
    """What a property of the parameters says about devices.

    :ivar expression: the condition, with ``value`` in it; empty if there is none.
    :ivar is_comparison: whether the property has a value and an operator, and the expression is compared with 0.
    :ivar is_glob: whether the value is a pattern with ``*``, of which the expression gets the regular expression.
    :ivar suffix: what is written behind the value, such as a unit; None if the value stays as it is.
    :ivar reason: why there is no condition.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.expression: str = data.get("expression", "")
        self.is_comparison: bool = data.get("comparison", False)
        self.is_glob: bool = data.get("glob", False)
        self.suffix: str | None = data.get("suffix")
        self.reason: str = data.get("reason", "")


class SelectorRule:
    """Where parameters say which devices they are about.

    :ivar field: the field; empty if the condition holds for all parameters of the kind.
    :ivar condition: for a field with one value.
    :ivar properties: for a field that is an expression of properties, by their names.
    :ivar shared: whether the driver gave a part of a device that others could share.
    :ivar all, any: the keys of such an expression with a list of others that must hold, or one of which.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.field = _field(data.get("field", ""))
        self.condition = Condition(data)
        self.properties = {name: Condition(each) for name, each in data.get("properties", {}).items()}
        self.shared: bool = data.get("shared", False)
        self.all: str = data.get("all", "")
        self.any: str = data.get("any", "")


class ConfigRule:
    """The opaque configuration that the driver reads now.

    :ivar fields: the fields that are taken over: where they go to, and where they come from.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.api_version: str = data.get("apiVersion", "")
        self.kind: str = data.get("kind", "")
        self.fields = [(_field(to), _field(source)) for to, source in data.get("fields", {}).items()]


class ParametersRule:
    """What the parameters of a kind become.

    :ivar driver: the driver that the configuration is for; empty for that of the class.
    :ivar device_class_names: classes of the driver's installation, and which of them takes their place.
    :ivar count: the field with the number of devices.
    :ivar config: None if there is none, WHOLE or a rule.
    :ivar ignored: values of fields that need no equivalent.
    :ivar lost: fields that have no equivalent, and why.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.group: str = data.get("group", "")
        self.kind: str = data["kind"]
        self.driver: str = data.get("driver", "")
        self.device_class_names: dict[str, str] = data.get("deviceClassNames", {})
        self.count = _field(data.get("count", ""))
        self.selectors = [SelectorRule(each) for each in data.get("selectors", [])]
        config = data.get("config")
        self.config = ConfigRule(config) if isinstance(config, dict) else config
        self.ignored = {_field(name): values for name, values in data.get("ignored", {}).items()}
        self.lost: dict[Path, str] = {_field(name): why for name, why in data.get("lost", {}).items()}


#: For parameters that no mapping is about: the driver gets them as they are.
UNKNOWN = ParametersRule({"kind": "", "config": WHOLE})


class Mappings:
    """All mappings; those that are added later go before the earlier ones."""

    def __init__(self) -> None:
        self._parameters: dict[tuple[str, str], ParametersRule] = {}
        self._drivers: dict[str, str] = {}
        self._attributes: dict[str, dict[str, str]] = {}
        self._device_classes: dict[str, str] = {}

    def add(self, data: Mapping[str, Any]) -> None:
        """Add what a mapping file says."""
        for each in data.get("parameters", []):
            rule = ParametersRule(each)
            self._parameters[rule.group, rule.kind] = rule
        for name, driver in data.get("drivers", {}).items():
            self._drivers[name] = driver.get("name", name)
            self._attributes[name] = driver.get("attributes", {})
        self._device_classes |= data.get("deviceClassNames", {})

    def rule_for(self, group: str, kind: str) -> ParametersRule | None:
        """The rule for a kind of parameters, if there is one."""
        return self._parameters.get((group, kind))

    def device_class(self, name: str) -> str:
        """What a class that came with a driver's installation is called now."""
        return self._device_classes.get(name, name)

    def driver(self, name: str) -> str:
        """What a driver is called now."""
        return self._drivers.get(name, name)

    def attributes(self, driver: str) -> Mapping[str, str]:
        """What the attributes of named resources of a driver are called now, where a mapping says so."""
        return self._attributes.get(driver, {})


def built_in() -> Mappings:
    """The mappings of parameters that were published."""
    mappings = Mappings()
    for name in BUILT_IN:
        mappings.add(read_mapping(os.path.join(os.path.dirname(__file__), "mappings", f"{name}.yaml")))
    return mappings


def read_mapping(file: str) -> dict[str, Any]:
    """A mapping file, checked.

    :raises DocumentError: at the first thing that is wrong with it.
    """
    content = read_file(file)
    if len(content) > MAX_BYTES:
        raise DocumentError(file, 0, 0, f"larger than {MAX_BYTES:,} bytes")
    found = list(parse(content, file))
    if len(found) != 1:
        raise DocumentError(file, 0, 0, f"expected one document, found {len(found)}")
    document = found[0]
    if isinstance(document, DocumentError):
        raise document
    for path, message in problems(document.value):
        raise _error(document, path, message)
    return document.value


def _error(document: Document, path: Path, message: str) -> DocumentError:
    where = ".".join(str(step) for step in path)
    return document.error(path, f"{where}: {message}" if where else message)


_TEXT, _BOOL, _TEXTS, _VALUES = "a text", "true or false", "a mapping of texts", "lists of values"
_PROPERTY = {"expression": _TEXT, "comparison": _BOOL, "glob": _BOOL, "suffix": _TEXT, "reason": _TEXT}
_SELECTOR = {**_PROPERTY, "field": _TEXT, "shared": _BOOL, "all": _TEXT, "any": _TEXT, "properties": None}
_CONFIG = {"apiVersion": _TEXT, "kind": _TEXT, "fields": _TEXTS}
_PARAMETERS = {
    "group": _TEXT,
    "kind": _TEXT,
    "driver": _TEXT,
    "deviceClassNames": _TEXTS,
    "count": _TEXT,
    "selectors": None,
    "config": None,
    "ignored": _VALUES,
    "lost": _TEXTS,
}


def problems(data: Any) -> Iterator[tuple[Path, str]]:
    """What is wrong with a mapping: the paths and why."""
    yield from _keys(data, {"drivers": None, "deviceClassNames": _TEXTS, "parameters": None}, ())
    for path, name, driver in _members(data.get("drivers"), ("drivers",)):
        if not name:
            yield path, "expected the name of a driver"
        yield from _keys(driver, {"name": _TEXT, "attributes": _TEXTS}, path)
    for path, rule in _entries(data.get("parameters"), ("parameters",)):
        if rule is _WRONG:
            yield path, "expected a list"
            continue
        yield from _keys(rule, _PARAMETERS, path)
        if isinstance(rule, dict):
            yield from _parameters_problems(rule, path)


def _parameters_problems(rule: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    if not rule.get("kind"):
        yield path, "kind is missing: the kind of the parameters"
    for place, selector in _entries(rule.get("selectors"), (*path, "selectors")):
        if selector is _WRONG:
            yield place, "expected a list"
            continue
        yield from _keys(selector, _SELECTOR, place)
        if not isinstance(selector, dict):
            continue
        properties = selector.get("properties")
        if properties is None:
            yield from _condition_problems(selector, place)
        for inner, _, wanted in _members(properties, (*place, "properties")):
            yield from _keys(wanted, _PROPERTY, inner)
            if isinstance(wanted, dict):
                yield from _condition_problems(wanted, inner)
    config = rule.get("config")
    if config is not None and config != WHOLE:
        yield from _keys(config, _CONFIG, (*path, "config"))


def _condition_problems(condition: dict[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    expression = condition.get("expression")
    if isinstance(expression, str) and expression:
        if problem := problem_of(expression, is_comparison=condition.get("comparison") is True):
            yield (*path, "expression"), problem
    elif not condition.get("reason"):
        yield path, "expression is missing, or the reason why there is none"


_WRONG: Any = object()


def _entries(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if value is None:
        return
    if not isinstance(value, list):
        yield path, _WRONG
        return
    for index, each in enumerate(value):
        yield (*path, index), each


def _members(value: Any, path: Path) -> Iterator[tuple[Path, str, Any]]:
    if value is None:
        return
    if not isinstance(value, dict):
        yield path, "-", _WRONG
        return
    for name, each in value.items():
        yield (*path, name), name, each


def _keys(value: Any, known: Mapping[str, str | None], path: Path) -> Iterator[tuple[Path, str]]:
    if not isinstance(value, dict):
        yield path, "expected a mapping"
        return
    for name, each in value.items():
        if name not in known:
            yield (*path, name), f"unknown key; known are {', '.join(known)}"
            continue
        expected = known[name]
        if expected is not None and not _is(each, expected):
            yield (*path, name), f"expected {expected}"


def _is(value: Any, expected: str) -> bool:
    if expected == _TEXT:
        return isinstance(value, str)
    if expected == _BOOL:
        return isinstance(value, bool)
    if not isinstance(value, dict):
        return False
    of: Iterable[Any] = value.values()
    return all(isinstance(each, list if expected == _VALUES else str) for each in of)


# What an object with parameters asks for, according to the mapping of its kind.

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

"""What the parameters of a driver become, kind by kind: a mapping, and the file that holds one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from classic.migration.expressions import problem_of
from documents import Document, DocumentError, parse
from documents.source import read_file

if TYPE_CHECKING:
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
        for inner, _, condition in _members(properties, (*place, "properties")):
            yield from _keys(condition, _PROPERTY, inner)
            if isinstance(condition, dict):
                yield from _condition_problems(condition, inner)
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

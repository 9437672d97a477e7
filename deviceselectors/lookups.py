"""Where an expression looks up attributes and capacities of the device, and which look-ups a guard protects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device
    from deviceselectors.runtime.values import DomainMap

ATTRIBUTES, CAPACITY = "attributes", "capacity"
_MAPS = (ATTRIBUTES, CAPACITY)

Key = tuple[str, str, str]
"""`attributes` or `capacity`, the domain, the name in it."""


class Lookup:
    """One look-up: `device.attributes["gpu.example.com"].model`.

    `optional` tells one that finds nothing without failing (`.?model`, `[?"gpu.example.com"]`). `position` and `length`
    are those of the name (of the opening bracket, where there is one) in code points of the source.
    """

    __slots__ = ("domain", "length", "map", "name", "node", "optional", "position")

    def __init__(self, map_: str, domain: str, name: str, node: Node, optional: bool) -> None:
        self.map = map_
        self.domain = domain
        self.name = name
        self.node = node
        self.optional = optional
        named = isinstance(node, Select) or (isinstance(node, Call) and node.function == "_?._")
        self.position = node.position + 1
        self.length = len(name) if named else len(name) + 2

    @property
    def key(self) -> Key:
        """The map, the domain and the name together."""
        return self.map, self.domain, self.name

    @property
    def qualified(self) -> str:
        """The name with its domain: `gpu.example.com/model`."""
        return f"{self.domain}/{self.name}"

    @property
    def noun(self) -> str:
        """What is looked up: an attribute or a capacity."""
        return "attribute" if self.map == ATTRIBUTES else "capacity"

    def domains_of(self, device: Device) -> DomainMap:
        """The attributes or capacities of a device, by domain."""
        return device.attributes if self.map == ATTRIBUTES else device.capacity


def member(node: Node) -> tuple[Node, str, bool] | None:
    """Operand, name and optionality of `x.name`, `x["name"]`, `x.?name` and `x[?"name"]`."""
    if isinstance(node, Select):
        return None if node.test_only else (node.operand, node.field, False)
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._"):
        key = node.args[1]
        if isinstance(key, Literal) and isinstance(key.value, str):
            return node.args[0], key.value, node.function != "_[_]"
    return None


def device_map(node: Node) -> str:
    """`attributes` or `capacity` for `device.attributes` and `device.capacity`, else nothing."""
    found = member(node)
    if found is not None and found[1] in _MAPS and isinstance(found[0], Ident) and found[0].name == "device":
        return found[1]
    return ""


def domain_of(node: Node) -> tuple[str, str, bool] | None:
    """Map, domain and optionality of `device.attributes["gpu.example.com"]`."""
    found = member(node)
    if found is None:
        return None
    map_ = device_map(found[0])
    return (map_, found[1], found[2]) if map_ else None


def as_lookup(node: Node) -> Lookup | None:
    """The look-up that a node is, if its domain and name are literal."""
    found = member(node)
    if found is None:
        return None
    operand, name, optional = found
    domain = domain_of(operand)
    if domain is None:
        return None
    return Lookup(domain[0], domain[1], name, node, optional or domain[2])


def looked_up(node: Node) -> Lookup | None:
    """The look-up that a node is, or whose value it is: `x.?model`, `x.?model.value()`, `x.?model.orValue("")`."""
    if isinstance(node, Call) and node.target is not None and node.function in ("orValue", "value"):
        node = node.target
    return as_lookup(node)


def children(node: Node) -> Iterator[Node]:
    """The parts of a node, in the order of the source as far as macros keep it."""
    if isinstance(node, Select):
        yield node.operand
    elif isinstance(node, Call):
        if node.target is not None:
            yield node.target
        yield from node.args
    elif isinstance(node, ListLiteral):
        yield from node.elements
    elif isinstance(node, MapLiteral):
        for entry in node.entries:
            yield entry.key
            yield entry.value
    elif isinstance(node, StructLiteral):
        for field in node.fields:
            yield field.value
    elif isinstance(node, Comprehension):
        yield from (node.iter_range, node.accu_init, node.condition, node.step, node.result)


def walk(node: Node) -> Iterator[Node]:
    """The node and all its parts, each before its own parts."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if type(node) is Select:
            waiting.append(node.operand)
        elif type(node) is Call:
            waiting.extend(reversed(node.args))
            if node.target is not None:
                waiting.append(node.target)
        elif not isinstance(node, (Literal, Ident)):
            waiting.extend(reversed(tuple(children(node))))


def lookups(root: Node) -> list[Lookup]:
    """All look-ups of an expression, each attribute or capacity once."""
    found = (as_lookup(node) for node in walk(root))
    return list({each.key: each for each in found if each is not None}.values())


class Comparison(NamedTuple):
    """An attribute, or the driver if `lookup` is None, that is compared with a literal by `==` or `in [...]`, in a call."""

    call: Call
    lookup: Lookup | None
    literal: Literal

    @property
    def name(self) -> str:
        """The name of the attribute, without its domain; `driver` for the driver."""
        return "driver" if self.lookup is None else self.lookup.name

    def values_on(self, devices: Iterable[Device]) -> dict[str, None]:
        """The different texts that it is on some devices."""
        if self.lookup is None:
            return dict.fromkeys(each.driver for each in devices)
        return texts_of(self.lookup, devices)

    @property
    def text(self) -> str:
        """The text, or the number or boolean as a text."""
        value = self.literal.value
        return str(value).lower() if isinstance(value, bool) else str(value)


def compared_texts(root: Node) -> list[Comparison]:
    """Where an expression compares attributes and the driver with texts that are not empty."""
    return [each for each in comparisons(root) if isinstance(each.literal.value, str)]


def comparisons(root: Node) -> list[Comparison]:
    """The same with numbers and booleans."""
    found = []
    for node in walk(root):
        if not isinstance(node, Call) or node.function not in ("_==_", "@in"):
            continue
        left, right = node.args
        if isinstance(left, Literal):
            left, right = right, left
        lookup = looked_up(left)
        if _is_driver(left) or (lookup is not None and lookup.map == ATTRIBUTES):
            others = right.elements if isinstance(right, ListLiteral) and node.function == "@in" else [right]
            found += [Comparison(node, lookup, each) for each in others if isinstance(each, Literal)]
    return [each for each in found if isinstance(each.literal.value, (str, int)) and each.text]


def texts_of(lookup: Lookup, devices: Iterable[Device]) -> dict[str, None]:
    """The different texts that an attribute is on some devices."""
    entries = (device.attributes.get(lookup.domain) for device in devices)
    values = (found.get(lookup.name) for found in entries if found is not None)
    return {value: None for value in values if isinstance(value, str)}


def mentioned(root: Node) -> frozenset[tuple[str, str]]:
    """What an expression looks up or looks for by literal names: the map, and the name with its domain."""
    found = {(each.map, each.qualified) for each in lookups(root)}
    for node in walk(root):
        tested = _tested_key(node)
        if tested is not None:
            found.add((tested[0], f"{tested[1]}/{tested[2]}"))
    return frozenset(found)


def presence_test(node: Node) -> tuple[Node, str] | None:
    """The map and the name of `has(map.name)` and `"name" in map`."""
    if isinstance(node, Select) and node.test_only:
        return node.operand, node.field
    if isinstance(node, Call) and node.function == "@in" and isinstance(node.args[0], Literal):
        return node.args[1], str(node.args[0].value)
    return None


def _tested_key(node: Node) -> Key | None:
    """The attribute or capacity whose presence is tested: by `has(….model)` or `"model" in device.attributes["…"]`."""
    tested = presence_test(node)
    domain = None if tested is None else domain_of(tested[0])
    return None if tested is None or domain is None else (domain[0], domain[1], tested[1])


def looks_up_only(root: Node) -> bool:
    """Whether the expression sees nothing of the device but its driver and what it looks up by literal names."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if as_lookup(node) is not None or _is_driver(node) or _tests_presence(node):
            continue
        if isinstance(node, Ident) and node.name == "device":
            return False
        waiting.extend(children(node))
    return True


def required_driver(root: Node) -> str:
    """The driver whose devices alone an expression can choose, if it looks at that first; empty if it does not.

    So it is with `device.driver == "…"`, alone or before all other operands of `&&`: on devices of another driver nothing else
    is evaluated, and nothing can fail.
    """
    while isinstance(root, Call) and root.function == "_&&_":
        root = root.args[0]
    if not isinstance(root, Call) or root.function != "_==_":
        return ""
    one, other = root.args
    if isinstance(one, Literal):
        one, other = other, one
    found = other.value if _is_driver(one) and isinstance(other, Literal) else ""
    return found if isinstance(found, str) else ""


def _is_driver(node: Node) -> bool:
    return (
        isinstance(node, Select)
        and node.field == "driver"
        and isinstance(node.operand, Ident)
        and node.operand.name == "device"
    )


def _tests_presence(node: Node) -> bool:
    """Whether a node asks for no more than whether there is an attribute, a capacity, or a domain of them."""
    if _tested_key(node) is not None:
        return True
    tested = presence_test(node) if isinstance(node, Call) else None
    return tested is not None and bool(device_map(tested[0]))


def unguarded(root: Node) -> list[Lookup]:
    """The look-ups that fail where their attribute is missing, each attribute once.

    A guard (`has(…)`, `"model" in …`, `.hasValue()`) counts on either side of `&&`, because `false` absorbs the other
    side's error, and with `!` on either side of `||`; that of a condition counts in its branches.
    """
    found: dict[Key, Lookup] = {}
    _collect_unguarded(root, frozenset(), found, _Guards())
    return list(found.values())


def _collect_unguarded(
    node: Node, present: frozenset[Key], found: dict[Key, Lookup], guards: _Guards
) -> None:
    lookup = as_lookup(node)
    if lookup is not None and not lookup.optional and lookup.key not in present:
        found.setdefault(lookup.key, lookup)
    if isinstance(node, Call) and node.target is None:
        function, args = node.function, node.args
        if function in ("_&&_", "_||_"):
            left, right = (guards.present(arg, function == "_&&_") for arg in args)
            _collect_unguarded(args[0], present | right, found, guards)
            _collect_unguarded(args[1], present | left, found, guards)
            return
        if function == "_?_:_":
            _collect_unguarded(args[0], present, found, guards)
            _collect_unguarded(args[1], present | guards.present(args[0], True), found, guards)
            _collect_unguarded(args[2], present | guards.present(args[0], False), found, guards)
            return
    for child in children(node):
        _collect_unguarded(child, present, found, guards)


class _Guards:
    """What the parts of one expression guard; each part is read once, however many parts around it ask."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, bool], frozenset[Key]] = {}

    def present(self, node: Node, outcome: bool) -> frozenset[Key]:
        """What a device must have for the node to give this outcome."""
        key = id(node), outcome
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(node, outcome)
        return found

    def _find(self, node: Node, outcome: bool) -> frozenset[Key]:
        tested = _tested_key(node)
        if tested is not None and outcome:
            return frozenset((tested,))
        if not isinstance(node, Call):
            return frozenset()
        function = node.function
        if function == "!_":
            return self.present(node.args[0], not outcome)
        if function in ("_&&_", "_||_"):
            left, right = self.present(node.args[0], outcome), self.present(node.args[1], outcome)
            return left | right if (function == "_&&_") == outcome else left & right
        if outcome and function == "hasValue" and node.target is not None:
            lookup = as_lookup(node.target)
            return frozenset() if lookup is None else frozenset((lookup.key,))
        return frozenset()

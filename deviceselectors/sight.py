"""What expressions see of a device. They give the same on devices in which they see the same."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from deviceselectors.ast import Call, Ident, Literal, Node, Select
from deviceselectors.device_properties import DeviceProperties
from deviceselectors.lookups import ATTRIBUTES, CAPACITY, Key, as_lookup, children, device_map, domain_of
from resourceapi.equality import canonical, fingerprint
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import value_of

Reads = frozenset[Key]
"""What is looked up by literal names; a key without a name asks whether there is anything of the domain."""

Wanted = tuple[str, tuple[str, object]]
"""The full name of an attribute, and a value with its type."""

_SCALARS = {str: "string", int: "int", bool: "bool"}
_SCALAR_TYPES = frozenset(_SCALARS.values())
_SHARING: Key = ("allowMultipleAllocations", "", "")
#: More values are remembered by their digest: who remembers them does so for very many devices.
_FEW = 8


def reads(root: Node) -> Reads | None:
    """What an expression reads of a device beside the driver's name; None if that is not only what it names literally."""
    found: set[Key] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        keys = _read_by(node)
        if keys is not None:
            found.update(keys)
        elif isinstance(node, Ident) and node.name.lstrip(".") == "device":
            return None
        else:
            waiting.extend(children(node))
    return frozenset(found)


def _read_by(node: Node) -> Iterable[Key] | None:
    """What a node reads of the device all by itself; None for others, whose parts are to be looked at."""
    lookup = as_lookup(node)
    if lookup is not None:
        return (lookup.key, (lookup.map, lookup.domain, "")) if lookup.optional else (lookup.key,)
    if isinstance(node, Select):
        if isinstance(node.operand, Ident) and node.operand.name == "device" and not node.test_only:
            return {"driver": (), _SHARING[0]: (_SHARING,)}.get(node.field)
        return _presence(node.operand, node.field) if node.test_only else None
    if isinstance(node, Call) and node.function == "@in" and isinstance(node.args[0], Literal):
        name = str(node.args[0].value)
        map_ = device_map(node.args[1])
        return ((map_, name, ""),) if map_ else _presence(node.args[1], name)
    return None


def _presence(node: Node, name: str) -> Iterable[Key] | None:
    found = domain_of(node)
    return None if found is None else ((*found[:2], name), (*found[:2], ""))


class Sight:
    """Tells devices apart by what certain expressions read."""

    __slots__ = ("_by_driver", "_domains", "reads")

    def __init__(self, reads: Reads | None) -> None:
        """`reads`: None if everything may be read."""
        self.reads = reads
        self._domains = [(map_, domain) for map_, domain, name in sorted(reads or ()) if not name]
        self._by_driver: dict[str, tuple[tuple[bool, tuple[str, ...]], ...]] = {}

    def of(self, properties: DeviceProperties) -> Hashable:
        """Equal for devices in which the expressions see the same; it keeps nothing of large devices."""
        if self.reads is None or not properties.is_plain:
            return properties.fingerprint
        names = self._by_driver.get(properties.driver)
        if names is None:
            names = self._by_driver[properties.driver] = tuple(self._names(properties.driver))
        seen: list[Hashable] = [properties.driver]
        for of_capacity, spellings in names:
            if of_capacity:
                for name in spellings:
                    capacity = properties.capacity
                    seen.append(str(value_of(capacity[name])) if name in capacity else None)
            else:
                for name in spellings:
                    entry = properties.attributes.get(name)
                    seen.append(None if entry is None else _value(entry))
        for map_, domain in self._domains:
            seen.append(_has_domain(properties, map_, domain))
        return tuple(seen) if len(seen) <= _FEW else fingerprint(repr(seen))

    def _names(self, driver: str) -> Iterable[tuple[bool, tuple[str, ...]]]:
        """Under which names a slice may have what is read."""
        for map_, domain, name in sorted(self.reads or ()):
            if name:
                spellings = (f"{domain}/{name}", name) if domain == driver else (f"{domain}/{name}",)
                yield map_ == CAPACITY, spellings


def _value(attribute: Object) -> Hashable:
    if len(attribute) == 1:
        (value,) = attribute.items()
        if value[1].__class__ is not list:
            return value
    return fingerprint(canonical(attribute))


def _has_domain(properties: DeviceProperties, map_: str, domain: str) -> bool:
    if map_ == _SHARING[0]:
        return properties.shown_as_multiple
    entries = properties.attributes if map_ == ATTRIBUTES else properties.capacity
    own = domain == properties.driver
    return any(name.startswith(f"{domain}/") or (own and "/" not in name) for name in entries or EMPTY)


def wanted_value(root: Node) -> Wanted | None:
    """An attribute, and the only value with which the expression can be true; on devices with another one it is false.

    It is what is evaluated first: a comparison of the attribute with a literal, alone or at the beginning of a conjunction.
    """
    node = root
    while isinstance(node, Call) and node.function == "_&&_":
        node = node.args[0]
    if not isinstance(node, Call) or node.function != "_==_":
        return None
    one, other = node.args
    lookup, literal = (as_lookup(one), other) if isinstance(other, Literal) else (as_lookup(other), one)
    if lookup is None or lookup.optional or lookup.map != ATTRIBUTES or not isinstance(literal, Literal):
        return None
    type_ = _SCALARS.get(type(literal.value))
    return None if type_ is None else (lookup.qualified, (type_, literal.value))


def scalar_value(properties: DeviceProperties, full: str, bare: str) -> tuple[str, object] | None:
    """The value of an attribute with its type, None if there is not exactly one.

    :param bare: its name without the domain of the driver; the full name if it is of another domain.
    """
    attributes = properties.attributes
    entry = attributes.get(bare)
    if full != bare and full in attributes:
        entry = None if entry else attributes[full]
    if not entry or len(entry) != 1:
        return None
    (value,) = entry.items()
    return value if value[0] in _SCALAR_TYPES else None

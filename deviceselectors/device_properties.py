"""What selectors see of a device. Devices with equal properties cannot be told apart by any selector."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sized
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from deviceselectors.ast import Call, Ident, Literal, Node, Select
from deviceselectors.lookups import (
    ATTRIBUTES,
    CAPACITY,
    Key,
    as_lookup,
    children,
    device_map,
    domain_of,
    presence_test,
)
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import value_of, values_of
from resourceapi.spelling import canonical, fingerprint

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device as PreparedDevice


_SCALARS = ("string", "int", "bool", "version")


def properties_key(driver: str, device: Object) -> str:
    """Something to group devices by: equal for devices with equal :class:`DeviceProperties`.

    :param driver: the name of the driver, which is part of the ResourceSlice.
    :param device: an element of a ResourceSlice's `spec.devices`, of v1 in normal form; its name does not count.
    """
    return canonical(
        [
            driver,
            device.get("allowMultipleAllocations") is True,
            device.get("attributes") or EMPTY,
            device.get("capacity") or EMPTY,
        ]
    )


class DeviceProperties:
    """Driver, attributes and capacity of a device, and whether it can be shared (`allowMultipleAllocations`).

    What has been found out about selectors on such devices is kept here, for as long as there are any.
    """

    def __init__(
        self, driver: str, device: Object, *, hide_sharing: bool = False, hide_lists: bool = False
    ) -> None:
        """Take the properties of an element of `spec.devices`, of v1 in normal form.

        :param hide_sharing: whether expressions always see a device that cannot be shared.
        :param hide_lists: whether they fail where an attribute is a list.
        """
        self.driver = driver
        self.attributes: Mapping[str, Object] = device.get("attributes") or EMPTY
        #: with request policies, which selectors do not see, but requests for capacity do
        self.capacity: Mapping[str, Object] = device.get("capacity") or EMPTY
        self.multiple = device.get("allowMultipleAllocations") is True
        self._hide_sharing, self._hide_lists = hide_sharing, hide_lists
        #: what expressions see of `multiple`
        self.shown_as_multiple = self.multiple and not hide_sharing
        #: outcomes of selectors, by the numbers of their expressions: whether they choose such a device, or the error
        self.matches: dict[int, bool | str] = {}
        #: attributes that expressions derive, by their numbers
        self.derived: dict[int, Object] = {}

    def changed(self, attributes: Mapping[str, Object], capacity: Mapping[str, Object]) -> DeviceProperties:
        """Properties that differ in attributes and capacity."""
        device = {"attributes": attributes, "capacity": capacity, "allowMultipleAllocations": self.multiple}
        return DeviceProperties(
            self.driver, device, hide_sharing=self._hide_sharing, hide_lists=self._hide_lists
        )

    @cached_property
    def fingerprint(self) -> str:
        """Equal for equal properties: to remember something of them without keeping them."""
        device = {"attributes": self.attributes, "capacity": self.capacity}
        return fingerprint(properties_key(self.driver, {**device, "allowMultipleAllocations": self.multiple}))

    @cached_property
    def prepared(self) -> PreparedDevice:
        """The value of the variable `device` in expressions."""
        return self.prepare()

    def prepare(self) -> PreparedDevice:
        """The value of `device`, which is not kept: for those who do not need it again and again."""
        from deviceselectors.runtime.device import prepare_device

        known: PreparedDevice | None = self.__dict__.get("prepared")
        if known is not None:
            return known
        device = {
            "allowMultipleAllocations": self.shown_as_multiple,
            "attributes": {name: self._shown(attribute or {}) for name, attribute in self.attributes.items()},
            "capacity": {name: {"value": str(total)} for name, total in values_of(self.capacity).items()},
        }
        return prepare_device(device, self.driver)

    def let_go(self) -> None:
        """Keep :attr:`prepared` no longer: it takes more than all else of a device."""
        self.__dict__.pop("prepared", None)

    def _shown(self, attribute: Object) -> Object:
        if not self._hide_lists:
            return attribute
        return {name: attribute[name] for name in _SCALARS if name in attribute}

    @cached_property
    def is_plain(self) -> bool:
        """Whether expressions can be evaluated on such devices, in bounded time."""
        return self.prepare().plain


Members = TypeVar("Members", bound=Sized)


class DeviceGroup(Generic[Members]):
    """Devices with the same properties, which no selector can tell apart.

    :param members: which devices they are, in the way in which its maker keeps them.
    """

    __slots__ = ("members", "properties")

    def __init__(self, properties: DeviceProperties, members: Members) -> None:
        self.properties = properties
        self.members = members


# What expressions see of a device. They give the same on devices in which they see the same.

Reads = frozenset[Key]
"""What is looked up by literal names; a key without a name asks whether there is anything of the domain."""

Wanted = tuple[str, tuple[str, object]]
"""The full name of an attribute, and a value with its type."""

_LITERAL_SCALARS = {str: "string", int: "int", bool: "bool"}
_SCALAR_TYPES = frozenset(_LITERAL_SCALARS.values())
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
    if isinstance(node, Select) and not node.test_only:
        of_device = isinstance(node.operand, Ident) and node.operand.name == "device"
        return {"driver": (), _SHARING[0]: (_SHARING,)}.get(node.field) if of_device else None
    tested = presence_test(node)
    if tested is None:
        return None
    map_ = device_map(tested[0]) if isinstance(node, Call) else ""
    if map_:
        return ((map_, tested[1], ""),)
    found = domain_of(tested[0])
    return None if found is None else ((*found[:2], tested[1]), (*found[:2], ""))


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
    type_ = _LITERAL_SCALARS.get(type(literal.value))
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

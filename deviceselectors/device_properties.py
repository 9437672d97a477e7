"""What selectors see of a device. Devices with equal properties cannot be told apart by any selector."""

from __future__ import annotations

from collections.abc import Sized
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from resourceapi.equality import canonical, fingerprint
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import values_of

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
        self.attributes: Object = device.get("attributes") or EMPTY
        #: with request policies, which selectors do not see, but requests for capacity do
        self.capacity: Object = device.get("capacity") or EMPTY
        self.multiple = device.get("allowMultipleAllocations") is True
        self._hide_sharing, self._hide_lists = hide_sharing, hide_lists
        #: what expressions see of `multiple`
        self.shown_as_multiple = self.multiple and not hide_sharing
        #: outcomes of selectors, by the numbers of their expressions: whether they choose such a device, or the error
        self.matches: dict[int, bool | str] = {}
        #: attributes that expressions derive, by their numbers
        self.derived: dict[int, Object] = {}

    def changed(self, attributes: Object, capacity: Object) -> DeviceProperties:
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

"""A device as expressions see it.

Attributes and capacities without a domain belong to the driver's domain. An attribute has one value: the list before
the scalar, ints before bools, strings, versions. Source: KEP-4381 and kube-scheduler 1.37.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.runtime import semvers
from deviceselectors.runtime.values import CelError, DomainMap, EntryMap
from resourceapi import quantity

#: A device within these bounds, which are those of the API with some room, costs no more than `bounds` says.
MAX_ENTRIES = 64
MAX_TEXT = 256

_MAX_CACHED = 4096
_quantities: dict[str, quantity.Quantity] = {}
_versions: dict[str, semvers.Semver] = {}


class Device:
    """A device prepared for evaluation; shared by any number of evaluations and threads, never changed.

    `error` is the text with which every evaluation fails, if an attribute has no proper value.
    """

    __slots__ = ("attributes", "bounded", "capacity", "driver", "error", "multiple")

    def __init__(
        self,
        driver: str,
        multiple: bool,
        attributes: DomainMap,
        capacity: DomainMap,
        bounded: bool,
        error: str | None,
    ) -> None:
        self.driver = driver
        #: allowMultipleAllocations
        self.multiple = multiple
        self.attributes = attributes
        self.capacity = capacity
        #: whether its size is within the limits of the API, so that estimates of cost hold
        self.bounded = bounded
        self.error = error

    def as_map(self) -> dict[str, Any]:
        """The value of the variable `device` as a whole."""
        return {
            "driver": self.driver,
            "allowMultipleAllocations": self.multiple,
            "attributes": self.attributes,
            "capacity": self.capacity,
        }


def prepare_device(device: dict[str, Any], driver: str) -> Device:
    """The device in the JSON form of `resource.k8s.io/v1`, as in ResourceSlice `spec.devices`, and its driver's name.

    Raises ValueError for a capacity that is no quantity; the API server lets none through.
    """
    attributes, capacity = DomainMap(), DomainMap()
    given = device.get("attributes") or {}
    capacities = device.get("capacity") or {}
    bounded = len(given) <= MAX_ENTRIES and len(capacities) <= MAX_ENTRIES and len(driver) <= MAX_TEXT
    error = None
    own = EntryMap()
    for name, attribute in given.items():
        domain, slash, identifier = name.partition("/")
        if slash:
            entries = attributes.get(domain)
            if entries is None:
                entries = attributes[domain] = EntryMap()
        else:
            entries, identifier = own, domain
        value = attribute.get("string")
        if value is None or len(attribute) > 1:
            try:
                value = _attribute_value(attribute)
            except CelError as failure:
                error = error or f"attribute {name}: {failure}"
                continue
        if value.__class__ is str or value.__class__ is list:
            bounded = bounded and len(value) <= MAX_TEXT and len(name) <= MAX_TEXT
        entries[identifier] = value
    if own:
        _merge(attributes, driver, own)
    for name, entry in capacities.items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, domain
        entries = capacity.get(domain)
        if entries is None:
            entries = capacity[domain] = EntryMap()
        entries[identifier] = _quantity(entry["value"])
    return Device(
        driver, device.get("allowMultipleAllocations") is True, attributes, capacity, bounded, error
    )


def _merge(attributes: DomainMap, driver: str, own: EntryMap) -> None:
    entries = attributes.get(driver)
    if entries is None:
        attributes[driver] = own
    else:
        # both `a` and `driver/a` name the same attribute; which one wins is up to Go's map order
        entries.update(own)


def _attribute_value(attribute: dict[str, Any]) -> Any:
    for key in ("ints", "bools", "strings"):
        value = attribute.get(key)
        if value is not None:
            return list(value)
    versions = attribute.get("versions")
    if versions is not None:
        return [_version(text) for text in versions]
    for key in ("int", "bool", "string"):
        value = attribute.get(key)
        if value is not None:
            return value
    version = attribute.get("version")
    if version is not None:
        return _version(version)
    raise CelError("unsupported attribute value")


def _version(text: str) -> semvers.Semver:
    version = _versions.get(text)
    if version is None:
        try:
            version = semvers.parse(text)
        except CelError as error:
            raise CelError(f"parse semantic version: {error}") from None
        if len(_versions) >= _MAX_CACHED:
            _versions.clear()
        _versions[text] = version
    return version


def _quantity(value: Any) -> quantity.Quantity:
    if value.__class__ is not str:
        return quantity.from_json(value)
    parsed = _quantities.get(value)
    if parsed is None:
        parsed = quantity.from_json(value)
        if len(_quantities) >= _MAX_CACHED:
            _quantities.clear()
        _quantities[value] = parsed
    return parsed

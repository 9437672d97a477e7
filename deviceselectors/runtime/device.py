"""A device as expressions see it.

Attributes and capacities without a domain belong to the driver's domain. An attribute has one value: the list before
the scalar, ints before bools, strings, versions. Source: KEP-4381 and kube-scheduler 1.37.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries import semver
from deviceselectors.runtime.values import CelError, DomainMap, EntryMap
from resourceapi import quantity

#: A device within these bounds, which are those of the API with some room, costs no more than `bounds` says.
MAX_ENTRIES = 64
MAX_TEXT = 256

_SCALARS = frozenset(("string", "bool", "int"))
_MAX_CACHED = 4096
_quantities: dict[str, quantity.Quantity] = {}
_versions: dict[str, semver.Semver] = {}


class Device:
    """A device prepared for evaluation; shared by any number of evaluations and threads, never changed."""

    __slots__ = ("attributes", "capacity", "driver", "error", "multiple", "plain")

    def __init__(
        self,
        driver: str,
        multiple: bool,
        attributes: DomainMap,
        capacity: DomainMap,
        error: str | None,
        bounded: bool,
    ) -> None:
        self.driver = driver
        #: allowMultipleAllocations
        self.multiple = multiple
        self.attributes = attributes
        self.capacity = capacity
        #: the text with which every evaluation fails, if an attribute has no proper value
        self.error = error
        #: whether it can be evaluated and is within the limits of the API, so that bounds of cost hold
        self.plain = bounded and error is None

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

    :raises ValueError: for a capacity that is no quantity; the API server lets none through
    """
    attributes, capacity = DomainMap(), DomainMap()
    error = None
    bounded = len(driver) <= MAX_TEXT
    given = device.get("attributes")
    if given:
        error, within = _add_attributes(attributes, given, driver)
        bounded = bounded and within
    capacities = device.get("capacity")
    if capacities:
        bounded = bounded and len(capacities) <= MAX_ENTRIES
        own = EntryMap()
        for name, entry in capacities.items():
            value = entry.get("value") if entry else None
            value = _quantity(value)
            bounded = bounded and len(name) <= MAX_TEXT
            if "/" in name:
                _add_qualified(capacity, name, value)
            else:
                own[name] = value
        if own:
            _add_own(capacity, driver, own)
    return Device(
        driver, device.get("allowMultipleAllocations") is True, attributes, capacity, error, bounded
    )


def _add_attributes(attributes: DomainMap, given: dict[str, Any], driver: str) -> tuple[str | None, bool]:
    """Adds attributes by domain; returns the error of the first that is invalid, and whether all are within limits."""
    error = None
    bounded = len(given) <= MAX_ENTRIES
    own = EntryMap()
    for name, attribute in given.items():
        # the usual case first: one field with a scalar, a version one that has been seen before
        value = None
        if attribute and len(attribute) == 1:
            (key,) = attribute
            if key in _SCALARS:
                value = attribute[key]
            elif key == "version":
                value = _versions.get(attribute[key])
        if value is None:
            try:
                value = _attribute_value(attribute or {})
            except CelError as failure:
                error = error or f"attribute {name}: {failure.message}"
                continue
            bounded = bounded and all(map(_is_within_limits, attribute.values()))
        if len(name) > MAX_TEXT or (value.__class__ is str and len(value) > MAX_TEXT):
            bounded = False
        if "/" in name:
            _add_qualified(attributes, name, value)
        else:
            own[name] = value
    if own:
        _add_own(attributes, driver, own)
    return error, bounded


def _is_within_limits(field: Any) -> bool:
    """Whether the field of an attribute is no larger than any that the API server lets through."""
    if field.__class__ is list:
        return len(field) <= MAX_TEXT and all(
            each.__class__ is not list and _is_within_limits(each) for each in field
        )
    return field.__class__ is not str or len(field) <= MAX_TEXT


def _add_qualified(domains: DomainMap, name: str, value: Any) -> None:
    domain, _, identifier = name.partition("/")
    entries = domains.get(domain)
    if entries is None:
        entries = domains[domain] = EntryMap()
    entries[identifier] = value


def _add_own(domains: DomainMap, driver: str, own: EntryMap) -> None:
    """Adds what has no domain; where both `a` and `driver/a` are given, Go's map order decides on the server."""
    entries = domains.get(driver)
    if entries is None:
        domains[driver] = own
    else:
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


def _version(text: str) -> semver.Semver:
    version = _versions.get(text)
    if version is None:
        try:
            version = semver.parse(text)
        except CelError as error:
            raise CelError(f"parse semantic version: {error.message}") from None
        if len(_versions) >= _MAX_CACHED:
            _versions.clear()
        if len(text) <= MAX_TEXT:  # of those that are known, nobody asks for the length again
            _versions[text] = version
    return version


def _quantity(value: Any) -> quantity.Quantity:
    if value.__class__ is not str:
        # not given means zero
        return quantity.from_json(value)
    parsed = _quantities.get(value)
    if parsed is None:
        parsed = quantity.from_json(value)
        if len(_quantities) >= _MAX_CACHED:
            _quantities.clear()
        _quantities[value] = parsed
    return parsed

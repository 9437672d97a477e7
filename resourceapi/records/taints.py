"""Taints of nodes and devices, and the DeviceTaintRules by which an administrator taints devices (KEP-5055)."""

from __future__ import annotations

from typing import Any, NamedTuple

from resourceapi.manifests import mapping, name_of, text
from resourceapi.objects import Object


class Taint(NamedTuple):
    """A taint of a node or a device."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As kubectl writes it: `key=value:Effect`."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


def read_taint(value: Any) -> Taint:
    """A taint of a node or a device, also with mistakes."""
    return Taint(text(value, "key"), text(value, "value"), text(value, "effect"))


class DeviceNames(NamedTuple):
    """The names that a device must have; None is any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRule(NamedTuple):
    """A DeviceTaintRule.

    :param names: of the devices that it is about; None if it is about none, as without a selector.
    :param taint: the DeviceTaint itself.
    """

    name: str
    names: DeviceNames | None
    taint: Object


def read_taint_rule(value: Object) -> DeviceTaintRule:
    """A DeviceTaintRule of v1 in normal form."""
    spec = mapping(value, "spec")
    selector = spec.get("deviceSelector")
    return DeviceTaintRule(
        name_of(value),
        None if selector is None else device_names(selector),
        mapping(spec, "taint"),
    )


def without_time(rule: DeviceTaintRule) -> DeviceTaintRule:
    """The rule with a taint that is added when it is applied."""
    return rule._replace(taint={name: value for name, value in rule.taint.items() if name != "timeAdded"})


def device_names(selector: Object) -> DeviceNames:
    """The names in the selector of a rule, or in the filter of a patch."""
    return DeviceNames(selector.get("driver"), selector.get("pool"), selector.get("device"))

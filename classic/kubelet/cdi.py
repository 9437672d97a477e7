"""Devices as the Container Device Interface describes them: what a container runtime changes about a container.

The names follow the CDI specification where kubelet 1.30 is no stricter. It takes no dot in a class, and a vendor or class of one
character ends it in a panic.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from resourceapi.errors import ClaimcheckError

_VENDOR = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*[A-Za-z0-9]")
_CLASS = re.compile(r"[A-Za-z][A-Za-z0-9_-]*[A-Za-z0-9]")
_DEVICE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?")
_QUALIFIED = re.compile(rf"{_VENDOR.pattern}/{_CLASS.pattern}={_DEVICE.pattern}")
_PERMISSIONS = re.compile(r"[rwm]*")
# Names become part of annotations and file names.
_MOST_CHARACTERS = 128


class InvalidDevice(ClaimcheckError):
    """A container runtime or kubelet would not take the device."""


class HookName(Enum):
    """When a hook runs, by OCI's names. The first two run outside the container, on the node."""

    PRESTART = "prestart"
    CREATE_RUNTIME = "createRuntime"
    CREATE_CONTAINER = "createContainer"
    START_CONTAINER = "startContainer"
    POSTSTART = "poststart"
    POSTSTOP = "poststop"


@dataclass(frozen=True, slots=True)
class DeviceNode:
    """A device node that the container gets.

    :ivar host_path: where it is on the node, if not at ``path``.
    :ivar permissions: of ``r``, ``w`` and ``m``; empty for all of them.
    """

    path: str
    host_path: str = ""
    permissions: str = ""

    def __post_init__(self) -> None:
        _check_path("a device node", self.path)
        if self.host_path:
            _check_path("a device node on the node", self.host_path)
        if not _PERMISSIONS.fullmatch(self.permissions):
            raise InvalidDevice("a device node's permissions are of r, w and m")

    def to_json(self) -> dict[str, Any]:
        """The node in a CDI spec."""
        return _filled({"path": self.path, "hostPath": self.host_path, "permissions": self.permissions})


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or directory of the node that the container gets."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ("ro", "nosuid", "nodev", "bind")

    def __post_init__(self) -> None:
        _check_path("a mount on the node", self.host_path)
        _check_path("a mount in the container", self.container_path)

    def to_json(self) -> dict[str, Any]:
        """The mount in a CDI spec."""
        return {
            "hostPath": self.host_path,
            "containerPath": self.container_path,
            "options": list(self.options),
        }


@dataclass(frozen=True, slots=True)
class Hook:
    """A program that the runtime runs.

    :ivar arguments: with the name of the program first.
    :ivar timeout: in seconds.
    """

    name: HookName
    path: str
    arguments: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: int | None = None

    def __post_init__(self) -> None:
        _check_path("a hook", self.path)
        _check_env(self.env)
        if any("\0" in argument for argument in self.arguments):
            raise InvalidDevice("a hook's arguments cannot contain a null character")

    def to_json(self) -> dict[str, Any]:
        """The hook in a CDI spec."""
        return {
            "hookName": self.name.value,
            "path": self.path,
            **_filled({"args": list(self.arguments), "env": _assignments(self.env)}),
            **({} if self.timeout is None else {"timeout": self.timeout}),
        }


@dataclass(frozen=True, slots=True)
class ContainerEdits:
    """What a device changes about a container."""

    env: Mapping[str, str] = field(default_factory=dict)
    device_nodes: Sequence[DeviceNode] = ()
    mounts: Sequence[Mount] = ()
    hooks: Sequence[Hook] = ()

    def __post_init__(self) -> None:
        _check_env(self.env)

    def to_json(self) -> dict[str, Any]:
        """The edits in a CDI spec."""
        return _filled(
            {
                "env": _assignments(self.env),
                "deviceNodes": [node.to_json() for node in self.device_nodes],
                "mounts": [mount.to_json() for mount in self.mounts],
                "hooks": [hook.to_json() for hook in self.hooks],
            }
        )


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a claim. Its name needs to be unique within the claim only."""

    name: str
    edits: ContainerEdits

    def __post_init__(self) -> None:
        if not self.edits.to_json():
            # Runtimes refuse such a spec.
            raise InvalidDevice("a device changes something about a container: it has no edits")
        if len(self.name) > _MOST_CHARACTERS or not _DEVICE.fullmatch(self.name):
            raise InvalidDevice(
                "a device's name is of letters, digits and - _ . : between letters and digits, "
                f"at most {_MOST_CHARACTERS} characters"
            )


@dataclass(frozen=True, slots=True)
class DeviceKind:
    """The kind of a driver's devices: ``vendor/class``, the first part of their names."""

    vendor: str
    device_class: str

    def __post_init__(self) -> None:
        if len(self.vendor) > _MOST_CHARACTERS or not _VENDOR.fullmatch(self.vendor):
            raise InvalidDevice(
                "a CDI vendor begins with a letter, ends with a letter or digit, has - _ . and these between, "
                f"and has 2 to {_MOST_CHARACTERS} characters"
            )
        if len(self.device_class) > _MOST_CHARACTERS or not _CLASS.fullmatch(self.device_class):
            raise InvalidDevice(
                "a CDI class begins with a letter, ends with a letter or digit, has - _ and these between, "
                f"and has 2 to {_MOST_CHARACTERS} characters"
            )

    def __str__(self) -> str:
        return f"{self.vendor}/{self.device_class}"


def check_qualified_name(name: str) -> None:
    """Make sure that kubelet and runtimes take this as the name of a device, ``vendor/class=device``.

    :raises InvalidDevice: if they do not
    """
    if len(name) > 4 * _MOST_CHARACTERS or not _QUALIFIED.fullmatch(name):
        raise InvalidDevice("the full name of a device is vendor/class=device")


def least_version(devices: Sequence[Device]) -> str:
    """The oldest version of the CDI specification that has all that the devices use: runtimes refuse newer ones than theirs."""
    nodes = [node for device in devices for node in device.edits.device_nodes]
    if any(node.host_path for node in nodes) or any(device.name[0].isdigit() for device in devices):
        return "0.5.0"
    return "0.3.0"


def _check_path(what: str, path: str) -> None:
    if not path.startswith("/") or "\0" in path:
        raise InvalidDevice(f"the path of {what} must be absolute")


def _check_env(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise InvalidDevice("an environment variable needs a name without =, and no null characters")


def _assignments(env: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in env.items()]


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}

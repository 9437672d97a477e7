"""Which devices the options choose: by driver, pool, node, class, selector and name."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from allocator.devices import Device
from allocator.selection import CompileError, Selectors
from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from commandline.errors import UsageError
from resourceapi.phrases import nearest
from resourceapi.records.nodes import Node


class Failed(NamedTuple):
    """An expression that fails on devices: on how many, and on the first of them with this error."""

    option: str
    device: Device
    error: str
    devices: int


class Filters:
    """What ``--driver``, ``--pool``, ``--node``, ``--class`` and ``--selector`` let through; all that are given must."""

    def __init__(self, options: Namespace, devices: ClusterDevices, limit: TimeLimit) -> None:
        """Check the values of the options.

        :raises UsageError: for a driver, pool, node or class that does not exist.
        """
        self._driver, self._pool = options.only_driver, options.only_pool
        self._known = {"driver": devices.drivers, "pool": {pool.pool for pool in devices.pools}}
        nodes = {node.name: node for node in devices.state.all_nodes()}
        _insist("--node", options.only_node, nodes)
        self._node: Node | None = nodes.get(options.only_node) if options.only_node else None
        _insist("--class", options.only_class, devices.state.classes)
        self._selectors, self._limit = Selectors(devices.state.features.minor), limit
        self._expressions: list[tuple[str, str]] = []
        if options.only_class:
            for expression in devices.state.classes[options.only_class].expressions:
                self._expressions.append((f"--class {options.only_class}", expression))
        if options.only_selector is not None:
            self._expressions.append(("--selector", options.only_selector))
        self._failed: dict[str, Failed] = {}

    @property
    def are_empty(self) -> bool:
        """Whether they let everything through."""
        return not (self._driver or self._pool or self._node or self._expressions)

    def nothing(self) -> str:
        """That there are no devices, and why, if that is known."""
        for what, name in (("driver", self._driver), ("pool", self._pool)):
            known = self._known[what]
            if name and known and name not in known:
                return f"no devices found: there is no {what} {name}{_question(name, known)}"
        return "no devices found"

    @property
    def failed(self) -> Iterable[Failed]:
        """The expressions that have failed on devices so far."""
        return self._failed.values()

    def of(self, devices: Iterable[Device]) -> Iterator[Device]:
        """Those of the devices that all filters let through.

        :raises UsageError: for an expression that cannot be compiled.
        """
        return (device for device in devices if self._is_there(device) and self._matches(device))

    def _is_there(self, device: Device) -> bool:
        if (self._driver and device.id.driver != self._driver) or (
            self._pool and device.id.pool != self._pool
        ):
            return False
        return self._node is None or device.is_for(self._node)

    def _matches(self, device: Device) -> bool:
        for option, expression in self._expressions:
            try:
                outcome = self._selectors.outcome(expression, device, self._limit)
            except CompileError as error:
                raise UsageError(f"{option}: {error}") from None
            if isinstance(outcome, str):
                known = self._failed.get(option, Failed(option, device, outcome, 0))
                self._failed[option] = known._replace(devices=known.devices + 1)
                return False
            if not outcome:
                return False
        return True


def named(devices: Sequence[Device], names: Iterable[str]) -> list[Device]:
    """The devices that have one of these names, in their order.

    :param names: ``DRIVER/POOL/DEVICE``, or one or more of its parts that follow each other.
    :raises UsageError: for a name that no device has.
    """
    chosen: set[int] = set()
    paths = [f"/{device.id}/" for device in devices]
    for name in names:
        found = [place for place, path in enumerate(paths) if f"/{name.strip('/')}/" in path]
        if not found:
            known = dict.fromkeys(part for path in paths for part in _parts(path))
            raise UsageError(f"no device {name}{_of_file(name) or _question(name, known)}")
        chosen.update(found)
    return [devices[place] for place in sorted(chosen)]


def _parts(path: str) -> Iterator[str]:
    """What a device with this path, its pool and its driver can be called; the device also without the driver."""
    driver, _, rest = path.strip("/").partition("/")
    pool, _, device = rest.rpartition("/")
    return iter((f"{driver}/{rest}", rest, device, pool, driver))


def _insist(option: str, name: str | None, known: Iterable[str]) -> None:
    if name and name not in (names := set(known)):
        what = option.removeprefix("--")
        raise UsageError(f"{option} {name}: there is no such {what}{_question(name, names)}")


def _of_file(name: str) -> str:
    return (
        "; `claimcheck impact` tells what the objects in a file would change" if Path(name).exists() else ""
    )


def _question(name: str, known: Iterable[str]) -> str:
    meant = nearest(name, sorted(known))
    return f"; did you mean {meant}?" if meant else ""

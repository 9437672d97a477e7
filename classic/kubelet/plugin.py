"""A driver's node plugin: what kubelet finds, registers and calls."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

import grpc
from grpc.aio import Server, server

from classic.kubelet import CDI_SPECS, KUBELET, PLUGINS, REGISTRY
from classic.kubelet.cdi import DeviceKind, InvalidDevice
from classic.kubelet.preparation import NodeDriver, Preparation, SpecDirectory
from classic.kubelet.services import NodeService, RegistrationService, Service
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import log
from resourceapi.names import driver_name

# A gRPC server on a Unix socket for kubelet alone, which appears at its path when it can be used.

#: As kubelet's own gRPC servers have it; requests of real pods are far smaller.
MOST_REQUEST_BYTES = 4 * 1024 * 1024

# Paths of sockets have at most 107 bytes on Linux. Before a socket is in its place, its name has a prefix.
_MOST_PATH_BYTES = 107
_RANDOM_BYTES = 3


class CannotListen(ClaimcheckError):
    """There cannot be a socket at this path."""


class SocketServer:
    """Serves at a path until it is stopped; whatever socket was there before is replaced.

    :param most_calls: how many calls are answered at a time; further ones fail.
    """

    def __init__(self, path: Path, services: Sequence[Service], most_calls: int) -> None:
        self._path = path
        self._services = services
        self._most_calls = most_calls
        self._server: Server | None = None
        self._identity: tuple[int, int] | None = None

    async def start(self) -> None:
        """Listen, and put the socket in its place.

        :raises CannotListen: if that is not possible
        """
        new = self._path.with_name(f".{secrets.token_hex(_RANDOM_BYTES)}.{self._path.name}")
        if len(os.fsencode(new)) > _MOST_PATH_BYTES:
            raise CannotListen(f"{self._path}: the path of a socket can't be that long")
        try:
            self._require_socket_or_nothing()
            self._server = self._listening_at(new)
            await self._server.start()
            found = new.stat()
            self._identity = (found.st_dev, found.st_ino)
            # kubelet ignores names with a dot in front: it sees the socket only now, when it is answered.
            new.replace(self._path)
        except (OSError, RuntimeError) as error:
            await self.stop(0)
            with suppress(OSError):
                new.unlink()
            raise CannotListen(f"{self._path}: {error}") from error

    async def stop(self, grace: float) -> None:
        """Remove the socket, and stop when the calls that are being answered are over, after so many seconds at the latest."""
        with suppress(OSError):
            found = self._path.lstat()
            # The next process may have put its own there already.
            if (found.st_dev, found.st_ino) == self._identity:
                self._path.unlink()
        if self._server is not None:
            await self._server.stop(grace)

    def _require_socket_or_nothing(self) -> None:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(self._path.lstat().st_mode):
                raise CannotListen(f"{self._path}: this is something other than a socket")

    def _listening_at(self, path: Path) -> Server:
        listening = server(
            options=[
                ("grpc.max_receive_message_length", MOST_REQUEST_BYTES),
                ("grpc.max_concurrent_streams", self._most_calls),
            ],
            maximum_concurrent_rpcs=self._most_calls,
        )
        for service in self._services:
            listening.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(service.name, service.methods),)
            )
        # The socket must never be open to others, not even for a moment.
        umask = os.umask(0o177)
        try:
            listening.add_insecure_port(f"unix:{quote(str(path))}")
        finally:
            os.umask(umask)
        return listening


# kubelet 1.30 keeps a claim's devices under an annotation `<driver>_<UID>` of at most 63 characters.
_MOST_DRIVER_CHARACTERS = 63 - len("_") - 36
_DIRECTORY_MODE = 0o750


class InvalidSettings(ClaimcheckError):
    """No plugin can run with these settings."""


@dataclass(frozen=True)
class PluginSettings:
    """What a node plugin has to know.

    :ivar device_class: the class of its CDI devices, whose vendor is the driver.
    :ivar plugins_directory: where kubelet has the sockets of plugins. The path must be the same for kubelet, which is told it.
    :ivar registry_directory: where kubelet looks for plugins.
    :ivar time_limit: in seconds, for each call of the driver. kubelet gives up after 45.
    :ivar calls_at_once: how many calls of the driver run at a time.
    :ivar grace: for how many seconds calls go on when the plugin is to stop.
    """

    driver_name: str
    device_class: str
    plugins_directory: Path = KUBELET / PLUGINS
    registry_directory: Path = KUBELET / REGISTRY
    cdi_directory: Path = CDI_SPECS
    time_limit: float = 40
    calls_at_once: int = 16
    grace: float = 10

    def __post_init__(self) -> None:
        if driver_name(self.driver_name):
            raise InvalidSettings("the driver's name must be a DNS subdomain")
        if len(self.driver_name) > _MOST_DRIVER_CHARACTERS:
            raise InvalidSettings(
                f"the driver's name has more than {_MOST_DRIVER_CHARACTERS} characters: "
                "kubelet 1.30 would refuse the devices of all its claims"
            )
        try:
            DeviceKind(self.driver_name, self.device_class)
        except InvalidDevice as error:
            raise InvalidSettings(
                f"{self.driver_name}/{self.device_class} cannot be a kind of CDI devices: {error}"
            ) from error
        for directory in (self.plugins_directory, self.registry_directory, self.cdi_directory):
            if not directory.is_absolute():
                raise InvalidSettings(f"{directory}: the path must be absolute")

    @property
    def kind(self) -> DeviceKind:
        """The kind of the CDI devices."""
        return DeviceKind(self.driver_name, self.device_class)

    @property
    def endpoint(self) -> Path:
        """The socket with the services that prepare claims."""
        return self.plugins_directory / self.driver_name / "dra.sock"

    @property
    def registration_socket(self) -> Path:
        """The socket that kubelet finds."""
        return self.registry_directory / f"{self.driver_name}-reg.sock"


class NodePlugin:
    """Serves a driver to the kubelet of this node.

    To be made and used within a running event loop: ``async with NodePlugin(settings, driver): …``.
    """

    def __init__(self, settings: PluginSettings, driver: NodeDriver) -> None:
        self._settings = settings
        self._preparation = Preparation(
            driver, SpecDirectory(settings.cdi_directory, settings.kind), settings.calls_at_once
        )
        self._registration = RegistrationService(settings.driver_name, settings.endpoint)
        # kubelet has one call for each pod that it starts or stops; those that wait for a place count as well.
        most_calls = 16 * settings.calls_at_once
        node_services = NodeService(self._preparation, settings.time_limit).services()
        self._node_server = SocketServer(settings.endpoint, node_services, most_calls)
        self._registration_server = SocketServer(
            settings.registration_socket, [self._registration.service()], most_calls
        )

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Serve, then let kubelet find the plugin.

        :raises CannotListen: if one of the sockets cannot be made
        """
        for socket in (self._settings.endpoint, self._settings.registration_socket):
            try:
                socket.parent.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
            except OSError as error:
                raise CannotListen(f"{socket.parent}: {error.strerror}") from error
        await self._node_server.start()
        try:
            await self._registration_server.start()
        except CannotListen:
            await self._node_server.stop(0)
            raise
        log(
            logging.INFO,
            "waiting for kubelet",
            driver=self._settings.driver_name,
            socket=str(self._settings.endpoint),
        )

    async def stop(self) -> None:
        """Have kubelet forget the plugin, let calls end, then cancel them. What is prepared stays prepared."""
        await self._registration_server.stop(0)
        await self._node_server.stop(self._settings.grace)
        self._preparation.close()

    async def registered(self) -> None:
        """Wait until kubelet has registered the plugin."""
        await self._registration.registered.wait()


async def run_until_signal(plugin: NodePlugin) -> None:
    """Serve until this process gets SIGTERM or SIGINT."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    try:
        async with plugin:
            await stopping.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

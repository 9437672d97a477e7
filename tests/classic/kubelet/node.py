"""A node: kubelet's directories, a kubelet that is played, and a driver that does what a test wants."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from classic.kubelet.cdi import ContainerEdits, Device
from classic.kubelet.plugin import NodePlugin, PluginSettings
from classic.kubelet.preparation import AllocatedClaim
from classic.kubelet.wire.node_v1alpha3 import Claim
from tests.classic.kubelet.fake_kubelet import FakeKubelet

DRIVER = "gpu.example.com"
UID = "ad51e716-0d79-42f9-bac6-2ede24ba41a8"


def uid(number: int) -> str:
    """The UID of one of many claims."""
    return f"{number:08x}{UID[8:]}"


def claim(number: int = 0, data: str = "") -> Claim:
    """One of many claims, as kubelet sends it."""
    return Claim("default", uid(number), f"claim-{number}", data)


def device_name(number: int = 0) -> str:
    """The full name of the device that a :class:`RecordingDriver` gives to one of many claims."""
    return f"{DRIVER}/gpu=gpu-0.{uid(number)}"


async def nothing(_claim: AllocatedClaim) -> None:
    """What a driver does that has nothing to do."""


@dataclass
class RecordingDriver:
    """Gives each claim a device, and keeps what was asked; ``preparing`` and ``unpreparing`` come first, and may fail."""

    preparing: Callable[[AllocatedClaim], Awaitable[object]] = nothing
    unpreparing: Callable[[AllocatedClaim], Awaitable[object]] = nothing
    devices: Sequence[Device | str] = (Device("gpu-0", ContainerEdits(env={"GPU": "gpu-0"})),)
    prepared: list[AllocatedClaim] = field(default_factory=list)
    unprepared: list[AllocatedClaim] = field(default_factory=list)

    async def prepare(self, claim: AllocatedClaim) -> Sequence[Device | str]:
        await self.preparing(claim)
        self.prepared.append(claim)
        return self.devices

    async def unprepare(self, claim: AllocatedClaim) -> None:
        await self.unpreparing(claim)
        self.unprepared.append(claim)


class Node:
    """A directory that has what kubelet has on a node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.settings = PluginSettings(
            DRIVER, "gpu", root / "plugins", root / "registry", root / "cdi", grace=0
        )
        self.kubelet = FakeKubelet(self.settings.registry_directory)

    @asynccontextmanager
    async def plugin(self, driver: RecordingDriver, **settings: Any) -> AsyncIterator[NodePlugin]:
        """A running plugin that the kubelet has registered."""
        async with NodePlugin(replace(self.settings, **settings), driver) as plugin:
            await self.kubelet.register_all()
            await plugin.registered()
            yield plugin

    def files(self) -> list[str]:
        """All that is in kubelet's directories, but for directories."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if not path.is_dir())

    def spec(self, number: int = 0) -> Any:
        """The CDI spec of one of many claims."""
        file = self.settings.cdi_directory / f"{DRIVER}=gpu_{uid(number)}.json"
        return json.loads(file.read_text(encoding="utf-8"))

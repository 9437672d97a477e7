"""A GPU driver that fails, hangs and dies at random: `python -m tests.e2e.faulty_gpu_driver KUBECONFIG NAME`."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections.abc import Sequence

from classic.driver import ClaimAllocation, Driver
from classic.gpu.driver import GPUController, Settings
from classic.gpu.inventory import GPUs
from classic.service import Options, run_until_stopped
from cluster.client import Client
from cluster.context_access import access_of
from cluster.kubeconfig import Kubeconfig
from resourceapi.objects import Object
from serving.logs import configure_logs

#: What happens to so many of a hundred calls; to the others, nothing.
FAILS, HANGS, IS_SLOW, DIES = 6, 1, 5, 0.1
CALL_SECONDS, SLOW_SECONDS, RECHECK_SECONDS = 2.0, 1.0, 5.0
#: What each node has.
USUAL = GPUs(2, 8 << 30)


class Fault(Exception):
    """Made up."""


class FaultyDriver:
    """Implements :class:`classic.driver.Driver`: as another one, with faults before and after what that one does."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def get_class_parameters(self, resource_class: Object) -> object:
        await _perhaps()
        return await self._driver.get_class_parameters(resource_class)

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> object:
        await _perhaps()
        return await self._driver.get_claim_parameters(claim, resource_class, class_parameters)

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        await _perhaps()
        await self._driver.allocate(claims, selected_node)
        await _perhaps()

    async def deallocate(self, claim: Object) -> None:
        await _perhaps()
        await self._driver.deallocate(claim)
        await _perhaps()

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        await _perhaps()
        await self._driver.unsuitable_nodes(pod, claims, potential_nodes)
        await _perhaps()


async def _perhaps() -> None:
    """A fault, or none."""
    chance = random.random() * 100
    if chance < DIES:
        os._exit(9)
    elif chance < DIES + HANGS:
        await asyncio.Event().wait()
    elif chance < DIES + HANGS + FAILS:
        raise Fault("made up")
    elif chance < DIES + HANGS + FAILS + IS_SLOW:
        await asyncio.sleep(random.random() * SLOW_SECONDS)


def main(kubeconfig: str, name: str) -> None:
    configure_logs("info")
    client = Client(access_of(Kubeconfig([kubeconfig]).context()))
    controller = GPUController(Settings(name, USUAL), client)
    controller.driver = FaultyDriver(controller.driver)
    options = Options(call_seconds=CALL_SECONDS, recheck_seconds=RECHECK_SECONDS)
    run_until_stopped(controller.run(None, options))


if __name__ == "__main__":
    main(*sys.argv[1:])

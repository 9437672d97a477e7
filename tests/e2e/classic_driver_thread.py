"""A classic driver's controller in a thread of the test, with what is to happen right before the driver allocates."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Thread

from classic import service
from classic.driver import ClaimAllocation, Driver
from classic.simulation.devices import CountingDriver, DriverSettings
from cluster.access import service_account
from cluster.client import Client
from tests.e2e.control_plane import ApiServer


class HaltingDriver(CountingDriver):
    """Has devices, and lets something happen before it allocates."""

    def __init__(self, settings: DriverSettings, before_allocation: Callable[[], None]) -> None:
        super().__init__(settings, lambda claim: None, lambda *told: None)
        self._before_allocation = before_allocation

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        await asyncio.to_thread(self._before_allocation)
        await super().allocate(claims, selected_node)


@contextlib.contextmanager
def serving(server: ApiServer, directory: Path, name: str, driver: Driver) -> Iterator[None]:
    """Run the controller of a driver as long as the `with` block lasts."""
    client = client_of(server, directory, name)
    loop = asyncio.new_event_loop()
    task = loop.create_task(service.run(name, driver, client))
    thread = Thread(target=_run, args=(loop, task), daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        client.close()


def _run(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def client_of(server: ApiServer, directory: Path, agent: str) -> Client:
    """A client of the product's own, with all rights.

    :param agent: what it calls itself in the audit log.
    """
    config = json.loads(server.kubeconfig.read_text())
    token = directory / "token"
    token.write_text(config["users"][0]["user"]["token"])
    cluster = config["clusters"][0]["cluster"]
    authority = Path(cluster["certificate-authority"])
    access = service_account(cluster["server"], token_file=token, ca_file=authority)

    def headers() -> list[tuple[str, str]]:
        return [*access.headers(), ("User-Agent", agent)]

    return Client(access._replace(headers=headers))

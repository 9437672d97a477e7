"""A negotiation from its beginning until all pods are bound, or nothing more is to be expected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from allocator.time_limit import TimeLimit
from classic.simulation.api_server import ApiServer, Client
from classic.simulation.controllers import ClaimMaker, DriverController, DriverNotes
from classic.simulation.devices import CountingDriver
from classic.simulation.kube_scheduler import KubeScheduler
from classic.simulation.scenario import Scenario, ScenarioError, stored
from classic.simulation.timeline import Timeline, now, run
from resourceapi.errors import WriteConflict
from resourceapi.manifests import key_of, mapping, text
from resourceapi.objects import Object

USER = "user"
#: How often to look whether the simulation has come to its end.
_LOOK_SECONDS = 0.1


class PodOutcome(NamedTuple):
    """What has become of a pod.

    :ivar node: where it is bound; empty if it is still waiting.
    :ivar seconds: how long that took; None if it is still waiting.
    """

    pod: str
    node: str
    attempts: int
    seconds: float | None


class Outcome(NamedTuple):
    """What has happened, and what has become of each pod that had to be scheduled."""

    timeline: Timeline
    pods: list[PodOutcome]

    @property
    def all_bound(self) -> bool:
        """Whether no pod is waiting any more."""
        return all(each.node for each in self.pods)


def simulate(scenario: Scenario, time_limit: TimeLimit) -> Outcome:
    """Simulate a scenario.

    :param time_limit: how long that may take, in real time.
    :raises ScenarioError: if its objects cannot be stored; OutOfTime if it takes too long.
    """
    return run(_Simulation(scenario, time_limit).run())


class _Simulation:
    def __init__(self, scenario: Scenario, time_limit: TimeLimit) -> None:
        self._scenario = scenario
        self._time_limit = time_limit
        self._timeline = Timeline()
        self._created: dict[str, float] = {}

    async def run(self) -> Outcome:
        self._server = ApiServer(self._timeline)
        self._scheduler = KubeScheduler(self._server, self._time_limit)
        self._maker = ClaimMaker(self._server)
        self._drivers = [self._driver(name) for name in self._scenario.driver_names]
        tasks = [asyncio.create_task(self._scheduler.run())]
        for name, driver in zip(self._scenario.driver_names, self._drivers, strict=True):
            start = self._scenario.settings(name).start_seconds
            tasks.append(asyncio.create_task(driver.run(start)))
        await self._create(self._scenario.objects)
        arrivals = asyncio.create_task(self._arrive())
        try:
            await self._until_done([*tasks, arrivals], arrivals)
        finally:
            for task in (*tasks, arrivals):
                task.cancel()
            await asyncio.gather(*tasks, arrivals, return_exceptions=True)
        return Outcome(self._timeline, [self._outcome(key) for key in self._created])

    def _driver(self, name: str) -> DriverController:
        notes = DriverNotes(self._server, name)
        driver = CountingDriver(self._scenario.settings(name), self._scenario.parameters, notes.tell)
        return DriverController(self._server, name, driver)

    async def _create(self, objects: Sequence[Object]) -> None:
        """Store objects; of what exists already, it takes no time."""
        for obj in stored(objects):
            if text(obj, "kind") == "Pod" and not mapping(obj, "spec").get("nodeName"):
                self._created[key_of(obj)] = now()
            try:
                self._server.store(Client(self._server, USER), obj)
            except WriteConflict as error:
                raise ScenarioError(str(error)) from None

    async def _arrive(self) -> None:
        for arrival in sorted(self._scenario.arrivals, key=lambda each: each.seconds):
            await asyncio.sleep(max(0.0, arrival.seconds - now()))
            await self._create(arrival.objects)

    async def _until_done(self, tasks: Sequence[asyncio.Task[None]], arrivals: asyncio.Task[None]) -> None:
        while now() < self._scenario.seconds:
            await asyncio.sleep(_LOOK_SECONDS)
            for task in tasks:
                if task.done():
                    task.result()  # raises what has ended it
            are_bound = len(self._scheduler.bound) == len(self._created)
            if are_bound and arrivals.done() and self._is_idle():
                return

    def _is_idle(self) -> bool:
        return self._scheduler.is_idle and self._maker.is_idle and all(each.is_idle for each in self._drivers)

    def _outcome(self, key: str) -> PodOutcome:
        namespace, _, name = key.partition("/")
        pod = self._server.objects.get("Pod", namespace, name)
        node = text(mapping(pod, "spec"), "nodeName")
        attempts, bound = self._scheduler.bound.get(key, (self._scheduler.attempts.get(key, 0), None))
        return PodOutcome(
            key, node, attempts, None if bound is None else round(bound - self._created[key], 6)
        )

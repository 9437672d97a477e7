"""Two binds that share a claim, in random order of their requests, while others change claims: all or nothing, and nothing twice."""

from __future__ import annotations

from random import Random
from threading import Condition, Thread, get_ident

import pytest

from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault, Request
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    Sidecar,
    assert_nothing_twice,
    assert_used_claims_hold,
    claim,
    cluster,
    node_of,
    pod,
    traces,
)
from tests.webhook.running import PATIENCE_SECONDS

SEEDS = range(60)
PODS_OF_SCENE = ("p", "q")


class Order:
    """Lets one request at a time pass, of a thread that is chosen at random, and lets others act in between."""

    def __init__(self, api: FakeApi, chance: Random) -> None:
        self._api = api
        self._chance = chance
        self._waiting: set[int] = set()
        self._passes: int | None = None
        self._running = 0
        self._changed = Condition()
        api.hooks.append(self._wait)

    def run(self, sidecar: Sidecar) -> dict[str, str]:
        """Bind both pods; the errors."""
        answers: dict[str, str] = {}

        def bind(name: str) -> None:
            answers[name] = sidecar.bind(name)
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

        threads = [Thread(target=bind, args=(name,), daemon=True) for name in PODS_OF_SCENE]
        self._running = len(threads)
        for thread in threads:
            thread.start()
        with self._changed:
            while self._running:
                assert self._changed.wait_for(
                    lambda: bool(self._waiting) or not self._running, PATIENCE_SECONDS
                )
                if self._waiting:
                    self._act()
                    self._passes = self._chance.choice(sorted(self._waiting))
                    self._changed.notify_all()
                    assert self._changed.wait_for(lambda: self._passes is None, PATIENCE_SECONDS)
        self._api.hooks.remove(self._wait)
        return answers

    def _wait(self, request: Request) -> None:
        me = get_ident()
        with self._changed:
            self._waiting.add(me)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._passes == me)
            self._waiting.remove(me)
            self._passes = None
            self._changed.notify_all()

    def _act(self) -> None:
        """What others may do at any time."""
        name = self._chance.choice(["a", "b", "s"])
        match self._chance.randrange(12):
            case 0:
                self._api.change(
                    f"{CLAIMS}/{name}", {"metadata": {"labels": {"x": str(self._chance.random())}}}
                )
            case 1:
                self._api.fail(1, self._chance.choice([Fault.REFUSED, Fault.LOST, Fault.TWICE]))
            case 2:
                self._api.fail(1, self._chance.choice([403, 409, 429, 500]))
            case 3:
                self._api.change(f"{CLAIMS}/{name}", {"metadata": {"finalizers": self._with_x(name)}})

    def _with_x(self, name: str) -> list[str]:
        finalizers: list[str] = self._api.get(f"{CLAIMS}/{name}")["metadata"].get("finalizers", [])
        return [*(each for each in finalizers if each != "x"), "x"]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_order(seed: int) -> None:
    """In the end both pods are bound; the pod that was not bound holds nothing of its own meanwhile."""
    api = cluster(claim("a"), claim("b"), claim("s"), pod("p", "a", "s"), pod("q", "b", "s"), count=3)
    sidecar = Sidecar(api)
    for name in PODS_OF_SCENE:
        assert sidecar.decide(name) == ["n1"]
    answers = Order(api, Random(seed)).run(sidecar)
    api.heal()
    sidecar.undoing.retry()
    assert_nothing_twice(api)
    assert_used_claims_hold(api)
    assert sidecar.picture.claims.assumed == len(sidecar.undoing) == 0
    for name, own in (("p", "a"), ("q", "b")):
        if answers[name] and "not answered" not in answers[name] and not node_of(api, name):
            assert [each for each in traces(api) if each.startswith(f"{own}:") and each != f"{own}: x"] == []
            assert f"s: for {name}" not in traces(api)
    sidecar.sync()
    for name in PODS_OF_SCENE:
        if not api.get(f"{PODS}/{name}")["spec"].get("nodeName"):
            assert sidecar.schedule(name) == ""
    assert_nothing_twice(api)
    assert_used_claims_hold(api)

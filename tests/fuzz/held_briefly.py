"""`python -m tests.fuzz.held_briefly`: valid objects at the API's limits, against a bound on time and memory.

Pods that no server refuses must neither hold the picture of the sidecar, nor the webhook's threads, for longer than their time
limits say, nor fill the memory. Everything follows from the seed and the number of a case, so `--from NUMBER --count 1` shows a
failure again. Time is what the thread has computed, so that a busy machine makes no difference.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import thread_time
from typing import Any, NamedTuple
from unittest.mock import patch

from allocator.features import Features
from allocator.scheduling import SchedulingState
from allocator.time_limit import TimeLimit
from resourceapi.objects import Object
from resourceapi.records.claims import PackedDevices
from resourceapi.releases import Profile
from scheduler import filtering, reasons
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extender_api import CandidateNodes
from scheduler.filtering import Filter, Refused
from scheduler.picture_lock import SearchTime
from scheduler.refusal_notes import case_of, note_on
from tests.conformance.profiles import PROFILES
from tests.fuzz.at_limits import NAMESPACE, AtLimits
from validation.requests import Request
from validation.server import Server
from webhook import fitting
from webhook.devices import DeviceIndex
from webhook.feasibility import Feasibility

#: The time limits of a filter, of a note on a refusal and of the webhook's thread, in seconds, and what they may be exceeded by.
FILTER_SECONDS, NOTE_SECONDS, SLACK_SECONDS = 0.5, 0.5, 0.4
#: What a review may do by itself.
REVIEW_SECONDS = 0.1
#: How many times as much memory a case may leave behind as its objects have bytes, and whatever they have.
MEMORY_FACTOR, MEMORY_BYTES = 40, 48 << 20
NODES, CASES_OF_CLUSTER = 12, 8
PROFILE = Profile("1.37", PROFILES["1.37-all"].gates)


class Over(NamedTuple):
    """Something that took more than it may."""

    what: str
    found: float
    most: float

    def __str__(self) -> str:
        return f"{self.what}: {self.found:.2f}, at most {self.most:.2f}"


class Refusals:
    """What our own validation says of objects: those that it refuses are no case."""

    def __init__(self) -> None:
        self._server = Server(PROFILE, namespaces={NAMESPACE: {}}, nodes=[])

    def are_none(self, obj: Object) -> bool:
        """Whether the object would be stored."""
        metadata = {name: value for name, value in obj["metadata"].items() if name in ("name", "namespace")}
        body = {**obj, "metadata": metadata}
        namespace = metadata.get("namespace", "")
        return self._server.handle(Request(obj["apiVersion"], obj["kind"], namespace, body=body)).code < 400


class Cluster:
    """A cluster at the limits, as the sidecar and as the webhook see it."""

    def __init__(self, seed: str) -> None:
        self.make = AtLimits(random.Random(seed))
        self.names = tuple(f"n{place}" for place in range(NODES))
        self.picture = ClusterPicture(PROFILE)
        self.refused: list[Refused] = []
        self.decisions = Decisions(clock=lambda: 1e9)
        self.filter = Filter(
            self.picture,
            self.decisions,
            seconds=FILTER_SECONDS,
            refused=self.refused.append,
            search_time=SearchTime(lambda: 0.0),
        )
        nodes = [self.make.node(name) for name in self.names]
        slices = [each for name in self.names for each in self.make.slices(name)]
        classes = [self.make.device_class(name) for name in ("any", "some")]
        accepted = Refusals()
        assert all(map(accepted.are_none, [*slices, *classes]))
        self.index = DeviceIndex(PROFILE)
        for collection, objects in (
            (self.picture.nodes, nodes),
            (self.picture.classes, classes),
            (self.picture.slices, slices),
            (self.index.device_classes, classes),
            (self.index.slices, slices),
            (self.index.patches, ()),
        ):
            collection.replace(list(objects))
        self.picture.warm_up()
        self.feasibility = Feasibility("Warn", self.index, PROFILE)
        self.webhook = SchedulingState(
            Features(PROFILE.gates),
            self.picture.nodes.objects.values(),
            self.picture.classes.objects,
            [each.slice.as_object() for each in self.picture.slices.objects.values()],
        )


def case(cluster: Cluster, accepted: Refusals, number: int) -> tuple[list[Over], int]:
    """What takes too much of one pod with some claims; and how many bytes its objects have, 0 if none was accepted."""
    make = AtLimits(random.Random(f"case {number}"))
    drawn = [make.claim(f"c{number}-{place}") for place in range(make.number_of_claims())]
    claims = [each for each in drawn if accepted.are_none(each)]
    if not claims:
        return [], 0
    for each in claims:
        cluster.picture.claim_objects.put(each)
    keys = [f"{NAMESPACE}/{each['metadata']['name']}" for each in claims]
    stored = [cluster.picture.claim_objects.objects[key].object for key in keys]
    pod = make.pod(f"p{number}", [each["metadata"]["name"] for each in claims])
    over = list(_over(cluster, pod, stored, number))
    for each in claims:
        cluster.picture.claim_objects.drop(each)  # the versions of cases are drawn, and need not grow
    return over, sum(len(json.dumps(each)) for each in claims)


def _over(cluster: Cluster, pod: Object, claims: list[Object], number: int) -> Iterator[Over]:
    candidates = CandidateNodes(pod, cluster.names)
    cluster.refused.clear()

    def filtered() -> None:
        cluster.decisions.clear()  # no bind is on its way
        cluster.filter.answer(candidates)

    def changed() -> None:
        cluster.picture.nodes.put({"metadata": {"name": "n0", "labels": {"changed": str(number)}}})
        filtered()

    def noted() -> None:
        if cluster.refused:
            note_on(case_of(cluster.refused[-1]), cluster.picture, NOTE_SECONDS)

    # The webhook reads claims for itself, and packs nothing.
    specs = [
        {**each["spec"], "devices": devices.read() if isinstance(devices, PackedDevices) else devices}
        for each in claims
        for devices in (each["spec"]["devices"],)
    ]

    def reviewed() -> None:
        for each in specs:
            cluster.feasibility.problems(each, ("spec",))

    def fitted() -> None:
        for each in specs[:2]:
            fitting._problem(cluster.webhook, each, TimeLimit(fitting.SECONDS, thread_time))

    for what, work, most in (
        ("filter", filtered, FILTER_SECONDS + SLACK_SECONDS),
        ("filter after a gain", changed, FILTER_SECONDS + SLACK_SECONDS),
        ("note", noted, NOTE_SECONDS + SLACK_SECONDS),
        ("reviews", reviewed, REVIEW_SECONDS * len(claims)),
        ("fitting", fitted, 2 * (fitting.SECONDS + SLACK_SECONDS)),
    ):
        found = _seconds(work)
        if found > most:
            yield Over(what, found, most)


def _seconds(work: Callable[[], None]) -> float:
    begin = thread_time()
    work()
    return thread_time() - begin


def _memory() -> int:
    """What the process has in memory, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Outcome:
    """What a run has come to."""

    def __init__(self) -> None:
        self.cases = self.accepted = 0
        self.failures: list[str] = []


def run(seed: int, start: int, count: int) -> Outcome:
    """Run cases `start` to `start + count` of a seed.

    What other tests have left in this process is no case's: collecting garbage must not go through it on a case's time.
    """
    gc.freeze()
    try:
        with by_computing_time():
            return _run(seed, start, count)
    finally:
        gc.unfreeze()


def _run(seed: int, start: int, count: int) -> Outcome:
    outcome, accepted, cluster = Outcome(), Refusals(), None
    for number in range(start, start + count):
        if cluster is None or number % CASES_OF_CLUSTER == 0:
            cluster = Cluster(f"{seed}/{number // CASES_OF_CLUSTER}")
            gc.collect()
        before = _memory()
        over, size = case(cluster, accepted, seed * 1_000_000 + number)
        outcome.cases += 1
        outcome.accepted += size > 0
        gc.collect()
        left, most = _memory() - before, MEMORY_FACTOR * size + MEMORY_BYTES
        if left > most:
            over.append(Over("MiB of memory", left / 2**20, most / 2**20))
        outcome.failures += [f"case {number}: {each}" for each in over]
    return outcome


def by_computing_time() -> ExitStack:
    """Until the stack is closed, time limits of the sidecar count what the thread computes, as the bounds here do."""
    stack = ExitStack()
    for module in (filtering, reasons):
        stack.enter_context(patch.object(module, "TimeLimit", partial(TimeLimit, clock=thread_time)))
    return stack


def main() -> int:
    arguments: Any = argparse.ArgumentParser(prog="python -m tests.fuzz.held_briefly")
    arguments.add_argument("--count", type=int, default=48)
    arguments.add_argument("--from", type=int, default=0, dest="start")
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    outcome = run(options.seed, options.start, options.count)
    print(f"{outcome.cases} cases at the limits, {outcome.accepted} accepted, seed {options.seed}")
    for failure in outcome.failures:
        print(failure)
    return 1 if outcome.failures or outcome.accepted < outcome.cases / 2 else 0


if __name__ == "__main__":
    sys.exit(main())

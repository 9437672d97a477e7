"""A scenario of allocation as the product is asked it: the cluster first, then pod by pod."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import NamedTuple

from allocator.features import GATES, Features
from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.decoding import decode
from resourceapi.manifests import key_of, name_of
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import read_device_class
from resourceapi.records.nodes import read_node


class Run(NamedTuple):
    """What came of a scenario: per pod the node that got it (ALL_NODES: how many nodes fit), and the seconds."""

    placed: list[str]
    seconds: list[float]


class Replay:
    """A scenario with a cluster of its own, which has been told of all but the pods."""

    def __init__(self, scenario: Object) -> None:
        gates = scenario["features"]
        self.mode = Mode(scenario.get("mode") or Mode.FIRST_FIT)
        self.cluster = SchedulingState(
            Features(GATES if "all" in gates else gates, group_snapshots=False),
            filter(None, map(read_node, scenario["nodes"])),
            {
                name_of(each): read_device_class(each)
                for each in decoded("DeviceClass", scenario["deviceClasses"])
            },
            decoded("ResourceSlice", scenario["resourceSlices"]),
        )
        self._claims: dict[str, Object] = {}
        for claim in decoded("ResourceClaim", scenario.get("claims") or ()):
            self._claims[name_of(claim)] = claim
            self.cluster.hold(Claim(claim))
        self._pods = [
            (pod, [self._claim(pod["name"], index, claim) for index, claim in enumerate(pod["claims"])])
            for pod in scenario["pods"]
        ]

    def _claim(self, pod: str, index: int, claim: Object | str) -> Object:
        if isinstance(claim, str):
            return self._claims[claim]
        (found,) = decoded("ResourceClaim", [claim])
        name = name_of(found) or f"{pod}-{index}"
        found.setdefault("metadata", {})["name"] = name
        return self._claims.setdefault(name, found)

    def run(self) -> Run:
        """Ask pod by pod. Counted is the time from a pod's arrival to its answers, of all nodes if all are wanted."""
        placed, seconds = [], []
        for pod, claims in self._pods:
            for name in pod.get("release") or ():
                if name in self._claims:
                    self.cluster.release(key_of(self._claims[name]))
            start = _now()
            answer = self.cluster.place(
                [Claim(each) for each in claims], self.mode, UNLIMITED, pod.get("node") or None
            )
            if self.mode is Mode.ALL_NODES:
                fitting = sum(node.result is not None for node in answer.nodes)
            clock, processor = _now()
            seconds.append(min(clock - start[0], processor - start[1]))
            placed.append(str(fitting) if self.mode is Mode.ALL_NODES else answer.placed)
        return Run(placed, seconds)


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def decoded(kind: str, values: Iterable[Object]) -> list[Object]:
    """Objects of v1 in normal form."""
    return [decode(SCHEMAS["v1"], kind, value).object for value in values]

"""The same pods with structured parameters (``resource.k8s.io/v1``): the scheduler knows the devices, and asks nobody."""

from __future__ import annotations

from collections.abc import Iterator

from allocator.features import Features
from allocator.scheduling import Mode, SchedulingState
from allocator.simulation import Limits, Pod, Simulation
from allocator.time_limit import TimeLimit
from classic.claims import class_name_of, namespace_of
from classic.simulation.api_server import (
    ANSWERED_SECONDS,
    CLAIM,
    CLASS,
    NODE,
    POD,
    STORED_SECONDS,
    TEMPLATE,
    WATCHED_SECONDS,
)
from classic.simulation.devices import device_count
from classic.simulation.kube_scheduler import ATTEMPT_SECONDS, Nodes, is_of_this_scheduler, scheduling_gates
from classic.simulation.scenario import Arrival, Scenario, stored
from classic.simulation.simulation import PodOutcome
from resourceapi.manifests import claim_from_template, key_of, mapping, name_of, text
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import read_node
from resourceapi.records.pods import claims_of

_WRITE_SECONDS = STORED_SECONDS + ANSWERED_SECONDS
#: A claim from a template is created and named in the pod's status, which kube-scheduler has to see.
_MAKE_SECONDS = 2 * _WRITE_SECONDS + 2 * WATCHED_SECONDS
#: kube-scheduler writes the finalizer and the allocation of each claim, and the binding of the pod.
_WRITES_OF_CLAIM, _WRITES_OF_POD = 2, 1


def with_structured_parameters(scenario: Scenario, time_limit: TimeLimit) -> list[PodOutcome]:
    """What becomes of the pods of a scenario if its drivers publish their devices in ResourceSlices.

    Each device of a driver is one of a slice, and claims ask for the same number of them. A pod that fits nowhere when it
    comes is taken to wait.

    :param time_limit: how long that may take, in real time.
    :raises OutOfTime: if it takes too long.
    """
    return list(_Structured(scenario, time_limit).outcomes())


class _Structured:
    def __init__(self, scenario: Scenario, time_limit: TimeLimit) -> None:
        self._scenario = scenario
        self._time_limit = time_limit
        self._nodes = Nodes(time_limit)
        self._busy_until = 0.0
        self._defined = {
            (kind, key_of(each)): each for kind in (TEMPLATE, CLAIM) for each in scenario.of_kind(kind)
        }
        classes = {name_of(each): _device_class(each) for each in scenario.of_kind(CLASS)}
        slices = list(_slices(scenario))
        state = SchedulingState(
            Features(), filter(None, map(read_node, scenario.of_kind(NODE))), classes, slices
        )
        self._simulation = Simulation(state, Limits(time_limit))

    def outcomes(self) -> Iterator[PodOutcome]:
        """The pods in the order of their creation."""
        later = sorted(self._scenario.arrivals, key=lambda each: each.seconds)
        for arrival in (Arrival(0.0, self._scenario.objects), *later):
            for obj in stored(arrival.objects):
                if text(obj, "kind") == NODE:
                    self._nodes.put(obj)
                elif text(obj, "kind") == POD:
                    node = text(mapping(obj, "spec"), "nodeName")
                    if not node:
                        yield (outcome := self._outcome(obj, arrival.seconds))
                        node = outcome.node
                    if node:
                        self._nodes.place(obj, node)

    def _outcome(self, pod: Object, created: float) -> PodOutcome:
        """The first of the nodes, as the pod prefers them, for which its claims can be allocated."""
        self._time_limit.check()
        if scheduling_gates(pod) or not is_of_this_scheduler(pod):
            return PodOutcome(key_of(pod), "", 0, None)
        found = list(self._claims(pod))
        if len(found) < len(claims_of(pod)):
            return PodOutcome(key_of(pod), "", 0, None)  # a claim or a template does not exist
        claims = {each.key: each for each in found}
        attempted = self._attempted(pod, created)
        names = {each.name for each in self._nodes.all()}
        fitting = sorted(names - set(self._nodes.refused(pod)))
        for node in self._nodes.ranked(pod, fitting):
            self._time_limit.check()
            alone = Pod(key_of(pod), claims, frozenset(names - {node}))
            if self._simulation.place(alone, Mode.ATTEMPT).node:
                writes = _WRITES_OF_CLAIM * len(claims) + _WRITES_OF_POD
                seconds = attempted + writes * _WRITE_SECONDS - created
                return PodOutcome(key_of(pod), node, 1, round(seconds, 6))
        return PodOutcome(key_of(pod), "", 1, None)

    def _attempted(self, pod: Object, created: float) -> float:
        """When the attempt for a pod is over: its claims have to be made, and attempts come one after the other."""
        made = _MAKE_SECONDS if any(each.is_generated for each in claims_of(pod)) else WATCHED_SECONDS
        self._busy_until = max(self._busy_until, created + made) + ATTEMPT_SECONDS
        return self._busy_until

    def _claims(self, pod: Object) -> Iterator[Claim]:
        """The claims of a pod, in v1."""
        namespace = namespace_of(pod)
        for entry in claims_of(pod):
            kind, name = (TEMPLATE, entry.template) if entry.is_generated else (CLAIM, entry.claim)
            found = self._defined.get((kind, f"{namespace}/{name}"))
            if found is not None and entry.is_generated:
                found = claim_from_template(found, namespace, f"{name_of(pod)}-{entry.entry}")
            if found is not None:
                yield self._claim(found)

    def _claim(self, classic: Object) -> Claim:
        asked = {
            "deviceClassName": class_name_of(classic),
            "allocationMode": "ExactCount",
            "count": device_count(self._scenario.parameters(classic)),
        }
        names = {"namespace": namespace_of(classic), "name": name_of(classic)}
        devices = {"requests": [{"name": "devices", "exactly": asked}]}
        return Claim({"metadata": names, "spec": {"devices": devices}})


def _device_class(classic: Object) -> DeviceClass:
    driver = text(classic, "driverName")  # admitted: a DNS subdomain
    return DeviceClass(name_of(classic), (f'device.driver == "{driver}"',))


def _slices(scenario: Scenario) -> Iterator[Object]:
    for driver in scenario.driver_names:
        for node, count in scenario.settings(driver).devices.items():
            spec = {
                "driver": driver,
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"device-{number}"} for number in range(count)],
            }
            yield {"metadata": {"name": f"{node}-{driver}"}, "spec": spec}

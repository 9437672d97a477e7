"""Gangs whose pods fit only if their nodes are chosen for all of them together."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from resourceapi.objects import Object
from scheduler import group_devices
from scheduler.filtering import Refused
from scheduler.group_devices import HALF_BOUND_SECONDS
from tests.scheduler.fake_faults import Fault, Killed
from tests.scheduler.small_cluster import (
    CLAIMS,
    PODS,
    Sidecar,
    assert_nothing_twice,
    claim,
    cluster,
    devices_of,
    gpus,
    node,
    node_of,
    pod,
    traces,
)
from tests.scheduler.test_pod_groups import GATES, group, member

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
GROUP = "/apis/scheduling.k8s.io/v1beta1/namespaces/ns/podgroups/g"


class Gang:
    """A gang in a cluster of nodes with so many devices each, as kube-scheduler asks about it."""

    def __init__(self, counts: Sequence[int], *objects: Object, least: int = 2) -> None:
        described = group("g", *(["s"] if any(each["metadata"]["name"] == "s" for each in objects) else []))
        described["spec"]["schedulingPolicy"]["gang"]["minCount"] = least
        devices = [
            each
            for number, count in enumerate(counts)
            for each in (node(f"n{number}"), gpus(f"n{number}", count))
        ]
        self.api = cluster(described, *devices, *objects, nodes=())
        self.sidecar = Sidecar(self.api, GATES)
        self.refusals: list[Refused] = []
        self.sidecar.filter = self.sidecar.filter_that_tells(self.refusals.append)
        self.least = least

    def try_all(self, *names: str) -> list[str]:
        """An attempt: the node of each pod that was asked about; none is asked about once too few are left."""
        nodes: list[str] = []
        for number, name in enumerate(names):
            nodes += self.sidecar.decide(name) or [""]
            if sum(map(bool, nodes)) + len(names) - number - 1 < self.least:
                break
        return nodes

    def bind(self, nodes: Sequence[str], *names: str) -> None:
        """Bind the pods where they fit, the last first."""
        pairs = [(name, each) for name, each in zip(names, nodes, strict=True) if each]
        assert [self.sidecar.bind(name, each) for name, each in reversed(pairs)] == [""] * len(pairs)
        assert [node_of(self.api, name) for name, _ in pairs] == [each for _, each in pairs]
        assert_nothing_twice(self.api)


def sharing(counts: Sequence[int], names: str = "pq", **more: int) -> Gang:
    """The pods share a claim for a device, and have one each besides."""
    pods = [each for name in names for each in (claim(f"c-{name}"), member(name, f"c-{name}", "s"))]
    return Gang(counts, claim("s"), *pods, **more)


@pytest.mark.parametrize(
    ("counts", "names", "expected"),
    [
        pytest.param((2, 3), "pq", ["n1", "n1"], id="two"),
        pytest.param((2, 2, 3, 2, 4), "pqr", ["n4", "n4", "n4"], id="three"),
    ],
)
def test_a_gang_that_shares_a_claim(counts: tuple[int, ...], names: str, expected: list[str]) -> None:
    """Its first pod would be on the first node with two devices, where the other ones have none left."""
    gang = sharing(counts, names, least=len(names))
    assert gang.try_all(*names)[-1] == ""
    assert gang.try_all(*names) == expected
    gang.bind(expected, *names)


def test_the_gang_is_tried_again_at_once() -> None:
    """Although nothing changes that could help a single pod; but only once."""
    gang = sharing((2, 3))
    gang.try_all("p", "q")
    assert [each.retry_at is not None for each in gang.refusals] == [True]
    infeasible = sharing((2, 2))
    for _ in range(3):
        infeasible.try_all("p", "q")
    assert [each.retry_at is not None for each in infeasible.refusals] == [True, False, False]


def test_no_more_is_tried_for_a_pod_beside_enough_others() -> None:
    """kube-scheduler binds those that fit."""
    gang = sharing((3,), "pqr")
    assert gang.try_all("p", "q", "r") == ["n0", "n0", ""]
    assert [each.retry_at for each in gang.refusals] == [None]


def test_a_larger_pod_comes_last() -> None:
    """The first one leaves it the node that it needs."""
    gang = two_sizes()
    assert gang.try_all("p", "q") == ["n1", "n0"]
    gang.bind(["n1", "n0"], "p", "q")


def test_what_is_found_for_the_others_counts_at_once() -> None:
    """A pod on a node gets nothing of it; once another pod is asked about, nothing counts any more."""
    gang = two_sizes()
    gang.api.add(claim("e"))
    gang.api.add(pod("o", "e"))
    gang.sidecar.sync()
    gang.sidecar.decide("p")
    assert sorted(gang.sidecar.picture.claims.with_assumed()) == ["ns/c", "ns/d"]
    gang.sidecar.decide("o")
    assert not gang.sidecar.picture.claims.with_assumed()


@pytest.mark.parametrize("deleted", [f"{PODS}/q", GROUP])
def test_nothing_counts_for_what_is_deleted(deleted: str) -> None:
    """A pod that has not been asked about, or the group."""
    gang = two_sizes()
    gang.sidecar.decide("p")
    gang.api.remove(deleted)
    gang.sidecar.sync()
    assert "ns/d" not in gang.sidecar.picture.claims.with_assumed()


def two_sizes() -> Gang:
    """A gang of which the second pod needs the two devices of the first node; it has been refused once."""
    gang = Gang((2, 1), claim("c"), claim("d", 2), member("p", "c"), member("q", "d"))
    assert gang.try_all("p", "q") == ["n0", ""]
    return gang


def test_devices_that_are_gone() -> None:
    """What was found does not hold any more: the pods that are left are placed as things are."""
    gang = two_sizes()
    assert gang.sidecar.decide("p") == ["n1"]
    gang.api.remove(f"{SLICES}/n0")
    gang.api.add(gpus("n2", 2))
    gang.api.add(node("n2"))
    gang.sidecar.sync()
    assert gang.sidecar.decide("q") == ["n2"]
    gang.bind(["n1", "n2"], "p", "q")


def test_a_node_that_the_next_pod_may_not_use() -> None:
    """kube-scheduler says so only when it asks about that pod."""
    gang = two_sizes()
    gang.api.add(gpus("n2", 2))
    gang.api.add(node("n2"))
    gang.sidecar.sync()
    assert gang.sidecar.decide("p") == ["n1"]
    gang.api.remove("/api/v1/nodes/n0")  # the sidecar does not see it
    assert gang.sidecar.decide("q") == ["n2"]
    gang.bind(["n1", "n2"], "p", "q")


def test_nothing_is_left_behind_by_a_search() -> None:
    """Devices that were tried for the gang are free for others."""
    gang = sharing((2, 2))
    for _ in range(2):
        gang.try_all("p", "q")
    gang.api.add(claim("e", 2))
    gang.api.add(pod("o", "e"))
    gang.sidecar.sync()
    assert gang.sidecar.decide("o") == ["n0", "n1"]
    assert traces(gang.api) == []


# gangs that are torn apart: what the others need is kept for them, as their nodes cannot be chosen again


def torn_apart(*others: Object) -> Gang:
    """A gang that fits on the only node, which has no more devices, and another pod that would like one."""
    gang = sharing((3,), "pq")
    for each in (claim("e"), pod("o", "e"), *others):
        gang.api.add(each)
    gang.sidecar.sync()
    assert gang.try_all("p", "q") == ["n0", "n0"]
    return gang


@pytest.mark.parametrize("last", [Fault.KILLED_BEFORE, Fault.KILLED_AFTER])
@pytest.mark.parametrize("step", ["/s/status", "/c-p/status", "/binding"])
def test_the_leader_ends_while_it_binds_a_gang(step: str, last: Fault) -> None:
    """The next one gives the node's devices to the gang, whoever it is asked about first."""
    gang = torn_apart()
    gang.api.fail(1, last, lambda request: request.path.endswith(step) and request.verb != "GET")
    with pytest.raises(Killed):
        gang.sidecar.bind("p", "n0")
    gang.sidecar = Sidecar(gang.api, GATES)
    gang.sidecar.take_over()
    is_begun = bool(devices_of(gang.api.get(f"{CLAIMS}/s")))
    assert gang.sidecar.decide("o") == ([] if is_begun else ["n0"])
    names = [name for name in "pq" if not node_of(gang.api, name)]
    assert [gang.sidecar.decide(name) for name in names] == [["n0"]] * len(names)
    gang.bind(["n0"] * len(names), *names)


def test_a_bind_of_a_gang_fails() -> None:
    """The devices that are taken back are for the same pod."""
    gang = torn_apart()
    assert gang.sidecar.bind("p", "n0") == ""
    gang.api.fail(1, Fault.REFUSED, lambda request: request.path.endswith("/c-q/status"))
    assert gang.sidecar.bind("q", "n0") != ""
    gang.sidecar.sync()
    assert gang.sidecar.decide("o") == []
    assert gang.sidecar.decide("q") == ["n0"]
    gang.bind(["n0"], "q")


def test_nothing_is_kept_for_a_gang_of_which_nothing_is_bound() -> None:
    """Its pods may be placed elsewhere."""
    gang = torn_apart()
    gang.sidecar = Sidecar(gang.api, GATES)
    assert gang.sidecar.decide("o") == ["n0"]


def test_nothing_is_kept_for_pods_beside_enough_others() -> None:
    """They are as pods by themselves."""
    gang = sharing((4,), "pqr")
    gang.api.add(claim("e"))
    gang.api.add(pod("o", "e"))
    assert gang.try_all("p", "q", "r") == ["n0", "n0", "n0"]
    for name in "pq":
        assert gang.sidecar.bind(name, "n0") == ""
    gang.sidecar = Sidecar(gang.api, GATES)
    assert gang.sidecar.decide("o") == ["n0"]


def test_what_is_kept_is_free_if_the_gang_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """After as long as kube-scheduler may need to start again, and at once if the group is deleted."""
    now = 100.0
    monkeypatch.setattr(group_devices, "monotonic", lambda: now)
    gang = torn_apart()
    assert gang.sidecar.bind("p", "n0") == ""
    gang.sidecar = Sidecar(gang.api, GATES)
    assert gang.sidecar.decide("o") == []
    now += HALF_BOUND_SECONDS
    assert gang.sidecar.decide("o") == ["n0"]

"""Which pods are deleted for another one, from a picture that is made by hand."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.answers import PodAnswer
from allocator.scheduling import SchedulingState
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import read_pod
from scheduler.budgets import by_namespace, read_budget, violating
from scheduler.extender_api import (
    PreemptionRequest,
    Verdicts,
    Victims,
    filter_result,
    preemption_result,
    read_preemption,
)
from scheduler.picture_lock import SearchTime
from scheduler.pod_claims import MOST_CLAIMS, ClaimProblem, claims_for
from scheduler.preempting import Preemption, _Pods
from serving.routes import HTTPError
from tests.scheduler.test_filtering import Cluster, allocation, claim, pod

CASES = yaml.safe_load(Path(__file__).with_name("data").joinpath("preemptions.yaml").read_text())
PRIORITY = 10


def running(name: str, described: Object) -> Object:
    """A pod on a node."""
    found = pod(name, *described["claims"])
    found["spec"] |= {"nodeName": described["node"], "priority": described["priority"]}
    found["metadata"]["labels"] = described.get("labels", {})
    found["status"] = {"startTime": described["started"]} if "started" in described else {}
    if described.get("leaving"):
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


def held(name: str, described: Object, users: list[str]) -> Object:
    """A claim with devices, reserved for pods."""
    uids = [f"uid-{each}" for each in users] + [
        f"nobody-{each}" for each in range(described.get("others", 0))
    ]
    reserved = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
    devices = [f"gpu-{number}" for number in described["gpus"]]
    status = {"allocation": allocation(described["node"], *devices), "reservedFor": reserved}
    return {**claim(name, len(devices)), "status": status}


def cluster_of(case: Object) -> Cluster:
    """The cluster of a case, with the claim that is wanted."""
    made = Cluster(case["gpus"])
    pods, claims = case.get("pods", {}), case.get("claims", {})
    for name, described in claims.items():
        users = [each for each, found in pods.items() if name in found["claims"]]
        made.picture.claim_objects.put(held(name, described, users))
    for name, described in pods.items():
        made.picture.pods.put(running(name, described))
    made.picture.claim_objects.put(claim("wanted", case["asks"]))
    for name, described in case.get("budgets", {}).items():
        made.picture.budgets.put(budget(name, described))
    return made


def budget(name: str, described: Object) -> Object:
    """A PodDisruptionBudget."""
    metadata = {"name": name, "namespace": described.get("namespace", "ns")}
    disrupted = dict.fromkeys(described.get("disrupted", ()), "2026-01-01T00:00:00Z")
    status = {"disruptionsAllowed": described.get("allowed", 0), "disruptedPods": disrupted}
    spec = {"selector": described["selector"]} if "selector" in described else {}
    return {"metadata": metadata, "spec": spec, "status": status}


def preemptor() -> Object:
    """The pod for which others are deleted."""
    found = pod("preemptor", "wanted")
    found["spec"]["priority"] = PRIORITY
    return found


def request_of(case: Object) -> PreemptionRequest:
    """What kube-scheduler asks in a case."""
    victims = {node: Victims([f"uid-{each}" for each in uids], 1) for node, uids in case["victims"].items()}
    asking = preemptor()
    asking["status"] = {"nominatedNodeName": case["nominated"]} if "nominated" in case else {}
    return PreemptionRequest(asking, victims)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_victims(case: Any) -> None:
    """Who goes; afterwards the picture is as it was."""
    made = cluster_of(case)
    preemption = Preemption(made.picture, seconds=60)
    for _ in range(2):
        before = holdings(made)
        found = preemption.victims(request_of(case))
        assert {
            node: [uid.removeprefix("uid-") for uid in each.uids] for node, each in found.items()
        } == case["expected"]
        violations = {node: each.violations - 1 for node, each in found.items()}
        assert violations == case.get("violations", dict.fromkeys(found, 0))
        assert holdings(made) == before


def holdings(made: Cluster) -> object:
    """All that counts as taken."""
    allocated = made.picture.state.allocated
    return deepcopy((allocated.whole, allocated.shares, allocated.capacity))


def test_pod_without_claims() -> None:
    """kube-scheduler is right then."""
    asked = PreemptionRequest({"metadata": {"name": "p"}}, {"n1": Victims(["x"], 0)})
    assert Preemption(Cluster().picture, seconds=60).victims(asked) == asked.victims


def test_claim_without_devices_among_those_of_victims() -> None:
    """API servers store the allocation of a claim that asks for nothing as `{}`; others are preempted all the same."""
    pods = {name: {"node": "n1", "priority": 0, "claims": [name]} for name in ("low", "empty")}
    case = {"gpus": 1, "asks": 1, "pods": pods, "claims": {"low": {"node": "n1", "gpus": [0]}}}
    made = cluster_of(case)
    reserved = [{"resource": "pods", "name": "empty", "uid": "uid-empty"}]
    empty = {**claim("empty"), "spec": {}, "status": {"allocation": {}, "reservedFor": reserved}}
    made.picture.claim_objects.put(empty)
    asked = PreemptionRequest(preemptor(), {"n1": Victims([], 0)})
    found = Preemption(made.picture, seconds=60).victims(asked)
    assert found == {"n1": Victims(["uid-low"], 0)}


def test_claim_that_does_not_exist() -> None:
    """Nobody's deletion helps."""
    asked = PreemptionRequest(pod("p", "gone"), {"n1": Victims(["x"], 0)})
    assert Preemption(Cluster().picture, seconds=60).victims(asked) == {}


def test_claim_that_is_being_allocated() -> None:
    """Its pod is not seen by its claim yet, and does not give it back."""
    case = {"gpus": 1, "asks": 1, "pods": {"low": {"node": "n1", "priority": 0, "claims": ["a"]}}}
    made = cluster_of(case)
    made.picture.claim_objects.put(claim("a"))
    with made.picture.lock:
        made.picture.claims.assume("ns/a", "uid-a", allocation("n1", "gpu-0"))
    asked = PreemptionRequest(preemptor(), {"n1": Victims(["uid-low"], 0)})
    assert Preemption(made.picture, seconds=60).victims(asked) == {}


def test_no_time() -> None:
    """Nodes that are not decided are dropped."""
    case = CASES[0]
    assert Preemption(cluster_of(case).picture, seconds=-1).victims(request_of(case)) == {}


def crowded(pods: int, nodes: int) -> tuple[Cluster, PreemptionRequest]:
    """A cluster with so many pods that are being deleted, each with claims of its own; who asks about so many nodes."""
    names = [f"leaving-{number}" for number in range(pods)]
    leaving = {
        name: {"node": "n1", "priority": 0, "claims": [f"{name}-{each}" for each in range(9)]}
        for name in names
    }
    made = cluster_of({"gpus": 1, "asks": 1})
    for name, described in leaving.items():
        made.picture.pods.put(running(name, {**described, "leaving": True}))
    return made, PreemptionRequest(preemptor(), {f"n{number}": Victims([], 0) for number in range(nodes)})


def lookups(made: Cluster, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The claims that are looked up from now on."""
    found: list[str] = []
    look_up = made.picture.claims.get

    def noted(key: str) -> Claim | None:
        found.append(key)
        return look_up(key)

    monkeypatch.setattr(made.picture.claims, "get", noted)
    return found


def test_leaving_pods_are_looked_at_once_for_all_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    made, asked = crowded(pods=20, nodes=50)
    looked_up = lookups(made, monkeypatch)
    Preemption(made.picture, seconds=60).victims(asked)
    assert 20 * 9 <= len(looked_up) < 2 * 20 * 9


def test_leaving_pods_of_others_do_not_hold_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit is looked at for each of them."""
    made, asked = crowded(pods=20, nodes=1)
    looked_up = lookups(made, monkeypatch)
    assert Preemption(made.picture, seconds=-1).victims(asked) == {}
    assert len(looked_up) <= 9 + 1


def test_few_claims_of_pods_are_kept() -> None:
    """Those of pods that name too many would fill the memory; that they do can still be told."""
    made = Cluster()
    made.picture.pods.put(pod("p", *map(str, range(3 * MOST_CLAIMS))))
    kept = made.picture.pods.objects["ns/p"]
    assert len(kept.claims) == MOST_CLAIMS + 1
    with pytest.raises(ClaimProblem, match="more than"):
        claims_for(kept, made.picture.claims)


def test_only_the_leader_answers() -> None:
    """Others may not know yet what has been allocated."""

    def term() -> int:
        raise ConnectionError("not leading")

    case = CASES[0]
    with pytest.raises(ConnectionError):
        Preemption(cluster_of(case).picture, seconds=60, term=term).victims(request_of(case))


def test_filter_offers_preemption_on_the_nominated_node_only() -> None:
    """On others kube-scheduler would find nobody to delete, since there is room for all but the claims."""
    verdicts = Verdicts(["n0"], {"n1": "few", "n2": "few"}, {"n3": "never"})
    assert filter_result(verdicts, read_pod({"status": {"nominatedNodeName": "n1"}}).nominated_node) == {
        "NodeNames": ["n0"],
        "FailedNodes": {"n1": "few"},
        "FailedAndUnresolvableNodes": {"n2": "few", "n3": "never"},
        "Error": "",
    }
    assert filter_result(verdicts, read_pod({}).nominated_node)["FailedNodes"] == {}


def test_wire() -> None:
    """The bodies as Go writes and reads them."""
    victims = {"n1": {"Pods": [{"UID": "a"}, {"UID": "b"}], "NumPDBViolations": 2}}
    body = {"Pod": {"metadata": {"name": "p"}}, "NodeNameToVictims": None, "NodeNameToMetaVictims": victims}
    request = read_preemption(json.dumps(body).encode())
    assert request.victims == {"n1": Victims(["a", "b"], 2)}
    assert preemption_result(request.victims) == {"NodeNameToMetaVictims": victims}
    odd = {"n1": None, "n2": {"Pods": [None, {}, {"UID": 1}], "NumPDBViolations": "x"}}
    found = read_preemption(json.dumps({**body, "NodeNameToMetaVictims": odd}).encode())
    assert found.victims == {"n1": Victims([], 0), "n2": Victims([], 0)}
    wrongs: list[object] = [{}, [], {**body, "NodeNameToMetaVictims": None}, {**body, "Pod": None}]
    for wrong in wrongs:
        with pytest.raises(HTTPError):
            read_preemption(json.dumps(wrong).encode())


@pytest.mark.parametrize(
    "selector",
    [
        {"matchLabels": {f"key-{number}": "v" for number in range(101)}},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x" * 63] * 1000}]},
    ],
    ids=["many", "long"],
)
def test_budgets_are_bounded(selector: Object) -> None:
    """One with a selector larger than any needs is not kept: thousands of these would fill the memory."""
    assert read_budget(budget("large", {"selector": selector})) is None
    assert read_budget(budget("usual", {"selector": {"matchLabels": {"app": "web"}}})) is not None


def test_long_selectors_are_kept_as_text() -> None:
    """As objects they took ten times as much."""
    values = [f"v{each}" for each in range(900)]
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": values}]}
    text = json.dumps(budget("long", {"selector": selector}))
    tracemalloc.start()
    try:
        kept = [read_budget(json.loads(text)) for _ in range(10)]
        assert tracemalloc.get_traced_memory()[0] < 20 * len(text)
    finally:
        tracemalloc.stop()
    assert [each.selector for each in kept if each] == [selector] * 10


def test_claims_of_pods_that_are_gone_are_looked_for_within_the_time() -> None:
    """There may be tens of thousands, of others."""
    made = Cluster(1)
    made.picture.claim_objects.put(held("c", {"node": "n1", "gpus": [0]}, ["gone"]))
    assert _Pods(made.picture, UNLIMITED, nullcontext).left_behind() == {"ns/c"}
    with pytest.raises(OutOfTime):
        _Pods(made.picture, TimeLimit(0), nullcontext).left_behind()


def test_labels_are_bounded() -> None:
    """So is a pod whose labels are; it counts as one without any."""
    for length, kept in ((5_000, 2), (6_000, 0)):
        large = pod("p", "c")
        large["metadata"]["labels"] = {"a": "x" * length, "b": "y" * 4_998}
        assert len(read_pod(large).labels) == kept


def test_budgets_of_others_do_not_keep_anybody_from_preempting() -> None:
    """The attack: so many that looking through them took all the time, so that no node was decided. Now they protect all their pods."""
    made = cluster_of({"gpus": 20, "asks": 1})
    labels = {"app": "web"}
    for place in range(20):
        evil = held(f"c{place}", {"node": "n1", "gpus": [place]}, [f"v{place}"])
        namespace = "evil" if place else "ns"
        made.picture.claim_objects.put({**evil, "metadata": {**evil["metadata"], "namespace": namespace}})
        victim = running(
            f"v{place}", {"claims": [f"c{place}"], "node": "n1", "priority": 0, "labels": labels}
        )
        made.picture.pods.put({**victim, "metadata": {**victim["metadata"], "namespace": namespace}})
    for name in map(str, range(200)):
        selects_all = {"selector": {"matchLabels": labels}, "allowed": 99, "namespace": "evil"}
        made.picture.budgets.put(budget(name, selects_all))
    made.picture.budgets.put(budget("usual", {"selector": {"matchLabels": labels}, "allowed": 1}))
    asked = 0

    def clock() -> float:
        nonlocal asked
        asked += 1
        return asked

    pods, late = made.picture.pods.objects.values(), set[str]()
    budgets = by_namespace(made.picture.budgets.objects.values())
    assert violating(pods, budgets, UNLIMITED, late) == frozenset()
    assert not late
    protected = {f"uid-v{place}" for place in range(1, 20)}
    for most in (1_000, 100):  # the second time without a look at those that are too many
        assert violating(pods, budgets, TimeLimit(most, clock), late) == protected
        assert late == {"evil"}
    assert asked < 1_000


def holders(made: Cluster, pods: int) -> None:
    """Puts pods on n1 that hold a GPU each."""
    for place in range(pods):
        made.picture.claim_objects.put(held(f"c{place}", {"node": "n1", "gpus": [place]}, [f"v{place}"]))
        made.picture.pods.put(running(f"v{place}", {"node": "n1", "priority": 0, "claims": [f"c{place}"]}))


def searches(monkeypatch: pytest.MonkeyPatch, made: Callable[[], None] = lambda: None) -> list[None]:
    """As many entries as searches from now on; `made` is called before each."""
    found: list[None] = []
    search = SchedulingState.filter

    def noted(state: SchedulingState, *arguments: Any) -> PodAnswer:
        found.append(None)
        made()
        return search(state, *arguments)

    monkeypatch.setattr(SchedulingState, "filter", noted)
    return found


ANY_VICTIMS = {"n1": Victims(["uid-x"], 0)}


@pytest.mark.parametrize(("pods", "claims"), [(20, 64), (300, 1)])
@pytest.mark.parametrize("allocated", [{}, allocation("n2", "gpu-9")], ids=["nothing", "elsewhere"])
def test_claims_without_devices_of_the_node_make_nobody_a_victim(
    monkeypatch: pytest.MonkeyPatch, allocated: Object, pods: int, claims: int
) -> None:
    """Others may have thousands, of pods on the node: each claim is read once for each question, and no search is for it."""
    case = {"gpus": 1, "asks": 1, "claims": {"a": {"node": "n1", "gpus": [0]}}}
    made = cluster_of({**case, "pods": {"old": {"node": "n1", "priority": 0, "claims": ["a"]}}})
    for name in map(str, range(pods)):
        names = [f"{name}-{place}" for place in range(claims)]
        for each in names:
            empty = claim(each, namespace="evil")
            empty["spec"] = {"devices": {}}
            reserved = [{"resource": "pods", "name": name, "uid": f"uid-{name}"}]
            empty["status"] = {"allocation": allocated, "reservedFor": reserved}
            made.picture.claim_objects.put(empty)
        evil = running(name, {"node": "n1", "priority": -5, "claims": names})
        evil["metadata"]["namespace"] = "evil"
        made.picture.pods.put(evil)
    looked_up, searched = lookups(made, monkeypatch), searches(monkeypatch)
    found = Preemption(made.picture, seconds=60).victims(PreemptionRequest(preemptor(), ANY_VICTIMS))
    assert found == {"n1": Victims(["uid-x", "uid-old"], 0)}
    assert len(searched) == 2
    assert len(looked_up) < pods * claims + 10


def test_pods_that_name_the_same_claim_make_no_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands that name another one's claim were 17 s."""
    made = cluster_of({"gpus": 1, "asks": 1})
    made.picture.claim_objects.put(held("x", {"node": "n1", "gpus": [0]}, ["p0"]))
    for place in range(3000):
        made.picture.pods.put(running(f"p{place}", {"node": "n1", "priority": 0, "claims": ["x"]}))
    looked_up, searched = lookups(made, monkeypatch), searches(monkeypatch)
    found = Preemption(made.picture, seconds=60).victims(PreemptionRequest(preemptor(), ANY_VICTIMS))
    assert found == {"n1": Victims(["uid-x", "uid-p0"], 0)}
    assert len(searched) == 2
    assert len(looked_up) < 10


def test_pods_that_can_stay_are_found_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search leaves out half of them rather than one."""
    made = cluster_of({"gpus": 64, "asks": 1})
    holders(made, 64)
    searched = searches(monkeypatch)
    found = Preemption(made.picture, seconds=60).victims(PreemptionRequest(preemptor(), ANY_VICTIMS))
    assert found == {"n1": Victims(["uid-x", "uid-v9"], 0)}
    assert len(searched) <= 2 + 6 + 1


def test_who_is_undecided_in_time_is_a_victim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without these pods it fits, so the node is not dropped, and the pod need not wait."""
    now = 0

    def later() -> None:
        nonlocal now
        now += 1

    monkeypatch.setattr("scheduler.preempting.TimeLimit", lambda seconds: TimeLimit(seconds, lambda: now))
    made = cluster_of({"gpus": 8, "asks": 1})
    holders(made, 8)
    searches(monkeypatch, later)
    search_time = SearchTime()
    preemption = Preemption(made.picture, seconds=4, search_time=search_time)
    found = preemption.victims(PreemptionRequest(preemptor(), ANY_VICTIMS))
    assert found == {"n1": Victims(["uid-x", "uid-v6", "uid-v7"], 0)}
    assert search_time.retry_at(read_pod(preemptor())) is None

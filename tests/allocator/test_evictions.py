"""Who is evicted from tainted devices, by which taints and when, as a real kube-controller-manager decided it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from allocator.devices import Slice
from allocator.evictions import NoExecuteTaints, evictions
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.claims import reservations as original
from resourceapi.records.pods import read_pod
from resourceapi.records.taints import Taint, read_taint_rule
from resourceapi.records.taints import read_taint as original_taint
from tests.allocator.objects import DRIVER, decoded, device, held, slice_of

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
TAINT: Object = {"key": "k", "value": "v", "effect": "NoExecute"}
POD: Object = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "p-uid"},
    "spec": {"nodeName": "n", "resourceClaims": [{"name": "c", "resourceClaimName": "holder"}]},
}


def tolerating(**fields: Any) -> Object:
    return {"key": "k", "operator": "Exists", "effect": "NoExecute", **fields}


def seconds_left(
    taints: list[Object],
    tolerations: list[Object],
    rules: Sequence[Object] = (),
    pod: Object = POD,
    user: str = "p-uid",
) -> float | None:
    """In how many seconds the pod is evicted from its device with these taints; None if it is not."""
    slices = [Slice(slice_of(device("d", taints=taints)))]
    claims = [reserved(held("d", tolerations=tolerations), user)]
    known = NoExecuteTaints(slices, map(read_taint_rule, rules), NOW)
    found = evictions([read_pod(pod)], {each.key: each for each in claims}, known)
    return (found[0].when - NOW).total_seconds() if found else None


def reserved(value: Object, uid: str) -> Claim:
    users = [{"resource": "pods", "name": "p", "uid": uid}]
    return Claim({**value, "status": {**value["status"], "reservedFor": users}})


def rule(name: str, **fields: Any) -> Object:
    spec = {"deviceSelector": {}, "taint": {**TAINT, "timeAdded": "2026-11-28T12:00:07Z"}, **fields}
    return decoded("DeviceTaintRule", {"metadata": {"name": name}, "spec": spec})


@pytest.mark.parametrize(
    ("taints", "tolerations", "expected"),
    [
        ([], [], None),
        ([TAINT], [], 0),
        ([{**TAINT, "timeAdded": "2026-11-28T12:00:05Z"}], [], 5),
        ([{**TAINT, "effect": "NoSchedule"}], [], None),
        ([{**TAINT, "effect": "None"}], [], None),
        ([TAINT], [tolerating()], None),
        ([TAINT], [tolerating(tolerationSeconds=30)], 30),
        ([TAINT], [tolerating(tolerationSeconds=-30)], 0),
        ([TAINT], [tolerating(tolerationSeconds=30), tolerating(tolerationSeconds=20)], 20),
        ([TAINT], [tolerating(tolerationSeconds=30), tolerating()], None),
        ([TAINT], [tolerating(key="other")], 0),
        ([TAINT], [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}], None),
        ([TAINT], [{"key": "k", "operator": "Equal", "value": "w", "effect": "NoExecute"}], 0),
        ([TAINT], [{"operator": "Exists"}], 0),
        ([TAINT], [{"operator": "Exists", "effect": "NoSchedule"}], 0),
        ([TAINT, {**TAINT, "key": "l"}], [tolerating(), tolerating(key="l", tolerationSeconds=9)], 9),
        ([{**TAINT, "timeAdded": "0000-01-01T00:00:00Z"}], [], -(NOW - FIRST).total_seconds()),
        ([{**TAINT, "timeAdded": "9999-12-31T23:59:59-14:00"}], [], (LAST - NOW).total_seconds()),
        ([TAINT], [tolerating(tolerationSeconds=9_223_372_037)], -9_223_372_037 + 0.290448),
    ],
)
def test_tolerations(taints: list[Object], tolerations: list[Object], expected: float | None) -> None:
    """Only tolerations with the effect NoExecute count, of those the one for the shortest time; one without an end wins."""
    found = seconds_left(taints, tolerations)
    assert found == expected or (found is not None and expected is not None and found < -(10**9) > expected)


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, 7),
        (None, None),
        ({"driver": DRIVER, "pool": "pool", "device": "d"}, 7),
        ({"driver": "other"}, None),
        ({"pool": "other"}, None),
        ({"device": "other"}, None),
    ],
)
def test_rules(selector: Object | None, expected: float | None) -> None:
    """A rule taints what it selects, from when its taint has been added, and nothing without a selector."""
    found = rule("rule", deviceSelector=selector or {})
    if selector is None:
        del found["spec"]["deviceSelector"]
    assert seconds_left([], [], [found]) == expected


def test_pods_that_stay() -> None:
    """Pods on no node, those that are being deleted, and those for which the claim is not reserved."""
    waiting = {**POD, "spec": {**POD["spec"], "nodeName": ""}}
    leaving = {**POD, "metadata": {**POD["metadata"], "deletionTimestamp": "2026-11-28T12:00:00Z"}}
    assert seconds_left([TAINT], [], pod=waiting) is None
    assert seconds_left([TAINT], [], pod=leaving) is None
    assert seconds_left([TAINT], [], user="other") is None


@pytest.mark.parametrize(("owner", "expected"), [("p-uid", 0), ("other", None)])
def test_generated_claims(owner: str, expected: float | None) -> None:
    """A claim from a template counts only if it has been made for the pod."""
    spec = {"nodeName": "n", "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}]}
    status = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "holder"}]}
    value = reserved(held("d"), "p-uid").object
    owners = [{"kind": "Pod", "name": "p", "uid": owner, "controller": True}]
    made = Claim({**value, "metadata": {**value["metadata"], "ownerReferences": owners}})
    known = NoExecuteTaints([Slice(slice_of(device("d", taints=[TAINT])))], [], NOW)
    found = evictions([read_pod({**POD, "spec": spec, "status": status})], {made.key: made}, known)
    assert [(each.when - NOW).total_seconds() for each in found] == ([] if expected is None else [expected])


def test_reasons() -> None:
    """All taints are told, those of rules first, by name; the earliest decides; an obsolete slice has none."""
    slices = [
        Slice(slice_of(device("d", taints=[TAINT, {**TAINT, "key": "l"}]), name="new", generation=2)),
        Slice(slice_of(device("d", taints=[{**TAINT, "key": "old"}]), name="old")),
    ]
    other = rule("a", taint={**TAINT, "key": "m", "timeAdded": "2026-11-28T11:00:00Z"})
    holder = reserved(held("d", tolerations=[tolerating(key="l", tolerationSeconds=60)]), "p-uid")
    (found,) = evictions(
        [read_pod(POD)],
        {holder.key: holder},
        NoExecuteTaints(slices, map(read_taint_rule, [rule("z"), other]), NOW),
    )
    assert [str(each) for each in found.taints] == [
        "m=v:NoExecute (DeviceTaintRule a)",
        "k=v:NoExecute (DeviceTaintRule z)",
        f"k=v:NoExecute on {DRIVER}/pool/d (ResourceSlice new)",
        f"l=v:NoExecute on {DRIVER}/pool/d (ResourceSlice new)",
    ]
    assert found.when == NOW - timedelta(hours=1)


def test_order() -> None:
    """Who is due first comes first; of those that are due together, by name."""
    seconds = {"b": 0, "a": 0, "c": 60, "d": 30}
    slices = [Slice(slice_of(*[device(name, taints=[TAINT]) for name in seconds]))]
    pods, claims = [], {}
    for name, each in seconds.items():
        spec = {"nodeName": "n", "resourceClaims": [{"name": "c", "resourceClaimName": name}]}
        pods.append(read_pod({"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": spec}))
        claims[f"ns/{name}"] = reserved(
            held(name, name=name, tolerations=[tolerating(tolerationSeconds=each)]), name
        )
    found = evictions(pods, claims, NoExecuteTaints(slices, [], NOW))
    assert [each.pod.name for each in found] == ["a", "b", "d", "c"]


def test_reservations_are_read_once_for_all_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 pods that share a claim took 18 s: each of them read all 2,000 entries of `reservedFor`."""
    read: list[Object] = []

    def reservations(claim: Object) -> Sequence[Object]:
        read.append(claim)
        return original(claim)

    monkeypatch.setattr("resourceapi.records.claims.reservations", reservations)
    holder = reserved(held("d"), "p-uid")
    known = NoExecuteTaints([Slice(slice_of(device("d", taints=[TAINT])))], [], NOW)
    assert len(evictions([read_pod(POD)] * 3, {holder.key: holder}, known)) == 3
    assert read == [holder.object]


def test_rules_are_compared_once_with_what_is_tolerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 rules for the devices of 2,000 claims took 17 s: each claim was compared with each rule."""
    compared: list[Object] = []

    def read_taint(taint: Object) -> Taint:
        compared.append(taint)
        return original_taint(taint)

    monkeypatch.setattr("allocator.evictions.read_taint", read_taint)
    rules = [rule(f"r{number}", taint={**TAINT, "value": f"{number}"}) for number in range(3)]
    known = NoExecuteTaints([], map(read_taint_rule, rules), NOW)
    claims = [reserved(held("d", tolerations=[tolerating(tolerationSeconds=9)]), "p-uid") for _ in range(5)]
    found = [known.on(each) for each in claims]
    assert found[0] is not None
    assert [each.name for each in found[0].taints] == ["r0", "r1", "r2"]
    assert all(each is found[0] for each in found)
    assert len(compared) == len(rules)

"""Who is evicted from tainted devices, and in which order, is foretold as a real kube-controller-manager does it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from random import Random

import pytest

from allocator.devices import Slice
from allocator.evictions import Eviction, NoExecuteTaints, evictions
from claimcheck.inputs import profile_of
from cluster.objects import ClusterObjects
from resourceapi.manifests import entries, mapping, name_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import read_pod
from resourceapi.records.taints import read_taint_rule
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane
from tests.e2e.scheduled import until

GROUP = "/apis/resource.k8s.io/v1"
DRIVERS, POOLS, DEVICES = ("a.example.com", "b.example.com"), ("p", "q", "r"), ("d0", "d1", "d2", "d3")
CLAIMS, PODS, RULES = 100, 120, 10
#: Pods that are evicted later than this are not waited for.
_LATE = 86_400
_SECONDS = (None, 0, 3, 6, 9, 12, _LATE, -5)
_KINDS = {"ResourceSlice": "resourceslices", "DeviceTaintRule": "devicetaintrules"}


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    """A server whose controller is at work when rules come."""
    with control_plane("1.37") as server:
        random = Random("evictions")
        _fill(server.client, random)
        flags = [
            "--controllers=device-taint-eviction-controller",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]
        with component(server, "kube-controller-manager", flags):
            until(lambda: bool(_evicted(server.client)))
            for number in range(RULES):
                _make(server.client, f"{GROUP}/devicetaintrules", _rule(random, f"rule-{number}"))
            yield server.client


def test_evictions(client: Client) -> None:
    """All that are due within the time of a test, and nobody else; of those that are due at different seconds, the first first."""
    foretold = _foretold(client)
    due = {each.pod.name for each in foretold if (each.when - datetime.now(UTC)).total_seconds() < _LATE / 2}
    assert 20 < len(due) < PODS - 10
    until(lambda: due <= _evicted(client).keys())
    evicted = _evicted(client)
    assert evicted.keys() == due
    started = min(evicted.values())
    # what was due before the controller began is due when it begins
    whens = {each.pod.name: max(each.when.strftime("%FT%TZ"), started) for each in foretold}
    order = sorted(evicted, key=lambda name: (evicted[name], whens[name]))
    assert [whens[name] for name in order] == sorted(whens[name] for name in order)
    assert len({whens[name] for name in due}) > 3


def _foretold(client: Client) -> list[Eviction]:
    objects = ClusterObjects(profile_of("1.37", None))
    read = {
        kind: [objects.read_stored(kind, each) for each in _list(client, f"{GROUP}/{resource}")]
        for kind, resource in {**_KINDS, "ResourceClaim": "resourceclaims"}.items()
    }
    claims = {claim.key: claim for each in read["ResourceClaim"] if each for claim in [Claim(each)]}
    slices = [Slice(each) for each in read["ResourceSlice"] if each]
    rules = [read_taint_rule(each) for each in read["DeviceTaintRule"] if each]
    taints = NoExecuteTaints(slices, rules, datetime.now(UTC))
    pods = [read_pod(each)._replace(is_leaving=False) for each in _list(client, "/api/v1/pods")]
    return evictions(pods, claims, taints)


def _evicted(client: Client) -> Mapping[str, str]:
    """When each pod has been marked for deletion."""
    return {
        name_of(pod): condition["lastTransitionTime"]
        for pod in _list(client, "/api/v1/pods")
        for condition in entries(mapping(pod, "status"), "conditions")
        if condition["type"] == "DisruptionTarget"
    }


def _list(client: Client, path: str) -> list[Object]:
    return list(client.ask("GET", path).body["items"])


def _fill(client: Client, random: Random) -> None:
    for driver in DRIVERS:
        for pool in POOLS:
            for generation in (1, 2):
                _make(client, f"{GROUP}/resourceslices", _slice(random, driver, pool, generation))
    pods = [_make(client, "/api/v1/namespaces/default/pods", _pod(random, number)) for number in range(PODS)]
    for number in range(CLAIMS):
        claim = _claim(random, f"claim-{number}")
        path = f"{GROUP}/namespaces/default/resourceclaims"
        _make(client, path, {name: value for name, value in claim.items() if name != "status"})
        users = [pod for pod in pods if _uses(pod, f"claim-{number}") and random.random() < 0.9]
        reserved = [
            {"resource": "pods", "name": name_of(pod), "uid": pod["metadata"]["uid"]} for pod in users
        ]
        status = {"status": {**claim["status"], "reservedFor": reserved}}
        at = f"{path}/claim-{number}/status"
        answer = client.ask("PATCH", at, status, content_type="application/merge-patch+json")
        assert answer.code == 200, answer.body


def _uses(pod: Object, claim: str) -> bool:
    return any(each["resourceClaimName"] == claim for each in pod["spec"]["resourceClaims"])


def _taint(random: Random) -> Object:
    effects = ("NoExecute", "NoExecute", "NoSchedule")
    taint = {"key": random.choice(("k", "l")), "effect": random.choice(effects)}
    return {**taint, "value": random.choice("vw")} if random.random() < 0.5 else taint


def _slice(random: Random, driver: str, pool: str, generation: int) -> Object:
    devices = [
        {"name": name, "taints": [_taint(random) for _ in range(random.choice((0, 0, 0, 1, 2)))]}
        for name in DEVICES
        if random.random() < 0.9
    ]
    return {
        "metadata": {"name": f"{driver}-{pool}-{generation}"},
        "spec": {
            "driver": driver,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
            "allNodes": True,
            "devices": devices,
        },
    }


def _rule(random: Random, name: str) -> Object:
    spec: Object = {"taint": _taint(random)}
    wanted = {
        "driver": random.choice(DRIVERS),
        "pool": random.choice(POOLS),
        "device": random.choice(DEVICES),
    }
    selector = {field: value for field, value in wanted.items() if random.random() < 0.8}
    if random.random() < 0.9:
        spec["deviceSelector"] = selector or {"device": random.choice(DEVICES)}
    return {"metadata": {"name": name}, "spec": spec}


def _toleration(random: Random) -> Object:
    toleration: Object = {"operator": random.choice(("Exists", "Exists", "Equal"))}
    if toleration["operator"] == "Equal" or random.random() < 0.4:
        toleration["key"] = random.choice(("k", "l"))
    if toleration["operator"] == "Equal":
        toleration["value"] = random.choice("vw")
    if random.random() < 0.85:
        toleration["effect"] = random.choice(("NoExecute", "NoExecute", "NoExecute", "NoSchedule"))
    seconds = random.choice(_SECONDS)
    if seconds is not None and toleration.get("effect") == "NoExecute":
        toleration["tolerationSeconds"] = seconds
    return toleration


def _claim(random: Random, name: str) -> Object:
    results = [
        {
            "request": "r",
            "driver": random.choice(DRIVERS),
            "pool": random.choice(POOLS),
            "device": random.choice(DEVICES),
            "tolerations": [_toleration(random) for _ in range(random.choice((0, 1, 1, 1, 2)))],
        }
        for _ in range(random.choice((1, 1, 2)))
    ]
    distinct = {(each["driver"], each["pool"], each["device"]): each for each in results}
    request = {"name": "r", "exactly": {"deviceClassName": "any", "count": len(distinct)}}
    return {
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
        "status": {"allocation": {"devices": {"results": list(distinct.values())}}},
    }


def _pod(random: Random, number: int) -> Object:
    names = {f"claim-{random.randrange(CLAIMS)}" for _ in range(random.choice((1, 1, 2)))}
    spec: Object = {
        "containers": [{"name": "c", "image": "x"}],
        "resourceClaims": [
            {"name": f"c{place}", "resourceClaimName": name} for place, name in enumerate(sorted(names))
        ],
    }
    if random.random() < 0.9:
        spec["nodeName"] = "node-a"
    return {"metadata": {"name": f"pod-{number}"}, "spec": spec}


def _make(client: Client, path: str, body: Object) -> Object:
    answer = client.ask("POST", path, body)
    assert answer.code == 201, (path, answer.body)
    made: Object = answer.body
    return made

"""What is read of a namespace to count it: in pages that fit, up to a bound, by few at a time."""

from __future__ import annotations

import gc
import json
import threading
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from quota import cluster
from quota.cluster import MOST_WAITING, ClusterNamespaces, ReadQueue
from quota.counted_parts import counted_part_of_claim, counted_part_of_pod
from quota.reservations import Reservations
from quota.resource_quotas import ResourceQuota, from_object
from quota.store import ConfigMapStore
from resourceapi import api_client as apis
from resourceapi.api_client import Listing, TooLarge, Unavailable
from resourceapi.objects import Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES
from resourceapi.releases import Profile
from tests.quota.fake_api import CLAIMS, CLASSES, PODS, QUOTAS, FakeApi, quota
from tests.quota.objects import claim, container, device_class, exactly, pod
from validation.server import Server

PATIENCE_SECONDS = 60
EXTENDED = "requests.example.com/gpu"


class Pages(FakeApi):
    """Pages have as many objects as are asked for, and are refused beyond so many bytes, as a client would."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self.most_bytes = most_bytes
        self.limits: list[int] = []

    def _list(self, path: str, query: Mapping[str, str]) -> tuple[int, Any]:
        found = list(self.collections[path].values())
        start, limit = int(query.get("continue", 0)), int(query["limit"])
        self.limits.append(limit)
        end = start + limit
        page = {
            "items": found[start:end],
            "metadata": {"continue": str(end) if end < len(found) else ""},
        }
        if len(json.dumps(page)) > self.most_bytes:
            raise TooLarge(f"GET {path}: the answer is too large")
        return 200, page


def large(name: str, size: int = 1000) -> Object:
    return claim(exactly("r", "other"), name=name, uid=name, annotations={"x": "y" * size})


def test_pages_shrink_until_they_fit() -> None:
    """Objects of any size are read, however small the pages have to be; one that is too large by itself is not."""
    api = Pages(most_bytes=3000)
    api.add(CLAIMS, *(large(f"c{number}") for number in range(20)))
    assert [obj["metadata"]["name"] for obj in Listing(api, CLAIMS)] == [f"c{number}" for number in range(20)]
    assert api.limits[-1] * 1000 < api.most_bytes
    assert len(api.limits) <= 30
    api.add(CLAIMS, large("too-large", 4000))
    with pytest.raises(TooLarge):
        list(Listing(api, CLAIMS))


def test_pages_grow_again_after_a_large_object() -> None:
    """The attack: one large object, after which each of all others was a page of its own."""
    api = Pages(most_bytes=10_000)
    api.add(CLAIMS, large("a", 9_500), *(large(f"c{number}", 1) for number in range(1000)))
    assert sum(1 for _ in Listing(api, CLAIMS)) == 1001
    assert len(api.limits) <= 150


def test_pages_begin_small() -> None:
    """What somebody fills is not asked for at once."""
    api = Pages(most_bytes=10_000_000)
    api.add(CLAIMS, *(large(f"c{number}", 1) for number in range(2000)))
    assert sum(1 for _ in Listing(api, CLAIMS)) == 2000
    assert api.limits[0] <= 50
    assert max(api.limits) == apis.PAGE


def test_lists_end_at_a_bound() -> None:
    """After so many objects it is an error, not a wrong number."""
    api = Pages(most_bytes=10_000_000)
    api.add(CLAIMS, *(large(f"c{number}", 1) for number in range(12)))
    assert sum(1 for _ in Listing(api, CLAIMS, most=12)) == 12
    with pytest.raises(Unavailable, match=r"GET .*: there are more than 11"):
        list(Listing(api, CLAIMS, most=11))


def made_for_pod(name: str = "made", **metadata: Any) -> Object:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    return claim(
        exactly("r", "gpu", 2),
        name=name,
        uid=name,
        annotations={FOR_EXTENDED_RESOURCES: "true"},
        ownerReferences=[owner],
        **metadata,
    )


def with_pod(api: FakeApi, **more: Any) -> ClusterNamespaces:
    """A namespace whose quota pods and claims share, and a pod."""
    api.add(QUOTAS, quota({EXTENDED: "2"}))
    api.add(CLASSES, device_class("gpu", "example.com/gpu"))
    asked = {"example.com/gpu": "2"}
    owner = pod(container(asked, asked))
    owner["metadata"]["uid"] = "p"
    api.add(PODS, owner)
    return ClusterNamespaces(api, Server(Profile()), **more)


def test_claims_of_a_pod_are_looked_for_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant's claims, however large and many, are not all read to see which one a pod was charged for."""
    monkeypatch.setattr(cluster, "MOST_CLAIMS", 30)
    api = Pages(most_bytes=20_000)
    namespaces = with_pod(api)
    api.add(CLAIMS, *(large(f"c{number}") for number in range(30)))
    assert EXTENDED not in namespaces.evaluator("team").usage(made_for_pod())
    api.add(CLAIMS, large("one-more"))
    with pytest.raises(Unavailable, match="there are more than 30"):
        namespaces.evaluator("team").usage(made_for_pod())


def test_nothing_but_what_counts_is_kept() -> None:
    """Of all that is in a namespace only what counts stays in memory until it is counted."""
    api = Pages(most_bytes=10_000_000)
    namespaces = with_pod(api)
    for number in range(30):
        api.add(CLAIMS, large(f"c{number}", 100_000))
    seen: list[int] = []
    whole = claim(
        exactly("r", "gpu"),
        name="c",
        uid="u",
        annotations={"x": "y" * 100_000, FOR_EXTENDED_RESOURCES: "true"},
    )
    whole["spec"]["devices"]["config"] = [{"opaque": {"parameters": {"a": "b" * 100_000}}}]
    whole["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": "x" * 10_000}}]
    kept = counted_part_of_claim(whole)
    seen.append(len(json.dumps(kept)))
    big = pod(container({"example.com/gpu": "2"}, env=[{"name": "A", "value": "x" * 100_000}]))
    big["metadata"]["annotations"] = {"x": "y" * 100_000}
    seen.append(len(json.dumps(counted_part_of_pod(big))))
    assert max(seen) < 1000
    assert len(list(namespaces.charged("team"))) == 31


def with_names(names: int, version: str) -> Object:
    """A ResourceQuota with two limits for claims, and many others."""
    hard = {"gpu.deviceclass.resource.k8s.io/devices": "2", EXTENDED: "3", "requests.cpu": "4", "pods": "5"}
    found = quota({**hard, **{f"count/x{each}.example.com": "1" for each in range(names)}}, {EXTENDED: "1"})
    found["metadata"]["resourceVersion"] = version
    return found


def test_quotas_are_read_once_and_what_counts_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 ResourceQuotas with 10,000 names each took 9 s of computing for each look, every two seconds."""
    api, now, read = Pages(most_bytes=10_000_000), 0.0, list[int]()

    def counted(value: Object) -> ResourceQuota:
        read.append(len(value["spec"]["hard"]))
        return from_object(value)

    monkeypatch.setattr(cluster, "from_object", counted)
    monkeypatch.setattr(cluster, "MOST_LIMITS", 6)
    namespaces = ClusterNamespaces(api, Server(Profile()), clock=lambda: now)
    api.collections[QUOTAS] = {}
    for version in ("1", "2", "3"):
        api.collections[QUOTAS].clear()
        api.add(QUOTAS, with_names(1_000, version))
        for _ in range(2):
            now += 10.0
            (found,) = namespaces.quotas("team")
            assert {name: str(each) for name, each in found.hard.items()} == {
                "gpu.deviceclass.resource.k8s.io/devices": "2",
                EXTENDED: "3",
            }
            assert str(found.used[EXTENDED]) == "1"
            assert (found.name, found.namespace, found.uid) == ("gpus", "team", "q1")
    assert read == [2, 2, 2]  # once for each version, was 1,004 names each time
    assert len(namespaces._read) == 1  # older ones have gone


class Slow(FakeApi):
    """Lists of claims wait until the test lets them go on; counts how many do at once."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self.entered = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.now = self.most = 0

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        if path != CLAIMS:
            return super().request(verb, path, body, query)
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.entered.release()
        assert self.go_on.wait(PATIENCE_SECONDS)
        with self._lock:
            self.now -= 1
        return super().request(verb, path, body, query)


def test_one_at_a_time_reads_a_namespace() -> None:
    """However many reviews ask about it, and whatever for."""
    api = Slow()
    namespaces = with_pod(api)
    evaluator = namespaces.evaluator("team")
    threads = [
        threading.Thread(target=evaluator.usage, args=(made_for_pod(f"m{number}"),)) for number in range(8)
    ]
    threads += [threading.Thread(target=lambda: list(namespaces.charged("team"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert api.entered.acquire(timeout=PATIENCE_SECONDS)
    api.go_on.set()
    for thread in threads:
        thread.join()
    assert api.most == 1


def test_turns() -> None:
    """One for each name and few in all; whoever would wait too long is told so, and nothing is left behind."""
    turns = ReadQueue(most=2, patience=0.0)
    with turns.of("a"):
        with pytest.raises(Unavailable, match="too many ask what is in namespaces"), turns.of("a"):
            pass
        with turns.of("b"), pytest.raises(Unavailable), turns.of("c"):
            pass
        with turns.of("c"):
            pass
    with turns.of("a"), turns.of("b"):
        pass


def test_a_namespace_leaves_threads_to_others() -> None:
    """Beyond its share a namespace is told at once that too many wait; others wait for their turn, and so does it later."""
    turns = ReadQueue(most=1, patience=PATIENCE_SECONDS)
    with turns.of("noisy"):
        threads = [threading.Thread(target=_take_a_turn, args=(turns, "noisy")) for _ in range(MOST_WAITING)]
        for number, thread in enumerate(threads, 1):
            thread.start()
            _wait_for(turns, number)
        with pytest.raises(Unavailable, match="too many in this namespace"), turns.of("noisy"):
            pass
        quiet = threading.Thread(target=_take_a_turn, args=(turns, "quiet"))
        quiet.start()
        _wait_for(turns, MOST_WAITING + 1)
    for thread in (*threads, quiet):
        thread.join()
    assert turns.waiting == 0
    with turns.of("noisy"):
        pass


def _take_a_turn(turns: ReadQueue, namespace: str) -> None:
    with turns.of(namespace):
        pass


def _wait_for(turns: ReadQueue, waiting: int) -> None:
    while turns.waiting < waiting:
        threading.Event().wait(0.001)


def test_turns_are_given_to_who_has_waited_longest() -> None:
    """However many wait in one namespace, another one is next after one of them; who gives up changes nothing for others."""
    turns, order = ReadQueue(most=1, patience=PATIENCE_SECONDS), []
    lock = threading.Lock()

    def read(namespace: str) -> None:
        with turns.of(namespace), lock:
            order.append(namespace)

    waiting = [*["noisy"] * 8, "quiet", "other"]
    threads = [threading.Thread(target=read, args=(each,)) for each in waiting]
    with turns.of("first"):
        for number, thread in enumerate(threads, 1):
            thread.start()
            _wait_for(turns, number)
    for thread in threads:
        thread.join()
    assert order[:3] == ["noisy", "quiet", "other"]
    assert sorted(order) == sorted(waiting)


def test_claims_for_one_pod_do_not_share_what_it_was_charged() -> None:
    """Neither one after the other within a second, whatever their names, nor at once: before the first one is stored, its
    reservation tells."""
    api = FakeApi()
    namespaces = with_pod(api, reserves=True)
    same = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    assert EXTENDED not in namespaces.evaluator("team").usage(made_for_pod("b", **same))
    reservations = Reservations(ConfigMapStore(api, "system"), namespaces)
    messages = [
        reservations.reserve("team", made_for_pod(name, **same))[0].message for name in ("c", "b", "a")
    ]
    assert [bool(message) for message in messages] == [False, True, True], messages
    api.add(CLAIMS, made_for_pod("c", **same))
    reservations.recount("team")
    verdict, _ = reservations.reserve("team", made_for_pod("a", **same))
    assert "exceeded quota" in verdict.message


def test_users_are_kept_for_a_moment() -> None:
    """Those of each namespace stayed for ever, also of one that had gone: 1,000 claims of 35 KB with 248 classes take 100 MiB."""
    api, now = FakeApi(), 0.0
    api.add(CLASSES)
    for number in range(8):
        api.collections[path := CLAIMS.replace("/team/", f"/team-{number}/")] = {}
        api.collections[QUOTAS.replace("/team/", f"/team-{number}/")] = {}
        api.add(
            path,
            *(
                claim(*(exactly(f"r{r}", f"class-{r}") for r in range(30)), name=f"c{each}", uid=f"u{each}")
                for each in range(8)
            ),
        )
    namespaces = ClusterNamespaces(api, Server(Profile()), clock=lambda: now)
    taken = []
    tracemalloc.start()
    try:
        for number in range(8):
            now += 10.0
            assert len(namespaces.users(f"team-{number}")) == 8
            gc.collect()
            taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert taken[-1] < 3 * taken[0]

"""Reservations: limits hold in every interleaving of replicas, and nothing stays lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quota.ledger import Charged, from_json, to_json
from quota.names import CLAIM_COUNT
from quota.reservations import MAX_LEDGER_BYTES, Busy, NameTaken, Reservations, Times
from resourceapi.errors import WriteConflict
from resourceapi.quantity import Quantity
from tests.quota.memory_cluster import GPU, NAMESPACE, Cluster, MemoryStore, claim
from tests.quota.turns import Turns

GRACE = 100.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def replica(
    store: MemoryStore,
    cluster: Cluster,
    clock: Clock,
    *,
    freshness: float = 0.0,
    patience: float = 1000.0,
    is_deleted: Callable[[str], bool] = lambda uid: False,
) -> Reservations:
    return Reservations(
        store,
        cluster,
        is_enforced=lambda name: name != CLAIM_COUNT,
        is_deleted=is_deleted,
        times=Times(patience, GRACE, freshness),
        clock=clock,
        pause=lambda length: None,
    )


def ledger_of(store: MemoryStore) -> tuple[int, list[str]]:
    """Devices that are counted, and uids that are reserved."""
    stored = store.get(NAMESPACE)
    assert stored is not None
    ledger = from_json(stored.content)
    return ledger.counted.get(GPU, Quantity(0)).value(), list(ledger.reserved)


# For each claim: devices, whether something refuses it after it has been reserved, and a name that others may have.
CLAIMS = st.lists(
    st.tuples(st.integers(1, 3), st.booleans(), st.sampled_from(["", "shared"])), min_size=1, max_size=3
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(
    limit=st.integers(1, 6),
    creators=st.lists(CLAIMS, min_size=2, max_size=3),
    recounts=st.integers(0, 2),
    removals=st.integers(0, 2),
    order=st.lists(st.integers(0, 1000), min_size=150, max_size=150),
)
def test_every_interleaving(
    limit: int,
    creators: list[list[tuple[int, bool, str]]],
    recounts: int,
    removals: int,
    order: list[int],
) -> None:
    """Creators on replicas of their own, claims that are never stored, deletions and recounts at any moment.

    At no time is more stored than the limit. When all is over, recounts find exactly what is stored: what was
    reserved for nothing is free again, and nothing that is stored is forgotten.
    """
    moves = iter(order)
    turns = Turns(lambda number: next(moves, 0) % number)
    store, cluster, clock = MemoryStore(turns.switch), Cluster(limit, turns.switch), Clock()
    removed: set[str] = set()
    heard = removed.__contains__

    def create(number: int, wanted: list[tuple[int, bool, str]]) -> None:
        reservations = replica(store, cluster, clock, is_deleted=heard)
        for index, (devices, fails_later, name) in enumerate(wanted):
            new = claim(f"{number}-{index}", devices, name)
            try:
                verdict, _ = reservations.reserve(NAMESPACE, new)
            except NameTaken:
                continue
            if not verdict.message and not fails_later:
                cluster.store(new)

    def recount() -> None:
        reservations = replica(store, cluster, clock, is_deleted=heard)
        for _ in range(recounts):
            reservations.recount(NAMESPACE)

    def remove() -> None:
        for _ in range(removals):
            turns.switch("choose")
            for uid in cluster.uids()[:1]:
                cluster.remove(uid)
                turns.switch("hear of it")
                removed.add(uid)

    actors: list[Callable[[], None]] = [recount, remove]
    actors += [partial(create, number, wanted) for number, wanted in enumerate(creators)]
    turns.run(*actors)

    assert cluster.most_used <= limit
    last = replica(store, cluster, clock, is_deleted=heard)
    last.recount(NAMESPACE)
    clock.now += GRACE
    last.recount(NAMESPACE)
    assert ledger_of(store) == (cluster.used(), [])


@pytest.mark.parametrize("run", range(3))
def test_many_threads(run: int) -> None:
    """Fifty clients at once on two replicas: exactly as many claims are admitted as fit."""
    store, cluster, admitted = MemoryStore(), Cluster(100), []
    replicas = [
        Reservations(
            store,
            cluster,
            is_enforced=lambda name: name != CLAIM_COUNT,
            times=Times(patience=60, freshness=0.05),
        )
        for _ in range(2)
    ]

    def create(client: int) -> None:
        for index in range(4):
            new = claim(f"{client}-{index}", 1)
            verdict, _ = replicas[client % 2].reserve(NAMESPACE, new)
            if not verdict.message:
                cluster.store(new)
                admitted.append(new)

    threads = [Thread(target=create, args=(client,)) for client in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == cluster.used() == cluster.most_used == 100
    replicas[1].recount(NAMESPACE)
    assert ledger_of(store) == (100, [])


def test_replica_that_dies_loses_nothing() -> None:
    """A replica that ends after it has reserved, before it answers: the claim never comes, its share is free later."""
    store, cluster, clock = MemoryStore(), Cluster(2), Clock()
    one, other = replica(store, cluster, clock), replica(store, cluster, clock)
    one.reserve(NAMESPACE, claim("lost", 2))
    assert other.reserve(NAMESPACE, claim("a", 1))[0].message
    other.recount(NAMESPACE)
    clock.now += GRACE
    verdict, _ = other.reserve(NAMESPACE, claim("a", 1))
    assert verdict.message == ""
    assert ledger_of(store) == (0, ["a"])


def test_reservation_outlives_recounts_until_grace_is_over() -> None:
    """A claim that is slow to be stored keeps its share through any number of recounts in the time that it has."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock)
    reservations.reserve(NAMESPACE, claim("slow", 1))
    for _ in range(5):
        reservations.recount(NAMESPACE)
        clock.now += GRACE / 5 - 1
    assert ledger_of(store) == (0, ["slow"])
    cluster.store(claim("slow", 1))
    reservations.recount(NAMESPACE)
    assert ledger_of(store) == (1, [])


def test_deleted_claim_makes_room_at_once() -> None:
    """Before a claim is refused, usage is counted anew."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock)
    reservations.reserve(NAMESPACE, claim("a", 1))
    cluster.store(claim("a", 1))
    reservations.recount(NAMESPACE)
    cluster.remove("a")
    assert reservations.reserve(NAMESPACE, claim("b", 1))[0].message == ""


def test_claim_deleted_before_a_recount_makes_room() -> None:
    """Of a claim that no recount has ever found, it is enough to hear that it was deleted."""
    store, cluster, clock = MemoryStore(), Cluster(2), Clock()
    deleted = {"b"}
    reservations = replica(store, cluster, clock, is_deleted=deleted.__contains__)
    for uid in ("a", "b"):
        assert not reservations.reserve(NAMESPACE, claim(uid, 1))[0].message
    assert not reservations.reserve(NAMESPACE, claim("c", 1))[0].message
    assert reservations.reserve(NAMESPACE, claim("d", 1))[0].message
    assert ledger_of(store) == (0, ["a", "c"])


def test_recounts_before_refusals_are_bounded() -> None:
    """A flood of claims that do not fit lists the stored ones once per `freshness`, not once per claim."""
    store, clock = MemoryStore(), Clock()
    lists: list[str] = []
    cluster = Cluster(0, lambda what: lists.append(what) if what == "list" else None)
    reservations = replica(store, cluster, clock, freshness=1.0)
    for number in range(100):
        assert reservations.reserve(NAMESPACE, claim(str(number), 1))[0].message
    assert len(lists) == 1
    clock.now = 1.0
    reservations.reserve(NAMESPACE, claim("later", 1))
    assert len(lists) == 2


def test_same_claim_reserves_once() -> None:
    """A review that comes twice for the same claim changes nothing."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock)
    assert not reservations.reserve(NAMESPACE, claim("a", 1))[0].message
    assert not reservations.reserve(NAMESPACE, claim("a", 1))[0].message
    assert ledger_of(store) == (0, ["a"])


@pytest.mark.parametrize("limit", [0, 1])
def test_dry_run_writes_nothing(limit: int) -> None:
    """The verdict of a dry run is the real one, and the store stays as it is."""
    store, cluster, clock = MemoryStore(), Cluster(limit), Clock()
    reservations = replica(store, cluster, clock)
    verdict, _ = reservations.reserve(NAMESPACE, claim("a", 1), dry_run=True)
    assert bool(verdict.message) is (limit == 0)
    assert store.writes == 0


def test_first_quota_counts_what_is_there() -> None:
    """Claims that were stored before there was a ledger, or while no quota asked for one, count."""
    store, cluster, clock = MemoryStore(), Cluster(2), Clock()
    reservations = replica(store, cluster, clock)
    cluster.store(claim("old", 1))
    assert not reservations.reserve(NAMESPACE, claim("a", 1))[0].message
    cluster.quota = ()
    for uid in ("b", "c"):
        assert not reservations.reserve(NAMESPACE, claim(uid, 1))[0].message
        cluster.store(claim(uid, 1))
    cluster.set_limit(5, uid="q2")
    assert not reservations.reserve(NAMESPACE, claim("d", 1))[0].message
    assert reservations.reserve(NAMESPACE, claim("e", 1))[0].message


def test_without_quota_nothing_is_written() -> None:
    """Namespaces without a quota on claims cost nothing, and their ledgers are deleted."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock)
    reservations.reserve(NAMESPACE, claim("a", 1))
    writes = store.writes
    reservations.forget(NAMESPACE)
    assert store.keys() == [NAMESPACE]
    cluster.quota = ()
    reservations.reserve(NAMESPACE, claim("b", 1))
    assert store.writes == writes
    reservations.forget(NAMESPACE)
    assert store.keys() == []


def test_garbage_in_the_store_is_replaced() -> None:
    """Whatever somebody has put into the ledger's place, usage is counted anew and the limit holds."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    cluster.store(claim("old", 1))
    reservations = replica(store, cluster, clock)
    for garbage in (
        {},
        {"counted": 3},
        {"recount": "", "covered": [], "counted": {GPU: "x"}, "users": {}, "reserved": []},
    ):
        stored = store.get(NAMESPACE)
        if stored is None:
            store.create(NAMESPACE, garbage)
        else:
            store.replace(NAMESPACE, garbage, stored.version)
        assert reservations.reserve(NAMESPACE, claim("a", 1))[0].message
        assert ledger_of(store) == (1, [])


def test_endless_conflicts_end() -> None:
    """Where others always win, the request is given up in time, and nothing is reserved."""

    class Contested(MemoryStore):
        def replace(self, key: str, content: dict[str, object], version: str) -> None:
            clock.now += 1
            raise WriteConflict

    store, cluster, clock = Contested(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock, patience=5.0)
    reservations.recount(NAMESPACE)
    with pytest.raises(Busy):
        reservations.reserve(NAMESPACE, claim("a", 1))
    assert ledger_of(store) == (0, [])
    assert clock.now <= 6


def test_ledger_is_bounded() -> None:
    """A ledger that would not fit into an object is refused, not written."""
    store, cluster, clock = MemoryStore(), Cluster(10), Clock()
    reservations = replica(store, cluster, clock)
    reservations.reserve(NAMESPACE, claim("a", 1))
    stored = store.get(NAMESPACE)
    assert stored is not None
    ledger = from_json(stored.content)
    huge = ledger.with_reservation(Charged("big", "ResourceClaim", "n" * MAX_LEDGER_BYTES, {}))
    store.replace(NAMESPACE, to_json(huge), stored.version)
    with pytest.raises(Busy):
        reservations.reserve(NAMESPACE, claim("b", 1))


def test_classes_without_a_limit_take_no_room() -> None:
    """Claims may name as many classes as they like, which need not exist. Where nothing limits these, the ledger has none of them:
    it would be full for as long as the claims are there, and nobody could create any in the namespace."""
    store, cluster, clock = MemoryStore(), Cluster(1000), Clock()
    reservations = replica(store, cluster, clock)
    for number in range(8):
        new = claim(str(number), 1)
        alternatives = [
            {"deviceClassName": f"{number}-{each}-{'x' * 240}", "allocationMode": "ExactCount", "count": 1}
            for each in range(31 * 8)
        ]
        new["spec"]["devices"]["requests"] += [
            {"name": f"r{first}", "firstAvailable": alternatives[first : first + 8]}
            for first in range(0, len(alternatives), 8)
        ]
        reservations.reserve(NAMESPACE, new)
        cluster.store(new)
        reservations.recount(NAMESPACE)
    verdict, _ = reservations.reserve(NAMESPACE, claim("another", 1))
    assert not verdict.message
    stored = store.get(NAMESPACE)
    assert stored is not None
    assert len(str(stored.content)) < 2_000
    assert ledger_of(store) == (8, ["another"])


def test_users_are_known() -> None:
    """The ledger knows who uses most: what is counted, the largest first, and what is reserved."""
    store, cluster, clock = MemoryStore(), Cluster(100), Clock()
    for number in range(1, 9):
        cluster.store(claim(str(number), number))
    reservations = replica(store, cluster, clock)
    _, ledger = reservations.reserve(NAMESPACE, claim("new", 1))
    assert [entry.name for entry in ledger.users_of(GPU)] == [
        *(f"claim-{number}" for number in (8, 7, 6, 5, 4)),
        "claim-new",
    ]
    assert from_json(to_json(ledger)) == ledger._replace(users=from_json(to_json(ledger)).users)


def test_recount_that_was_overtaken_begins_again() -> None:
    """What another recount has struck from the ledger may be missing from a list that is older: it is not used."""
    store, clock = MemoryStore(), Clock()
    overtaking: list[Callable[[], object]] = []

    class Slow(Cluster):
        def charged(self, namespace: str) -> list[Charged]:
            found = list(super().charged(namespace))
            while overtaking:
                overtaking.pop(0)()
            return found

    cluster = Slow(1)
    one, other = replica(store, cluster, clock), replica(store, cluster, clock)
    one.recount(NAMESPACE)
    overtaking += [
        lambda: other.reserve(NAMESPACE, claim("a", 1)),
        lambda: cluster.store(claim("a", 1)),
        lambda: other.recount(NAMESPACE),
    ]
    one.recount(NAMESPACE)
    assert ledger_of(store) == (1, [])
    assert other.reserve(NAMESPACE, claim("b", 1))[0].message


# --- names that are taken, and retries


def test_name_that_is_taken_reserves_nothing() -> None:
    """A claim whose creation is bound to fail is refused, and holds nothing; quota is named first, as the server does."""
    store, cluster, clock = MemoryStore(), Cluster(5), Clock()
    reservations = replica(store, cluster, clock)
    cluster.store(claim("old", 1, "taken"))
    for number in range(10):
        with pytest.raises(NameTaken):
            reservations.reserve(NAMESPACE, claim(f"new-{number}", 4, "taken"))
    assert reservations.reserve(NAMESPACE, claim("large", 5, "taken"))[0].message
    assert ledger_of(store) == (1, [])
    cluster.remove("old")
    assert not reservations.reserve(NAMESPACE, claim("next", 5, "taken"))[0].message


@pytest.mark.parametrize("name", ["", "own"])
def test_names_that_say_nothing(name: str) -> None:
    """Nobody has the name that is still to be made (generateName), and a claim's own name is no other's."""
    store, cluster, clock = MemoryStore(), Cluster(5), Clock()
    reservations = replica(store, cluster, clock)
    stored = claim("own", 1, "own")
    cluster.store(stored)
    new = claim("own" if name else "new", 1, "own")
    new["metadata"]["name"] = name
    assert not reservations.reserve(NAMESPACE, new)[0].message


def test_retries_reserve_once() -> None:
    """Attempts to create a claim of one name, refused by somebody later, hold what the largest of them needs."""
    store, cluster, clock = MemoryStore(), Cluster(3), Clock()
    reservations = replica(store, cluster, clock)
    for number, devices in enumerate((1, 2, 2, 1)):
        assert not reservations.reserve(NAMESPACE, claim(str(number), devices, "retried"))[0].message
    assert not reservations.reserve(NAMESPACE, claim("other", 1))[0].message
    assert reservations.reserve(NAMESPACE, claim("another", 1))[0].message
    assert reservations.reserve(NAMESPACE, claim("larger", 3, "retried"))[0].message


def test_nothing_is_reserved_for_nobody() -> None:
    """When the caller has left before the ledger is written, it is not."""
    store, cluster, clock = MemoryStore(), Cluster(3), Clock()
    reservations = replica(store, cluster, clock)
    reservations.recount(NAMESPACE)
    writes = store.writes
    with pytest.raises(Busy, match="nobody waits"):
        reservations.reserve(NAMESPACE, claim("a", 1), is_wanted=lambda: False)
    assert store.writes == writes


# --- time


def test_restarts_do_not_begin_anew() -> None:
    """A reservation lasts as long as it may, however often all replicas are replaced; their clocks begin anywhere."""
    store, cluster = MemoryStore(), Cluster(1)
    first = Clock()
    replica(store, cluster, first).reserve(NAMESPACE, claim("lost", 1))
    lasted = 0.0
    for base in (-1e9, 0.0, 7e8, 3.0, 1e12):
        clocks = [Clock(), Clock()]
        for clock in clocks:
            clock.now = base
        replicas = [replica(store, cluster, clock) for clock in clocks]
        for _ in range(3):
            for clock, each in zip(clocks, replicas, strict=True):
                each.recount(NAMESPACE)
                clock.now += GRACE / 8
            if ledger_of(store)[1]:
                lasted += GRACE / 8
    assert ledger_of(store) == (0, [])
    assert GRACE <= lasted <= GRACE * 1.5


def test_time_before_a_restart_is_not_counted_twice() -> None:
    """Two replicas that both count the time do not make it go faster."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    replicas = [replica(store, cluster, clock) for _ in range(3)]
    replicas[0].reserve(NAMESPACE, claim("slow", 1))
    while clock.now < GRACE:
        for each in replicas:
            each.recount(NAMESPACE)
        assert ledger_of(store) == (0, ["slow"])
        clock.now += GRACE / 10
    replicas[1].recount(NAMESPACE)
    assert ledger_of(store) == (0, [])


def test_clock_that_goes_back() -> None:
    """A clock that is set back neither ends a reservation nor makes it last."""
    store, cluster, clock = MemoryStore(), Cluster(1), Clock()
    reservations = replica(store, cluster, clock)
    clock.now = 1e6
    reservations.reserve(NAMESPACE, claim("slow", 1))
    clock.now += GRACE / 2
    reservations.recount(NAMESPACE)
    clock.now = 0.0
    reservations.recount(NAMESPACE)
    assert ledger_of(store) == (0, ["slow"])
    clock.now += GRACE / 2
    reservations.recount(NAMESPACE)
    assert ledger_of(store) == (0, [])


@pytest.mark.parametrize("jump", [-1e9, 1e9], ids=["back", "ahead"])
def test_time_of_day_is_not_asked(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """When somebody sets the machine's clock, reservations stay as they are: the default clock cannot be set."""
    store, cluster = MemoryStore(), Cluster(1)
    real = time.time
    replicas = [Reservations(store, cluster) for _ in range(2)]
    replicas[0].reserve(NAMESPACE, claim("slow", 1))
    for each in replicas:
        each.recount(NAMESPACE)
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    for each in replicas:
        each.recount(NAMESPACE)
    assert ledger_of(store) == (0, ["slow"])


def test_ledgers_of_earlier_releases() -> None:
    """What has been written without times is read, and what is written can be read without them."""
    store, cluster, clock = MemoryStore(), Cluster(2), Clock()
    reservations = replica(store, cluster, clock)
    reservations.reserve(NAMESPACE, claim("a", 1))
    clock.now += GRACE / 2
    reservations.recount(NAMESPACE)
    stored = store.get(NAMESPACE)
    assert stored is not None
    assert stored.content["waited"] == {"a": GRACE / 2}
    assert [len(entry) for entry in stored.content["reserved"]] == [4]
    del stored.content["waited"]
    store.replace(NAMESPACE, stored.content, stored.version)
    reservations.recount(NAMESPACE)
    assert ledger_of(store) == (0, ["a"])

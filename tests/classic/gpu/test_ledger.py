"""What claims hold of the memory of GPUs."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from classic.gpu.ledger import Allocation, ClaimChanged, Ledger
from cluster.store import VersionedCollection
from resourceapi.objects import Object
from tests.classic.gpu.scenes import DRIVER, claim

SIZES = {"gpu-0": 8, "gpu-1": 8}
TWO = Allocation("node-1", {"gpu-0": 2})
THREE = Allocation("node-1", {"gpu-0": 3, "gpu-1": 3})
ELSEWHERE = Allocation("node-2", {"gpu-0": 5})


class Book:
    """A ledger, and the collection of claims that it listens to."""

    def __init__(self) -> None:
        self.ledger = Ledger(DRIVER)
        self.claims = VersionedCollection[Object](lambda obj: obj, lambda held: held)
        self.claims.listen(self.ledger.note)

    def free(self, node: str = "node-1") -> tuple[int, ...]:
        return tuple(self.ledger.free(node, SIZES).values())


@pytest.fixture
def book() -> Book:
    return Book()


def test_allocated_claims_hold_their_gpus(book: Book) -> None:
    book.claims.replace([claim("a", 1, TWO), claim("b", 2, THREE), claim("c", 3), claim("d", 4, ELSEWHERE)])
    assert book.free() == (3, 5)
    assert book.free("node-2") == (3, 8)
    assert tuple(book.ledger.free("node-1", SIZES, without={"uid-of-b"}).values()) == (6, 8)


def test_many_small_claims_are_not_looked_through(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they hold is known of each node: a tenant may have thousands of claims for one byte each."""
    book.claims.replace([claim(f"small-{number}", number + 1, TWO) for number in range(100)])
    looked_at: list[str] = []
    held = Ledger._held

    def noted(ledger: Ledger, uid: str, node: str) -> object:
        looked_at.append(uid)
        return held(ledger, uid, node)

    monkeypatch.setattr(Ledger, "_held", noted)
    assert book.ledger.free("node-1", SIZES, without={"uid-of-small-1"}) == {"gpu-0": 8 - 99 * 2, "gpu-1": 8}
    assert looked_at == ["uid-of-small-1"]


def test_claims_that_are_deleted_or_deallocated_hold_nothing(book: Book) -> None:
    book.claims.replace([claim("a", 1, TWO), claim("b", 2, THREE)])
    book.claims.put(claim("a", 3))
    assert book.free() == (5, 5)
    book.claims.remove(claim("b", 4, THREE))
    assert book.free() == (8, 8)


def test_decision_holds_gpus_before_it_is_written_and_counts_once_afterwards(book: Book) -> None:
    book.claims.put(claim("a", 1))
    book.ledger.decide(claim("a", 1), TWO)
    assert book.free() == (6, 8)
    book.claims.put(claim("a", 2, TWO))
    assert book.free() == (6, 8)
    assert book.ledger.decided(claim("a", 2)) is None


def test_decision_takes_the_place_of_the_one_before(book: Book) -> None:
    book.claims.put(claim("a", 1))
    book.ledger.decide(claim("a", 1), TWO)
    book.ledger.decide(claim("a", 1), ELSEWHERE)
    assert book.free() == (8, 8)
    assert book.free("node-2") == (3, 8)


def test_old_news_of_a_claim_do_not_end_a_decision(book: Book) -> None:
    """The version for which it was made, with the finalizer, is still to be seen."""
    book.claims.put(claim("a", 3))
    book.ledger.decide(claim("a", 5), TWO)
    book.claims.put(claim("a", 4))
    book.claims.put(claim("a", 5))
    assert book.free() == (6, 8)


def test_decision_ends_with_the_version_for_which_it_was_made(book: Book) -> None:
    """The API server refuses to write it, as the claim has changed."""
    book.claims.put(claim("a", 1))
    book.ledger.decide(claim("a", 1), TWO)
    book.claims.put(claim("a", 2))
    assert book.free() == (8, 8)


def test_decision_ends_with_its_claim(book: Book) -> None:
    book.claims.put(claim("a", 1))
    book.ledger.decide(claim("a", 1), TWO)
    book.claims.remove(claim("a", 2))
    assert book.free() == (8, 8)


@pytest.mark.parametrize("known", [[], [claim("b", 1)], [claim("a", 6)], [claim("a", 6, TWO)]])
def test_no_decision_is_made_for_a_claim_that_is_gone_or_has_changed(book: Book, known: list[Object]) -> None:
    """Nothing would end it."""
    book.claims.put(claim("a", 5))
    book.claims.replace(known)
    before = book.free()
    with pytest.raises(ClaimChanged, match=r"^the claim has been (deleted|modified)$"):
        book.ledger.decide(claim("a", 5), THREE)
    assert book.free() == before


def test_claim_of_the_same_name_is_another_one(book: Book) -> None:
    book.claims.put(claim("a", 1, TWO))
    book.claims.put({**claim("a", 2), "metadata": {**claim("a", 2)["metadata"], "uid": "other"}})
    assert book.free() == (8, 8)


def test_deallocated_memory_is_not_free_before_it_is_written(book: Book) -> None:
    """A decision for the same claim after its deallocation does not make less of what may be stored still."""
    book.claims.put(claim("a", 1, THREE))
    book.ledger.decide(claim("a", 2), TWO)
    assert book.free() == (5, 5)
    book.claims.put(claim("a", 2))
    assert book.free() == (6, 8)


def changed(handles: list[Object]) -> Object:
    found = claim("a", 1, TWO)
    found["status"]["allocation"]["resourceHandles"] = handles
    return found


@pytest.mark.parametrize(
    "data",
    ["", "{", "[]", "{}", '{"devices": [{}]}', '{"devices": [{"device": "gpu-0", "memory": "-1"}]}',
     '{"devices": [{"device": [], "memory": "1"}]}', "[" * 100_000],
)  # fmt: skip
def test_data_that_the_driver_has_not_written_does_not_count(
    book: Book, data: str, caplog: pytest.LogCaptureFixture
) -> None:
    book.claims.put(changed([{"driverName": DRIVER, "data": data}]))
    assert book.free() == (8, 8)
    assert "allocation does not count" in caplog.text


def test_handles_of_other_drivers_are_none_of_its_business(
    book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    book.claims.put(changed([{"driverName": "other.example.com", "data": "{"}]))
    assert book.free() == (8, 8)
    assert not caplog.text


class Server:
    """The claims of an API server, a watch that is late, and a driver's controller that may start again."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.stored: dict[str, Object] = {}
        self.version = 0
        self.restart()

    def restart(self) -> None:
        self.book = Book()
        self.book.claims.replace(self.stored.values())
        self.events: list[tuple[Callable[[Object], None], Object]] = []
        self.read = dict(self.stored)  # what the controller is going to act on, perhaps late
        self.decisions: dict[str, tuple[Object, Allocation]] = {}

    def write(self, name: str, allocation: Allocation | None, *, is_own: bool = False) -> None:
        """Whoever writes: the watch tells of it later; of an own write, the answer may come before that."""
        self.version += 1
        self.stored[name] = self.with_uid(name, allocation)
        self.events.append((self.book.claims.put, self.stored[name]))
        if is_own and self.chance.random() < 0.7 and f"tests/{name}" in self.book.claims.objects:
            self.book.claims.put(self.stored[name])

    def with_uid(self, name: str, allocation: Allocation | None) -> Object:
        found = claim(name, self.version, allocation)
        uid = self.stored[name]["metadata"]["uid"] if name in self.stored else f"uid-{self.version}"
        return {**found, "metadata": {**found["metadata"], "uid": uid}}

    def delete(self, name: str) -> None:
        if name in self.stored:
            self.version += 1
            self.events.append((self.book.claims.remove, self.with_uid(name, None)))
            del self.stored[name]

    def tell(self) -> None:
        """The next event of the watch."""
        if self.events:
            act, obj = self.events.pop(0)
            act(obj)

    def decide(self, name: str, allocation: Allocation) -> None:
        """As the controller does, with the claim as it has it."""
        if name in self.read:
            with suppress(ClaimChanged):
                self.book.ledger.decide(self.read[name], allocation)
                self.decisions[name] = self.read[name], allocation

    def write_decision(self, name: str) -> None:
        """It is written if the claim is the same still."""
        decided, allocation = self.decisions.pop(name, ({}, None))
        if decided and self.stored.get(name, {}).get("metadata") == decided["metadata"]:
            self.write(name, allocation, is_own=True)

    def happen(self) -> None:
        """Something happens."""
        name = f"claim-{self.chance.randrange(6)}"
        some = self.chance.choice([TWO, THREE, ELSEWHERE])
        doing: list[Callable[[], None]] = [
            lambda: self.write(name, None),  # a user, a deallocation or, by chance, the finalizer
            lambda: self.write(name, None, is_own=True),
            lambda: self.delete(name),
            lambda: self.decide(name, some),
            lambda: self.decide(name, some),
            lambda: self.write_decision(name),
            lambda: self.write_decision(name),
            lambda: self.read.update(self.stored),
            self.tell,
            self.tell,
            self.tell,
        ]
        self.chance.choice(doing)()
        if self.chance.random() < 0.01:
            self.restart()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_free_is_what_the_claims_of_the_api_server_leave(seed: int) -> None:
    """Whatever comes in whatever order, once nothing is under way any more."""
    server = Server(seed)
    for _ in range(500):
        server.happen()
    for name in list(server.decisions):
        server.write_decision(name)
    while server.events:
        server.tell()
    again = Book()
    again.claims.replace(server.stored.values())
    found = server.book
    assert (found.free(), found.free("node-2")) == (again.free(), again.free("node-2"))

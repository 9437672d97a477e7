"""What claims hold of the memory of GPUs."""

from __future__ import annotations

import random

import pytest

from classic.gpu.allocation import Allocation
from classic.gpu.ledger import Ledger
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
        self.claims: VersionedCollection = VersionedCollection(lambda obj: obj)
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
    book.ledger.decide(claim("a", 1), TWO)
    book.ledger.decide(claim("a", 1), ELSEWHERE)
    assert book.free() == (8, 8)
    assert book.free("node-2") == (3, 8)


def test_old_news_of_a_claim_do_not_end_a_decision(book: Book) -> None:
    """The version for which it was made, with the finalizer, is still to be seen."""
    book.ledger.decide(claim("a", 5), TWO)
    book.claims.put(claim("a", 4))
    book.claims.put(claim("a", 5))
    assert book.free() == (6, 8)


def test_decision_ends_with_the_version_for_which_it_was_made(book: Book) -> None:
    """The API server refuses to write it, as the claim has changed."""
    book.ledger.decide(claim("a", 1), TWO)
    book.claims.put(claim("a", 2))
    assert book.free() == (8, 8)


def test_decision_ends_with_its_claim(book: Book) -> None:
    book.claims.put(claim("a", 1))
    book.ledger.decide(claim("a", 1), TWO)
    book.claims.remove(claim("a", 2))
    assert book.free() == (8, 8)


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


def test_ledger_that_is_made_again_says_the_same() -> None:
    """Whatever has happened, what is free follows from the claims as they are."""
    chance = random.Random(7)
    book = Book()
    stored: dict[str, Object] = {}
    for version in range(1, 500):
        name = f"claim-{chance.randrange(10)}"
        allocation = chance.choice([None, TWO, THREE, ELSEWHERE])
        if chance.random() < 0.3:
            held = stored.get(name)
            book.ledger.decide(held or claim(name, version), chance.choice([TWO, THREE, ELSEWHERE]))
        elif chance.random() < 0.2:
            stored.pop(name, None)
            book.claims.remove(claim(name, version))
        else:
            stored[name] = claim(name, version, allocation)
            book.claims.put(stored[name])
    for name in {*stored, *(f"claim-{number}" for number in range(10))}:
        stored[name] = claim(name, 1000, chance.choice([None, TWO, THREE, ELSEWHERE]))
        book.claims.put(stored[name])
    again = Book()
    again.claims.replace(stored.values())
    assert (book.free(), book.free("node-2")) == (again.free(), again.free("node-2"))

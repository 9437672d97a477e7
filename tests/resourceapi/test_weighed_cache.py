"""A cache in which each owner has an equal share of the memory, and takes nobody else's."""

from __future__ import annotations

from random import Random

import pytest

from resourceapi import caches
from resourceapi.caches import ENTRY_BYTES, WeighedCache


@pytest.fixture(autouse=True)
def light_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights are those of the values alone."""
    monkeypatch.setattr(caches, "ENTRY_BYTES", 0)


def kept(cache: WeighedCache[str, str], keys: str) -> str:
    return "".join(key for key in keys if key in cache)


def test_oldest_are_dropped() -> None:
    """As many as the new value needs; what is used, replaced or taken out makes room, what is looked at is not younger."""
    cache: WeighedCache[str, str] = WeighedCache(9)
    for key in "abc":
        cache.put(key, key.upper(), 3)
    assert [cache.get(key) for key in "abc"] == ["A", "B", "C"]
    assert cache.use("a") == "A"
    cache.put("d", "D", 3)
    assert kept(cache, "abcd") == "acd"
    assert cache.pop("c") == "C"
    cache.put("e", "E", 3)
    cache.put("a", "more", 4)
    assert kept(cache, "ade") == "ae"
    assert (cache.bytes, len(cache)) == (7, 2)
    assert (cache.pop("x"), cache.use("x"), cache.get("x")) == (None, None, None)
    cache.clear()
    assert (cache.bytes, len(cache)) == (0, 0)


@pytest.mark.parametrize("weight", [10, 11])
def test_limit(weight: int) -> None:
    """An entry may fill the cache; one that is larger is not kept, and takes nobody's place."""
    cache: WeighedCache[str, str] = WeighedCache(10)
    cache.put("small", "", 1, "other")
    cache.put("large", "", weight - 1, "owner")
    assert ("large" in cache) == (weight == 10)
    assert "small" in cache


def test_who_fills_the_cache_makes_room() -> None:
    """Owners with no more than an equal share keep all, however old it is, and however much another one puts."""
    cache: WeighedCache[str, str] = WeighedCache(30)
    for owner in ("x", "y"):
        for place in range(10):
            cache.put(f"{owner}{place}", "", 1, owner)
    for place in range(1000):
        cache.put(f"z{place}", "", 1 + place % 3, "z")
    assert sum(f"{owner}{place}" in cache for owner in ("x", "y") for place in range(10)) == 20
    assert cache.bytes <= 30


def test_growing_entries() -> None:
    """What grows while it is here is weighed again, and its owner makes room for it; one that is gone stays away."""
    cache: WeighedCache[str, str] = WeighedCache(10)
    cache.put("a", "", 5, "one")
    cache.put("b", "", 1, "two")
    cache.put("c", "", 1, "two")
    cache.weigh("c", 5)
    assert (kept(cache, "abc"), cache.bytes) == ("ac", 10)
    cache.weigh("c", 6)
    assert (kept(cache, "abc"), cache.bytes) == ("a", 5)
    cache.weigh("c", 1)
    assert (kept(cache, "abc"), cache.bytes) == ("a", 5)


def test_users_become_owners() -> None:
    """An entry counts for whoever has used it last."""
    cache: WeighedCache[str, str] = WeighedCache(10)
    cache.put("a", "", 4, "one")
    cache.put("b", "", 4, "one")
    cache.use("a", "two")
    cache.put("c", "", 4, "one")
    assert kept(cache, "abc") == "ac"


def test_dropped_keys_are_told() -> None:
    """Each once, whether there was no room or it was taken out."""
    dropped: list[str] = []
    cache: WeighedCache[str, str] = WeighedCache(2, dropped.append)
    for key in "abc":
        cache.put(key, "", 1)
    cache.pop("b")
    cache.put("d", "", 3)
    assert dropped == ["a", "b", "c", "d"]


def test_bytes_are_those_of_the_entries() -> None:
    """Whatever is done, the sum is right, and never above the limit."""
    random = Random(1)
    weights: dict[int, int] = {}
    cache: WeighedCache[int, int] = WeighedCache(100, weights.__delitem__)
    for _ in range(5000):
        key, weight, owner = random.randrange(30), random.randrange(20), random.choice("abc")
        match random.randrange(4):
            case 0 | 1:
                cache.pop(key)
                weights[key] = weight
                cache.put(key, weight, weight, owner)
            case 2:
                cache.use(key, owner)
            case 3:
                if key in cache:
                    weights[key] = weight
                cache.weigh(key, weight)
        assert cache.bytes == sum(weights.values()) <= 100
    assert ENTRY_BYTES > 0

"""How what waits in several namespaces takes turns."""

from __future__ import annotations

import pytest

from cluster.turns import Turns


def taken(turns: Turns[str]) -> list[str]:
    found = []
    while (each := turns.take()) is not None:
        found.append(each)
    return found


def filled(*keys: str, most: int = 100) -> Turns[str]:
    """Turns for keys whose first letter is their namespace."""
    turns: Turns[str] = Turns(most)
    for key in keys:
        turns.put(key[0], key, key)
    return turns


@pytest.mark.parametrize(
    ("keys", "order"),
    [
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1 c1 b2", "a1 b1 c1 a2 b2 a3"),
        ("a1 b1 a1", "a1 b1"),
    ],
)
def test_namespaces_take_turns_and_what_came_first_in_each_goes_first(keys: str, order: str) -> None:
    assert taken(filled(*keys.split())) == order.split()


def test_namespace_that_has_had_its_turn_waits_for_the_others() -> None:
    turns = filled("a1", "b1")
    assert turns.take() == "a1"
    turns.put("a", "a2", "a2")
    assert turns.take() == "b1"


def test_namespace_with_the_most_loses_its_oldest_when_there_are_too_many() -> None:
    turns = filled("b1", *(f"a{number}" for number in range(10)), "c1", most=5)
    assert taken(turns) == ["b1", "a7", "c1", "a8", "a9"]
    assert len(turns) == 0


def test_what_is_not_due_is_passed_over_without_losing_the_turn() -> None:
    turns = filled("a1", "a2", "b1")
    assert turns.take(lambda value: value == "a2") == "a2"
    assert turns.take(lambda value: False) is None
    assert taken(turns) == ["b1", "a1"]


def test_known_keys_are_found_and_values_replaced() -> None:
    turns = filled("a1")
    assert "a1" in turns
    turns.put("a", "a1", "newer")
    assert taken(turns) == ["newer"]
    assert "a1" not in turns
    turns.put("a", "a1", "again")
    turns.clear()
    assert taken(turns) == []


def test_who_waits_no_longer_does_not_move_the_others() -> None:
    turns = filled("a1", "a2", "b1", "c1")
    for key in ("a1", "c1", "c1", "unknown"):
        turns.discard(key)
    assert (len(turns), taken(turns)) == (2, ["a2", "b1"])

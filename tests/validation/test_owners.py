"""Owners that are listed twice are found by one look at each."""

from __future__ import annotations

from typing import Any

from validation.requests import Answer
from validation.server import without_repeated_owners


class _Owner(dict[str, Any]):
    """An owner that counts how often it is compared with another."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        type(self).compared += 1
        return super().__eq__(other)


def test_owners_are_compared_in_proportion() -> None:
    """Of 28,000 owners, which fit into a request, each was compared with all before it, which took 20 s."""
    owners = [_Owner(apiVersion="v1", kind="Pod", name="p", uid=str(number)) for number in range(2_000)]
    obj: dict[str, Any] = {"metadata": {"ownerReferences": [*owners, _Owner(owners[7])]}}
    _Owner.compared = 0
    answer = without_repeated_owners(obj, lambda: Answer(201))
    assert _Owner.compared <= len(owners)
    assert obj["metadata"]["ownerReferences"] == owners
    assert [text.rpartition(": ")[2] for text in answer.warnings] == ["7"]


def test_owners_that_differ_in_any_field_are_two() -> None:
    """The same uid alone makes no repeated owner."""
    one = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    obj: dict[str, Any] = {"metadata": {"ownerReferences": [one, {**one, "controller": True}]}}
    assert without_repeated_owners(obj, lambda: Answer(201)).warnings == []
    assert len(obj["metadata"]["ownerReferences"]) == 2

"""What is remembered of pods and nodes is bounded by the number of their pairs."""

from __future__ import annotations

import pytest

from scheduler import newest
from scheduler.newest import Newest


def test_oldest_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the new value needs; what is replaced or taken out makes room."""
    monkeypatch.setattr(newest, "MOST_PAIRS", 10)
    memory: Newest[str] = Newest()
    for uid in "abc":
        memory.put(uid, uid, 2)
    assert [memory.get(uid) for uid in "abc"] == ["a", "b", "c"]
    memory.put("a", "A", 2)
    memory.put("d", "d", 2)
    assert [memory.get(uid) for uid in "abcd"] == ["A", None, "c", "d"]
    assert memory.pop("c") == "c"
    memory.put("e", "e", 2)
    assert [memory.get(uid) for uid in "ade"] == ["A", "d", "e"]
    memory.put("f", "f", 100)
    assert len(memory) == 1
    assert memory.get("f") == "f"

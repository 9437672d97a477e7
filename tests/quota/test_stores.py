"""What every store of ledgers promises."""

from __future__ import annotations

import pytest

from quota.store import ConfigMapStore, Store
from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from tests.quota.fake_api import LEDGERS, FakeApi
from tests.quota.memory_cluster import MemoryStore


@pytest.fixture(params=["memory", "config-maps"])
def store(request: pytest.FixtureRequest) -> Store:
    return MemoryStore() if request.param == "memory" else ConfigMapStore(FakeApi(), "system")


def test_life(store: Store) -> None:
    """What is stored is read back, with another version after every change, until it is deleted."""
    assert store.get("team") is None
    store.create("team", {"a": 1})
    first = store.get("team")
    assert first is not None
    store.replace("team", {"a": 2}, first.version)
    second = store.get("team")
    assert second is not None
    assert (first.content, second.content) == ({"a": 1}, {"a": 2})
    assert first.version != second.version
    assert store.keys() == ["team"]
    store.delete("team", second.version)
    assert store.keys() == []


def test_conflicts(store: Store) -> None:
    """Only who has seen the latest version may write."""
    store.create("team", {})
    first = store.get("team")
    assert first is not None
    store.replace("team", {"a": 1}, first.version)
    with pytest.raises(WriteConflict):
        store.create("team", {})
    with pytest.raises(WriteConflict):
        store.replace("team", {}, first.version)
    with pytest.raises(WriteConflict):
        store.delete("team", first.version)
    with pytest.raises(WriteConflict):
        store.replace("other", {}, first.version)
    second = store.get("team")
    assert second is not None
    assert second.content == {"a": 1}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(None, id="no-data"),
        pytest.param({"ledger": "{"}, id="no-json"),
        pytest.param({"ledger": "[]"}, id="no-object"),
        pytest.param({"other": "{}"}, id="other-key"),
    ],
)
def test_foreign_config_maps(data: dict[str, str] | None) -> None:
    """A ConfigMap of that name with something else in it is there, and empty."""
    api = FakeApi()
    api.add(
        LEDGERS,
        {"metadata": {"name": "quota-team"}, "data": data},
        {"metadata": {"name": "kube-root-ca.crt"}},
    )
    store = ConfigMapStore(api, "system")
    stored = store.get("team")
    assert stored is not None
    assert stored.content == {}
    assert store.keys() == ["team"]


def test_server_that_is_down() -> None:
    """That there is no answer is told apart from everything else."""
    api = FakeApi()
    api.down = True
    with pytest.raises(Unavailable, match="connection refused"):
        ConfigMapStore(api, "system").get("team")

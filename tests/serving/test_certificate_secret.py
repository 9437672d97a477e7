"""Certificates in a Secret: one authority for all replicas, whoever comes when, whatever happens to the Secret."""

from __future__ import annotations

import base64
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from serving.certificate_store import DirectoryStore, Keeper, SecretStore, maintain
from serving.certificates import AUTHORITY, BUNDLE, LEAF, SUCCESSOR, Entries, Terms
from tests.webhook.client_certificates import write_client_certificates
from tests.webhook.fake_secrets import NAME, NAMESPACE, Secrets
from tests.webhook.running import PATIENCE_SECONDS, Running, write_config

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = Terms(("webhook.system.svc",), 90 * DAY, 30 * DAY, 2 * DAY)


def store(secrets: Secrets) -> SecretStore:
    return SecretStore(secrets, NAMESPACE, NAME)


def content(secrets: Secrets) -> dict[str, bytes]:
    return {name: base64.b64decode(value) for name, value in secrets.stored[NAME]["data"].items()}


def replica(secrets: Secrets, directory: Path) -> tuple[Keeper, DirectoryStore]:
    copy = DirectoryStore(directory)
    return Keeper(store(secrets), TERMS, copy), copy


def held(copy: DirectoryStore) -> Entries:
    entries, _ = copy.load()
    assert entries is not None
    return entries


def test_secret_is_made() -> None:
    """The first one makes a Secret that ingresses and others could use as well, the next ones adopt it."""
    secrets = Secrets()
    entries = maintain(store(secrets), TERMS, START)
    assert secrets.stored[NAME]["type"] == "kubernetes.io/tls"
    assert content(secrets) == entries
    assert maintain(store(secrets), TERMS, START) == entries
    assert secrets.writes == 1


@pytest.mark.parametrize("existing", [False, True], ids=["create", "adopt-an-empty-one"])
def test_replicas_that_start_at_once_agree(tmp_path: Path, existing: bool) -> None:
    """Of many replicas that start at the same moment one makes the authority, and all serve with it."""
    secrets = Secrets()
    if existing:
        metadata = {"name": NAME, "namespace": NAMESPACE, "labels": {"a": "b"}}
        secrets.request(
            "POST",
            f"/api/v1/namespaces/{NAMESPACE}/secrets",
            {"kind": "Secret", "type": "Opaque", "metadata": metadata},
        )
    replicas = [replica(secrets, tmp_path / str(number)) for number in range(12)]
    together = threading.Barrier(len(replicas))

    def start(keeper: Keeper) -> None:
        together.wait()
        keeper.maintain(START)

    threads = [threading.Thread(target=start, args=(keeper,)) for keeper, _ in replicas]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {held(copy)[AUTHORITY] for _, copy in replicas} == {content(secrets)[AUTHORITY]}
    assert {held(copy)[LEAF] for _, copy in replicas} == {content(secrets)[LEAF]}
    assert secrets.writes == 1 + existing
    assert secrets.stored[NAME]["metadata"].get("labels") is not None


def test_replicas_rotate_together(tmp_path: Path) -> None:
    """Over two lives of an authority, each due change is made once; every leaf that is served was trusted by the bundle
    of the trust lead before."""
    secrets = Secrets()
    replicas = [replica(secrets, tmp_path / str(number)) for number in range(3)]
    authorities, bundles, changes = set(), [], 0
    for hours in range(0, 180 * 24, 12):
        before = secrets.writes
        for keeper, copy in replicas:
            keeper.maintain(START + timedelta(hours=hours))
            assert held(copy) == content(secrets)
        assert secrets.writes - before <= 1
        changes += secrets.writes - before
        entries = content(secrets)
        authorities.add(entries[AUTHORITY])
        bundles.append(entries[BUNDLE])
        lead = bundles[-4:-1]
        assert all(entries[AUTHORITY] in bundle for bundle in lead)
    assert len(authorities) == 3
    assert changes < 20


def test_first_of_two_changes_wins() -> None:
    """A change on top of an old revision is refused, and made anew on top of the latest."""
    secrets = Secrets()
    one, other = store(secrets), store(secrets)
    maintain(one, TERMS, START)
    _, seen = one.load()
    due = START + 25 * DAY
    renewed = maintain(other, TERMS, due)
    with pytest.raises(WriteConflict):
        one.save(renewed, seen)
    assert maintain(one, TERMS, due) == renewed


def test_other_entries_stay() -> None:
    """What somebody else keeps in the Secret is left alone; a successor that has taken over goes."""
    secrets = Secrets()
    kept = store(secrets)
    maintain(kept, TERMS, START)
    secrets.stored[NAME]["data"]["note"] = base64.b64encode(b"mine").decode()
    secrets.stored[NAME]["metadata"]["annotations"] = {"a": "b"}
    maintain(kept, TERMS, START + 61 * DAY)
    assert SUCCESSOR in content(secrets)
    maintain(kept, TERMS, START + 64 * DAY)
    assert SUCCESSOR not in content(secrets)
    assert content(secrets)["note"] == b"mine"
    assert secrets.stored[NAME]["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize("damage", ["deleted", "emptied", "garbage", "no-base64", "other-key"])
def test_damage_is_undone(tmp_path: Path, damage: str) -> None:
    """When the Secret is deleted or damaged, a replica puts back what it serves with: clients trust no other authority."""
    secrets = Secrets()
    keeper, copy = replica(secrets, tmp_path)
    keeper.maintain(START)
    before = held(copy)
    data = secrets.stored[NAME]["data"]
    if damage == "deleted":
        del secrets.stored[NAME]
    elif damage == "emptied":
        data.clear()
    elif damage == "garbage":
        data[LEAF] = base64.b64encode(b"garbage").decode()
    elif damage == "no-base64":
        data[LEAF] = "*"
    else:
        maintain(DirectoryStore(tmp_path / "other"), TERMS, START)
        other = held(DirectoryStore(tmp_path / "other"))
        data["authority.key"] = base64.b64encode(other["authority.key"]).decode()
    keeper.maintain(START + DAY)
    assert held(copy) == before
    assert content(secrets) == before


def test_api_server_that_does_not_answer(tmp_path: Path) -> None:
    """Without the API server nothing changes; what is served stays."""
    secrets = Secrets()
    keeper, copy = replica(secrets, tmp_path)
    secrets.down = True
    with pytest.raises(Unavailable):
        keeper.maintain(START)
    secrets.down = False
    keeper.maintain(START)
    before = held(copy)
    secrets.down = True
    with pytest.raises(Unavailable):
        keeper.maintain(START + 25 * DAY)
    assert held(copy) == before


def test_service_waits_for_the_secret(tmp_path: Path) -> None:
    """As long as nobody answers about the Secret, the service waits; it can be ended meanwhile."""
    write_client_certificates(tmp_path, [])
    (tmp_path / "token").write_text("t")
    api_server = {"address": "https://127.0.0.1:1", "tokenFile": "token", "caFile": "authority.crt"}
    write_config(tmp_path, apiServer=api_server, tls={"secret": {"name": NAME}})
    command = [
        str(Path(sys.executable).with_name("claimcheck")),
        "serve",
        "--config",
        str(tmp_path / "webhook.yaml"),
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        service = Running(process, tmp_path)
        service.wait_for("no certificates yet", 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
        service.finish()
    assert not [entry for entry in service.logged if entry.get("message") == "listening"]

"""Who signs in: the cluster is asked once in a while, and whoever has lost a token or a right sees nothing more soon after."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import aiohttp
import pytest

from resourceapi.api_client import Unavailable
from serving import browser_pages, sign_in
from serving.browser_pages import CHANGES, NotSignedIn, Site, Visitor, people_served, rendered
from serving.listening import listen
from serving.routes import HTTPError
from serving.sign_in import SECONDS, Guest, SignIn
from serving.tls import ServerTLS
from tests.serving.test_tls import write_pair


class Cluster:
    """Knows the tokens of some people, and counts how often it is asked."""

    def __init__(self, *names: str) -> None:
        self.names = set(names)
        self.asked: list[str] = []
        self.now = 0.0
        self.version = 1
        self.answers = {"/api/short": lambda _: rendered('{"a": 1}')}

    def welcome(self, token: str) -> Guest | None:
        self.asked.append(token)
        if token == "down":
            raise Unavailable("no answer", reason="no answer")
        version = (lambda: self.version) if token != "nothing" else None
        answers = self.answers if token != "nothing" else {}
        name = token.partition("/")[0]  # of several tokens
        return Guest(name, lambda: Visitor(name, answers, version)) if name in self.names else None

    def door(self) -> SignIn:
        return SignIn(self.welcome, lambda: self.now)


async def _enter(door: SignIn, token: str) -> str:
    try:
        return (await door(token)).name
    except HTTPError as error:
        return str(error.code)


def test_it_is_asked_again_after_a_while() -> None:
    """What it says counts until then, also a no; who has lost the token is refused, and who has got one is taken."""
    cluster = Cluster("ann")

    async def enter() -> list[str]:
        door = cluster.door()
        found = [await _enter(door, each) for each in ("ann", "ben", "ann", "ben", "")]
        cluster.names = {"ben"}
        cluster.now = SECONDS - 0.1
        found += [await _enter(door, each) for each in ("ann", "ben")]
        cluster.now = SECONDS
        found += [await _enter(door, each) for each in ("ann", "ben", "ann", "ben")]
        door.close()
        return found

    first = ["ann", "401", "ann", "401", "401"]
    assert asyncio.run(enter()) == [*first, "ann", "401", "401", "ben", "401", "ben"]
    assert cluster.asked == ["ann", "ben", "ann", "ben"]


def test_a_cluster_that_does_not_answer() -> None:
    """Nobody enters, and it is asked again at once."""
    cluster = Cluster("down")

    async def enter() -> list[str]:
        door = cluster.door()
        found = [await _enter(door, "down") for _ in range(2)]
        door.close()
        return found

    assert asyncio.run(enter()) == ["503", "503"]
    assert cluster.asked == ["down", "down"]


def test_who_is_known_stays_so_while_the_cluster_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are let in no longer, but are no stranger, of whom others may take all places."""
    cluster, is_down = Cluster("ann"), False

    def welcome(token: str) -> Guest | None:
        return cluster.welcome("down" if is_down else token)

    async def enter() -> list[str]:
        nonlocal is_down
        door = SignIn(welcome, lambda: cluster.now)
        found = [await _enter(door, "ann")]
        cluster.now, is_down = SECONDS, True
        found.append(await _enter(door, "ann"))
        is_down = False
        with door._unknown.taken(""):  # the only place
            found += [await _enter(door, each) for each in ("ann", "x")]
        door.close()
        return found

    monkeypatch.setattr(sign_in, "MOST_ASKED", 1)
    assert asyncio.run(enter()) == ["ann", "503", "ann", "503"]


def test_strangers_displace_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tokens are tried that are none."""
    monkeypatch.setattr(sign_in, "MOST_REFUSED", 2)
    monkeypatch.setattr(sign_in, "MOST_TAKEN", 2)
    cluster = Cluster("ann", "ben", "cy")

    async def enter() -> tuple[int, int]:
        door = cluster.door()
        for each in ("ann", "x", "y", "z", "ann", "ben", "cy"):
            await _enter(door, each)
        door.close()
        return len(door._taken), len(door._refused)

    assert asyncio.run(enter()) == (2, 2)
    assert cluster.asked == ["ann", "x", "y", "z", "ben", "cy"]


def test_many_pages_of_one_person_ask_once() -> None:
    """All wait for the one answer, also if the one who asked first goes away."""
    cluster = Cluster("ann")
    asked, may_answer = threading.Event(), threading.Event()

    def slowly(token: str) -> Guest | None:
        asked.set()
        assert may_answer.wait(120)
        return cluster.welcome(token)

    async def enter() -> list[str]:
        door = SignIn(slowly)
        first, *others = [asyncio.create_task(_enter(door, "ann")) for _ in range(5)]
        await asyncio.to_thread(asked.wait, 120)
        first.cancel()
        may_answer.set()
        found = await asyncio.gather(*others)
        door.close()
        return found

    assert asyncio.run(enter()) == ["ann"] * 4
    assert cluster.asked == ["ann"]


def test_too_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told so, rather than kept waiting."""
    monkeypatch.setattr(sign_in, "MOST_ASKED", 1)
    may_answer = threading.Event()

    def slowly(token: str) -> Guest | None:
        assert may_answer.wait(120)
        return Guest(token, lambda: Visitor(token, {}, None))

    async def enter() -> list[str]:
        door = SignIn(slowly)
        first = asyncio.create_task(_enter(door, "ann"))
        await asyncio.sleep(0)
        second = await _enter(door, "ben")
        may_answer.set()
        found = [await first, second]
        door.close()
        return found

    assert asyncio.run(enter()) == ["ann", "503"]


def test_strangers_keep_nobody_from_being_asked_about_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of their tokens the cluster is asked about, and however long that takes."""
    monkeypatch.setattr(sign_in, "MOST_ASKED", 2)
    monkeypatch.setattr(sign_in, "THREADS", 1)
    cluster, may_answer = Cluster("ann"), threading.Event()

    def slowly(token: str) -> Guest | None:
        assert token == "ann" or may_answer.wait(120)
        return cluster.welcome(token)

    async def enter() -> list[str]:
        door = SignIn(slowly, lambda: cluster.now)
        found = [await _enter(door, "ann")]
        cluster.now = SECONDS
        strangers = [asyncio.create_task(_enter(door, each)) for each in ("x", "y", "z")]
        await asyncio.sleep(0)
        found.append(await _enter(door, "ann"))
        may_answer.set()
        found += await asyncio.gather(*strangers)
        door.close()
        return found

    assert asyncio.run(enter()) == ["ann", "ann", "401", "401", "503"]


def test_somebody_with_many_tokens_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the cluster takes to say what they may see: others enter meanwhile, known or not."""
    monkeypatch.setattr(sign_in, "THREADS", 2)
    monkeypatch.setattr(sign_in, "MOST_NEW_OF_ONE", 3)
    cluster, may_answer, has_begun = Cluster("ann", "ben", "bot"), threading.Event(), threading.Event()

    def welcome(token: str) -> Guest | None:
        guest = cluster.welcome(token)
        return Guest("bot", slowly) if guest is not None and guest.name == "bot" else guest

    def slowly() -> Visitor:
        has_begun.set()
        assert may_answer.wait(120)
        return Visitor("bot", {}, None)

    async def enter() -> list[str]:
        door = SignIn(welcome, lambda: cluster.now)
        found = [await _enter(door, "ann")]
        cluster.now = SECONDS
        many = [asyncio.create_task(_enter(door, f"bot/{number}")) for number in range(5)]
        await asyncio.to_thread(has_begun.wait, 120)
        found += [await _enter(door, each) for each in ("ann", "ben")]
        may_answer.set()
        found += sorted(await asyncio.gather(*many))
        door.close()
        return found

    assert asyncio.run(enter()) == ["ann", "ann", "ben", "503", "503", "bot", "bot", "bot"]


def test_whose_a_token_is_is_asked_once_however_often_there_is_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Asking again and again makes the cluster no work that others would wait for."""
    monkeypatch.setattr(sign_in, "MOST_NEW_OF_ONE", 1)
    monkeypatch.setattr(sign_in, "MOST_KNOWN_OF_ONE", 0)
    cluster, may_answer, has_begun = Cluster("bot"), threading.Event(), threading.Event()

    def welcome(token: str) -> Guest | None:
        return None if cluster.welcome(token) is None else Guest("bot", slowly)

    def slowly() -> Visitor:
        has_begun.set()
        assert may_answer.wait(120)
        return Visitor("bot", {}, None)

    async def enter() -> list[str]:
        door = SignIn(welcome, lambda: cluster.now)
        first = asyncio.create_task(_enter(door, "bot/1"))
        await asyncio.to_thread(has_begun.wait, 120)
        found = [await _enter(door, "bot/2") for _ in range(5)]
        may_answer.set()
        found.append(await first)
        door.close()
        return found

    assert asyncio.run(enter()) == ["503"] * 5 + ["bot"]
    assert cluster.asked == ["bot/1", "bot/2"]


def test_somebody_with_many_tokens_displaces_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no room for another one, it is one of theirs that is forgotten."""
    monkeypatch.setattr(sign_in, "MOST_TAKEN", 3)
    cluster = Cluster("ann", "bot")

    async def enter() -> None:
        door = cluster.door()
        for each in ("ann", *(f"bot/{number}" for number in range(5)), "ann"):
            await _enter(door, each)
        door.close()

    asyncio.run(enter())
    assert cluster.asked.count("ann") == 1


def test_tokens_are_no_part_of_what_is_remembered() -> None:
    cluster = Cluster("secret")

    async def enter() -> SignIn:
        door = cluster.door()
        await _enter(door, "secret")
        door.close()
        return door

    assert b"secret" not in asyncio.run(enter())._taken


def test_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """People with a token see what is theirs under any name of the host; kubelet asks without one; a stream ends with the token."""
    monkeypatch.setattr(browser_pages, "CHANGE_SECONDS", 0.01)
    write_pair(tmp_path)
    tls = ServerTLS(tmp_path / "tls.crt", tmp_path / "tls.key")
    cluster = Cluster("ann", "nothing")
    is_ready: list[bool] = []

    async def ask() -> None:
        door = cluster.door()
        site = Site({}, frozenset(("/api/short", "/api/long")), frozenset(("/api/long",)), "not for you")
        served = people_served(listen("127.0.0.1", 0), site, door, tls, lambda: bool(is_ready))
        async with served as address, aiohttp.ClientSession() as client:

            async def status(path: str, token: str = "", **headers: str) -> tuple[int, str]:
                given = {"Authorization": f"Bearer {token}"} if token else {}
                async with client.get(f"{address}{path}", headers=given | headers, ssl=False) as answer:
                    return answer.status, answer.headers.get("WWW-Authenticate", "")

            realm = 'Bearer realm="Kubernetes"'
            assert await status("healthz") == (200, "")
            assert await status("readyz") == (503, "")
            is_ready.append(True)
            assert await status("readyz") == (200, "")
            assert await status("metrics") == (401, realm)
            assert await status("api/short") == (401, realm)
            assert await status("api/short", "wrong") == (401, realm)
            assert await status("api/short", "ann") == (200, "")
            assert await status("api/short", "ann", Host="page.example.com") == (200, "")
            assert await status("api/short", "ann", **{"Sec-Fetch-Site": "cross-site"}) == (403, "")
            assert await status("api/short", "nothing") == (403, "")
            assert await status(CHANGES[1:], "nothing") == (403, "")
            given = {"Authorization": "Bearer ann"}
            async with client.get(address + CHANGES[1:], headers=given, ssl=False) as answer:
                await answer.content.readline()
                cluster.names = set()
                cluster.now = SECONDS
                cluster.version = 2
                assert b"data:" not in await answer.content.read()
        door.close()

    asyncio.run(ask())


def test_a_refusal_tells_where_tokens_are_from() -> None:
    async def enter() -> str:
        door = Cluster().door()
        try:
            await door("")
        except NotSignedIn as error:
            return error.realm
        finally:
            door.close()
        raise AssertionError

    assert asyncio.run(enter()) == "Kubernetes"

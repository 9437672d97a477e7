"""Who sees the page of `claimcheck ui`: the person who was told its address, in a page of its own origin, and nobody else."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

import aiohttp
import pytest
from aiohttp import StreamReader, web
from aiohttp.base_protocol import BaseProtocol
from aiohttp.test_utils import make_mocked_request

from serving import browser_pages
from serving.browser_pages import (
    CHANGES,
    BrowserPages,
    File,
    Query,
    Rendered,
    Site,
    Visitor,
    browser_served,
    rendered,
)
from serving.listening import listen
from serving.routes import HTTPError

PAGE, LONG = "<!doctype html>", "x" * 5_000
JSON_BODY = {"Content-Type": "application/json"}


def _echoed(query: Query) -> Rendered:
    if "wrong" in query:
        raise HTTPError("this is wrong", 404)
    if "broken" in query:
        raise RuntimeError("secret")
    return rendered(json.dumps(dict(query) | ({"long": LONG} if "long" in query else {})))


class Served(NamedTuple):
    """A site that is shown, and a client that knows its address."""

    address: str
    client: aiohttp.ClientSession

    @property
    def origin(self) -> str:
        return self.address.partition("/#")[0]

    @property
    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.address.partition('#token=')[2]}"}

    async def ask(
        self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: str = ""
    ) -> tuple[int, str]:
        """The status and text of an answer to somebody with the token, but for other headers."""
        given = self.token | dict(headers or {})
        async with self.client.request(
            method, self.origin + path, headers=given, data=body or None, allow_redirects=False
        ) as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def served(version: Callable[[], int] = lambda: 0) -> AsyncIterator[Served]:
    """A site with a page, an answer to short questions and one to long ones."""
    asked = {"/api/short": _echoed, "/api/long": _echoed}
    site = Site(
        {"/": File("text/html", PAGE.encode())},
        frozenset((*asked, "/api/other")),
        frozenset(("/api/long",)),
        "not for you",
    )
    async with (
        browser_served(listen("127.0.0.1", 0), site, Visitor("me", asked, version)) as address,
        aiohttp.ClientSession(auto_decompress=False) as client,
    ):
        yield Served(address, client)


OWN: dict[str, str] = {}
NOBODY = {"Authorization": ""}
REFUSED, UNKNOWN = 403, 401


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", OWN, 200),
        ("/api/short?a=1", OWN, 200),
        ("/", NOBODY, 200),  # which has nothing of the cluster
        ("/", {"Sec-Fetch-Site": "cross-site"}, 200),
        ("/api/short", NOBODY, UNKNOWN),
        ("/api/short", {"Authorization": "Bearer wrong"}, UNKNOWN),
        ("/api/short", {"Authorization": "Bearer \u00e4"}, UNKNOWN),
        ("/nothing", NOBODY, UNKNOWN),
        (CHANGES, NOBODY, UNKNOWN),
        ("/api/other", OWN, REFUSED),  # which is shown to others
        ("/", {"Host": "attacker.example.com"}, REFUSED),
        ("/api/short", {"Host": "attacker.example.com:80"}, REFUSED),
        ("/api/short", {"Host": ""}, REFUSED),
        ("/api/short", {"Sec-Fetch-Site": "cross-site"}, REFUSED),
        ("/api/short", {"Sec-Fetch-Site": "same-site"}, REFUSED),
        ("/api/short", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("/api/long", OWN, 404),
        ("/../secret", OWN, 404),
        ("/api/short?wrong=", OWN, 404),
        ("/api/short?broken=", OWN, 500),
    ],
)
def test_who_gets_answers(path: str, headers: dict[str, str], status: int) -> None:
    """A refusal says nothing of what is shown, and an error nothing about the inside."""

    async def ask() -> tuple[int, str]:
        async with served() as site:
            return await site.ask(path, headers)

    found, text = asyncio.run(ask())
    assert found == status
    assert "secret" not in text
    assert status not in (REFUSED, UNKNOWN) or PAGE not in text


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        (JSON_BODY, '{"a": "1", "b": 2}', (200, '{"a": "1"}')),
        (JSON_BODY, "[]", (200, "{}")),
        (JSON_BODY, "{", (400, "")),
        ({"Content-Type": "text/plain"}, '{"a": "1"}', (415, "")),
        ({**JSON_BODY, "Origin": "http://attacker.example.com"}, '{"a": "1"}', (REFUSED, "")),
        ({**JSON_BODY, "Origin": "null"}, '{"a": "1"}', (REFUSED, "")),
        ({**JSON_BODY, "Origin": ""}, '{"a": "1"}', (REFUSED, "")),
    ],
)
def test_long_questions(headers: dict[str, str], body: str, expected: tuple[int, str]) -> None:
    """Only pages of this origin send any, and only JSON, for which other origins would have to ask first."""

    async def ask() -> tuple[int, str]:
        async with served() as site:
            return await site.ask("/api/long", {"Origin": site.origin} | headers, "POST", body)

    status, text = asyncio.run(ask())
    assert (status, text if status == 200 else "") == expected


def test_no_cookie_has_the_token() -> None:
    """Browsers send cookies to every port of a host: to whatever else somebody runs on this machine."""

    async def ask() -> list[str]:
        async with served() as site:
            found = []
            for path in ("/", "/api/short"):
                async with site.client.get(site.origin + path, headers=site.token) as answer:
                    found += answer.headers.getall("Set-Cookie", [])
        return found

    assert asyncio.run(ask()) == []


def test_headers() -> None:
    """No other page may frame or keep what is shown, nothing but its own script runs, and the server has no name."""

    async def ask() -> Mapping[str, str]:
        async with served() as site, site.client.get(site.origin, headers=site.token) as answer:
            return dict(answer.headers)

    headers = asyncio.run(ask())
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert "Server" not in headers


def test_large_answers_are_compressed() -> None:
    """For whoever can read that."""

    async def ask(accepted: str) -> tuple[str | None, bytes]:
        async with (
            served() as site,
            site.client.get(
                f"{site.origin}/api/short?long=", headers=site.token | {"Accept-Encoding": accepted}
            ) as answer,
        ):
            return answer.headers.get("Content-Encoding"), await answer.read()

    encoding, content = asyncio.run(ask("gzip"))
    assert encoding == "gzip"
    assert json.loads(gzip.decompress(content))["long"] == LONG
    encoding, content = asyncio.run(ask("identity"))
    assert encoding is None
    assert json.loads(content)["long"] == LONG


def test_changes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they come, and the stream lives on without any."""
    monkeypatch.setattr(browser_pages, "CHANGE_SECONDS", 0.01)
    monkeypatch.setattr(browser_pages, "SILENT_SECONDS", 0.01)
    versions = [3]

    async def follow() -> list[bytes]:
        async with (
            served(lambda: versions[0]) as site,
            site.client.get(site.origin + CHANGES, headers=site.token) as answer,
        ):
            lines: list[bytes] = []
            async for line in answer.content:
                if line == b":\n" and versions[0] == 3:
                    versions[0] = 7
                if line.startswith(b"data:"):
                    return [*lines, line]
                lines.append(line)
        raise AssertionError("the stream has ended")

    assert asyncio.run(follow())[-1] == b'data: {"version": 7}\n'


def test_bodies_are_bounded() -> None:
    """A client that sends more than any question has is cut off."""

    async def send() -> None:
        async with served() as site:
            await site.ask(
                "/api/long", {"Origin": site.origin, **JSON_BODY}, "POST", '{"a": "%s"}' % ("x" * 200_000)
            )

    with pytest.raises(aiohttp.ClientError):
        asyncio.run(send())


def test_it_ends_while_changes_are_followed() -> None:
    """Whoever stops it does not wait for the browsers that are open."""

    async def end() -> bytes:
        async with aiohttp.ClientSession() as client:
            async with served() as site:
                answer = await client.get(site.origin + CHANGES, headers=site.token)
                await answer.content.readline()
            return await answer.content.read()

    assert b"data:" not in asyncio.run(end())


class Slow:
    """A site with two lanes, for whoever names themselves; answers of one of them wait until they may be given."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.has_begun = threading.Event()
        self.made: list[str] = []

    async def door(self, name: str) -> Visitor:
        def slow(query: Query) -> Rendered:
            self.has_begun.set()
            assert self.may_go_on.wait(120)
            self.made.append(f"{name} {query['n']}")
            return rendered("{}")

        answers = {"/slow": slow, "/quick": lambda _: rendered("{}")}
        return Visitor(name, answers, lambda: 0, self._kept, lambda path: path)

    @staticmethod
    def _kept(path: str, query: Query) -> Rendered | None:
        return rendered("{}") if "kept" in query else None


async def _asked(slow: Slow, *asked: tuple[str, str]) -> list[asyncio.Task[int]]:
    """The first question, which has begun, and then the others in their order."""
    site = Site({}, frozenset(("/slow", "/quick")), frozenset())
    pages = BrowserPages(site, slow.door, "http")

    async def ask(name: str, path: str) -> int:
        request = make_mocked_request("GET", path, headers={"Authorization": f"Bearer {name}"})
        return (await pages.answer(request)).status

    tasks = []
    for name, path in asked:
        tasks.append(asyncio.create_task(ask(name, path)))
        await asyncio.sleep(0)
        if len(tasks) == 1:
            await asyncio.to_thread(slow.has_begun.wait, 120)
    return tasks


def test_a_slow_answer_keeps_nobody_from_others() -> None:
    """Neither from those that are made elsewhere, nor from those that are there; and nobody gets a second one before others have had one."""
    slow = Slow()

    async def ask() -> None:
        tasks = await _asked(
            slow,
            *[("ann", f"/slow?n={number}") for number in range(3)],
            ("ben", "/slow?n=0"),
            ("ben", "/quick"),
            ("ann", "/quick"),
            ("ben", "/slow?kept="),
        )
        assert await asyncio.gather(*tasks[-3:]) == [200] * 3
        assert not slow.made
        slow.may_go_on.set()
        assert await asyncio.gather(*tasks) == [200] * 7

    asyncio.run(ask())
    assert slow.made == ["ann 0", "ben 0", "ann 1", "ann 2"]


def test_what_nobody_waits_for_is_not_made() -> None:
    slow = Slow()

    async def ask() -> None:
        tasks = await _asked(slow, *[("ann", f"/slow?n={number}") for number in range(3)])
        for each in tasks[:2]:
            each.cancel()
        await asyncio.sleep(0)
        slow.may_go_on.set()
        assert await tasks[2] == 200

    asyncio.run(ask())
    assert slow.made == ["ann 0", "ann 2"]


def test_nobody_asks_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has many questions open is refused another one; others are not."""
    monkeypatch.setattr(browser_pages, "MOST_ASKED_BY_ONE", 2)
    slow = Slow()

    async def ask() -> list[int]:
        asked = [(name, f"/slow?n={number}") for name in ("ann", "ben") for number in range(3)]
        tasks = await _asked(slow, *asked)
        slow.may_go_on.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [200, 200, 503] * 2


def test_a_right_that_is_lost_while_somebody_waits() -> None:
    """Whoever has many questions waiting is told nothing more: who they are is asked again when their turn has come."""
    slow, lost = Slow(), set[str]()

    async def door(name: str) -> Visitor:
        visitor = await Slow.door(slow, name)
        return visitor._replace(answers={}) if name in lost else visitor

    slow.door = door  # type: ignore[method-assign]

    async def ask() -> list[int]:
        asked = [("ann", "/slow?n=0"), ("ben", "/slow?n=0"), ("ann", "/slow?n=1"), ("ben", "/slow?n=1")]
        tasks = await _asked(slow, *asked)
        lost.add("ann")
        slow.may_go_on.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(ask()) == [200, 200, 403, 200]
    assert slow.made == ["ann 0", "ben 0", "ben 1"]


def test_a_body_that_does_not_come_is_a_question() -> None:
    """Of which nobody has many open: a connection on which something is done is not closed for others."""
    slow = Slow()
    pages = BrowserPages(Site({}, frozenset(("/quick",)), frozenset(("/quick",))), slow.door, "http")

    def request(name: str) -> web.BaseRequest:
        headers = {"Authorization": f"Bearer {name}", "Origin": "http://h", "Host": "h", **JSON_BODY}
        connection = BaseProtocol(asyncio.get_running_loop())
        connection.connection_made(asyncio.Transport())
        body = StreamReader(connection, 1)
        return make_mocked_request("POST", "/quick", headers=headers, payload=body)

    async def ask() -> list[int]:
        waiting = [
            asyncio.create_task(pages.answer(request("ann"))) for _ in range(browser_pages.MOST_ASKED_BY_ONE)
        ]
        await asyncio.sleep(0)
        others = [asyncio.create_task(pages.answer(request(name))) for name in ("ann", "ben")]
        await asyncio.sleep(0)
        refused = [each.result().status for each in others if each.done()]
        for each in (*waiting, *others):
            each.cancel()
        return refused

    assert asyncio.run(ask()) == [503]


def test_nobody_has_pages_open_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_pages, "MOST_STREAMS_OF_ONE", 1)

    async def follow() -> list[int]:
        async with (
            served() as site,
            site.client.get(site.origin + CHANGES, headers=site.token) as first,
            site.client.get(site.origin + CHANGES, headers=site.token) as second,
        ):
            return [first.status, second.status]

    assert asyncio.run(follow()) == [200, 503]

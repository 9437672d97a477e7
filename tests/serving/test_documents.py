"""Who gets documents that are served on loopback, and who does not."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from serving.documents import Document, documents_served
from serving.listening import listen
from serving.routes import HTTPError

_MADE = 1_000_000_000.0


def _find(path: str, for_browser: bool) -> Document:
    if path != "/report":
        raise HTTPError("there is nothing here", 404)
    return Document("text/html" if for_browser else "application/json", b"secret", _MADE)


async def _asked(method: str = "GET", path: str = "/report", **headers: str) -> tuple[int, str, str, str]:
    """The status, the body, its type, and when it was made."""
    listener = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        documents_served(listener, _find),
        aiohttp.ClientSession() as session,
        session.request(method, url, headers=named) as answer,
    ):
        assert "frame-ancestors 'none'" in answer.headers.get("Content-Security-Policy", "")
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in answer.headers
        made = answer.headers.get("Last-Modified", "")
        return answer.status, await answer.text(), answer.content_type, made


@pytest.mark.parametrize("host", [None, "localhost:9000", "127.0.0.1:1", "[::1]:80", "localhost", "[::1]"])
def test_who_asks_at_any_port_of_loopback_gets_it(host: str | None) -> None:
    """`kubectl port-forward` takes any."""
    headers = {} if host is None else {"Host": host}
    made = "Sun, 09 Sep 2001 01:46:40 GMT"
    assert asyncio.run(_asked(**headers)) == (200, "secret", "application/json", made)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example:8081"},
        {"Host": "localhost.evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": "evil.example:80:localhost:80"},
        {"Host": "localhost@evil.example:80"},
        {"Host": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
    ids=lambda headers: " ".join(*headers.items()),
)
def test_pages_of_the_web_do_not(headers: dict[str, str]) -> None:
    """The attack: a page that is open in the browser asks, perhaps by a name that leads to 127.0.0.1."""
    status, body, _, _ = asyncio.run(_asked(**headers))
    assert (status, "secret" in body) == (403, False)


def test_browsers_are_known_by_what_they_accept() -> None:
    accepted = "text/html,application/xhtml+xml,*/*;q=0.8"
    assert asyncio.run(_asked(Accept=accepted))[2] == "text/html"
    assert asyncio.run(_asked(Accept="*/*"))[2] == "application/json"


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [("HEAD", "/report", (200, "")), ("POST", "/report", (405, "only GET and HEAD\n"))]
    + [("GET", path, (404, "there is nothing here\n")) for path in ("/", "/report/", "/metrics")],
)
def test_other_requests(method: str, path: str, answer: tuple[int, str]) -> None:
    assert asyncio.run(_asked(method, path))[:2] == answer

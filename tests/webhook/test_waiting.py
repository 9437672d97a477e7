"""Who waits for whom: reviews that ask others, that are large, or whose caller has left, keep nobody else waiting."""

from __future__ import annotations

import gc
import json
import select
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from advice.lints import Facts
from deviceselectors import compiler
from deviceselectors.request_budget import BudgetSpentError, RequestBudget, within
from resourceapi import json_text
from resourceapi.api_client import Unavailable
from resourceapi.caches import WeighedCache
from resourceapi.releases import Profile
from serving import dispatch
from serving.connections import Connections
from serving.dispatch import WAITING_THREADS
from serving.routes import BRIEF_BYTES, LARGE_BYTES, Caller
from serving.slots import FairSlot
from tests.webhook.examples import admission, claim, context, conversion
from tests.webhook.running import PATIENCE_SECONDS
from tests.webhook.serving import FAST, GENERAL, answer, serving
from validation.requests import Answer
from validation.server import Server
from webhook import validating
from webhook.context import Context
from webhook.converting import convert
from webhook.reviews import AdmissionRequest, parse_admission
from webhook.validating import LINTED_BYTES, NOT_LINTED, validate

PLAIN = json.dumps(admission(claim())).encode()
DISGUISED = PLAIN.replace(b'"CREATE"', b'"\\u0043REATE"').replace(
    b'"ResourceClaim"', b'"Resource\\u0043laim"'
)
STORED = claim(allocationMode="ExactCount", count=1)
STORED["metadata"] |= {"resourceVersion": "1", "uid": "u"}
UPDATE = json.dumps(admission(STORED, STORED)).encode()
BOTH = pytest.mark.parametrize("headers", [FAST, GENERAL], ids=["fast", "general"])


class Hung:
    """A quota check that waits for an API server until the test lets it go on."""

    is_for_known_clients = False

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked = threading.Semaphore(0)
        self.namespaces: list[str] = []
        self.wanted: list[Callable[[], bool]] = []

    def check(
        self, namespace: str, claim: dict[str, Any], *, dry_run: bool, is_wanted: Callable[[], bool]
    ) -> Answer | None:
        self.wanted.append(is_wanted)
        self.namespaces.append(namespace)
        self.asked.release()
        if not self.answers.wait(PATIENCE_SECONDS):
            raise Unavailable("nobody has let it go on")
        return None

    def run(self, stop: threading.Event) -> None:
        """Nothing."""


def new_in(namespace: str) -> bytes:
    """A review of a new claim in a namespace."""
    obj = claim()
    obj["metadata"]["namespace"] = namespace
    return json.dumps(admission(obj)).encode()


def with_quota(quota: Hung) -> Context:
    return Context(server=context().server, rules=True, quota=quota)


def large(size: int, tag: str = "") -> bytes:
    """A review of an update, of so many bytes and one more."""
    obj = {**STORED, "metadata": {**STORED["metadata"], "annotations": {"a": tag + "x" * size}}}
    return json.dumps(admission(obj, STORED)).encode()


@BOTH
@pytest.mark.parametrize("body", [PLAIN, DISGUISED], ids=["plain", "disguised"])
def test_hung_api_server_stops_only_who_asks_it(body: bytes, headers: dict[str, str]) -> None:
    """However a new claim is written, while it waits for the API server all others are answered."""
    quota = Hung()
    with serving(with_quota(quota)) as served:
        waiting = served.send(body, headers=headers)
        assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        assert served.is_healthy()
        assert served.ask(UPDATE)[0] == 200
        assert served.ask(large(LARGE_BYTES))[0] == 200
        assert not is_answered(waiting)
        quota.answers.set()
        assert answer(waiting)[0] == 200


def is_answered(connection: Any) -> bool:
    """Whether something has come, or comes at once."""
    return bool(select.select([connection.sock], [], [], 0)[0])


def test_many_that_wait() -> None:
    """With every thread for quota waiting, and others behind them, small and large reviews are answered."""
    quota = Hung()
    with serving(with_quota(quota)) as served:
        waiting = [served.send(new_in(f"team-{number}")) for number in range(WAITING_THREADS + 8)]
        for _ in range(WAITING_THREADS):
            assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        assert served.is_healthy()
        assert served.ask(UPDATE)[0] == 200
        assert served.ask(large(LARGE_BYTES))[0] == 200
        quota.answers.set()
        assert {answer(each)[0] for each in waiting} == {200}


def test_too_many_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are allowed wait; the next one is told so at once."""
    monkeypatch.setattr(dispatch, "MAX_WAITING", 1 - WAITING_THREADS)
    quota = Hung()
    with serving(with_quota(quota)) as served:
        waiting = served.send(PLAIN)
        assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        assert served.ask(PLAIN) == (503, b"too many reviews wait for quota\n")
        quota.answers.set()
        assert answer(waiting)[0] == 200
        assert served.ask(PLAIN)[0] == 200


def test_namespaces_take_turns_at_waiting() -> None:
    """However many new claims of one namespace wait for quota, one of another need not wait for them."""
    quota = Hung()
    with serving(with_quota(quota)) as served:
        waiting = [served.send(new_in("noisy")) for _ in range(WAITING_THREADS + 1)]
        until(lambda: served.in_flight == len(waiting))
        waiting.append(served.send(new_in("quiet")))
        for _ in range(2):
            assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        assert sorted(quota.namespaces) == ["noisy", "quiet"]
        quota.answers.set()
        assert {answer(each)[0] for each in waiting} == {200}


def test_places_for_waiting_are_left_to_other_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A namespace has at most as many as it leaves free; who is told that there is none may try again."""
    monkeypatch.setattr(dispatch, "MAX_WAITING", 16 - WAITING_THREADS)
    quota = Hung()
    with serving(with_quota(quota)) as served:
        waiting: list[Any] = []
        for namespace, places in (("noisy", 8), ("second", 4), ("third", 2)):
            waiting += [served.send(new_in(namespace)) for _ in range(places)]
            until(partial(lambda number: served.in_flight == number, len(waiting)))
            assert served.ask(new_in(namespace)) == (503, b"too many reviews wait for quota\n")
        waiting.append(served.send(new_in("fourth")))
        quota.answers.set()
        assert {answer(each)[0] for each in waiting} == {200}
        assert served.ask(new_in("noisy"))[0] == 200


class Noted(dict[str, Any]):
    """An object of which can be told whether it is in memory still."""


@pytest.mark.parametrize("size", [0, LARGE_BYTES], ids=["small", "large"])
def test_nothing_large_is_kept_for_what_waits(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies and objects are gone while new claims wait, and do not count as being received: others may send theirs."""
    objects: list[weakref.ref[Noted]] = []

    def parse(review: Any) -> AdmissionRequest:
        request = parse_admission(review)
        if request.operation == "CREATE":
            request.object = Noted(request.object or {})
            objects.append(weakref.ref(request.object))
        return request

    monkeypatch.setattr("webhook.routes.parse_admission", parse)
    quota = Hung()
    with serving(with_quota(quota), admission=2 * LARGE_BYTES, conversion=2 * LARGE_BYTES) as served:
        obj = claim()
        obj["metadata"]["annotations"] = {"a": "x" * size}
        waiting = []
        for number in range(6):
            obj["metadata"]["namespace"] = f"team-{number}"
            waiting.append(served.send(json.dumps(admission(obj)).encode()))
            assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        until(lambda: not served.server._bodies._strangers._of)
        until(lambda: not gc.collect() and all(each() is None for each in objects))
        assert len(objects) == len(waiting)
        assert served.ask(large(LARGE_BYTES))[0] == 200
        quota.answers.set()
        assert {answer(each)[0] for each in waiting} == {200}


@BOTH
def test_api_server_is_told_before_it_gives_up(headers: dict[str, str]) -> None:
    """The time that the caller waits is heeded, and nothing is reserved afterwards."""
    quota = Hung()
    with serving(with_quota(quota)) as served:
        code, text = served.ask(PLAIN, "/validate?timeout=200ms", headers)
        assert (code, text[:27]) == (503, b"quota cannot be checked now")
        assert [wanted() for wanted in quota.wanted] == [False]
        quota.answers.set()


@BOTH
def test_nothing_is_reserved_for_who_has_left(headers: dict[str, str]) -> None:
    """A caller that closes its connection no longer wants an answer."""
    quota = Hung()
    with serving(with_quota(quota)) as served:
        leaving = served.send(PLAIN, headers=headers)
        assert quota.asked.acquire(timeout=PATIENCE_SECONDS)
        (wanted,) = quota.wanted
        assert wanted()
        leaving.close()
        until(lambda: not wanted())
        quota.answers.set()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# --- expressions


def with_expressions(number: int, length: int = 0, tag: str = "", namespace: str = "team") -> bytes:
    """A review of a new claim with so many different expressions."""
    selectors = [
        {"cel": {"expression": f'device.driver == "{tag}{index}{"x" * length}"'}} for index in range(number)
    ]
    obj = claim()
    exactly = obj["spec"]["devices"]["requests"][0]["exactly"]
    obj["spec"]["devices"]["requests"] = [
        {"name": f"r{at}", "exactly": {**exactly, "selectors": selectors[at : at + 32]}}
        for at in range(0, number, 32)
    ]
    obj["metadata"]["namespace"] = namespace
    return json.dumps(admission(obj)).encode()


class Ticking:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The expressions that are compiled; none of them is remembered."""
    found: list[str] = []
    real = compiler._compile

    def counting(item: Any) -> Any:
        found.append(item.expression)
        return real(item)

    monkeypatch.setattr(compiler, "_compile", counting)
    monkeypatch.setattr(compiler, "_cache", WeighedCache(0))
    return found


def test_time_is_looked_at_before_each_expression(compiled: list[str]) -> None:
    """When the time is used up no further expression is compiled, and it is no verdict."""
    review = json.loads(with_expressions(100, tag="time"))
    budget = RequestBudget(10, 2**30, Ticking())
    caller = Caller("", budget)
    with within(budget), pytest.raises(BudgetSpentError, match="longer than 10 s"):
        validate(review, context(), caller)
    assert len(compiled) == 9


def test_bytes_of_expressions_are_bounded(compiled: list[str]) -> None:
    """No more is compiled than any object can hold that an API server stores: at the limit, and one byte above."""
    review = json.loads(with_expressions(10, 100, tag="b"))
    size = 10 * len('device.driver == "b0"' + "x" * 100)
    for most, number in ((size, 10), (size - 1, 9)):
        compiled.clear()
        budget = RequestBudget(60, most)
        caller = Caller("", budget)
        with within(budget):
            if number == 10:
                assert validate(review, context(), caller)["response"]["allowed"]
            else:
                with pytest.raises(BudgetSpentError, match=f"more than {most} bytes"):
                    validate(review, context(), caller)
        assert len(compiled) == number


@pytest.mark.parametrize("path", ["/validate", "/mutate"])
def test_spent_budget_is_the_failure_policys_business(path: str, compiled: list[str]) -> None:
    """A review that would take too long is an HTTP error, neither allowed nor denied; so is what comes by."""
    with serving(context()) as served:
        code, text = served.ask(with_expressions(200, 1000, tag="late"), f"{path}?timeout=1us")
        assert (code, text) == (504, b"the review takes longer than 9e-07 s\n")
        assert compiled == []
        assert served.ask(with_expressions(3, tag="early"), path)[0] == 200


class Halting:
    """Compiles when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.number = 0
        self.tags: list[str] = []
        """Of the reviews of which something has been compiled, in that order; a tag ends with a dash."""
        real = compiler._compile

        def compile(item: Any) -> Any:
            self.number += 1
            tag = item.expression.split('"')[1].partition("-")[0]
            if tag not in self.tags:
                self.tags.append(tag)
            self.reached.release()
            assert self.goes_on.wait(PATIENCE_SECONDS)
            return real(item)

        monkeypatch.setattr(compiler, "_compile", compile)


@pytest.mark.parametrize("size", [LARGE_BYTES, BRIEF_BYTES], ids=["large", "medium"])
def test_work_ends_when_the_caller_has_left(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a review whose caller has gone, no more than the expression under way is compiled; then others have the slot."""
    halting = Halting(monkeypatch)
    with serving(context()) as served:
        leaving = served.send(with_expressions(50, size // 50, tag=f"leave{size}"))
        assert halting.reached.acquire(timeout=PATIENCE_SECONDS)
        assert served.is_healthy()
        leaving.close()
        until(lambda: not served.in_flight)
        halting.goes_on.set()
        assert served.ask(with_expressions(30, size // 30, tag=f"stay{size}"))[0] == 200
    assert halting.number == 1 + 30


@pytest.mark.parametrize("kind", ["ResourceSlice", "ConfigMap"])
@pytest.mark.parametrize("headers", [FAST, GENERAL], ids=["fast", "general"])
def test_long_reviews_of_any_kind_leave_the_event_loop(
    kind: str, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one of a kind without expressions takes long, health is answered; 62 KB of a name silenced it for 23 s."""
    goes_on, begun = threading.Event(), threading.Event()
    real = validating.begin

    def begin(request: AdmissionRequest, *rest: Any) -> Any:
        begun.set()
        assert goes_on.wait(PATIENCE_SECONDS)
        return real(request, *rest)

    monkeypatch.setattr(validating, "begin", begin)
    obj = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "é" * 31_000}, "spec": {}}
    review = admission(obj)
    review["request"].pop("name", None)
    with serving(context()) as served:
        connection = served.send(json.dumps(review, ensure_ascii=False).encode(), headers=headers)
        assert begun.wait(PATIENCE_SECONDS)
        assert served.is_healthy()
        goes_on.set()
        assert answer(connection)[0] == 200


def test_one_large_review_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second large review waits, small ones do not."""
    halting = Halting(monkeypatch)
    with serving(context()) as served:
        first = served.send(with_expressions(8, LARGE_BYTES // 8, tag="first"))
        assert halting.reached.acquire(timeout=PATIENCE_SECONDS)
        second = served.send(with_expressions(8, LARGE_BYTES // 8, tag="second"))
        assert served.ask(UPDATE)[0] == 200
        assert halting.number == 1
        halting.goes_on.set()
        assert {answer(first)[0], answer(second)[0]} == {200}


@pytest.mark.parametrize("size", [LARGE_BYTES, BRIEF_BYTES], ids=["large", "medium"])
def test_namespaces_take_turns(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many reviews of one namespace wait, those of another come after one of them."""
    halting = Halting(monkeypatch)
    server = Server(Profile(), namespaces={"noisy": {}, "quiet": {}}, verbatim=True)
    with serving(Context(server=server, rules=True)) as served:
        connections = []
        for number, namespace in enumerate(("noisy", "noisy", "noisy", "noisy", "quiet")):
            body = with_expressions(8, size // 8, tag=f"{size}{namespace}{number}-", namespace=namespace)
            connections.append(served.send(body))
            until(lambda: served.in_flight == len(connections))
        assert halting.reached.acquire(timeout=PATIENCE_SECONDS)
        halting.goes_on.set()
        assert {answer(each)[0] for each in connections} == {200}
    assert halting.tags.index(f"{size}quiet4") < halting.tags.index(f"{size}noisy1")


def test_strangers_that_wait_leave_places_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reviews of unknown clients wait on half of the connections at most: who comes then is told so at once, and
    newcomers find a place."""
    halting = Halting(monkeypatch)
    with serving(context(), connections=Connections(4)) as served:
        bodies = [with_expressions(8, LARGE_BYTES // 8, tag=f"crowd{number}") for number in range(4)]
        working = served.send(bodies[0])
        assert halting.reached.acquire(timeout=PATIENCE_SECONDS)
        waiting = [served.send(body) for body in bodies[1:3]]
        until(lambda: served.server.dispatcher.strangers == 2)
        assert served.ask(bodies[3]) == (503, b"too many large requests wait\n")
        assert served.is_healthy()
        assert served.ask(UPDATE)[0] == 200
        halting.goes_on.set()
        assert {answer(each)[0] for each in (working, *waiting)} == {200}
        assert served.ask(bodies[3])[0] == 200


# --- conversions


def test_time_is_looked_at_before_each_object() -> None:
    """When the time is used up, or nobody waits any more, no further object is converted."""
    review = conversion([claim() for _ in range(20)], "v1beta1")
    with pytest.raises(BudgetSpentError, match="longer than 10 s"):
        convert(review, context(), RequestBudget(10, 1, Ticking()))
    versions = [obj["apiVersion"] for obj in review["request"]["objects"]]
    assert versions == ["resource.k8s.io/v1beta1"] * 9 + ["resource.k8s.io/v1"] * 11
    left = RequestBudget(60, 1)
    left.stop()
    with pytest.raises(BudgetSpentError, match="nobody waits"):
        convert(conversion([claim()], "v1beta1"), context(), left)


@BOTH
def test_conversion_that_takes_too_long(headers: dict[str, str]) -> None:
    """It is an HTTP error, and what is asked next is answered."""
    body = json.dumps(conversion([claim()] * 500, "v1beta1")).encode()
    assert len(body) > LARGE_BYTES
    with serving(context()) as served:
        found = served.ask(body, "/convert?timeout=1us", headers)
        assert found[0] in (503, 504), found
        assert served.ask(body, "/convert", headers)[0] == 200


def test_conversion_ends_when_the_caller_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a list whose caller has gone, no more than the object under way is converted; then others have the slot."""
    reached, goes_on = threading.Semaphore(0), threading.Event()
    converted: list[str] = []
    served_context = context()
    real = served_context.server.read

    def read(obj: Any, version: str) -> Any:
        converted.append(version)
        reached.release()
        assert goes_on.wait(PATIENCE_SECONDS)
        return real(obj, version)

    monkeypatch.setattr(served_context.server, "read", read)
    with serving(served_context) as served:
        leaving = served.send(json.dumps(conversion([claim()] * 500, "v1beta1")).encode(), "/convert")
        assert reached.acquire(timeout=PATIENCE_SECONDS)
        leaving.close()
        until(lambda: not served.in_flight)
        goes_on.set()
        other = json.dumps(conversion([claim()] * 400, "v1beta2")).encode()
        assert served.ask(other, "/convert")[0] == 200
    assert converted == ["resource.k8s.io/v1beta1"] + ["resource.k8s.io/v1beta2"] * 400


def test_namespaces_take_turns_at_conversions(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many large objects of one namespace are to be converted, slices and other claims come after one of them."""
    reached, goes_on = threading.Semaphore(0), threading.Event()
    converted: list[str] = []
    waiting: list[str] = []
    served_context = context()
    real, real_acquire = served_context.server.read, FairSlot.acquire

    async def acquire(slot: FairSlot, namespace: str) -> None:
        waiting.append(namespace)
        await real_acquire(slot, namespace)

    def read(obj: Any, version: str) -> Any:
        converted.append(obj["metadata"].get("namespace", ""))
        reached.release()
        assert goes_on.wait(PATIENCE_SECONDS)
        return real(obj, version)

    monkeypatch.setattr(served_context.server, "read", read)
    monkeypatch.setattr(FairSlot, "acquire", acquire)
    with serving(served_context) as served:
        connections: list[Any] = []
        for namespace in ("noisy", "noisy", "noisy", "quiet", ""):
            obj = claim()
            obj["metadata"] = {"annotations": {"namespace": "quiet"}, "name": "claim"}
            obj["metadata"] |= {"namespace": namespace} if namespace else {}
            obj["spec"]["devices"]["requests"] *= 1000
            connections.append(served.send(json.dumps(conversion([obj], "v1beta1")).encode(), "/convert"))
            until(partial(lambda number: len(waiting) == number, len(connections)))
        assert reached.acquire(timeout=PATIENCE_SECONDS)
        goes_on.set()
        assert {answer(each)[0] for each in connections} == {200}
    assert converted == ["noisy", "quiet", "", "noisy", "noisy"]


# --- memory

SIZE = 256 * 1024
COSTLY = {
    "repeated keys": b'{"":0,"":0}',
    "numbers as written": b"-0",
    "lists": b"[]",
    "objects": b"{}",
}


@pytest.mark.parametrize("name", COSTLY)
@pytest.mark.parametrize("path", ["/convert", "/validate"])
def test_bodies_that_would_take_too_much_memory(
    path: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are refused before they are read; one of the same size, with as many bytes in strings, is not."""
    read: list[int] = []
    real = json_text.parse

    def counting(body: bytes, **how: Any) -> Any:
        read.append(len(body))
        return real(body, **how)

    monkeypatch.setattr("serving.routes.parse", counting)
    unit = COSTLY[name]
    body = b'{"a":[' + b",".join([unit] * ((SIZE - 1000) // (len(unit) + 1))) + b"]}"
    with serving(context(), admission=SIZE, conversion=SIZE) as served:
        code, text = served.ask(body, path)
        assert (code, text) == (
            413,
            b"the body has too many values: it would take more than %d bytes of memory\n" % (7 * SIZE),
        )
        assert read == []
        assert served.ask(b'{"a":"' + b"x" * (SIZE - 1000) + b'"}', path)[0] == 400
        assert len(read) == 1


def test_no_lints_of_large_reviews() -> None:
    """Above a size there is one warning in the place of all lints."""
    review = json.loads(with_expressions(1))
    selector = review["request"]["object"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"][0]
    selector["cel"]["expression"] = "device.driver == 'a' || true"
    linting = context()
    linting.facts = Facts(linting.server.profile)
    found = {}
    for size in (LINTED_BYTES, LINTED_BYTES + 1):
        caller = Caller("", RequestBudget(60, 2**30), size)
        found[size] = validate(review, linting, caller)["response"].get("warnings")
    assert len(found[LINTED_BYTES]) == 1
    assert found[LINTED_BYTES] != [NOT_LINTED]
    assert found[LINTED_BYTES + 1] == [NOT_LINTED]


def with_lints() -> Context:
    linting = context()
    linting.facts = Facts(linting.server.profile)
    return linting


@pytest.mark.parametrize(
    ("group", "kind"),
    [("", "ConfigMap"), ("resource.k8s.io", "ResourceSlice"), ("example.com", "ResourceClaim")],
)
def test_no_lints_of_an_object_of_another_kind(group: str, kind: str, compiled: list[str]) -> None:
    """Nothing in a review is compiled on the event loop because of the kind that its object claims to have."""
    review = json.loads(with_expressions(30, 100, tag=f"as {kind}"))
    review["request"]["kind"] = {"group": group, "version": "v1", "kind": kind}
    validate(review, with_lints())
    assert compiled == []


def test_lints_end_with_the_budget(compiled: list[str]) -> None:
    """When time runs out during the lints there are none, and one warning in their place; the verdict stays."""
    review = json.loads(with_expressions(10, tag="lint"))
    (request,) = review["request"]["object"]["spec"]["devices"]["requests"]
    for selector in request["exactly"]["selectors"]:
        selector["cel"]["expression"] += " || true"
    for seconds, number, warning in (
        (1000, 20, "CC013: the selector is true for every device"),
        (20, 14, "lints are skipped: the review takes longer than 20 s"),
    ):
        compiled.clear()
        budget = RequestBudget(seconds, 2**30, Ticking())
        with within(budget):
            response = validate(review, with_lints(), Caller("", budget))["response"]
        assert (response["allowed"], response["warnings"]) == (True, [warning])
        assert len(compiled) == number

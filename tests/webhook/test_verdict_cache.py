"""Specs that were taken before: the same answers as without remembering them."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from resourceapi.manifests import mapping
from resourceapi.releases import Profile
from tests.conformance.profiles import PROFILES
from tests.corpus.cases import cases, valid_object
from tests.corpus.parts import Parts
from tests.webhook.examples import claim, server
from validation.requests import CREATE, UPDATE, Request
from validation.server import Server
from webhook import verdict_cache
from webhook.admission_objects import IGNORE
from webhook.verdict_cache import KnownSpecs

VERSIONS = ("v1", "v1beta2", "v1beta1")


def template(version: str = "v1", **exact: Any) -> dict[str, Any]:
    return {
        **claim(version, **exact),
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": claim(version, **exact)["spec"]},
    }


def request(obj: dict[str, Any], namespace: str = "team") -> Request:
    return Request(
        verb=CREATE,
        api_version=obj["apiVersion"],
        kind=obj["kind"],
        namespace=namespace,
        body=copy.deepcopy(obj),
        field_validation=IGNORE,
        has_resource_version=False,
    )


class Counting(Server):
    """Remembers which specs it has looked at."""

    def handle(self, request: Request) -> Any:
        self.__dict__.setdefault("specs", []).append(request.body["spec"])
        return super().handle(request)


def verdict(answer: Any) -> tuple[int, list[str], list[str], str]:
    return answer.code, list(map(str, answer.errors)), answer.warnings, answer.message


BAD_METADATA = {
    "good": {},
    "bad-name": {"name": "Not A Name"},
    "no-name": {"name": ""},
    "bad-label": {"labels": {"-": "x" * 64}},
    "wrong-type": {"labels": 1},
    "other-namespace": {"namespace": "other"},
    "bad-owner": {"ownerReferences": [{"kind": "Pod"}]},
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", [claim, template])
@pytest.mark.parametrize("name", BAD_METADATA)
def test_verdicts_stay_the_same(version: str, make: Any, name: str) -> None:
    """Once a spec is known, all else is judged as before."""
    known, plain = KnownSpecs(), server()
    assert known.handle(plain, request(make(version))).accepted
    obj = make(version)
    obj["metadata"].update(BAD_METADATA[name])
    assert verdict(known.handle(plain, request(obj))) == verdict(plain.handle(request(obj)))


@pytest.mark.parametrize(
    "change", [{"status": {"allocation": 1}}, {"apiVersion": "resource.k8s.io/v1beta9"}, {"kind": "Pod"}]
)
def test_other_fields_are_read(change: dict[str, Any]) -> None:
    """What stands beside a known spec is not overlooked."""
    known, plain = KnownSpecs(), server()
    known.handle(plain, request(claim()))
    asked = [request(claim()), request(claim())]
    for each in asked:
        each.body.update(change)
    assert verdict(known.handle(plain, asked[0])) == verdict(plain.handle(asked[1]))


def looked_at(*objects: dict[str, Any], verb: str = CREATE) -> int:
    """How many of these specs a server has been asked about."""
    base = server()
    counting = Counting(base.profile, namespaces={"team": {}}, verbatim=True)
    known = KnownSpecs()
    for obj in objects:
        asked = request(obj)
        if verb == UPDATE:
            asked.verb, asked.old = UPDATE, {**copy.deepcopy(obj)}
        known.handle(counting, asked)
    return sum(spec not in verdict_cache._LEAST.values() for spec in counting.__dict__["specs"])


def test_a_known_spec_is_not_looked_at_again() -> None:
    """The same spec under other names is looked at once; another one is."""
    named = [{**claim(), "metadata": {"name": f"claim-{number}", "namespace": "team"}} for number in range(5)]
    assert looked_at(*named) == 1
    assert looked_at(claim(), claim(count=2)) == 2
    assert looked_at(claim(), claim("v1beta1"), claim("v1beta2")) == 3
    assert looked_at(claim(count=1), claim(count=True)) == 2


def test_what_is_not_remembered() -> None:
    """Refused specs, those that depend on the namespace, large ones, and updates are looked at each time."""
    assert looked_at(claim(count=-1), claim(count=-1)) == 2
    assert looked_at(claim(adminAccess=True), claim(adminAccess=True)) == 2
    large = claim()
    parameters = {"a": "x" * verdict_cache.BYTES}
    large["spec"]["devices"]["config"] = [{"opaque": {"driver": "d", "parameters": parameters}}]
    assert looked_at(large, large) == 2
    assert looked_at(claim(), claim(), verb=UPDATE) == 2


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many specs are remembered."""
    monkeypatch.setattr(verdict_cache, "MOST", 3)
    known, plain = KnownSpecs(), server()
    for count in range(1, 9):
        known.handle(plain, request(claim(count=count)))
        assert len(known._specs) <= 3
        assert len(known._parts) <= 3


def alternatives(*names: str, **changes: Any) -> dict[str, Any]:
    """A claim with alternatives of these names, all of one content."""
    sub = {"deviceClassName": "gpu", "count": 2, **changes}
    made = claim()
    made["spec"]["devices"]["requests"] = [
        {"name": "main", "firstAvailable": [{"name": name, **sub} for name in names]}
    ]
    return made


def together(obj: dict[str, Any], **devices: Any) -> dict[str, Any]:
    """The claim with something beside its requests."""
    obj["spec"]["devices"].update(devices)
    return obj


DERIVED: dict[str, Any] = {"derivedAttributes": [{"name": "example.com/rank", "expression": "1"}]}
RANKED = {"constraints": [{"matchAttribute": "example.com/rank"}]}
# a claim that is taken, then one that has nothing else in it, and what is wrong with that
WRONG_TOGETHER = {
    "same-name": (alternatives("a", "b"), alternatives("a", "b", "a"), "firstAvailable[2]: Duplicate"),
    "too-many": (alternatives(*"abcdefgh"), alternatives(*"abcdefghi"), "Too many: 9"),
    "reference-to-nothing": (
        alternatives("a", "b"),
        together(alternatives("a", "b"), constraints=[{"requests": ["main/c"], "matchAttribute": "d/a"}]),
        '"main/c"',
    ),
    "not-derived-for-anything": (
        together(alternatives("a", **DERIVED), **RANKED),
        alternatives("a", **DERIVED),
        "derivedAttributes[0].name",
    ),
    "exactly-derived-for-nothing": (
        together(claim(**DERIVED), **RANKED),
        claim(**DERIVED),
        "derivedAttributes[0].name",
    ),
}


@pytest.mark.parametrize("name", WRONG_TOGETHER)
def test_known_parts_can_be_wrong_together(name: str) -> None:
    """What only the whole of a claim can break is found, although nothing in it is new."""
    first, second, problem = WRONG_TOGETHER[name]
    known, plain = KnownSpecs(), server(DRADerivedAttributes=True)
    for start in (first, *({**alternatives(sub)} for sub in "abcdefghi")):
        assert known.handle(plain, request(start)).accepted
    answer = known.handle(plain, request(second))
    assert problem in "\n".join(map(str, answer.errors))
    assert verdict(answer) == verdict(plain.handle(request(second)))


def test_alternatives_that_are_known_can_be_referred_to() -> None:
    """A reference to one that need not be looked at again is right all the same."""
    known, plain = KnownSpecs(), server()
    for constraints in ([], [{"requests": ["main/b"], "matchAttribute": "example.com/a"}]):
        obj = together(alternatives("a", "b"), constraints=constraints)
        assert known.handle(plain, request(obj)).accepted


def test_alternatives_that_are_referred_to_are_looked_at_once() -> None:
    """They stay in what the server sees, so that it need not be asked again for want of them."""
    seen = Counting(server().profile, namespaces={"team": {}}, verbatim=True)
    known = KnownSpecs()
    constraints = [{"requests": ["main/b"], "matchAttribute": "example.com/a"}]
    for obj in (alternatives("a", "b"), together(alternatives("a", "b", "c"), constraints=constraints)):
        assert known.handle(seen, request(obj)).accepted
    shown = [spec["devices"]["requests"][0]["firstAvailable"] for spec in seen.__dict__["specs"]]
    assert [[sub["name"] for sub in each] for each in shown] == [["a", "b"], ["b", "c"]]


def test_known_parts_are_not_looked_at_again() -> None:
    """Of a claim that differs, only what differs is looked at, and all of it if something is wrong."""
    seen = Counting(server().profile, namespaces={"team": {}}, verbatim=True)
    known = KnownSpecs()
    for obj in (
        alternatives("a", "b"),
        alternatives("b", "c"),
        alternatives("c", "a"),
        alternatives("a", "-"),
    ):
        known.handle(seen, request(obj))
    first, *others = (
        [sub["name"] for sub in spec["devices"]["requests"][0]["firstAvailable"]]
        for spec in seen.__dict__["specs"]
    )
    assert first == ["a", "b"]
    assert others == [["c"], ["c"], ["-"], ["a", "-"]]
    requests = seen.__dict__["specs"][2]["devices"]["requests"]
    assert requests[0]["firstAvailable"] == [{"name": "c", "deviceClassName": "gpu"}]


KINDS = ("ResourceClaim", "ResourceClaimTemplate")


def mixed(profile: str, count: int) -> Iterator[dict[str, Any]]:
    """Random cases of creation whose claims have requests and alternatives in common, some of them wrong."""
    pick = random.Random(profile)
    stock: dict[str, list[Any]] = {}
    for case in cases(profile, "known", count, KINDS, (CREATE,)):
        obj, version = case["object"], case["apiVersion"]
        if pick.random() < 0.8:
            obj = case["object"] = valid_object(Parts(pick), case["kind"], version.partition("/")[2])
        requests = requests_of(obj)
        if requests is None:
            continue
        for found in (requests, *(item.get("firstAvailable") for item in requests if isinstance(item, dict))):
            if isinstance(found, list):
                known = stock.setdefault(f"{version} {'main' if found is requests else 'sub'}", [])
                known += copy.deepcopy(found[:3])
                found[:0] = copy.deepcopy(pick.choices(known[:12], k=pick.choice((0, 1, 2, 2))))
                del found[pick.choice((1, 2, 2, 9)) :]
                rename(found, pick)
        yield case


def rename(items: list[Any], pick: random.Random) -> None:
    """Give most entries names that are theirs alone."""
    for number, item in enumerate(items):
        if isinstance(item, dict) and pick.random() < 0.97:
            item["name"] = f"name-{number}"


def requests_of(obj: Any) -> list[Any] | None:
    """The requests of a claim or a template, as far as it is one."""
    for key in ("spec", "spec", "devices") if mapping(obj, "spec", "spec") else ("spec", "devices"):
        obj = mapping(obj, key)
    requests = obj.get("requests")
    return requests if isinstance(requests, list) else None


@pytest.mark.parametrize("profile", ["1.37", "1.37-all", "1.37-off", "1.34-off"])
def test_whatever_is_known_the_verdict_stays_the_same(profile: str) -> None:
    """Claims with parts that are known in all combinations with others, right and wrong, in all versions."""
    settings = PROFILES[profile]
    plain = Server(Profile(settings.release, settings.gates), namespaces={}, verbatim=True)
    known = KnownSpecs()
    shortened = refused = 0
    for case in mixed(profile, 400):
        asked = [
            request({**case["object"], "apiVersion": case["apiVersion"], "kind": case["kind"]}) for _ in "12"
        ]
        answers = known.handle(plain, asked[0]), plain.handle(asked[1])
        assert verdict(answers[0]) == verdict(answers[1]), case
        shortened += asked[0].body["spec"] != asked[1].body["spec"]
        refused += not answers[0].accepted
    assert shortened > 10
    assert refused > 100

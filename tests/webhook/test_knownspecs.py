"""Specs that were taken before: the same answers as without remembering them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.webhook.examples import claim, server
from validation.requests import CREATE, UPDATE, Request
from validation.server import Server
from webhook import knownspecs
from webhook.knownspecs import KnownSpecs
from webhook.subjects import IGNORE

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
    return sum(spec not in knownspecs._LEAST.values() for spec in counting.__dict__["specs"])


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
    parameters = {"a": "x" * knownspecs.BYTES}
    large["spec"]["devices"]["config"] = [{"opaque": {"driver": "d", "parameters": parameters}}]
    assert looked_at(large, large) == 2
    assert looked_at(claim(), claim(), verb=UPDATE) == 2


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many specs are remembered."""
    monkeypatch.setattr(knownspecs, "MOST", 3)
    known, plain = KnownSpecs(), server()
    for count in range(1, 9):
        known.handle(plain, request(claim(count=count)))
        assert len(known._known) <= 3

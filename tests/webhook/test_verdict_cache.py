"""Specs that the rules have accepted before: the same verdicts as without remembering them."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from resourceapi.manifests import mapping, text
from resourceapi.releases import Profile
from tests.conformance.profiles import PROFILES
from tests.corpus.cases import cases, valid_object
from tests.corpus.parts import Parts
from tests.webhook.examples import ADMIN, admission, claim, server
from validation.requests import CREATE, Answer, DecodedRequest, Request
from validation.server import Server
from webhook import admission_objects
from webhook.admission_objects import CACHEABLE, AdmissionObject, VerdictCache, admission_object
from webhook.reviews import parse_admission

VERSIONS = ("v1", "v1beta2", "v1beta1")


def template(version: str = "v1", **exact: Any) -> dict[str, Any]:
    """A template of such claims."""
    return {
        **claim(version, **exact),
        "kind": "ResourceClaimTemplate",
        "spec": {"spec": claim(version, **exact)["spec"]},
    }


def under_review(
    obj: dict[str, Any], server: Server, old: dict[str, Any] | None = None, namespace: str = "team"
) -> AdmissionObject:
    """The object of a review that creates or updates it."""
    review = admission(obj, old, namespace=namespace)
    found = admission_object(parse_admission(review), server)
    assert found is not None
    return found


class Counting(Server):
    """Remembers the specs that it has decoded."""

    def decode(self, request: Request) -> DecodedRequest:
        """Decode, and note what."""
        self.__dict__.setdefault("specs", []).append(copy.deepcopy(request.body.get("spec")))
        return super().decode(request)


def verdict(answer: Answer) -> tuple[int, list[str], list[str], str]:
    """What of an answer is the same whether the spec has been judged or not."""
    return answer.code, list(map(str, answer.errors)), answer.warnings, answer.message


BAD_METADATA: dict[str, dict[str, Any]] = {
    "good": {},
    "bad-name": {"name": "Not A Name"},
    "no-name": {"name": ""},
    "bad-label": {"labels": {"-": "x" * 64}},
    "wrong-type": {"labels": 1},
    "other-namespace": {"namespace": "other"},
    "bad-owner": {"ownerReferences": [{"kind": "Pod"}]},
}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("make", [claim, template])
@pytest.mark.parametrize("name", BAD_METADATA)
def test_verdicts_stay_the_same(version: str, make: Any, name: str, shared: bool) -> None:
    """Once a spec is known, all else is judged as before, whether others read the spec or not."""
    cache, plain = VerdictCache(), server()
    assert under_review(make(version), plain).verdict(cache, others_read_spec=shared).accepted
    obj = make(version)
    obj["metadata"].update(BAD_METADATA[name])
    found = under_review(obj, plain).verdict(cache, others_read_spec=shared)
    assert verdict(found) == verdict(under_review(obj, plain).answer())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "change", [{"status": {"allocation": 1}}, {"apiVersion": "resource.k8s.io/v1beta9"}, {"kind": "Pod"}]
)
def test_other_fields_are_read(change: dict[str, Any], shared: bool) -> None:
    """What is beside a known spec is not overlooked."""
    cache, plain = VerdictCache(), server()
    under_review(claim(), plain).verdict(cache, others_read_spec=shared)
    review = parse_admission(admission(claim()))
    review.object = {**claim(), **change}
    found = [admission_object(review, plain) for _ in "12"]
    assert found[0] is not None
    assert found[1] is not None
    answer = found[0].verdict(cache, others_read_spec=shared)
    assert verdict(answer) == verdict(found[1].answer())


def judged(*objects: dict[str, Any], update: bool = False) -> int:
    """How many of these specs are judged."""
    base = server(labels=ADMIN)
    counting = Counting(base.profile, namespaces={"team": ADMIN}, verbatim=True)
    cache = VerdictCache()
    for obj in objects:
        old = {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}} if update else None
        under_review(obj, counting, old).verdict(cache, others_read_spec=False)
    least = [rules.least_spec for rules in CACHEABLE.values()]
    return sum(spec not in least for spec in counting.__dict__["specs"])


def test_a_known_spec_is_not_judged_again() -> None:
    """The same spec under other names is judged once; another one is, in another version the same one is."""
    named = [{**claim(), "metadata": {"name": f"claim-{number}", "namespace": "team"}} for number in range(5)]
    assert judged(*named) == 1
    assert judged(claim(), claim(count=2)) == 2
    assert judged(claim(), claim("v1beta1"), claim("v1beta2")) == 3
    assert judged(claim(count=1), claim(count=True)) == 2
    assert judged(claim(), template(), claim(), template()) == 2


def test_an_old_object_that_is_created_anew_teaches_nothing() -> None:
    """Features that are off are allowed where the stored object uses them; a creation has no stored object."""
    cache, old_release = VerdictCache(), server(release="1.35")
    off = claim()
    off["spec"]["devices"]["constraints"] = [{"distinctAttribute": "d.example.com/a"}]
    plain, forged = admission(off), admission(off)
    forged["request"]["oldObject"] = off
    for review in (plain, forged, plain):
        found = admission_object(parse_admission(review), old_release)
        assert found is not None
        assert not found.verdict(cache, others_read_spec=False).accepted


def test_what_is_not_remembered() -> None:
    """Refused specs, those that depend on the namespace, large ones, and updates are judged each time."""
    assert judged(claim(count=-1), claim(count=-1)) == 2
    assert judged(claim(adminAccess=True), claim(adminAccess=True)) == 2
    large = claim()
    parameters = {"a": "x" * admission_objects.SPEC_BYTES}
    large["spec"]["devices"]["config"] = [{"opaque": {"driver": "d", "parameters": parameters}}]
    assert judged(large, large) == 2
    assert judged(claim(), claim(), update=True) == 2


def test_a_label_that_is_taken_away_counts() -> None:
    """A spec with admin access that was accepted in a namespace is refused in another."""
    cache = VerdictCache()
    spec = claim(adminAccess=True)
    for labels, code in ((ADMIN, 201), ({}, 422), (ADMIN, 201)):
        answer = under_review(spec, server(labels=labels)).verdict(cache, others_read_spec=False)
        assert answer.code == code, answer.message


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many specs are remembered."""
    monkeypatch.setattr(admission_objects, "MOST_SPECS", 3)
    cache, plain = VerdictCache(), server()
    for count in range(1, 9):
        under_review(claim(count=count), plain).verdict(cache, others_read_spec=False)
        assert len(cache._accepted) <= 3


KINDS = ("ResourceClaim", "ResourceClaimTemplate")


def mixed(profile: str, count: int) -> Iterator[dict[str, Any]]:
    """Random cases of creation, right and wrong, whose specs repeat with other metadata."""
    pick = random.Random(profile)
    specs: dict[str, list[Any]] = {}
    for case in cases(profile, "known", count, KINDS, (CREATE,)):
        obj, version = case["object"], case["apiVersion"]
        if pick.random() < 0.5:
            obj = case["object"] = valid_object(Parts(pick), case["kind"], version.partition("/")[2])
        earlier = specs.setdefault(f"{version} {case['kind']}", [])
        if not isinstance(obj, dict):
            continue
        if earlier and pick.random() < 0.5:
            obj["spec"] = copy.deepcopy(pick.choice(earlier))
        elif "spec" in obj:
            earlier.append(copy.deepcopy(obj["spec"]))
        yield case


@pytest.mark.parametrize("profile", ["1.37", "1.37-all", "1.37-off", "real-1.34-off"])
def test_whatever_is_known_the_verdict_stays_the_same(profile: str) -> None:
    """Specs that repeat, right and wrong, in all versions."""
    settings = PROFILES[profile]
    plain = Server(Profile(settings.release, settings.gates), namespaces={}, verbatim=True)
    cache = VerdictCache()
    repeated = refused = 0
    for number, case in enumerate(mixed(profile, 400)):
        obj = {**case["object"], "apiVersion": case["apiVersion"], "kind": case["kind"]}
        review = parse_admission(admission(claim(case["apiVersion"].partition("/")[2])))
        review.namespace = text(mapping(obj, "metadata"), "namespace")
        review.kind, review.object = case["kind"], obj
        found = [admission_object(copy.copy(review), plain) for _ in "12"]
        assert found[0] is not None
        assert found[1] is not None
        repeated += cache.key(found[0]._request) in cache
        answers = found[0].verdict(cache, others_read_spec=bool(number % 2)), found[1].answer()
        assert verdict(answers[0]) == verdict(answers[1]), case
        refused += not answers[0].accepted
    assert repeated > 5
    assert refused > 50

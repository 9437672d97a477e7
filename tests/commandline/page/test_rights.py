"""What people see who sign in: all of it if they may list all of what it is made of; else what tenants may read, and nothing of others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from threading import Event
from typing import Any

import pytest

from claimcheck.watching import waiting_pods
from commandline.page import openapi, tenants
from commandline.page.cluster_pages import ClusterPages
from commandline.page.rights import Welcome
from commandline.page.tenants import NOT_ALL, NOT_YOURS, TenantPages
from resourceapi.api_client import Unavailable
from serving.browser_pages import Visitor
from serving.routes import HTTPError
from tests.claimcheck.watching.test_waiting_pods import DRIVER, RESOURCES, Watched, pod

ALL = frozenset(each.name for each in RESOURCES)
OWN = frozenset(("other/pods", "other/resourceclaims"))
DEVICES = frozenset(("nodes", "resourceslices", "deviceclasses", "devicetaintrules"))
#: What nobody may be told who may read only `other`.
OF_OTHERS = ("team", "train", "secret", '"status": "allocated"', '"status": "free"')
SECRET = "secret-" + "x" * 20
QUESTIONS: dict[str, list[dict[str, str]]] = {
    "explain": [
        {"namespace": "other", "name": "mine"},
        {"namespace": "other", "name": "nobody"},
        {"namespace": "team", "name": "train"},
        {"namespace": "team", "name": SECRET},
        {"namespace": "team", "name": "nobody"},
        {"namespace": "", "name": "team/train"},
        {"namespace": "other/../team", "name": "train"},
    ],
    "remedy": [{"namespace": each, "name": "mine", "number": "0"} for each in ("other", "team")],
    "node": [{"name": "node-1"}],
    "device": [{"driver": DRIVER, "pool": "node-1", "device": "gpu-0"}],
    "pool": [{"driver": DRIVER, "pool": "node-1"}],
    "partitions": [{"driver": DRIVER, "pool": "node-1"}],
    "beside": [{"driver": DRIVER, "pool": "node-1", "devices": each} for each in ("", "gpu-0")],
    "select": [{"expression": "true"}],
    "room": [{"kind": "ResourceClaim", "namespace": each, "name": "train"} for each in ("other", "team")],
    "validate": [{"text": json.dumps(pod("p", "team"))}],
    "fix": [{"text": json.dumps(pod("p", "other"))}],
    "explain-text": [{"text": json.dumps(pod("p", "other"))}],
}


class Cluster:
    """Knows one person, and in which namespaces of which resources they may list what there is; no namespace is all of them."""

    NAME = "ann"

    def __init__(self, allowed: Collection[str]) -> None:
        self.allowed = allowed
        self.is_down = False
        self.asked: list[str] = []

    def request(
        self, verb: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        assert verb == "POST"
        if self.is_down:
            raise Unavailable("no answer")
        if body["kind"] == "TokenReview":
            known = body["spec"]["token"] == "mine"
            return 201, {"status": {"authenticated": known, "user": {"username": self.NAME}}}
        asked = body["spec"]["resourceAttributes"]
        key = "/".join(filter(None, (asked.get("namespace"), asked["resource"])))
        self.asked.append(key)
        return 201, {"status": {"allowed": key in self.allowed}}


class Page:
    """The page of a cluster in which `other/mine` waits for the GPU, as one person sees it."""

    def __init__(self, allowed: Collection[str], watched: Watched | None = None) -> None:
        self.watched = watched or Watched()
        self.watched.waits("mine", "other")
        for each in self.watched.cluster.collections.values():
            each.is_known = True
        followed = self.watched.cluster
        self.cluster = Cluster(allowed)
        pages = ClusterPages("cluster", followed.state, lambda: followed.changes, is_live=True, seconds=60)
        self.tenants = TenantPages(followed, 60, Event())
        self.tenants._is_looking = True  # the test does
        self.welcome = Welcome(self.cluster, (), pages, self.tenants)
        self.enter()

    def enter(self) -> Visitor:
        """The person comes, or comes again."""
        self.tenants.waiting.look()
        guest = self.welcome("mine")
        assert guest is not None
        self.visitor = guest.visitor()
        return self.visitor

    def ask(self, name: str, /, **query: str) -> Any:
        """An answer, or the status of an error and its text."""
        make = self.visitor.answers.get(f"/api/v1/{name}")
        if make is None:
            return 403, ""
        try:
            return json.loads(make(query).content)
        except HTTPError as error:
            return error.code, error.message

    def version(self) -> int:
        assert self.visitor.version is not None
        return self.visitor.version()

    def everything(self) -> Iterator[tuple[str, Any]]:
        """The answers to whatever can be asked."""
        for name in openapi.PATHS:
            for query in QUESTIONS.get(name, [{}]):
                yield f"{name} {query}", self.ask(name, **query)
        yield "version", self.version()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods are explained when they are looked at."""
    for name in ("REFUSED_SECONDS", "QUIET_SECONDS", "REPEAT_SECONDS"):
        monkeypatch.setattr(waiting_pods, name, 0.0)


def test_who_may_list_all_sees_all() -> None:
    page = Page(ALL)
    assert page.visitor.name == "ann"
    assert page.visitor.answers.keys() == {f"/api/v1/{name}" for name in openapi.PATHS}
    assert page.ask("cluster")["free"] == 0
    assert page.ask("device", **QUESTIONS["device"][0])["claims"][0]["namespace"] == "team"


def test_nobody_is_nobody() -> None:
    page = Page(ALL)
    assert page.welcome("of somebody else") is None


@pytest.mark.parametrize("missing", sorted(ALL))
def test_who_may_not_list_one_of_them_is_no_administrator(missing: str) -> None:
    """Whoever may list it in some namespaces included."""
    page = Page(ALL - {missing} | {f"team/{missing}"})
    assert [page.ask(name)[0] for name in ("remedy", "room", "capacity", "explain-text")] == [403] * 4


def test_every_other_answer_is_refused() -> None:
    """What tenants are shown is a list: an answer that is added is not on it."""
    shown = {each.removeprefix("/api/v1/") for each in Page(OWN | DEVICES).visitor.answers}
    of_devices = {"map", "node", "device", "pools", "pool", "partitions", "beside", "select"}
    own = {"cluster", "doctor", "explain", "openapi.json", "validate", "fix"}
    assert shown == of_devices | own
    assert {each.removeprefix("/api/v1/") for each in Page(OWN).visitor.answers} == own


@pytest.mark.parametrize("devices", [frozenset(), DEVICES], ids=["nothing", "devices"])
@pytest.mark.parametrize("own", [frozenset(), OWN], ids=["nothing", "own"])
def test_nothing_tells_of_others(own: frozenset[str], devices: frozenset[str]) -> None:
    """No name, count, colour or version, whatever is asked: all is the same without the others and what they do; but why an own pod waits."""
    alone, beside = Page(own | devices), Page(own | devices)
    _without_others(alone)
    for number in range(3):
        beside.watched.waits(f"{SECRET}{number}", "team")
        beside.watched.put("Namespace", {"metadata": {"name": f"team-{number}"}})
        quota = {"metadata": {"name": "secret", "namespace": "team"}, "spec": {"hard": {"pods": "7"}}}
        beside.watched.put("ResourceQuota", quota)
    for page in (alone, beside):
        page.enter()
        page.tenants.told.clear()  # words about the own pod, which depend on others
    found, expected = dict(beside.everything()), dict(alone.everything())
    assert found.keys() == expected.keys()
    why = {each for each in found if "mine" in each or each.startswith("doctor")}
    differing = {each: (said, expected[each]) for each, said in found.items() if said != expected[each]}
    assert differing.keys() <= why, differing
    for question, answer in found.items():
        for each in OF_OTHERS:
            assert each not in json.dumps(answer), (question, answer)


def _without_others(page: Page) -> None:
    for resource, each in page.watched.cluster.collections.items():
        if resource.kind in ("Pod", "ResourceClaim"):
            each.remove({"metadata": {"namespace": "team", "name": "train"}})


def test_a_tenant_is_told_why_their_pods_wait() -> None:
    """In the words of events; of a pod of another namespace not even whether it is there."""
    page = Page(OWN | DEVICES)
    [found] = page.ask("doctor")["findings"]
    assert found["objects"] == [{"kind": "Pod", "namespace": "other", "name": "mine"}]
    assert "1 claim of another namespace" in found["cause"]
    [told] = page.ask("explain", namespace="other", name="mine")["objects"]
    assert told["said"] == found["cause"]
    assert page.ask("explain", namespace="other", name="nobody")[0] == 404
    for name in ("train", "nobody", SECRET):
        assert page.ask("explain", namespace="team", name=name) == (403, NOT_YOURS)
    cluster = page.ask("cluster")
    assert {key: cluster[key] for key in ("nodes", "devices", "free", "waiting", "notes")} == {
        "nodes": 1,
        "devices": 1,
        "free": None,
        "waiting": 1,
        "notes": [NOT_ALL],
    }


def test_a_namespace_that_somebody_else_has_now() -> None:
    """Of pods that were there when it was looked last, nothing is told: they may have been somebody else's."""
    page = Page(OWN)
    for resource, each in page.watched.cluster.collections.items():
        if resource.kind == "Pod":
            each.remove({"metadata": {"namespace": "other", "name": "mine"}})
    assert page.ask("doctor")["findings"] == []
    assert page.ask("cluster")["waiting"] == 0
    assert page.ask("explain", namespace="other", name="mine")[0] == 404


def test_devices_say_nothing_of_holders() -> None:
    """Their status is neither that somebody has them nor that nobody has, and what is left of counters is not told."""
    page = Page(DEVICES)
    [group] = page.ask("map")["groups"]
    assert [each["status"] for each in group["devices"]] == ["published"]
    device = page.ask("device", **QUESTIONS["device"][0])
    assert (device["status"], device["claims"]) == ("published", [])


def test_what_may_not_be_read_is_not_looked_at() -> None:
    """Without a right to list nodes, devices are shown without them."""
    page = Page({"resourceslices"})
    assert page.ask("cluster")["nodes"] is None
    assert page.ask("map")["groups"][0]["names"] == ["node-1"]
    assert page.ask("cluster")["waiting"] == 0


def test_versions_tell_of_what_can_be_seen() -> None:
    """A change of an own pod, of its words, or of a slice; and of nothing else."""
    page = Page(OWN | DEVICES)
    versions = [page.version()]
    page.watched.waits("theirs", "team")
    versions.append(page.version())
    page.watched.waits("another", "other")
    versions.append(page.version())
    page.tenants.waiting.look()
    versions.append(page.version())
    page.watched.put("Node", {"metadata": {"name": "node-2"}})
    versions.append(page.version())
    assert versions[0] == versions[1]
    assert len(set(versions[1:])) == 4


def test_rights_are_asked_once_a_visit() -> None:
    """As many namespaces as wait, and others by name; a cluster that does not answer has not said yes."""
    page = Page(OWN)
    page.cluster.asked.clear()
    for _ in range(3):
        page.ask("explain", namespace="team", name="train")
        page.ask("explain", namespace="other", name="mine")
    assert page.cluster.asked == ["team/resourceclaims"]
    page.cluster.is_down = True
    assert page.ask("explain", namespace="third", name="train")[0] == 503
    with pytest.raises(Unavailable):
        page.enter()


def test_rights_that_take_long_to_ask_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Namespaces for which there is no time are as those beyond the first ones: their pods are not listed, and can be asked for."""
    monkeypatch.setattr(tenants, "RIGHTS_SECONDS", -1.0)
    page = Page(OWN)
    assert "other/pods" not in page.cluster.asked
    assert page.ask("cluster")["waiting"] == 0
    assert page.ask("explain", namespace="other", name="mine")["objects"]


def test_service_accounts_take_turns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a namespace, whose tenants make as many as they like; whatever they see."""
    monkeypatch.setattr(Cluster, "NAME", "system:serviceaccount:other:bot-7")
    for allowed in (ALL, OWN):
        page = Page(allowed)
        guest = page.welcome("mine")
        assert guest is not None
        assert (guest.name, page.visitor.name) == ("system:serviceaccount:other",) * 2


def test_a_text_is_checked_beside_what_may_be_read() -> None:
    """A class that may not be read is not said not to exist."""
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpv"}}]}},
    }
    for allowed, findings in ((frozenset[str](), 0), (DEVICES, 1)):
        assert len(Page(allowed).ask("validate", text=json.dumps(claim))["findings"]) == findings


def test_answers_of_tenants_are_as_the_document_says() -> None:
    import jsonschema

    document = openapi.document()
    page = Page(OWN | DEVICES)
    for name in ("cluster", "map", "node", "pools", "pool", "doctor"):
        content = document["paths"][f"/api/v1/{name}"]["get"]["responses"]["200"]["content"]
        schema = {**content["application/json"]["schema"], "components": document["components"]}
        answer = page.ask(name, **QUESTIONS.get(name, [{}])[0])
        jsonschema.Draft202012Validator(schema).validate(answer)

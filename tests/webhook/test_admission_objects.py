"""The object of a review: decoded once, and changed by nobody."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from advice.lints import Facts
from cluster.store import Collection
from conversion.hub import hub_object
from quota.counted_parts import counted_part_of_claim
from resourceapi import decoding
from resourceapi.field_errors import FieldError, Path
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node
from tests.quota.fake_api import QUOTAS, FakeApi
from tests.quota.test_enforcement import Setup
from tests.webhook.examples import ADMIN, NOW, admission, claim, context, conversion, server
from tests.webhook.test_feasibility import PROFILE, SLICES, device_class
from tests.webhook.test_policies import CONFIG_SCHEMA, GPU, SCHEMA_KEY
from tests.webhook.test_quota import Asked
from validation.requests import UPDATE
from webhook import feasibility
from webhook.admission_objects import AdmissionObject, VerdictCache, admission_object
from webhook.context import Context
from webhook.converting import convert
from webhook.devices import DeviceIndex
from webhook.feasibility import Feasibility
from webhook.label_guard import LabelGuard, LabelRule
from webhook.mutating import mutate
from webhook.policies import AdminAccess, OpaqueParameters
from webhook.prescheduled import PreScheduledPods
from webhook.reviews import WebhookError, parse_admission
from webhook.schemas import compile_schema
from webhook.validating import validate

VERSIONS = ("v1", "v1beta2", "v1beta1")


class Looking:
    """A policy, and a feasibility policy, that keep what they are given and find nothing wrong with it."""

    name = "looking"
    mode = "Enforce"
    is_for_known_clients = True

    def __init__(self) -> None:
        self.objects: list[Object] = []
        self.specs: list[Object] = []

    def check(self, obj: AdmissionObject) -> list[FieldError]:
        """Keep the object."""
        self.objects.append(obj.hub)
        return []

    def problems(self, spec: Object, at: Path) -> list[tuple[Path, str]]:
        """Keep the spec."""
        self.specs.append(spec)
        return []


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of all objects that are decoded, one entry each time."""
    found: list[str] = []

    class Counting(decoding._State):
        def __init__(self, schema: Any, root: str, *more: Any) -> None:
            found.append(root)
            super().__init__(schema, root, *more)

    monkeypatch.setattr(decoding, "_State", Counting)
    return found


def everything(*, rules: bool) -> tuple[Context, Looking, Asked]:
    """A context in which all who can look at a claim do so."""
    looking, asked = Looking(), Asked()
    policies = (looking, AdminAccess("Enforce", []))
    made = context(rules=rules, policies=policies, quota=asked, feasibility=looking)
    return made, looking, asked


def configured() -> tuple[Context, FakeApi]:
    """A context with all that a configuration can switch on, and the API server that quota asks."""
    nodes = Collection(read_node)
    nodes.replace([{"metadata": {"name": "node-1"}}])
    devices = DeviceIndex(PROFILE, nodes)
    devices.slices.replace(copy.deepcopy(SLICES))
    devices.device_classes.replace([device_class("gpu.example.com")])
    devices.patches.replace([])
    facts = Facts(PROFILE, complete=["DeviceClass"])
    facts.learn(device_class("other"))
    quota = Setup({"gpu.example.com.deviceclass.resource.k8s.io/devices": "9"})
    quota.observed.is_for_known_clients = False
    label = LabelRule("other")
    made = Context(
        server=server(labels=ADMIN),
        rules=True,
        policies=(
            AdminAccess("Warn", [label]),
            OpaqueParameters("Warn", {SCHEMA_KEY: compile_schema(CONFIG_SCHEMA)}),
        ),
        facts=facts,
        quota=quota.observed,
        labels=LabelGuard("Enforce", [label], users=(), groups=()),
        pods=PreScheduledPods("Enforce", str),
        feasibility=Feasibility("Warn", devices, PROFILE),
    )
    return made, quota.api


def stored(version: str) -> Object:
    """A claim as the API server has stored it."""
    obj = claim(version, allocationMode="ExactCount", count=1)
    return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}


@pytest.mark.parametrize("rules", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_each_object_is_decoded_once(version: str, rules: bool, decoded: list[str]) -> None:
    """Rules, policies, feasibility and quota share one decoded request, for specs that are new or known."""
    made, looking, asked = everything(rules=rules)
    for name in ("new", "known"):
        obj = {**claim(version), "metadata": {"name": name, "namespace": "team"}}
        assert validate(admission(obj), made)["response"]["allowed"]
        assert decoded == ["ResourceClaim"]
        decoded.clear()
    assert len(looking.objects) == len(looking.specs) == len(asked.claims) == 2
    changed = copy.deepcopy(stored(version))
    changed["metadata"]["labels"] = {"a": "b"}
    assert validate(admission(changed, stored(version)), made)["response"]["allowed"]
    assert decoded == ["ResourceClaim"] * 2


@pytest.mark.parametrize("admin", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_all_policies_decode_once(
    version: str, admin: bool, decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every policy there is, feasibility, quota and lints, each with something to say, for new specs and known ones."""
    monkeypatch.setattr(feasibility, "SECONDS", 60.0)
    made, api = configured()
    decoded.clear()
    for name in ("new", "known"):
        obj = {**claim(version, adminAccess=admin), "metadata": {"name": name, "namespace": "team"}}
        selector = {"cel": {"expression": "device.driver == 'none'"}}
        (request,) = obj["spec"]["devices"]["requests"]
        request.get("exactly", request)["selectors"] = [selector]
        parameters = {"apiVersion": SCHEMA_KEY.api_version, "kind": SCHEMA_KEY.kind, "share": 2}
        obj["spec"]["devices"]["config"] = [{"opaque": {"driver": GPU, "parameters": parameters}}]
        mutate(admission(obj), made)
        assert decoded == ["ResourceClaim"]
        response = validate(admission(obj), made)["response"]
        assert [kind for kind in decoded if kind != "ResourceQuota"] == ["ResourceClaim"] * 2
        decoded.clear()
        assert response["allowed"]
        warned = {"opaque-parameters", "feasibility", *(["admin-access"] if admin else [])}
        assert response["auditAnnotations"] == dict.fromkeys(warned, "warned")
        assert any(text.startswith("CC002") for text in response["warnings"])
    assert QUOTAS in [path for _, path in api.requests]


@pytest.mark.parametrize("version", VERSIONS)
def test_rules_alone_decode_once(version: str, decoded: list[str]) -> None:
    """Without policies, too; where nobody looks at objects they are not decoded at all."""
    for name in ("new", "known"):
        obj = {**claim(version), "metadata": {"name": name, "namespace": "team"}}
        validate(admission(obj), made := context())
        mutate(admission(obj), made)
        assert decoded == ["ResourceClaim"] * 2
        decoded.clear()
    validate(admission(claim(version)), context(rules=False))
    mutate(admission(claim(version)), context(rules=False))
    assert decoded == []


def test_the_other_webhooks_decode_once(decoded: list[str]) -> None:
    """The mutating webhook decodes an object and the stored one, conversion each object that it converts."""
    mutate(admission(stored("v1"), stored("v1")), context())
    assert decoded == ["ResourceClaim"] * 2
    decoded.clear()
    convert(conversion([claim("v1"), claim("v1beta1"), claim("v1beta1")], "v1"), context())
    assert decoded == ["ResourceClaim"] * 2


@pytest.mark.parametrize("version", VERSIONS)
def test_all_see_the_object_that_was_sent(version: str) -> None:
    """With its defaults, and whatever the rules have put back or dropped; quota sees the part that counts."""
    made, looking, asked = everything(rules=True)
    obj = claim(version, capacity={"requests": {"memory": "1Gi"}})
    obj["status"] = {}
    obj["metadata"] |= {"uid": "u", "generation": 7}
    sent = copy.deepcopy(obj)
    assert validate(admission(obj), made)["response"]["allowed"]
    assert obj == sent
    whole = hub_object(sent, SCHEMAS, defaults=NOW)
    assert looking.objects == [whole]
    assert looking.specs == [whole["spec"]]
    assert [charged for _, charged, _ in asked.claims] == [counted_part_of_claim(whole)]


def test_dropping_leaves_the_object_alone() -> None:
    """Fields of features that are off are dropped from the answer only."""
    derived = [{"name": "example.com/rank", "expression": "1"}]
    obj = admission_object(parse_admission(admission(claim(derivedAttributes=derived))), server())
    assert obj is not None
    before = copy.deepcopy(obj.hub)
    answer = obj.answer()
    assert answer.object is not None
    assert "derivedAttributes" not in answer.object["spec"]["devices"]["requests"][0]["exactly"]
    assert obj.hub == before
    assert obj.hub["spec"]["devices"]["requests"][0]["exactly"]["derivedAttributes"] == derived


@pytest.mark.parametrize("shared", [False, True])
def test_a_known_spec_leaves_the_request_alone(shared: bool) -> None:
    """Whoever looks at the object after the verdict sees what was sent, not the spec that was judged in its place."""
    cache = VerdictCache()
    for _ in ("new", "known"):
        obj = admission_object(parse_admission(admission(claim())), server())
        assert obj is not None
        obj.verdict(cache, others_read_spec=shared)
        assert obj.hub == hub_object(claim(), SCHEMAS, defaults=NOW)


def test_requests_cannot_be_changed() -> None:
    """Neither as they came nor decoded."""
    obj = admission_object(parse_admission(admission(claim())), server())
    assert obj is not None
    for request in (obj._request, obj.decoded):
        for name in request._fields:
            with pytest.raises(AttributeError):
                setattr(request, name, None)


@pytest.mark.parametrize(
    ("change", "is_new"),
    [({}, False), ({"count": 2}, True), ({"allocationMode": "All", "count": None}, True)],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_whether_a_spec_is_new(version: str, change: dict[str, Any], is_new: bool) -> None:
    """Defaults that are filled in change nothing, nor does what was stored without them."""
    for old in (claim(version), stored(version)):
        for new in (claim(version, **change), claim(version, allocationMode="ExactCount", count=1)):
            has_change = is_new and new == claim(version, **change)
            obj = admission_object(parse_admission(admission(new, old)), server())
            assert obj is not None
            assert obj.has_new_spec == has_change


def test_reviews_without_an_object() -> None:
    """Deletions, other kinds and groups, versions that do not exist, and subresources but the status."""
    assert admission_object(parse_admission(admission(None, claim())), server()) is None
    for change in ({"kind": "Pod"}, {"apiVersion": "v1"}, {"apiVersion": "resource.k8s.io/v1alpha1"}):
        assert admission_object(parse_admission(admission({**claim(), **change})), server()) is None
    review = admission(claim(), claim(), subresource="finalizers")
    assert admission_object(parse_admission(review), server()) is None
    status = admission_object(parse_admission(admission(claim(), claim(), subresource="status")), server())
    assert status is not None
    assert not status.has_new_spec


def test_objects_that_cannot_be_decoded() -> None:
    """Policies have nothing to look at; quota and rules say what is wrong."""
    broken = {**claim(), "spec": {"devices": {"requests": 1}}}
    obj = admission_object(parse_admission(admission(broken)), server())
    assert obj is not None
    assert not obj.has_new_spec
    with pytest.raises(WebhookError) as raised:
        obj.new_claim()
    prefix = 'request.object: ResourceClaim in version "v1" cannot be handled as a ResourceClaim: json: '
    assert str(raised.value).startswith(prefix)
    assert obj.answer().code == 400
    update = admission_object(parse_admission(admission(claim(), broken)), server())
    assert update is not None
    assert update._request.verb == UPDATE
    assert not update.has_new_spec
    with pytest.raises(WebhookError, match=r"request\.oldObject cannot be decoded"):
        update.answer()

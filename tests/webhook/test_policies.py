"""Policies: what they refuse, where the causes are, and what a policy in Warn mode does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from resourceapi.json_text import parse
from tests.webhook.examples import admission, claim, context
from tests.webhook.serving import FAST, GENERAL, serving
from webhook.label_guard import LabelRule
from webhook.policies import MAX_DEPTH, AdminAccess, OpaqueParameters, SchemaKey
from webhook.schemas import compile_schema
from webhook.validating import validate

EXISTS, EXACT = LabelRule("admin-access.dra.example.com"), LabelRule("admin", "true")
GPU = "gpu.example.com"
CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "apiVersion": {},
        "kind": {},
        "sharing": {"enum": ["TimeSlicing", "MPS"]},
        "name": {"pattern": "^[a-z]+$"},
        "share": {"type": "number", "maximum": 1},
    },
    "additionalProperties": False,
}
SCHEMA_KEY = SchemaKey(GPU, "gpu.example.com/v1", "GpuConfig")


def refused(
    review: dict[str, Any], *policies: Any, labels: dict[str, str] | None = None
) -> list[tuple[str, str]]:
    """Field and message of each cause, none if the object is admitted."""
    response = validate(review, context(rules=False, labels=labels, policies=policies))["response"]
    if response["allowed"]:
        return []
    assert response["status"]["code"] == 422
    return [(cause["field"], cause["message"]) for cause in response["status"]["details"]["causes"]]


@pytest.mark.parametrize(
    ("labels", "admitted"),
    [
        ({}, False),
        ({"admin-access.dra.example.com": ""}, True),
        ({"admin-access.dra.example.com": "false"}, True),
        ({"admin": "false"}, False),
        ({"admin": "true"}, True),
    ],
)
def test_admin_access_needs_a_label(labels: dict[str, str], admitted: bool) -> None:
    """One of the labels is enough: by its value, or by being there where no value is configured."""
    policy = AdminAccess("Enforce", [EXISTS, EXACT])
    assert (refused(admission(claim(adminAccess=True)), policy, labels=labels) == []) == admitted


TREE = {"properties": {"a": {"$ref": "#"}, "n": {"multipleOf": 0.01}}}


def nested(levels: int) -> str:
    """A member `a` with so many objects in one another; all is in one more."""
    return '"a": ' + '{"a": ' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('"n": 1e400', "has a number that is too large to be checked"),
        (f'"n": {10**3000}', "has a number that is too large to be checked"),
        (f'"n": {10**3000}.5', "has a number that is too large to be checked"),
        (nested(MAX_DEPTH), "is nested too deeply to be checked"),
        (nested(MAX_DEPTH - 1), None),
        ('"tree": {"a": 1}, "tree": {}', 'has the key "tree" twice'),
        ('"tree": {"b": [{"a": 1, "a": 2}]}', 'has the key "a" twice'),
        ('"tree": {"maxMemory": 1, "MaxMemory": 2}', 'has the key "MaxMemory" twice'),
    ],
    ids=[
        "infinite",
        "long",
        "long-fraction",
        "too-deep",
        "deep",
        "repeated",
        "repeated-within",
        "other-case",
    ],
)
def test_parameters_that_cannot_be_checked(more: str, message: str | None) -> None:
    """Whatever a driver's parameters are, there is an answer, at their place."""
    text = f'{{"apiVersion": "{SCHEMA_KEY.api_version}", "kind": "{SCHEMA_KEY.kind}", {more}}}'
    obj = claim()
    obj["spec"]["devices"]["config"] = [{"opaque": {"driver": GPU, "parameters": parse(text)}}]
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(TREE)})
    found = refused(admission(obj), policy)
    assert [field for field, _ in found] == ["spec.devices.config[0].opaque.parameters"] * len(found)
    assert [message in text for _, text in found] == [True] if message else found == []


@pytest.mark.parametrize(
    ("version", "field"),
    [
        ("v1", "spec.devices.requests[0].exactly.adminAccess"),
        ("v1beta2", "spec.devices.requests[0].exactly.adminAccess"),
        ("v1beta1", "spec.devices.requests[0].adminAccess"),
    ],
)
def test_admin_access_is_found_in_every_version(version: str, field: str) -> None:
    """The cause is at the field of the version that was sent, and says what is missing."""
    message = (
        "Forbidden: admin access needs the label `admin-access.dra.example.com` or `admin: true` "
        "on the namespace, which 'team' does not have"
    )
    review = admission(claim(version, adminAccess=True))
    assert refused(review, AdminAccess("Enforce", [EXISTS, EXACT])) == [(field, message)]


def test_templates_count_too() -> None:
    """A template is judged by the claim in it."""
    template = {**claim(), "kind": "ResourceClaimTemplate", "spec": {"spec": claim(adminAccess=True)["spec"]}}
    ((field, _),) = refused(admission(template), AdminAccess("Enforce", [EXACT]))
    assert field == "spec.spec.devices.requests[0].exactly.adminAccess"


def test_other_claims_need_no_label() -> None:
    """Claims without admin access are admitted anywhere."""
    assert refused(admission(claim(adminAccess=False)), AdminAccess("Enforce", [EXACT])) == []


def test_warn_mode_admits() -> None:
    """In Warn mode the cause becomes a warning; the audit log gets to know in either mode."""
    policy = AdminAccess("Warn", [EXACT])
    response = validate(admission(claim(adminAccess=True)), context(rules=False, policies=[policy]))[
        "response"
    ]
    assert response["allowed"]
    assert response["warnings"][0].startswith("spec.devices.requests[0].exactly.adminAccess: Forbidden: ")
    assert response["auditAnnotations"] == {"admin-access": "warned"}


def test_unchanged_specs_are_left_alone() -> None:
    """What was admitted before the policy can still get labels, finalizers and a status."""
    old = claim(adminAccess=True)
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}
    policy = AdminAccess("Enforce", [EXACT])
    assert refused(admission(new, old), policy) == []
    assert refused(admission({**old, "status": {}}, old, subresource="status"), policy) == []


def test_rules_and_policies_are_reported_together() -> None:
    """One answer has the causes of both."""
    review = admission(claim(count=-1, adminAccess=True))
    judged = context(policies=[AdminAccess("Enforce", [EXACT])])
    causes = validate(review, judged)["response"]["status"]["details"]["causes"]
    assert [cause["field"].rpartition(".")[2] for cause in causes].count("adminAccess") == 2
    assert any(cause["field"].endswith("count") for cause in causes)


def configured(parameters: Any, driver: str = GPU) -> dict[str, Any]:
    """The review of a claim with parameters for a driver."""
    obj = claim()
    obj["spec"]["devices"]["config"] = [{"opaque": {"driver": driver, "parameters": parameters}}]
    return admission(obj)


NAMED = {"apiVersion": "gpu.example.com/v1", "kind": "GpuConfig"}
AT = "spec.devices.config[0].opaque.parameters"
PARAMETERS: dict[str, tuple[Any, list[tuple[str, str]]]] = {
    "good": ({**NAMED, "sharing": "MPS", "share": 0.5}, []),
    "not-in-the-enum": (
        {**NAMED, "sharing": "All"},
        [(f"{AT}.sharing", "Invalid value: \"All\": 'All' is not one of ['TimeSlicing', 'MPS']")],
    ),
    "pattern": (
        {**NAMED, "name": "A"},
        [(f"{AT}.name", "Invalid value: \"A\": 'A' does not match '^[a-z]+$'")],
    ),
    "number": (
        {**NAMED, "share": 1.5},
        [(f"{AT}.share", 'Invalid value: "1.5": 1.5 is greater than the maximum of 1')],
    ),
    "no-kind": (
        {"apiVersion": "gpu.example.com/v1"},
        [
            (
                f"{AT}.kind",
                "Required value: parameters for driver gpu.example.com must have an apiVersion and a kind",
            )
        ],
    ),
    "other-version": (
        {**NAMED, "apiVersion": "gpu.example.com/v2"},
        [
            (
                f"{AT}.apiVersion",
                'Unsupported value: "gpu.example.com/v2": supported values: "gpu.example.com/v1"',
            )
        ],
    ),
    "other-kind": (
        {**NAMED, "kind": "Other"},
        [(f"{AT}.kind", 'Unsupported value: "Other": supported values: "GpuConfig"')],
    ),
    "no-object": ([1], [(AT, 'Invalid value: "[1]": must be an object')]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_opaque_parameters(name: str) -> None:
    """Parameters for a driver with schemas have to be of a known kind and to follow its schema."""
    parameters, causes = PARAMETERS[name]
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(CONFIG_SCHEMA)})
    assert refused(configured(parameters), policy) == causes


def test_unknown_fields_are_named() -> None:
    """What the schema does not allow is named."""
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(CONFIG_SCHEMA)})
    ((field, message),) = refused(configured({**NAMED, "shring": "MPS"}), policy)
    assert field == AT
    assert "'shring' was unexpected" in message


def test_other_drivers_are_free() -> None:
    """Parameters for a driver without schemas are not looked at."""
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(CONFIG_SCHEMA)})
    assert refused(configured({"a": 1}, driver="nic.example.com"), policy) == []


def test_classes_have_parameters_too() -> None:
    """The configuration in a DeviceClass is checked as well."""
    config = [{"opaque": {"driver": GPU, "parameters": {**NAMED, "sharing": "All"}}}]
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "c"},
        "spec": {"config": config},
    }
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(CONFIG_SCHEMA)})
    ((field, _),) = refused(admission(device_class), policy)
    assert field == "spec.config[0].opaque.parameters.sharing"


def test_many_violations_are_cut() -> None:
    """However many there are, the answer stays readable."""
    schema = compile_schema({"properties": {"list": {"items": {"type": "string"}}}})
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: schema})
    causes = refused(configured({**NAMED, "list": list(range(100))}), policy)
    assert len(causes) == 11
    assert causes[-1] == (AT, "Invalid value: ...: there are more violations of the schema")


def test_references_within_the_schema() -> None:
    """Definitions can be used by reference."""
    schema = compile_schema({"$defs": {"a": {"const": 1}}, "properties": {"a": {"$ref": "#/$defs/a"}}})
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: schema})
    assert [field for field, _ in refused(configured({**NAMED, "a": 2}), policy)] == [f"{AT}.a"]


def alternatives(reference: dict[str, str], **more: Any) -> dict[str, Any]:
    """A schema that refers to itself in two alternatives, of which each fails after it has been followed."""
    ways = [{"properties": {"a": reference}, "required": [name]} for name in ("x", "y")]
    return {**more, "pattern": "counted", "anyOf": ways}


DRAFTS = "https://json-schema.org/draft"
MULTIPLYING: dict[str, dict[str, Any]] = {
    "plain": alternatives({"$ref": "#"}),
    "named-draft": alternatives({"$ref": "#"}, **{"$schema": f"{DRAFTS}/2020-12/schema"}),
    "old-draft": alternatives({"$ref": "#"}, **{"$schema": "http://json-schema.org/draft-07/schema#"}),
    "dynamic": alternatives({"$dynamicRef": "#n"}, **{"$dynamicAnchor": "n"}),
    "recursive": alternatives({"$recursiveRef": "#"}, **{"$schema": f"{DRAFTS}/2019-09/schema"}),
    "unevaluated": {
        "pattern": "counted",
        "properties": {"a": {"anyOf": [{"$ref": "#"}]}},
        "allOf": [{"properties": {"a": {"$ref": "#"}}}],
        "unevaluatedProperties": True,
    },
}


@pytest.mark.parametrize("name", MULTIPLYING)
def test_alternatives_do_not_multiply(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of parameters ends when it has taken too much, for all configurations of a claim together."""
    applied = 0

    def pattern(*_: Any) -> tuple[()]:
        nonlocal applied
        applied += 1
        return ()

    monkeypatch.setattr("webhook.schemas._pattern", pattern)
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(MULTIPLYING[name])})
    applied = 0
    review = configured({**NAMED, **json.loads("{" + nested(14) + "}")})
    config = review["request"]["object"]["spec"]["devices"]["config"]
    config.append(config[0])
    causes = refused(review, policy)
    assert applied < 20_000
    assert {message for _, message in causes} == {"Invalid value: ...: is too complex to be checked"}
    assert len(causes) == 2


def test_a_list_below_alternatives_counts() -> None:
    """What is looked at between two references counts as well."""
    ways = [
        {"properties": {"a": {"$ref": "#"}, "l": {"items": {"type": "integer"}}}, "required": [name]}
        for name in ("x", "y")
    ]
    value: dict[str, Any] = {"l": [1] * 4000}
    for _ in range(7):
        value = {"a": value}
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema({"anyOf": ways})})
    assert refused(configured({**NAMED, **value}), policy) == [
        (AT, "Invalid value: ...: is too complex to be checked")
    ]


def test_large_trees_are_checked() -> None:
    """A schema that refers to itself once for each value follows a tree of a thousand nodes."""
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z0-9]+$", "maxLength": 10},
            "children": {"type": "array", "items": {"oneOf": [{"type": "null"}, {"$ref": "#"}]}},
        },
    }
    nodes: list[dict[str, Any]] = [{"name": f"n{number}", "children": []} for number in range(1_000)]
    for number in range(1, 1_000):
        nodes[(number - 1) // 2]["children"].append(nodes[number])
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(schema)})
    assert refused(configured({**NAMED, **nodes[0]}), policy) == []
    nodes[999]["name"] = "N"
    assert len(refused(configured({**NAMED, **nodes[0]}), policy)) == 1


@pytest.mark.parametrize("headers", [FAST, GENERAL], ids=["direct", "general"])
def test_repeated_keys_come_with_a_review(headers: dict[str, str]) -> None:
    """API servers pass parameters on as they were sent; a key that is there twice in a review is refused."""
    policy = OpaqueParameters("Enforce", {SCHEMA_KEY: compile_schema(TREE)})
    body = json.dumps(configured({**NAMED, "tree": {"a": "first"}})).replace('"tree"', '"tree": {}, "tree"')
    with serving(context(rules=False, policies=[policy])) as served:
        code, text = served.ask(body.encode(), headers=headers)
    assert code == 200
    assert 'has the key \\"tree\\" twice' in text.decode()

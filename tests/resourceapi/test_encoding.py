"""Objects are written as the server returns and prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resourceapi.decoding import decode
from resourceapi.encoding import encode, go_json
from resourceapi.json_text import parse
from resourceapi.model.versions import SCHEMAS, V1, V1BETA1
from resourceapi.schema import Schema

RETURNED: dict[str, tuple[Schema, str, str, str]] = {
    "empty-claim": (
        V1,
        "ResourceClaim",
        "{}",
        '{"metadata":{},"spec":{"devices":{"requests":null}},"status":{}}',
    ),
    "empty-lists": (
        V1,
        "ResourceClaim",
        (
            '{"metadata":{"labels":{}},"spec":{"devices":{"requests":[],"config":[]}},'
            '"status":{"devices":[{"conditions":[]}],"allocation":{"nodeSelector":{}}}}'
        ),
        (
            '{"metadata":{},"spec":{"devices":{"requests":null}},"status":{"allocation":{"devices":{},'
            '"nodeSelector":{"nodeSelectorTerms":null}},'
            '"devices":[{"driver":"","pool":"","device":"","conditions":null}]}}'
        ),
    ),
    "flat-request": (
        V1BETA1,
        "ResourceClaim",
        '{"spec":{"devices":{"requests":[{"firstAvailable":[{"name":"a","capacity":{}}],"name":"m"}]}}}',
        (
            '{"metadata":{},"spec":{"devices":{"requests":[{"name":"m","deviceClassName":"",'
            '"firstAvailable":[{"name":"a","deviceClassName":"","capacity":{}}]}]}},"status":{}}'
        ),
    ),
    "quantities-and-raw-json": (
        V1,
        "ResourceSlice",
        '{"spec":{"devices":[{"capacity":{"b":{"value":"1.5Gi"},"a":{}}}]}}',
        (
            '{"metadata":{},"spec":{"driver":"","pool":{"name":"","generation":0,"resourceSliceCount":0},'
            '"devices":[{"name":"","capacity":{"a":{"value":"0"},"b":{"value":"1536Mi"}}}]}}'
        ),
    ),
    "raw-json": (
        V1,
        "DeviceClass",
        '{"spec":{"config":[{"opaque":{"parameters":{"b":1,"a":[]}}},{"opaque":{}},{}]}}',
        (
            '{"metadata":{},"spec":{"config":[{"opaque":{"driver":"","parameters":{"b":1,"a":[]}}},'
            '{"opaque":{"driver":"","parameters":null}},{}]}}'
        ),
    ),
    "zero-time": (
        V1,
        "DeviceTaintRule",
        (
            '{"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"},'
            '"spec":{"taint":{"timeAdded":"0001-01-01T00:00:00Z"}},"status":{"conditions":[{}]}}'
        ),
        (
            '{"metadata":{},"spec":{"taint":{"key":"","effect":"","timeAdded":null}},"status":{"conditions":'
            '[{"type":"","status":"","lastTransitionTime":null,"reason":"","message":""}]}}'
        ),
    ),
}


@pytest.mark.parametrize(("schema", "kind", "text", "returned"), RETURNED.values(), ids=RETURNED)
def test_returned(schema: Schema, kind: str, text: str, returned: str) -> None:
    """Fields without omitempty are there in any case, empty lists are null, and the order is Go's."""
    encoded = encode(schema, kind, decode(schema, kind, parse(text)).object)
    assert json.dumps(encoded, separators=(",", ":")) == returned


def printed(text: str, *, internal: bool) -> str:
    spec = decode(V1, "ResourceClaim", parse('{"spec":#}'.replace("#", text))).object.get("spec", {})
    return go_json(V1, "ResourceClaimSpec", spec, internal=internal)


def test_printed() -> None:
    """In an error text, nothing has been stored yet: an empty list is one."""
    assert printed('{"devices":{"requests":[],"config":[]}}', internal=False) == '{"devices":{"requests":[]}}'


def test_printed_internal_object() -> None:
    """An internal object has Go's names and all of its fields; HTML's characters are escaped."""
    text = (
        '{"devices":{"requests":[{"name":"a","exactly":{"selectors":[{"cel":{"expression":"1 < 2"}}]}}],'
        '"config":[{"opaque":{"driver":"d","parameters":{"b": 1, "a": "&"}}},{}],"constraints":[]}}'
    )
    assert printed(text, internal=True) == (
        '{"Devices":{"Requests":[{"Name":"a","Exactly":{"DeviceClassName":"",'
        '"Selectors":[{"CEL":{"Expression":"1 \\u003c 2"}}],"AllocationMode":"","Count":0,"AdminAccess":null,'
        '"Tolerations":null,"Capacity":null,"DerivedAttributes":null},"FirstAvailable":null}],"Constraints":[],'
        '"Config":[{"Requests":null,"Opaque":{"Driver":"d","Parameters":{"b":1,"a":"\\u0026"}}},'
        '{"Requests":null,"Opaque":null}]}}'
    )


def test_printed_metadata_keeps_json_names() -> None:
    """Metadata are the same type in all versions, embedded in internal objects."""
    spec = {"metadata": {"labels": {"b": "2", "a": "1"}}}
    assert go_json(V1, "ResourceClaimTemplateSpec", spec, internal=True) == (
        '{"labels":{"a":"1","b":"2"},"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}'
    )
    assert go_json(V1, "ResourceClaimTemplateSpec", spec) == (
        '{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"devices":{"requests":null}}}'
    )


def test_printed_values() -> None:
    """Values of any type can be printed; what is not set is null."""
    requests = V1["DeviceClaim"]["requests"].type
    assert go_json(V1, requests, [{"name": "a"}]) == '[{"name":"a"}]'
    assert go_json(V1, requests, None) == "null"


@pytest.mark.parametrize("kind", ["deviceclass", "resourceclaim", "resourceclaimtemplate", "resourceslice"])
def test_stored_objects_come_back_the_same(shared: Path, kind: str) -> None:
    """What the server returned is decoded and encoded to the very same text."""
    for line in (shared / "corpus" / f"{kind}.jsonl").read_text().splitlines()[::7]:
        case = json.loads(line.replace("<now>", "2026-01-01T00:00:00Z"))
        returned: dict[str, Any] | None = case["expect"].get("object")
        if returned is None or '"timeAdded": null' in json.dumps(returned):
            continue
        schema = SCHEMAS[case["apiVersion"].rpartition("/")[2]]
        decoded = decode(schema, case["kind"], returned)
        assert not decoded.problems
        encoded = {
            "kind": case["kind"],
            "apiVersion": case["apiVersion"],
            **encode(schema, case["kind"], decoded.object),
        }
        assert json.dumps(encoded) == json.dumps(returned)

"""Objects are decoded as strictly as the server decodes them."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.decoding import DecodingError, decode
from resourceapi.field_errors import Key
from resourceapi.json_text import Raw, parse
from resourceapi.model.versions import V1, V1BETA1
from resourceapi.quantity import Quantity
from resourceapi.quantity import parse as quantity
from resourceapi.schema import Schema


def claim(request: str) -> str:
    return '{"spec":{"devices":{"requests":[#]}}}'.replace("#", request)


def device(fields: str) -> str:
    return '{"spec":{"devices":[{#}]}}'.replace("#", fields)


CLAIM, SLICE, CLASS, RULE = "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule"

WRONG: dict[str, tuple[Schema, str, str, str]] = {
    "number-for-a-named-string": (
        V1BETA1,
        CLAIM,
        claim('{"firstAvailable":[{"allocationMode":5}]}'),
        (
            "json: cannot unmarshal number into Go struct field "
            "DeviceSubRequest.spec.devices.requests.firstAvailable.allocationMode of type v1beta1.DeviceAllocationMode"
        ),
    ),
    "embedded-struct": (
        V1,
        CLASS,
        '{"spec":{"config":[{"opaque":{"driver":["x"]}}]}}',
        (
            "json: cannot unmarshal array into Go struct field "
            "OpaqueDeviceConfiguration.spec.config.DeviceConfiguration.opaque.driver of type string"
        ),
    ),
    "pointer-in-embedded-struct": (
        V1,
        CLASS,
        '{"spec":{"config":[{"opaque":5}]}}',
        (
            "json: cannot unmarshal number into Go struct field "
            "DeviceClassConfiguration.spec.config.DeviceConfiguration.opaque of type v1.OpaqueDeviceConfiguration"
        ),
    ),
    "shared-type": (
        V1BETA1,
        CLASS,
        '{"metadata":"x"}',
        "json: cannot unmarshal string into Go struct field DeviceClass.metadata of type v1.ObjectMeta",
    ),
    "list": (
        V1,
        CLASS,
        '{"spec":{"selectors":{}}}',
        "json: cannot unmarshal object into Go struct field DeviceClassSpec.spec.selectors of type []v1.DeviceSelector",
    ),
    "entry-of-a-list": (
        V1,
        CLASS,
        '{"spec":{"selectors":["x"]}}',
        "json: cannot unmarshal string into Go struct field DeviceClassSpec.spec.selectors of type v1.DeviceSelector",
    ),
    "value-of-a-map": (
        V1,
        SLICE,
        device('"capacity":{"a":"1Gi"}'),
        "json: cannot unmarshal string into Go struct field Device.spec.devices.capacity of type v1.DeviceCapacity",
    ),
    "map": (
        V1,
        SLICE,
        device('"attributes":[]'),
        (
            "json: cannot unmarshal array into Go struct field Device.spec.devices.attributes "
            "of type map[v1.QualifiedName]v1.DeviceAttribute"
        ),
    ),
    "boolean-for-a-pointer": (
        V1,
        SLICE,
        device('"nodeName":true'),
        "json: cannot unmarshal bool into Go struct field Device.spec.devices.nodeName of type string",
    ),
    "integer-above-the-greatest": (
        V1,
        CLAIM,
        claim('{"exactly":{"count":9223372036854775808}}'),
        (
            "json: cannot unmarshal number 9223372036854775808 into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64"
        ),
    ),
    "integer-with-a-fraction": (
        V1,
        CLAIM,
        claim('{"exactly":{"count":1.0}}'),
        (
            "json: cannot unmarshal number 1.0 into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64"
        ),
    ),
    "integer-with-an-exponent": (
        V1,
        CLAIM,
        claim('{"exactly":{"count":1e2}}'),
        (
            "json: cannot unmarshal number 1e2 into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64"
        ),
    ),
    "text-for-an-integer": (
        V1,
        CLAIM,
        claim('{"exactly":{"count":"1"}}'),
        (
            "json: cannot unmarshal string into Go struct field "
            "ExactDeviceRequest.spec.devices.requests.exactly.count of type int64"
        ),
    ),
    "first-of-two-wrong-types": (
        V1,
        CLAIM,
        claim('{"name":1,"bogus":2,"exactly":3}'),
        "json: cannot unmarshal number into Go struct field DeviceRequest.spec.devices.requests.name of type string",
    ),
    "bad-quantity-overrides-a-wrong-type": (
        V1,
        SLICE,
        device('"name":5,"capacity":{"a":{"value":"1 Gi"}}'),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "object-for-a-quantity": (
        V1,
        SLICE,
        device('"capacity":{"a":{"value":{"x":1}}}'),
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ),
    "suffix-of-a-quantity": (
        V1,
        SLICE,
        device('"capacity":{"a":{"value":"1ki"}}'),
        "unable to parse quantity's suffix",
    ),
    "bad-time": (
        V1,
        RULE,
        '{"spec":{"taint":{"timeAdded":"now"}}}',
        'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
    ),
    "number-for-a-time": (
        V1,
        RULE,
        '{"spec":{"taint":{"timeAdded":5}}}',
        "json: cannot unmarshal number into Go struct field DeviceTaint.spec.taint.timeAdded of type string",
    ),
    "a-list-for-the-object": (
        V1,
        RULE,
        "[]",
        "json: cannot unmarshal array into Go value of type v1.DeviceTaintRule",
    ),
    "a-number-for-the-kind": (
        V1,
        RULE,
        '{"kind":1}',
        "json: cannot unmarshal number into Go struct field DeviceTaintRule.TypeMeta.kind of type string",
    ),
}


@pytest.mark.parametrize(("schema", "kind", "text", "message"), WRONG.values(), ids=WRONG)
def test_wrong_values(schema: Schema, kind: str, text: str, message: str) -> None:
    """A value of the wrong type or form is refused with Go's text."""
    with pytest.raises(DecodingError) as error:
        decode(schema, kind, parse(text))
    assert str(error.value) == message


def test_wrong_values_have_a_path() -> None:
    """The error knows the exact place, also where the text is vague."""
    with pytest.raises(DecodingError) as error:
        decode(V1, SLICE, parse(device('"capacity":{"a":{"value":"x"}}')))
    assert error.value.path == ("spec", "devices", 0, "capacity", Key("a"), "value")


PROBLEMS: dict[str, tuple[str, str, list[str]]] = {
    "unknown-at-the-top": (CLASS, '{"Spec":{}}', ['unknown field "Spec"']),
    "unknown-in-lists": (
        CLAIM,
        claim('{"name":"a"},{"count":1,"exactly":{"x":{"y":1}}}'),
        [
            'unknown field "spec.devices.requests[1].count"',
            'unknown field "spec.devices.requests[1].exactly.x"',
        ],
    ),
    "unknown-below-a-map-key": (
        SLICE,
        device('"attributes":{"a.b/c":{"Name":1}}'),
        ['unknown field "spec.devices[0].attributes.a.b/c.Name"'],
    ),
    "name-that-needs-quoting": (CLASS, '{"a\\"\\n":1}', ['unknown field "a\\"\\n"']),
    "duplicates-in-order": (
        CLAIM,
        claim('{"name":"a","name":"b","bogus":1,"bogus":2,"name":"c"}'),
        ['duplicate field "spec.devices.requests[0].name"', 'unknown field "spec.devices.requests[0].bogus"'],
    ),
    "duplicate-map-key": (
        SLICE,
        device('"attributes":{"a":{"int":1},"b":{},"a":{"string":"x"}}'),
        ['duplicate field "spec.devices[0].attributes.a"'],
    ),
    "duplicates-in-raw-json": (CLASS, '{"spec":{"config":[{"opaque":{"parameters":{"a":1,"a":2}}}]}}', []),
    "type-of-the-object": (CLASS, '{"kind":"x","apiVersion":null}', []),
}


@pytest.mark.parametrize(("kind", "text", "problems"), PROBLEMS.values(), ids=PROBLEMS)
def test_unknown_and_duplicate_fields(kind: str, text: str, problems: list[str]) -> None:
    """Each is reported once, in the order of the document."""
    assert [problem.text for problem in decode(V1, kind, parse(text)).problems] == problems


def test_a_hundred_problems_at_most() -> None:
    """The server stops counting at 100."""
    text = "{" + ",".join(f'"x{i}":1' for i in range(101)) + "}"
    problems = decode(V1, CLASS, parse(text)).problems
    assert len(problems) == 100
    assert problems[99].text == 'unknown field "x99"'
    assert problems[99].path == ("x99",)


NORMAL: dict[str, tuple[str, str, dict[str, Any]]] = {
    "nothing": (CLAIM, "null", {}),
    "zero-values": (CLAIM, '{"metadata":{"name":""},"spec":{"devices":{}},"status":null}', {}),
    "zero-behind-pointers": (
        SLICE,
        '{"spec":{"nodeName":"","allNodes":false}}',
        {"spec": {"nodeName": "", "allNodes": False}},
    ),
    "null-unsets": (SLICE, '{"spec":{"nodeName":null,"devices":null,"pool":null}}', {}),
    "empty-lists-and-pointers": (
        CLAIM,
        claim('{"exactly":{"selectors":[],"capacity":{}}}'),
        {"spec": {"devices": {"requests": [{"exactly": {"selectors": [], "capacity": {}}}]}}},
    ),
    "null-entries": (
        CLAIM,
        '{"spec":{"devices":{"requests":[null],"constraints":[{"requests":[null,"a"]}]}}}',
        {"spec": {"devices": {"requests": [{}], "constraints": [{"requests": ["", "a"]}]}}},
    ),
    "quantities": (
        SLICE,
        device('"capacity":{"a":{"value":2000},"b":{"value":null},"c":null}'),
        {"spec": {"devices": [{"capacity": {"a": {"value": quantity("2k")}, "b": {}, "c": {}}}]}},
    ),
    "times": (
        RULE,
        '{"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"},"spec":{"taint":{"timeAdded":"2026-01-01T01:00:00.5+01:00"}}}',
        {
            "metadata": {"creationTimestamp": "0001-01-01T00:00:00Z"},
            "spec": {"taint": {"timeAdded": "2026-01-01T00:00:00.5Z"}},
        },
    ),
    "zero-time-that-is-always-written": (
        RULE,
        '{"status":{"conditions":[{"type":"a","lastTransitionTime":"0001-01-01T00:00:00Z"}]}}',
        {"status": {"conditions": [{"type": "a"}]}},
    ),
    "raw-json": (
        CLASS,
        '{"spec":{"config":[{"opaque":{"parameters":{"a":1.0}}},{"opaque":{"parameters":null}}]}}',
        {"spec": {"config": [{"opaque": {"parameters": Raw(parse('{"a":1.0}'))}}, {"opaque": {}}]}},
    ),
    "duplicate-structs-are-merged": (
        CLAIM,
        '{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"b","labels":{"y":"2"}}}',
        {"metadata": {"name": "a", "namespace": "b", "labels": {"x": "1", "y": "2"}}},
    ),
    "duplicate-lists-are-merged-by-index": (
        CLAIM,
        '{"spec":{"devices":{"requests":[{"name":"a"},{"name":"b"}],"requests":[{"exactly":{}}]}}}',
        {"spec": {"devices": {"requests": [{"name": "a", "exactly": {}}]}}},
    ),
    "null-after-a-value": (
        SLICE,
        '{"spec":{"driver":"a","driver":null,"nodeName":"b","nodeName":null}}',
        {"spec": {"driver": "a"}},
    ),
}


@pytest.mark.parametrize(("kind", "text", "normal"), NORMAL.values(), ids=NORMAL)
def test_normal_form(kind: str, text: str, normal: dict[str, Any]) -> None:
    """A key is there only if the server's field is set."""
    assert decode(V1, kind, parse(text)).object == normal


def test_floats_from_yaml() -> None:
    """YAML has no literals any more: a client sends 1.0 as 1."""
    decoded = decode(V1, CLAIM, {"spec": {"devices": {"requests": [{"exactly": {"count": 2.0}}]}}})
    assert decoded.object["spec"]["devices"]["requests"][0]["exactly"]["count"] == 2
    with pytest.raises(DecodingError, match=r"cannot unmarshal number 1\.5 into"):
        decode(V1, CLAIM, {"spec": {"devices": {"requests": [{"exactly": {"count": 1.5}}]}}})
    with pytest.raises(DecodingError, match="cannot unmarshal number"):
        decode(V1, CLAIM, {"metadata": {"name": 1.5}})


def test_size_of_raw_json_is_that_of_its_source() -> None:
    """Spaces count for the limit of 10 KiB, as they do in the server."""
    parameters = '{"p": "' + "z" * 10_231 + '"}'
    text = '{"spec":{"config":[{"opaque":{"parameters":#}}]}}'.replace("#", parameters)
    raw = decode(V1, CLASS, parse(text), source=text).object["spec"]["config"][0]["opaque"]["parameters"]
    assert len(parameters) == 10_240
    assert not raw.exceeds(10_240)
    assert raw.exceeds(10_239)
    assert len(raw.text) == 10_239


def test_decoding_makes_a_new_object() -> None:
    """Nothing of the result is shared with the value that was given."""
    value = {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}}
    metadata = decode(V1, CLAIM, value).object["metadata"]
    metadata["labels"]["c"] = "d"
    metadata["finalizers"].append("y")
    assert value == {"metadata": {"labels": {"a": "b"}, "finalizers": ["x"]}}


def test_quantities_are_quantities() -> None:
    """They keep their amount and format."""
    value = decode(V1, SLICE, parse(device('"capacity":{"a":{"value":"1.5Gi"}}'))).object
    amount = value["spec"]["devices"][0]["capacity"]["a"]["value"]
    assert isinstance(amount, Quantity)
    assert str(amount) == "1536Mi"

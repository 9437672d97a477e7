"""The model of pods and workloads is complete in itself, and any value is read or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.decoding import DecodingError, decode
from resourceapi.encoding import encode, go_json
from resourceapi.model.versions import SCHEMAS
from resourceapi.model.workloads import KINDS, RESOURCES, TEMPLATES, schema, schema_of
from resourceapi.schema import Type

ALL_KINDS = [kind for kinds in KINDS.values() for kind in kinds]


def test_every_type_is_known() -> None:
    """From the kinds, every struct can be reached and has its fields."""
    model = schema()
    pending, seen = list(ALL_KINDS), set(ALL_KINDS)
    while pending:
        for field in model[pending.pop()].fields:
            inner: Type = field.type
            while inner.element is not None:
                inner = inner.element
            if inner.kind == "struct" and inner.struct not in seen:
                assert inner.struct in model
                seen.add(inner.struct)
                pending.append(inner.struct)
    assert len(seen) > 150


def test_tables_agree() -> None:
    """Every kind has a resource; all but pods have a template."""
    assert list(RESOURCES) == ALL_KINDS
    assert list(TEMPLATES) == ALL_KINDS[1:]


def test_kinds_belong_to_groups() -> None:
    """A kind is known in its own group and version only."""
    assert schema_of("", "v1", "Pod") is schema()
    assert schema_of("apps", "v1", "Deployment") is schema()
    assert schema_of("apps", "v1", "Pod") is None
    assert schema_of("apps", "v1beta1", "Deployment") is None


def test_types_have_their_go_names() -> None:
    """Names that error texts show: named maps, named elements, types of other packages."""
    model = schema()
    assert model["ResourceRequirements"]["limits"].type.go == "v1.ResourceList"
    assert model["Capabilities"]["add"].type.go == "[]v1.Capability"
    assert model["PersistentVolumeClaimStatus"]["allocatedResourceStatuses"].type.go == (
        "map[v1.ResourceName]v1.ClaimResourceStatus"
    )
    assert model["ObjectMeta"]["uid"].type.go == "types.UID"
    assert model["HTTPGetAction"]["port"].type.go == "intstr.IntOrString"


@pytest.mark.parametrize(
    ("port", "message"),
    [
        (1.5, "json: cannot unmarshal number 1.5 into Go struct field {} of type int32"),
        (2**31, "json: cannot unmarshal number 2147483648 into Go struct field {} of type int32"),
        ({}, "json: cannot unmarshal object into Go struct field {} of type int32"),
    ],
)
def test_integers_or_texts(port: object, message: str) -> None:
    """Where either is allowed, only a text is read as one."""
    containers = [{"livenessProbe": {"httpGet": {"port": port}}}]
    with pytest.raises(DecodingError) as error:
        decode(schema(), "Pod", {"spec": {"containers": containers}})
    # the fields of a probe's handler are embedded in the probe
    field = "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
    assert str(error.value) == message.format(field)


_NAMES = st.sampled_from(
    [
        "metadata",
        "spec",
        "name",
        "containers",
        "resources",
        "requests",
        "claims",
        "devices",
        "capacity",
        "cpu",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=3)
    | st.just("1Gi"),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(_NAMES, values, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(["Pod", "Deployment", "ResourceClaim", "ResourceSlice"]), JSON)
def test_any_value_is_read_or_refused(kind: str, value: object) -> None:
    """Nothing but a DecodingError is raised; what is read can be written and read again."""
    model = schema() if kind in ALL_KINDS else SCHEMAS["v1beta1"]
    try:
        decoded = decode(model, kind, value).object
    except DecodingError:
        return
    written = encode(model, kind, decoded)
    assert encode(model, kind, decode(model, kind, written).object) == written
    assert go_json(model, kind, decoded, internal=True)

"""How the model is written down, and what holds for all of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from resourceapi import rules
from resourceapi.gates import GATES, UNRELEASED_GATES
from resourceapi.kinds import KINDS
from resourceapi.model.versions import SCHEMAS, SCHEMAS_WITH_PROPOSALS
from resourceapi.schema import (
    BOOL,
    STRING,
    Field,
    Schema,
    Struct,
    Type,
    list_of,
    map_of,
    named,
    ref,
)

ALL = {
    f"{version}{mark}": schema
    for mark, by in (("", SCHEMAS), ("-kep", SCHEMAS_WITH_PROPOSALS))
    for version, schema in by.items()
}


@pytest.mark.parametrize(
    ("of", "go"),
    [
        pytest.param(STRING, "string", id="text"),
        pytest.param(named("DeviceTaintEffect"), "v1beta1.DeviceTaintEffect", id="named"),
        pytest.param(named("types.UID"), "types.UID", id="named-elsewhere"),
        pytest.param(ref("Device"), "v1beta1.Device", id="struct"),
        pytest.param(ref("ObjectMeta", package="v1"), "v1.ObjectMeta", id="struct-of-another-package"),
        pytest.param(list_of(ref("Device")), "[]v1beta1.Device", id="list"),
        pytest.param(map_of(STRING), "map[string]string", id="map"),
        pytest.param(
            map_of(BOOL, key="{v}.QualifiedName"), "map[v1beta1.QualifiedName]bool", id="map-with-named-keys"
        ),
        pytest.param(map_of(list_of(STRING)), "map[string][]string", id="map-of-lists"),
    ],
)
def test_names_of_go_types(of: Type, go: str) -> None:
    """Error texts name Go's types, in the package of the version."""
    assert Schema("v1beta1", ()).go_type(of) == go


def test_go_names_of_fields() -> None:
    """A field is called the same in Go, but for the first letter, unless it says otherwise."""
    assert Field("nodeName", STRING).go == "NodeName"
    assert Field("ips", STRING, go="IPs").go == "IPs"


def test_a_field_in_another_form() -> None:
    """A version can have a field with other rules, without a pointer or without gates; the original stays."""
    field = Field("a", STRING, rules.Required(), pointer=True, gates=("G",), default="x")
    optional = rules.Optional()
    assert field.with_rules(optional).rules == (optional,)
    assert not field.unpointed().pointer
    assert field.ungated().gates == ()
    assert (field.pointer, field.gates, len(field.rules), field.unpointed().default) == (True, ("G",), 1, "x")


def test_derived_schemas() -> None:
    """A derived schema has the structs of its base but for those that it overrides; nothing compiled is shared."""
    base = Schema("v1", (Struct("A", Field("a", STRING)), Struct("B")))
    derived = base.derive("v1beta1", Struct("A", Field("b", STRING)))
    assert [field.name for field in derived["A"].fields] == ["b"]
    assert [field.name for field in base["A"].fields] == ["a"]
    assert derived["B"] is base["B"]
    assert "B" in derived
    assert "C" not in derived
    assert {struct.name for struct in derived} == {"A", "B"}
    assert base.compiled("key", lambda: [1]) is base.compiled("key", lambda: [2])
    assert derived.compiled("key", lambda: [3]) == [3]


def test_showing_them() -> None:
    """In a debugger one sees what is what."""
    field = Field("a", STRING)
    assert [repr(thing) for thing in (STRING, field, Struct("A", field))] == [
        "<string string>",
        "<Field a>",
        "<Struct A>",
    ]


def _fields(schema: Schema) -> Iterator[tuple[str, Field]]:
    for struct in schema:
        for field in struct.fields:
            yield f"{struct.name}.{field.name}", field


def _innermost(of: Type) -> Type:
    return of if of.element is None else _innermost(of.element)


@pytest.mark.parametrize("version", ALL)
class TestModel:
    """What holds for every version of the API."""

    def test_has_all_its_kinds(self, version: str) -> None:
        """Every kind of a version has a struct."""
        name = version.removesuffix("-kep")
        assert all(kind.name in ALL[version] for kind in KINDS.values() if name in kind.versions)

    def test_has_no_dangling_reference(self, version: str) -> None:
        """Every struct that a field refers to is there, and knows the fields that its rules name."""
        schema = ALL[version]
        assert [
            name
            for name, field in _fields(schema)
            if (of := _innermost(field.type).struct) and of not in schema
        ] == []
        for struct in schema:
            for rule in struct.rules:
                assert isinstance(rule, rules.OneOfFields)
                assert set(rule.members) <= struct.by_name.keys()

    def test_names_are_unique(self, version: str) -> None:
        for struct in ALL[version]:
            assert len(struct.by_name) == len(struct.fields)

    def test_gates_are_known(self, version: str) -> None:
        """A field depends on gates of the table only."""
        for _, field in _fields(ALL[version]):
            assert set(field.gates) <= GATES.keys() | UNRELEASED_GATES.keys()
            assert {
                rule.gate for rule in field.rules if isinstance(rule, rules.ForbiddenWithout)
            } <= GATES.keys()

    def test_rules_fit_their_fields(self, version: str) -> None:
        """Limits of lists stand at lists, formats at texts, keys of lists are fields of their entries."""
        schema = ALL[version]
        for name, field in _fields(schema):
            for rule in field.rules:
                of = field.type
                if isinstance(rule, rules.MaxItems):
                    assert of.kind in ("list", "map"), name
                elif isinstance(rule, rules.Unique):
                    assert of.kind == "list", name
                    assert of.element is not None
                    assert not rule.keys or set(rule.keys) <= schema[of.element.struct].by_name.keys(), name
                elif isinstance(rule, rules.EachKey):
                    assert of.kind == "map", name
                elif isinstance(rule, rules.Format | rules.MaxLength | rules.MaxBytes):
                    assert of.kind == "string", name

    def test_enumerations_are_rules(self, version: str) -> None:
        """A type with an enumeration has the rule that checks it, with the same values."""
        for name, field in _fields(ALL[version]):
            of = _innermost(field.type)
            values = [rule.values for rule in of.rules if isinstance(rule, rules.OneOfValues)]
            assert values == ([tuple(sorted(of.enum))] if of.enum else []), name


@pytest.mark.parametrize("oldest_first", [True, False])
def test_former_attributes_in_any_order(oldest_first: bool) -> None:
    """The nearest release after the one that is asked for says what a field was, whichever was written down first."""
    former = [(35, "in 1.34"), (36, "in 1.35")]
    field = Field("a", STRING, default="now")
    for before, default in former if oldest_first else reversed(former):
        field = field.before(before, default=default)
    of_releases = [field.in_release(minor) for minor in (34, 35, 36)]
    assert [each and each.default for each in of_releases] == ["in 1.34", "in 1.35", "now"]

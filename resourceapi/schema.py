"""How the API model is written down: types, fields and structs.

One declaration of a field says all there is to know about it: its name in JSON and in Go, its type, how an absent
value is written, the feature gates it depends on and the rules that hold for its value wherever it stands.
Decoding, defaulting, conversion, validation, error texts, manifests and documentation are derived from it.

Objects are plain ``dict``/``list`` values in *normal form*: a key is present only if the Go field behind it is set
(a pointer that is not nil, a list or map that is not nil, a scalar that is not zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from resourceapi.measured import NEWEST

if TYPE_CHECKING:
    from resourceapi.rules import Rule

T = TypeVar("T")
#: The first release whose errors of decoding name embedded structs.
EMBEDDED_NAMED_SINCE = 35


class Type:
    """The type of a value.  ``go`` is the Go type in error texts; ``{v}`` in it stands for the package (version)."""

    __slots__ = ("element", "enum", "go", "kind", "rules", "struct")

    def __init__(
        self,
        kind: str,
        go: str,
        *,
        element: Type | None = None,
        struct: str = "",
        enum: tuple[str, ...] = (),
        rules: tuple[Rule, ...] = (),
    ) -> None:
        self.kind = (
            kind  # string bool int64 int32 quantity time microtime raw list map struct intorstring any
        )
        self.go = go
        self.element = element  # of a list, or the values of a map
        self.struct = struct  # name of the struct
        self.enum = enum  # the values of an enumeration, in the order in which errors list them
        self.rules = rules  # rules that the type itself carries, e.g. its enumeration

    @property
    def struct_within(self) -> str:
        """The struct that a value is, or that the entries of its list or map are; empty if there is none."""
        return self.struct if self.element is None else self.element.struct_within

    def __repr__(self) -> str:
        return f"<{self.kind} {self.go}>"


STRING = Type("string", "string")
BOOL = Type("bool", "bool")
INT64 = Type("int64", "int64")
INT32 = Type("int32", "int32")
QUANTITY = Type("quantity", "resource.Quantity")
TIME = Type("time", "v1.Time")
RAW = Type("raw", "runtime.RawExtension")


def named(go: str, *rules: Rule, enum: tuple[str, ...] = ()) -> Type:
    """A string type with a name of its own, e.g. ``named("DeviceTaintEffect")``."""
    return Type("string", go if "." in go else "{v}." + go, enum=enum, rules=rules)


def ref(name: str, *, package: str = "{v}") -> Type:
    """A struct by name; which struct that is depends on the version."""
    return Type("struct", f"{package}.{name}", struct=name)


def list_of(element: Type) -> Type:
    """A list of ``element``."""
    return Type("list", "[]" + element.go, element=element)


def map_of(element: Type, *, key: str = "string") -> Type:
    """A map to ``element``; ``key`` is the Go type of its keys."""
    return Type("map", f"map[{key}]{element.go}", element=element)


class Field:
    """One field of a struct.

    ``pointer``: in Go a pointer, so that unset and zero differ.  ``omitempty``: left out of JSON when empty.
    ``gates``: feature gates that must all be on for the field to be kept; ``kept``: it is kept even if they are off, but counts as use of the feature.  ``inline``: the fields of the (embedded)
    struct appear in its parent.  ``list_keys``: the fields by which clients that merge tell the entries of a list
    apart; ``is_set``: to them an entry is its own key (without either a list is replaced as a whole).  ``rules``: what must hold, in the order in which the server checks it.
    ``since`` and ``until``: the first and the last release (minor number) that has the field; ``formerly``: before which
    releases it had which other attributes.
    """

    __slots__ = (
        "default",
        "formerly",
        "gates",
        "go",
        "inline",
        "is_set",
        "kept",
        "list_keys",
        "name",
        "omitempty",
        "pointer",
        "rules",
        "since",
        "type",
        "until",
    )

    def __init__(
        self,
        name: str,
        type: Type,
        *rules: Rule,
        go: str = "",
        pointer: bool = False,
        omitempty: bool = True,
        gates: tuple[str, ...] = (),
        default: object = None,
        inline: bool = False,
        list_keys: tuple[str, ...] = (),
        is_set: bool = False,
        kept: bool = False,
        since: int = 0,
        until: int = NEWEST,
    ) -> None:
        self.name = name
        self.type = type
        self.rules = rules
        self.go = go or name[:1].upper() + name[1:]
        self.pointer = pointer
        self.omitempty = omitempty
        self.gates = gates
        self.default = default
        self.inline = inline
        self.list_keys = list_keys
        self.is_set = is_set
        self.kept = kept
        self.since = since
        self.until = until
        self.formerly: tuple[tuple[int, dict[str, object]], ...] = ()

    def __repr__(self) -> str:
        return f"<Field {self.name}>"

    def with_rules(self, *rules: Rule) -> Field:
        """The same field with other rules (a version may check them in another order)."""
        return self._but(rules=rules)

    def unpointed(self) -> Field:
        """The same field where a version has it as a plain value: zero means unset."""
        return self._but(pointer=False)

    def ungated(self) -> Field:
        """The same field where it is kept whatever the gates say."""
        return self._but(gates=())

    def before(self, minor: int, **attributes: object) -> Field:
        """The same field, which had other attributes before release 1.``minor``, whatever the order of such calls."""
        return self._but(formerly=((minor, attributes), *self.formerly))

    def last_in(self, minor: int) -> Field:
        """The same field where release 1.``minor`` is the last that has it."""
        return self._but(until=minor)

    def in_release(self, minor: int) -> Field | None:
        """The field as release 1.``minor`` has it, if it does."""
        if not self.since <= minor <= self.until:
            return None
        if not self.formerly:
            return self
        changes: dict[str, object] = {}
        for before, attributes in sorted(self.formerly, key=lambda each: -each[0]):
            if minor < before:
                changes.update(attributes)
        return self._but(**changes) if changes else self

    def _but(self, **changes: object) -> Field:
        copy = Field.__new__(Field)
        for slot in Field.__slots__:
            setattr(copy, slot, changes.get(slot, getattr(self, slot)))
        return copy


class Struct:
    """A Go struct: its name and its fields, in Go's order.

    ``rules`` are those over several fields, e.g. a union.  ``tagged``: the struct is the same in all versions and
    internally, so that the server prints it with JSON names even where it prints the internal object.  ``atomic``:
    clients that merge replace it as a whole.
    """

    __slots__ = ("atomic", "by_name", "fields", "name", "rules", "tagged")

    def __init__(
        self,
        name: str,
        *fields: Field,
        rules: tuple[Rule, ...] = (),
        tagged: bool = False,
        atomic: bool = False,
    ) -> None:
        self.name = name
        self.fields = fields
        self.rules = rules
        self.tagged = tagged
        self.atomic = atomic
        self.by_name = {field.name: field for field in fields}

    def __repr__(self) -> str:
        return f"<Struct {self.name}>"

    def __getitem__(self, name: str) -> Field:
        return self.by_name[name]

    def in_release(self, minor: int) -> Struct:
        """The struct with the fields that release 1.``minor`` has."""
        fields = tuple(field for each in self.fields if (field := each.in_release(minor)) is not None)
        if fields == self.fields:
            return self
        return Struct(self.name, *fields, rules=self.rules, tagged=self.tagged, atomic=self.atomic)


class Schema:
    """The structs of one API version.

    ``package`` is what Go error texts put before a type's name.  A derived schema overrides some structs and shares
    the rest.  Compiled forms (decoders, encoders, validators) are cached per schema through :meth:`compiled`.
    ``names_embedded``: errors of decoding name embedded structs on the way to a field, as they do since 1.35.
    """

    def __init__(
        self,
        package: str,
        structs: Iterable[Struct],
        *,
        base: Schema | None = None,
        names_embedded: bool = True,
    ) -> None:
        self.package = package
        self.names_embedded = names_embedded
        self._base = base
        self._own = tuple(structs)
        self._structs: dict[str, Struct] = dict(base._structs) if base else {}
        self._structs.update((struct.name, struct) for struct in self._own)
        self._compiled: dict[object, object] = {}

    def __getitem__(self, name: str) -> Struct:
        return self._structs[name]

    def __contains__(self, name: str) -> bool:
        return name in self._structs

    def __iter__(self) -> Iterator[Struct]:
        return iter(self._structs.values())

    def derive(self, package: str, *structs: Struct) -> Schema:
        """The schema of another version, which differs in ``structs``."""
        return Schema(package, structs, base=self)

    def go_type(self, type: Type) -> str:
        """A type's name as Go prints it in this version's package."""
        return type.go.replace("{v}", self.package)

    def in_release(self, minor: int) -> Schema:
        """The schema with the fields that release 1.``minor`` has."""

        def build() -> Schema:
            base = None if self._base is None else self._base.in_release(minor)
            structs = (struct.in_release(minor) for struct in self._own)
            return Schema(self.package, structs, base=base, names_embedded=minor >= EMBEDDED_NAMED_SINCE)

        return self.compiled(("release", minor), build)

    def compiled(self, key: object, build: Callable[[], T]) -> T:
        """``build()``, made once per ``key``."""
        if key not in self._compiled:
            self._compiled[key] = build()
        return self._compiled[key]  # type: ignore[return-value]

"""JSON values into objects in normal form, as strictly as kube-apiserver decodes them.

The rules are those of ``sigs.k8s.io/json``: names match exactly; a value of the wrong type is remembered (the first
one is reported) and decoding goes on; a bad quantity or time ends it at once and is reported instead; unknown and
duplicate fields are reported together, in the order of the document, if nothing else is wrong.

Normal form is described in :mod:`resourceapi.schema`.  Scalars are ``str``, ``int`` and ``bool``, quantities
:class:`~resourceapi.quantity.Quantity`, times texts in RFC 3339 and UTC, raw JSON :class:`~resourceapi.json_text.Raw`.
A struct that is no pointer and has nothing set is absent, like any zero value; in lists and maps every entry stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi import quantity, times
from resourceapi.errors import ClaimcheckError
from resourceapi.field_errors import Key, Path
from resourceapi.go_text import json_float, json_text, quote
from resourceapi.json_text import Raw, Sources
from resourceapi.json_values import Members, Number
from resourceapi.schema import STRING, Field, Schema, Type

MAX_PROBLEMS = 100
INT64_MAX = 2**63 - 1
INT32_MAX = 2**31 - 1

# A path while it is walked: the last segment and what is before it.
Trail = tuple[Any, Any] | None
# Decodes a value: value, trail, state, what an earlier duplicate of the field has left (or None).
Decoder = Callable[[Any, Trail, "_State", Any], Any]

# How a field is decoded: the Python type that is stored as it is, whether its zero value is kept, and the rest.
_Entry = tuple[type | None, bool, Decoder]

# What stands for "leave the target as it is": a null in a place that has no null.
_KEEP = object()


class DecodingError(ClaimcheckError):
    """A value that the server cannot read, with its text; ``path`` is where the value stands."""

    def __init__(self, text: str, path: Path) -> None:
        super().__init__(text)
        self.text = text
        self.path = path


class StrictError:
    """An unknown or duplicate field at ``path``."""

    __slots__ = ("path", "text")

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Decoded:
    """An object in normal form, and the fields that a strict server would not take."""

    __slots__ = ("object", "problems")

    def __init__(self, object: dict[str, Any], problems: list[StrictError]) -> None:
        self.object = object
        self.problems = problems


def decode(
    schema: Schema, struct: str, value: Any, *, source: str | None = None, answered: bool = False
) -> Decoded:
    """The object of a kind that a JSON value denotes; null denotes the empty object.

    ``kind`` and ``apiVersion`` are known fields, and left out of the result.

    :param value: as :func:`resourceapi.json_text.parse` or a YAML loader make it.
    :param source: the JSON text that the value was read from, if any; it tells the true size of raw JSON.
    :param answered: a server wrote the value: where it has null for a time, that is the zero time, not none.
    :raises DecodingError: for values of the wrong type, bad quantities and times.
    """
    state = _State(schema, struct, source, times.ZERO if answered else None)
    read = schema.compiled(("decode root", struct), lambda: _root_decoder(schema, struct))
    decoded = read(value, None, state, None)
    if state.error is not None:
        raise state.error
    if decoded is _KEEP:
        decoded = {}
    decoded.pop("kind", None)
    decoded.pop("apiVersion", None)
    return Decoded(decoded, state.problems)


def all_errors(schema: Schema, struct: str, value: Any) -> tuple[list[DecodingError], list[StrictError]]:
    """What :func:`decode` would refuse in a value if it went on after each error, in the order of the value.

    No error depends on another, since nothing inside a value of the wrong type is read. Of each sort a hundred are
    returned at most.

    :returns: the values that cannot be read, and the fields that a strict server would not take.
    """
    state = _State(schema, struct, None, None, errors=[])
    read = schema.compiled(("decode root", struct), lambda: _root_decoder(schema, struct))
    read(value, None, state, None)
    return state.errors or [], state.problems


def is_readable(schema: Schema, type: Type, value: Any) -> bool:
    """Whether a value can be decoded as a type with nothing left over; a null is no value."""
    state = _State(schema, "", None, None, errors=[])
    _decoder(schema, type)(value, None, state, None)
    return value is not None and not state.errors and not state.problems


class _State:
    """What one decoding has found so far.

    :param root: the struct that is decoded; empty where errors need not name it.
    :param errors: collects all errors, if given; else the first one counts, and some end the decoding.
    """

    __slots__ = ("error", "errors", "null_time", "problems", "root", "schema", "seen", "source")

    def __init__(
        self,
        schema: Schema,
        root: str,
        source: str | None,
        null_time: str | None,
        *,
        errors: list[DecodingError] | None = None,
    ) -> None:
        self.schema = schema
        self.root = root
        self.source = None if source is None else Sources(source)
        self.null_time = null_time
        self.error: DecodingError | None = None
        self.errors = errors
        self.problems: list[StrictError] = []
        self.seen: set[str] = set()

    def strict(self, what: str, trail: Trail, name: str, *, key: bool = False) -> None:
        """Notes an unknown or duplicate field: each once, a hundred at most."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        path = (*_path(trail), Key(name) if key else name)
        text = f"{what} {quote(_dotted(path))}"
        if text not in self.seen:
            self.seen.add(text)
            self.problems.append(StrictError(path, text))

    def mismatch(self, value: Any, go_type: str, trail: Trail, *, integer: bool = False) -> None:
        """Notes a value of the wrong type; only the first counts."""
        if self.errors is not None:
            self._collect(self._type_error(value, go_type, trail, integer=integer))
        elif self.error is None:
            self.error = self._type_error(value, go_type, trail, integer=integer)

    def refuse(self, error: Exception, trail: Trail) -> Any:
        """Ends the decoding with an error, unless all are collected."""
        return self._end(DecodingError(str(error), _path(trail)))

    def refuse_type(self, value: Any, go_type: str, trail: Trail, *, integer: bool = False) -> Any:
        """Ends the decoding at a value of the wrong type, unless all errors are collected."""
        return self._end(self._type_error(value, go_type, trail, integer=integer))

    def _end(self, error: DecodingError) -> Any:
        if self.errors is None:
            raise error from None
        self._collect(error)
        return _KEEP

    def _collect(self, error: DecodingError) -> None:
        if self.errors is not None and len(self.errors) < MAX_PROBLEMS:
            self.errors.append(error)

    def _type_error(self, value: Any, go_type: str, trail: Trail, *, integer: bool = False) -> DecodingError:
        path = _path(trail)
        struct, fields = _context(self.schema, self.root, path) if self.root else ("", "")
        target = f"Go struct field {struct}.{fields}" if struct else "Go value"
        found = describe(value, integer)
        return DecodingError(f"json: cannot unmarshal {found} into {target} of type {go_type}", path)


def _path(trail: Trail) -> Path:
    segments = []
    while trail is not None:
        trail, segment = trail
        segments.append(segment)
    return tuple(reversed(segments))


def _dotted(path: Path) -> str:
    """The path as the decoder writes it: map keys look like fields."""
    text = "".join(f"[{segment}]" if isinstance(segment, int) else f".{segment}" for segment in path)
    return text[1:]


def _context(schema: Schema, root: str, path: Path) -> tuple[str, str]:
    """The struct that holds the innermost field of a path, and all fields on the way, embedded structs included."""
    struct, holder = root, ""
    names: list[str] = []
    type: Type | None = None
    for segment in path:
        if isinstance(segment, (int, Key)):
            assert type is not None
            assert type.element is not None
            type = type.element
        else:
            holder = struct
            embedded, field = _find(schema, struct, segment)
            names += (*embedded, segment) if schema.names_embedded else (segment,)
            type = field.type
        if type.kind == "struct":
            struct = type.struct
    return holder, ".".join(names)


def _find(schema: Schema, struct: str, name: str) -> tuple[tuple[str, ...], Field]:
    """A field by its name in JSON, with the Go names of the embedded structs that it comes from."""
    field = schema[struct].by_name.get(name)
    if field is not None and not field.inline:
        return (), field
    for field in schema[struct].fields:
        if field.inline and name in fields_of(schema, field.type.struct):
            embedded, found = _find(schema, field.type.struct, name)
            return (field.go, *embedded), found
    return ("TypeMeta",), Field(name, STRING)


def fields_of(schema: Schema, struct: str) -> dict[str, Field]:
    """All fields that a struct has in JSON, those of embedded structs included."""

    def build() -> dict[str, Field]:
        names: dict[str, Field] = {}
        for field in schema[struct].fields:
            if field.inline:
                names.update(fields_of(schema, field.type.struct))
            else:
                names[field.name] = field
        return names

    return schema.compiled(("fields", struct), build)


def describe(value: Any, integer: bool = False) -> str:
    """What Go calls a JSON value; numbers that are no integers are shown to those who want one."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, (int, float, Number)):
        return f"number {json_text(value)}" if integer else "number"
    return "string"


# --- compiled decoders -------------------------------------------------------------------------------------------


def _decoder(schema: Schema, type: Type) -> Decoder:
    """The decoder of a type, made once per schema."""
    return schema.compiled(("decode", type.kind, type.go, type.struct), lambda: _build(schema, type))


def _build(schema: Schema, type: Type) -> Decoder:
    match type.kind:
        case "struct":
            return _struct_decoder(schema, type.struct, schema.go_type(type))
        case "list":
            return _list_decoder(schema, type)
        case "map":
            return _map_decoder(schema, type)
        case "string":
            return _scalar_decoder(str, schema.go_type(type))
        case "bool":
            return _scalar_decoder(bool, schema.go_type(type))
        case "int64":
            return _integer_decoder(INT64_MAX, schema.go_type(type))
        case "int32":
            return _integer_decoder(INT32_MAX, schema.go_type(type))
        case other:
            return _OTHERS[other]


def _root_decoder(schema: Schema, struct: str) -> Decoder:
    return _struct_decoder(schema, struct, f"{schema.package}.{struct}", type_meta=True)


def _struct_decoder(schema: Schema, struct: str, go_type: str, *, type_meta: bool = False) -> Decoder:
    lookup: dict[str, _Entry] = {}

    def prepare() -> None:
        """Done at first use, since most objects have few of the structs that they could have."""
        if type_meta:
            lookup["kind"] = lookup["apiVersion"] = (str, False, _scalar_decoder(str, "string"))
        for name, field in fields_of(schema, struct).items():
            lookup[name] = _entry(schema, field)

    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        if not isinstance(value, dict):
            if value is not None:
                state.mismatch(value, go_type, trail)
            return _KEEP
        if not lookup:
            prepare()
        if type(value) is Members:
            return _read_repeated(lookup, value, trail, state, into)
        out = {} if into is None else into
        for name, member in value.items():
            entry = lookup.get(name)
            if entry is None:
                state.strict("unknown field", trail, name)
                continue
            expected, keeps_zero, decoder = entry
            if type(member) is expected:
                if member or keeps_zero:
                    out[name] = member
                elif into is not None:
                    out.pop(name, None)
            else:
                decoded = decoder(member, (trail, name), state, out.get(name))
                if decoded and decoded is not _KEEP:
                    out[name] = decoded
                else:
                    _store(out, name, keeps_zero, decoded)
        return out

    return read


def _read_repeated(
    lookup: dict[str, _Entry], value: Members, trail: Trail, state: _State, into: Any
) -> dict[str, Any]:
    """An object in which keys are repeated: the later value goes into what the earlier one has left."""
    out: dict[str, Any] = {} if into is None else into
    seen = set()
    for name, member in value.pairs:
        entry = lookup.get(name)
        if entry is None:
            state.strict("unknown field", trail, name)
            continue
        if name in seen:
            state.strict("duplicate field", trail, name)
        seen.add(name)
        _store(out, name, entry[1], entry[2](member, (trail, name), state, out.get(name)))
    return out


def _store(out: dict[str, Any], name: str, keeps_zero: bool, decoded: Any) -> None:
    """Sets a field; a null unsets it where a null is possible."""
    if decoded is _KEEP:
        if keeps_zero:
            out.pop(name, None)
    elif decoded is None or not (keeps_zero or decoded):
        out.pop(name, None)
    else:
        out[name] = decoded


def _entry(schema: Schema, field: Field) -> _Entry:
    kind = field.type.kind
    expected = {"string": str, "bool": bool}.get(kind)
    keeps_zero = field.pointer or kind in ("list", "map", "intorstring")
    if kind == "time" and not field.pointer and not field.omitempty:
        return expected, False, _set_time
    return expected, keeps_zero, _decoder(schema, field.type)


def _list_decoder(schema: Schema, type_: Type) -> Decoder:
    assert type_.element is not None
    element = _element_decoder(schema, type_.element)
    go_type = schema.go_type(type_)
    plain = str if type_.element.kind == "string" else None

    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        if type(value) is not list:
            if value is None:
                return None
            state.mismatch(value, go_type, trail)
            return _KEEP
        if into:
            before = [*into, *[None] * len(value)]
            return [element(item, (trail, i), state, before[i]) for i, item in enumerate(value)]
        if plain is not None:
            return [
                item if type(item) is plain else element(item, (trail, i), state, None)
                for i, item in enumerate(value)
            ]
        return [element(item, (trail, i), state, None) for i, item in enumerate(value)]

    return read


def _map_decoder(schema: Schema, type_: Type) -> Decoder:
    assert type_.element is not None
    element = _element_decoder(schema, type_.element)
    go_type = schema.go_type(type_)

    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        if not isinstance(value, dict):
            if value is None:
                return None
            state.mismatch(value, go_type, trail)
            return _KEEP
        out = {} if into is None else into
        if type(value) is not Members:
            for key, item in value.items():
                out[key] = element(item, (trail, Key(key)), state, None)
            return out
        seen = set()
        for key, item in value.pairs:
            if key in seen:
                state.strict("duplicate field", trail, key, key=True)
            seen.add(key)
            out[key] = element(item, (trail, Key(key)), state, None)
        return out

    return read


def _element_decoder(schema: Schema, type: Type) -> Decoder:
    """Entries of lists and maps are always there: a null is the zero value."""
    decoder = _decoder(schema, type)
    zero = _ZEROS.get(type.kind, lambda: None)

    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        decoded = decoder(value, trail, state, into)
        if decoded is _KEEP or decoded is None:
            return zero() if into is None or decoded is None else into
        return decoded

    return read


_ZEROS: dict[str, Callable[[], Any]] = {
    "string": str,
    "bool": bool,
    "int64": int,
    "int32": int,
    "intorstring": int,
    "struct": dict,
    "quantity": lambda: quantity.UNSET,
}


def _scalar_decoder(expected: type, go_type: str) -> Decoder:
    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        if type(value) is expected:
            return value
        if value is not None:
            state.mismatch(value, go_type, trail)
        return _KEEP

    return read


def _integer_decoder(maximum: int, go_type: str) -> Decoder:
    def read(value: Any, trail: Trail, state: _State, into: Any) -> Any:
        if type(value) is not int:
            if value is None:
                return _KEEP
            whole = _integral(value)
            if whole is None:
                state.mismatch(value, go_type, trail, integer=True)
                return _KEEP
            value = whole
        if -maximum - 1 <= value <= maximum:
            return value
        state.mismatch(value, go_type, trail, integer=True)
        return _KEEP

    return read


def _integral(value: Any) -> int | None:
    """The integer that a number is in JSON; YAML's ``1.0`` reaches the server as ``1``, JSON's stays ``1.0``."""
    if isinstance(value, float):
        value = json_float(value) if value - value == 0 else ""
    elif not isinstance(value, Number):
        return None
    digits = value.removeprefix("-")
    return int(value) if digits.isdecimal() and len(digits) < 20 else None


def _read_quantity(value: Any, trail: Trail, state: _State, into: Any) -> Any:
    if value is None:
        return None
    try:
        return quantity.from_json(value)
    except quantity.QuantityError as error:
        return state.refuse(error, trail)


def _read_time(value: Any, trail: Trail, state: _State, into: Any) -> Any:
    if value is None:
        return state.null_time
    if type(value) is not str:
        return state.refuse_type(value, "string", trail)
    try:
        return times.parse(value)
    except times.TimeError as error:
        return state.refuse(error, trail)


def _set_time(value: Any, trail: Trail, state: _State, into: Any) -> Any:
    """Where a time is always written, the zero time is none, as null is; elsewhere it counts as set."""
    decoded = _read_time(value, trail, state, into)
    return None if decoded == times.ZERO else decoded


def _read_raw(value: Any, trail: Trail, state: _State, into: Any) -> Any:
    if value is None:
        return _KEEP
    return Raw(value) if state.source is None else Raw(value, state.source, _path(trail))


def _read_int_or_string(value: Any, trail: Trail, state: _State, into: Any) -> Any:
    if value is None or type(value) is str:
        return value
    decoded = value if type(value) is int else _integral(value)
    if decoded is None or not -INT32_MAX - 1 <= decoded <= INT32_MAX:
        return state.refuse_type(value, "int32", trail, integer=True)
    return decoded


_OTHERS: dict[str, Decoder] = {
    "quantity": _read_quantity,
    "time": _read_time,
    "microtime": _read_time,
    "raw": _read_raw,
    "intorstring": _read_int_or_string,
}

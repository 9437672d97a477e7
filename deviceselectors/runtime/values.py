"""Values that CEL expressions compute with.

CEL's bool, int, double, string, bytes and null are Python's bool, int, float, str, bytes and None; a list is a
`list` (or a `ConcatList` when large), a map with string keys a `dict`, any other map a `GeneralMap`. The remaining
types have classes of their own, here or in the module of their library. Errors are values too: a `CelError` is
raised by library functions, and kept as value where `&&`, `||` or a comprehension may absorb it.

Source: the CEL language definition; texts as kube-apiserver 1.37 (cel-go) has them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

INT_MIN = -(1 << 63)
INT_MAX = (1 << 63) - 1
UINT_MAX = (1 << 64) - 1

#: Concatenations up to this size are copied, longer ones are kept as a tree: doubling a list again and again must
#: not cost memory, it costs next to nothing in CEL's units.
_COPY_LIMIT = 256

#: No list is spelled out or gone through beyond this length, and no text made beyond the other: hardly an evaluation
#: within the cost limit needs more, and those that would take the server minutes, or its memory.
MAX_ELEMENTS = 2_000_000
MAX_CHARACTERS = 4_000_000


_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


class CelError(ValueError):
    """An error of an evaluation. `message` is CEL's text; printed it is kube-scheduler's, which may add a hint."""

    # no __init__: errors that something absorbs are common, and it would double their price

    @property
    def message(self) -> str:
        """CEL's text."""
        return self.args[0]  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return with_hint(self.message)


def with_hint(message: str) -> str:
    """An error's text with the hint that kube-scheduler adds for missing keys."""
    return message + _HINT if "no such key:" in message and not message.endswith(_HINT) else message


class CelPanic(Exception):
    """What makes cel-go panic: it ends the evaluation at once, no `||` absorbs it.

    `reason` is Go's text, `message` that of the evaluation's error, `cost` the cost until then.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.message = f"internal error: {reason}"
        self.cost: int | None = None


def out_of_memory() -> CelPanic:
    """For what our own bounds forbid."""
    return CelPanic("runtime error: out of memory")


class Missing:
    """Class of the marker for keys that are not there."""

    __slots__ = ()


MISSING = Missing()


class Uint(int):
    """An unsigned 64-bit integer; equal to the int of the same value, as CEL has it."""

    __slots__ = ()


class Message:
    """A protobuf message without a CEL value of its own: its type and its fields."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.name = name
        self.fields = fields


class Duration:
    """A duration in nanoseconds, within 64 bits."""

    __slots__ = ("nanoseconds",)

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def __eq__(self, other: object) -> bool:
        return other.__class__ is Duration and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)


class Timestamp:
    """A point in time: seconds since 1970 UTC, nanoseconds of the second, and the zone it was written in.

    `offset` is the zone's distance from UTC in seconds; it only matters when the timestamp is printed.
    """

    __slots__ = ("nanosecond", "offset", "seconds")

    def __init__(self, seconds: int, nanosecond: int = 0, offset: int = 0) -> None:
        self.seconds = seconds
        self.nanosecond = nanosecond
        self.offset = offset

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Timestamp)
            and self.seconds == other.seconds
            and self.nanosecond == other.nanosecond
        )

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanosecond))


class TypeValue:
    """A type as value (`int`, `type(x)`); `text` is how it prints when parameters are known, as `list(dyn)`."""

    __slots__ = ("name", "text")

    def __init__(self, name: str, text: str = "") -> None:
        self.name = name
        self.text = text or name

    def __eq__(self, other: object) -> bool:
        return other.__class__ is TypeValue and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


class Optional:
    """`optional.of(value)`; the one without value is `NONE`."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


#: `optional.none()`
NONE = Optional(MISSING)


class MutableList(list[Any]):
    """An accumulator: `+` appends in place, as cel-go does for variables that are bound to an empty list."""

    __slots__ = ()


def freeze(value: Any) -> Any:
    """The result of a comprehension: an accumulator that was appended to in place becomes a list."""
    return list(value) if value.__class__ is MutableList else value


def thaw(value: Any) -> Any:
    """What a variable is bound to: an empty list becomes one that `+` appends to in place."""
    return MutableList() if value.__class__ in LIST_CLASSES and not len(value) else value


class ConcatList:
    """Two lists one after the other, without a copy."""

    __slots__ = ("left", "right", "size")

    def __init__(self, left: list[Any] | ConcatList, right: list[Any] | ConcatList) -> None:
        self.left = left
        self.right = right
        self.size = len(left) + len(right)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        part: list[Any] | ConcatList = self
        while part.__class__ is ConcatList:
            if index < len(part.left):
                part = part.left
            else:
                index -= len(part.left)
                part = part.right
        return part[index]

    def __iter__(self) -> Iterator[Any]:
        stack: list[list[Any] | ConcatList] = [self]
        while stack:
            part = stack.pop()
            if part.__class__ is ConcatList:
                stack.append(part.right)
                stack.append(part.left)
            else:
                yield from part


class GeneralMap:
    """A map whose keys are not all strings: `1`, `1u`, `1.0` and `true` are different keys.

    Looking up a number finds the key of another numeric type that has the same value.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[tuple[type, Any], tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Any]:
        for key, _ in self.entries.values():
            yield key

    def get(self, key: Any, default: Any = MISSING) -> Any:
        """The value at the key, or at the number of another type that equals it."""
        cls = key.__class__
        entries = self.entries
        if cls not in HASHABLE:
            if not entries:
                return default
            raise unhashable(key)
        found = entries.get((cls, _hashable(key)))
        if found is None:
            if cls is float:
                if isfinite(key) and key == int(key):
                    whole = int(key)
                    # double 2^63 does not fit an int, only a uint
                    if INT_MIN < whole < INT_MAX:
                        found = entries.get((int, whole))
                    if found is None and 0 <= whole <= UINT_MAX:
                        found = entries.get((Uint, whole))
            elif cls is int:
                if key >= 0:
                    found = entries.get((Uint, key))
            elif cls is Uint and key <= INT_MAX:
                found = entries.get((int, int(key)))
        return default if found is None else found[1]

    def put(self, key: Any, value: Any) -> None:
        """Adds or replaces one entry; a key that Go cannot hash is a `CelPanic`."""
        if key.__class__ not in HASHABLE:
            raise unhashable(key)
        self.entries[(key.__class__, _hashable(key))] = (key, value)

    def remove(self, key: Any) -> None:
        """Take out one entry, if it is there."""
        if key.__class__ not in HASHABLE:
            raise unhashable(key)
        self.entries.pop((key.__class__, _hashable(key)), None)


def _hashable(key: Any) -> Any:
    """The key itself; for lists and maps, which Go hashes by their address, the identity."""
    return key if key.__class__.__hash__ is not None else id(key)


class EntryMap(dict[str, Any]):
    """The attributes or capacities of one domain."""

    __slots__ = ()


EMPTY_MAP = EntryMap()


class DomainMap(dict[str, EntryMap]):
    """`device.attributes` and `device.capacity`: a domain that is not there selects an empty map.

    `in`, `size()` and loops see the real domains only.
    """

    __slots__ = ()

    def __missing__(self, key: str) -> EntryMap:
        return EMPTY_MAP


#: Per class: the type's name in CEL, and the Go type that some of cel-go's errors print.
_TYPES: dict[type, tuple[str, str]] = {
    bool: ("bool", "types.Bool"),
    int: ("int", "types.Int"),
    Uint: ("uint", "types.Uint"),
    float: ("double", "types.Double"),
    str: ("string", "types.String"),
    bytes: ("bytes", "types.Bytes"),
    type(None): ("null_type", "types.Null"),
    list: ("list", "*types.baseList"),
    MutableList: ("list", "*types.mutableList"),
    ConcatList: ("list", "*types.concatList"),
    dict: ("map", "*types.baseMap"),
    GeneralMap: ("map", "*types.baseMap"),
    EntryMap: ("map", "*types.baseMap"),
    DomainMap: ("map", "cel.mapper"),
    Duration: ("google.protobuf.Duration", "types.Duration"),
    Timestamp: ("google.protobuf.Timestamp", "types.Timestamp"),
    TypeValue: ("type", "*types.Type"),
    Optional: ("optional_type", "*types.Optional"),
    CelError: ("error", "*types.Err"),
}
#: Classes whose Go types can be keys of a Go map. Lists, maps and optionals are pointers there: hashable, by identity.
HASHABLE: set[type] = _TYPES.keys() - {bytes, CelError}


def unhashable(key: Any) -> CelPanic:
    """The panic of Go over a key that it cannot hash."""
    return CelPanic(f"runtime error: hash of unhashable type {go_type(key)}")


LIST_CLASSES: frozenset[Any] = frozenset((list, MutableList, ConcatList))
MAP_CLASSES: frozenset[Any] = frozenset((dict, EntryMap, DomainMap, GeneralMap))
#: Classes whose values accept calls of any name in cel-go, so that a call with wrong types names no function.
RECEIVERS = frozenset((str, Duration, Timestamp))
#: Classes whose length counts as the size of their values in costs; any other value has size 1.
SIZED: set[Any] = {str, bytes, *LIST_CLASSES, *MAP_CLASSES}


#: Per class of a library: the Go type that cel-go unwraps its values to.
NATIVE_NAMES: dict[type, str] = {}

#: Per class of a library: the class that its values can be compared with, and how.
EQUALITY: dict[type, tuple[type, Callable[[Any, Any], bool]]] = {}

#: Classes of libraries whose values are unequal to those of other types, where others cannot be compared.
COMPARABLE_WITH_ALL: set[type] = set()


def register_type(
    cls: type,
    name: str,
    go_name: str,
    equality: Callable[[Any, Any], bool],
    *,
    hashable: bool = True,
    other: type | None = None,
    comparable: bool = False,
    sized: bool = False,
    native: str = "",
) -> None:
    """Make a library's class known.

    :param name: its CEL name
    :param go_name: the one in some of cel-go's errors
    :param equality: compares two values of it
    :param hashable: whether Go could hash it
    :param other: the class on the right of `==`, when it isn't the same
    :param comparable: whether any other type is unequal, not an error
    :param sized: whether its length counts as its size in costs
    :param native: the Go type that cel-go unwraps it to
    """
    EQUALITY[cls] = (other or cls, equality)
    _TYPES[cls] = (name, go_name)
    if hashable:
        HASHABLE.add(cls)
    if comparable:
        COMPARABLE_WITH_ALL.add(cls)
    if sized:
        SIZED.add(cls)
    if native:
        NATIVE_NAMES[cls] = native


def type_name(value: Any) -> str:
    """The runtime type as errors and `type()` name it."""
    return _TYPES[value.__class__][0]


def classes_named(name: str) -> frozenset[type]:
    """The classes whose values have a runtime type of that name."""
    return frozenset(cls for cls, (known, _) in _TYPES.items() if known == name)


def type_text(value: Any) -> str:
    """The runtime type with its parameters, which are never known."""
    name = type_name(value)
    return name + _PARAMETERS.get(name, "")


_PARAMETERS = {"list": "(dyn)", "map": "(dyn, dyn)", "optional_type": "(dyn)"}


def go_type(value: Any) -> str:
    """The Go type behind a value, which some of cel-go's errors print."""
    return _TYPES[value.__class__][1]


#: What cel-go says of a value that it is to convert to a Go type, by the value's class.
_CONVERSION_ERRORS: dict[Any, str] = {
    str: "unsupported native conversion from string to '{}'",
    int: "unsupported type conversion from 'int' to {}",
    Uint: "unsupported type conversion from 'uint' to {}",
    bool: "type conversion error from bool to '{}'",
    float: "type conversion error from Double to '{}'",
    bytes: "type conversion error from Bytes to '{}'",
    type(None): "type conversion error from 'null_type' to '{}'",
    TypeValue: "type conversion not supported for 'type'",
    Duration: "type conversion error from 'Duration' to '{}'",
    Timestamp: "type conversion error from 'Timestamp' to '{}'",
    **dict.fromkeys(LIST_CLASSES, "type conversion error from list to '{}'"),
    **dict.fromkeys(MAP_CLASSES, "type conversion error from map to '{}'"),
}
#: The Go type of a message.
MESSAGE = "*dynamicpb.Message"


def conversion_error(value: Any, target: str) -> str:
    """What cel-go says of a value that it cannot convert to a Go type."""
    cls = value.__class__
    if cls in _CONVERSION_ERRORS:
        return _CONVERSION_ERRORS[cls].format(target)
    name = go_type(value).rpartition(".")[2] if cls in NATIVE_NAMES else MESSAGE
    return f"type conversion error from '{name}' to '{target}'"


def no_such_overload(function: str, *arguments: Any) -> CelError:
    """The error for arguments that no overload takes."""
    return CelError(f"no such overload: {function}({', '.join([type_name(a) for a in arguments])})")


# ---------------------------------------------------------------- lists


def concat(left: Any, right: Any) -> Any:
    """`left + right` for two lists."""
    if left.__class__ is MutableList:
        if len(left) + len(right) > MAX_ELEMENTS:
            raise out_of_memory()
        left.extend(right)
        return left
    if not left:
        return right
    if not right:
        return left
    if len(left) + len(right) <= _COPY_LIMIT:
        return [*left, *right]
    return ConcatList(left, right)


def as_list(value: Any) -> list[Any]:
    """A list spelled out, bounded: a tree of concatenations can stand for more than memory holds."""
    if value.__class__ is ConcatList:
        if value.size > MAX_ELEMENTS:
            raise out_of_memory()
        return list(value)
    return value  # type: ignore[no-any-return]


def slice_of(value: Any, start: int, end: int) -> list[Any]:
    """The elements from a position to another, which are in the list; others are not looked at."""
    if value.__class__ is not ConcatList:
        return value[start:end]  # type: ignore[no-any-return]
    found: list[Any] = []
    pending: list[tuple[Any, int, int]] = [(value, start, end)]
    while pending:
        part, first, last = pending.pop()
        if first >= last:
            continue
        if part.__class__ is ConcatList:
            middle = len(part.left)
            pending.append((part.right, max(first - middle, 0), last - middle))
            pending.append((part.left, first, min(last, middle)))
        else:
            found.extend(part[first:last])
    return found


# ---------------------------------------------------------------- maps


def find(mapping: Any, key: Any) -> Any:
    """The value at the key, or `MISSING`."""
    cls = mapping.__class__
    if cls is GeneralMap:
        return mapping.get(key)
    if cls is DomainMap:
        return mapping.get(key, EMPTY_MAP) if key.__class__ is str else EMPTY_MAP
    return mapping.get(key, MISSING) if key.__class__ is str else MISSING


def contains_key(mapping: Any, key: Any) -> bool:
    """`key in mapping`; unlike `find` it does not invent domains."""
    if mapping.__class__ is GeneralMap:
        return mapping.get(key) is not MISSING
    if key.__class__ is str:
        return key in mapping
    if mapping and mapping.__class__ is dict and key.__class__ not in HASHABLE:
        raise unhashable(key)
    return False

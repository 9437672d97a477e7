"""Values in Go syntax (``%#v``): how servers up to 1.33 print the internal object that an error is about."""

from __future__ import annotations

from calendar import month_name
from typing import Any

from resourceapi import times
from resourceapi.go_text import quote
from resourceapi.quantity import Quantity
from resourceapi.schema import Field, Schema, Type

#: In place of the address of a value: every process has another.
ADDRESS = "0xc000000000"
# Structs of the core group that objects of other groups have; metadata is the same everywhere.
_CORE = frozenset(("NodeSelector", "NodeSelectorTerm", "NodeSelectorRequirement"))
_ZEROS = {"string": '""', "bool": "false", "int64": "0", "int32": "0", "raw": "runtime.Object(nil)"}


def go_syntax(schema: Schema, type: Type | str, value: Any, *, package: str = "resource") -> str:
    """A value (of a type, or of the struct of that name) in Go syntax; pointers in it are printed as addresses.

    :param package: the Go package of the internal types.
    """
    printer = _Printer(schema, package)
    return printer.struct(type, value) if isinstance(type, str) else printer.value(type, value)


class _Printer:
    """Prints values of one schema."""

    def __init__(self, schema: Schema, package: str) -> None:
        self.schema = schema
        self.package = package

    def value(self, type: Type, value: Any) -> str:
        match type.kind:
            case "struct":
                return self.struct(type.struct, value or {})
            case "list":
                return self._list(type, value)
            case "map":
                return self._map(type, value)
            case "time":
                return _time(value)
            case "string" if value is not None:
                return quote(value)
            case "bool" if value is not None:
                return "true" if value else "false"
        return _ZEROS[type.kind] if value is None else str(value)

    def struct(self, name: str, value: dict[str, Any]) -> str:
        fields = self.schema[name].fields
        members = ", ".join(f"{field.go}:{self._field(field, value)}" for field in fields)
        return f"{self._struct_name(name)}{{{members}}}"

    def _field(self, field: Field, owner: dict[str, Any]) -> str:
        if field.inline:
            return self.struct(field.type.struct, owner)
        value = owner.get(field.name)
        if not field.pointer:
            return self.value(field.type, value)
        if field.type.kind == "time":
            return "<nil>" if value is None else _time(value)
        return f"(*{self._go_type(field.type)})({'nil' if value is None else ADDRESS})"

    def _list(self, type: Type, value: list[Any] | None) -> str:
        assert type.element is not None
        name, element = self._go_type(type), type.element
        if value is None:
            return f"{name}(nil)"
        return f"{name}{{{', '.join(self.value(element, item) for item in value)}}}"

    def _map(self, type: Type, value: dict[str, Any] | None) -> str:
        assert type.element is not None
        name, element = self._go_type(type), type.element
        if value is None:
            return f"{name}(nil)"
        members = (f"{quote(key)}:{self.value(element, value[key])}" for key in sorted(value))
        return f"{name}{{{', '.join(members)}}}"

    def _go_type(self, type: Type) -> str:
        if type.kind == "list":
            assert type.element is not None
            return "[]" + self._go_type(type.element)
        if type.kind == "struct":
            return self._struct_name(type.struct)
        return type.go.replace("{v}", self.package)

    def _struct_name(self, name: str) -> str:
        if name in _CORE:
            return f"core.{name}"
        return f"v1.{name}" if self.schema[name].tagged else f"{self.package}.{name}"


def go_quantity(quantity: Quantity) -> str:
    """A quantity in Go syntax: as 64 bits and a power of ten, or the address of a number of any size."""
    mantissa, scale, big = quantity.mantissa, quantity.scale, "nil"
    if quantity.big:
        mantissa, scale, big = 0, 0, ADDRESS
    return (
        f"resource.Quantity{{i:resource.int64Amount{{value:{mantissa}, scale:{scale}}}, "
        f"d:resource.infDecAmount{{Dec:(*inf.Dec)({big})}}, "
        f"s:{quote(quantity.written or '')}, Format:{quote(quantity.format)}}}"
    )


def _time(value: str | None) -> str:
    """A time as its constructor; the zero time is in UTC, any other in the time zone of the server."""
    if value is None or value == times.ZERO:
        return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"
    date, clock = times.in_seconds(value)[:-1].split("T")
    year, month, day = map(int, date.rsplit("-", 2))
    hour, minute, second = map(int, clock.split(":"))
    return f"time.Date({year}, time.{month_name[month]}, {day}, {hour}, {minute}, {second}, 0, time.Local)"

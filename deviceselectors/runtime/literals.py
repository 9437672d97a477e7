"""List, map and message literals: the first error among their parts is the literal's value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.ast import ListLiteral, MapLiteral, StructLiteral
from deviceselectors.runtime import costs, operators
from deviceselectors.runtime.closures import Compiler
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.messages import make_message
from deviceselectors.runtime.showing import not_optional_element, not_optional_entry
from deviceselectors.runtime.values import MISSING, CelError, Optional


def list_literal(compiler: Compiler, node: ListLiteral) -> Closure:
    """`[a, ?b]` costs 10; an optional element without value is left out."""
    optionals = frozenset(node.optionals)
    parts = [
        (compiler.closure(element), position in optionals) for position, element in enumerate(node.elements)
    ]

    def evaluate(device: Device, frame: Frame) -> Any:
        values: list[Any] = []
        for part, is_optional in parts:
            value = part(device, frame)
            if is_optional:
                value = _content(value, not_optional_element)
            if value.__class__ is CelError:
                return value
            if value is not MISSING:
                values.append(value)
        return values

    return compiler.paid(evaluate, costs.LIST_COST)


def map_literal(compiler: Compiler, node: MapLiteral) -> Closure:
    """`{a: b, ?c: d}` costs 30."""
    parts = [
        (compiler.closure(entry.key), compiler.closure(entry.value), entry.optional) for entry in node.entries
    ]

    def evaluate(device: Device, frame: Frame) -> Any:
        pairs: list[tuple[Any, Any]] = []
        for key_part, value_part, is_optional in parts:
            key = key_part(device, frame)
            if key.__class__ is CelError:
                return key
            value = value_part(device, frame)
            if is_optional:
                value = _content(value, not_optional_entry, key)
            if value.__class__ is CelError:
                return value
            pairs.append((key, value))
        return operators.make_map(pairs)

    return compiler.paid(evaluate, costs.MAP_COST)


def message_literal(compiler: Compiler, node: StructLiteral) -> Closure:
    """`google.protobuf.Duration{seconds: 1}` costs 40."""
    parts = [(field.name, compiler.closure(field.value), field.optional) for field in node.fields]
    type_name = node.type_name

    def evaluate(device: Device, frame: Frame) -> Any:
        pairs: list[tuple[str, Any]] = []
        for name, part, is_optional in parts:
            value = part(device, frame)
            if is_optional:
                value = _content(value, not_optional_entry, name)
            if value.__class__ is CelError:
                return value
            pairs.append((name, value))
        try:
            return make_message(type_name, pairs)
        except CelError as error:
            return error.with_traceback(None)

    return compiler.paid(evaluate, costs.STRUCT_COST)


def _content(value: Any, complain: Callable[..., CelError], *key: Any) -> Any:
    """What an optional element or entry holds, `MISSING` if nothing; an error for what is no optional."""
    if value.__class__ is Optional:
        return value.value
    return value if value.__class__ is CelError else complain(*key, value)

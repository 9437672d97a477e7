"""Accesses to fields and elements: `base.field`, `base[key]`, `base.?field`, `has(base.field)`.

cel-go collects the accesses that follow each other and applies them together to the innermost object. That shows: only
that object is looked at for being an optional, and the whole costs one unit besides one for each access.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors import types as static
from deviceselectors.ast import IDENT, Ident, Node, Select
from deviceselectors.runtime import operators
from deviceselectors.runtime.closures import Closure, Compiler, Frame
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.planning import gets_unit_back, is_access, is_call, is_presence, split_access
from deviceselectors.runtime.values import MISSING, NONE, CelError, Optional

Steps = list[tuple[Node | str, bool]]
"""The accesses of a chain: a field name or the node of a key, and whether it is optional."""
Follow = Callable[[Device, Frame], tuple[Any, bool]]
"""What a chain leads to, and whether that is an optional: of one it is the content, `MISSING` if there is none."""

_NEVER_OPTIONAL = frozenset((static.LIST, static.MAP, static.STRING, static.INT, static.BOOL, static.UINT))


def unpaid(compiler: Compiler, node: Node) -> Closure:
    """What computes a node; a variable or an access does without its own unit: in branches of `?:` and as keys."""
    if not compiler.plan.is_constant(node):
        if isinstance(node, Ident):
            return compiler.variable(node.name)
        if is_access(node):
            return _access(compiler, node)
        if is_presence(node):
            return _unwrapped_presence(compiler, node)
    return compiler.closure(node)


def select(compiler: Compiler, node: Select) -> Closure:
    """`operand.field` or `has(operand.field)`."""
    return _presence(compiler, node) if node.test_only else access(compiler, node)


def access(compiler: Compiler, node: Node) -> Closure:
    """A chain of accesses costs 1, besides 1 for each; one to a `?:` costs only what each access does."""
    closure = _access(compiler, node)
    base, _ = split_access(node)
    return closure if is_call(base, "_?_:_") else compiler.paid(closure, 1)


def _access(compiler: Compiler, node: Node) -> Closure:
    base, steps = split_access(node)
    plain = _plain_chain(compiler, base, steps)
    if plain is not None:
        return plain
    follow = _chain(compiler, base, steps)
    return lambda device, frame: _wrapped(*follow(device, frame))


def _wrapped(value: Any, optional: bool) -> Any:
    """What a chain of accesses gives for what it leads to."""
    if not optional or value.__class__ is CelError:
        return value
    return NONE if value is MISSING else Optional(value)


# ---------------------------------------------------------------- chains


def _plain_chain(compiler: Compiler, base: Node, steps: Steps) -> Closure | None:
    """A chain that can neither begin with an optional nor become one."""
    if any(optional for _, optional in steps):
        return None
    start, done = _start(compiler, base, steps)
    if not done and (base.type is None or base.type.kind not in _NEVER_OPTIONAL):
        return None
    for key, _ in steps[done:]:
        start = _field(compiler, start, key) if isinstance(key, str) else _element(compiler, start, key)
    return start


def _field(compiler: Compiler, container: Closure, field: str) -> Closure:
    counts = compiler.counts

    def evaluate(device: Device, frame: Frame) -> Any:
        value = container(device, frame)
        if value.__class__ is CelError:
            return value
        if counts:
            frame.pay(1)
        try:
            return operators.access(value, field)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate


def _element(compiler: Compiler, container: Closure, key: Node) -> Closure:
    counts, position = compiler.counts, unpaid(compiler, key)

    def evaluate(device: Device, frame: Frame) -> Any:
        value = container(device, frame)
        if value.__class__ is CelError:
            return value
        found = position(device, frame)
        if counts:
            frame.pay(1)
        if found.__class__ is CelError:
            return found
        try:
            return operators.access_any(value, found)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate


def _chain(compiler: Compiler, base: Node, steps: Steps) -> Follow:
    """Any chain: an optional access costs only if it finds something."""
    counts = compiler.counts
    start, done = _start(compiler, base, steps)
    rest = [
        (key, None, optional) if isinstance(key, str) else (None, unpaid(compiler, key), optional)
        for key, optional in steps[done:]
    ]

    def follow(device: Device, frame: Frame) -> tuple[Any, bool]:
        value = start(device, frame)
        optional = value.__class__ is Optional
        if optional:
            value = value.value
        for field, position, is_optional in rest:
            optional = optional or is_optional
            if value is MISSING or value.__class__ is CelError:
                continue
            key = field if position is None else position(device, frame)
            if counts and not optional:
                frame.pay(1)
            if key.__class__ is CelError:
                value = key
                continue
            try:
                value = (operators.lookup_any if optional else operators.access_any)(value, key)
            except CelError as error:
                value = error.with_traceback(None)
                continue
            if counts and optional and value is not MISSING:
                frame.pay(1)
        return value, optional

    return follow


# ---------------------------------------------------------------- presence


def _presence(compiler: Compiler, node: Select) -> Closure:
    """`has(base.field[key].field)` costs nothing besides its accesses; one of a `?:` gets a unit back."""
    base, steps = split_access(node.operand)
    container = _plain_chain(compiler, base, steps)
    if container is not None:
        closure = _is_in(compiler, container, node.field)
    else:
        follow, is_there = _chain(compiler, base, steps), _presence_test(compiler, node.field)
        closure = lambda device, frame: is_there(*follow(device, frame), frame)
    if not compiler.counts or not gets_unit_back(node):
        return closure

    def evaluate(device: Device, frame: Frame) -> Any:
        value = closure(device, frame)
        frame.give_back()
        return value

    return evaluate


def _unwrapped_presence(compiler: Compiler, node: Select) -> Closure:
    """`has` in branches of `?:` and as a key: if there is an optional in the chain, the content of the field."""
    base, steps = split_access(node.operand)
    container = _plain_chain(compiler, base, steps)
    if container is not None:
        return _is_in(compiler, container, node.field)
    follow, is_there = _chain(compiler, base, steps), _presence_test(compiler, node.field)
    counts, field = compiler.counts, node.field

    def evaluate(device: Device, frame: Frame) -> Any:
        value, optional = follow(device, frame)
        if not optional:
            return is_there(value, optional, frame)
        if value is MISSING or value.__class__ is CelError:
            return _wrapped(value, optional)
        try:
            content = operators.lookup(value, field)
        except CelError as error:
            return error.with_traceback(None)
        if counts and content is not MISSING:
            frame.pay(1)
        return _wrapped(content, optional)

    return evaluate


def _is_in(compiler: Compiler, container: Closure, field: str) -> Closure:
    """Whether a field is in a value that is no optional."""
    is_there = _presence_test(compiler, field)
    return lambda device, frame: is_there(container(device, frame), False, frame)


def _presence_test(compiler: Compiler, field: str) -> Callable[[Any, bool, Frame], Any]:
    """Whether the field is in a value: costs 1, nothing where an earlier part of the chain is not there or fails."""
    counts = compiler.counts

    def is_there(value: Any, optional: bool, frame: Frame) -> Any:
        if value.__class__ is CelError:
            return value
        if value is MISSING:
            return False
        found: Any
        try:
            found = operators.lookup(value, field) is not MISSING
        except CelError as error:
            found = error.with_traceback(None)
        if counts and (not optional or found is True):
            frame.pay(1)
        return found

    return is_there


# ---------------------------------------------------------------- the device


def _start(compiler: Compiler, base: Node, steps: Steps) -> tuple[Closure, int]:
    """What a chain begins with, and how many of its steps that takes: look-ups in the device are one closure."""
    found = device_path(compiler, base, steps)
    if found:
        closure, counts = _in_device(found), compiler.counts
        if not counts:
            return closure, len(found)

        def evaluate(device: Device, frame: Frame) -> Any:
            frame.pay_units(len(found))
            return closure(device, frame)

        return evaluate, len(found)
    if base.kind == IDENT or is_call(base, "_?_:_"):
        return unpaid(compiler, base), 0
    return compiler.closure(base), 0


def device_path(compiler: Compiler, base: Node, steps: Steps) -> list[str]:
    """How far a chain looks up constant names in the device: `attributes`, a domain, an identifier."""
    found: list[str] = []
    if isinstance(base, Ident) and compiler.sees_device(base.name):
        for key, optional in steps[:3]:
            if optional or not isinstance(key, str) or (found and found[0] not in _MAPS):
                break
            found.append(key)
    return found


_MAPS = frozenset(("attributes", "capacity"))
_FIELDS: dict[str, Closure] = {
    "driver": lambda device, frame: device.driver,
    "allowMultipleAllocations": lambda device, frame: device.multiple,
    "attributes": lambda device, frame: device.attributes,
    "capacity": lambda device, frame: device.capacity,
}


def _in_device(path: list[str]) -> Closure:
    if len(path) == 1:
        return _FIELDS[path[0]]
    of_attributes, domain = path[0] == "attributes", path[1]
    if len(path) == 2:
        if of_attributes:
            return lambda device, frame: device.attributes[domain]
        return lambda device, frame: device.capacity[domain]
    name = path[2]
    message = f"no such key: {name}"

    def attribute(device: Device, frame: Frame) -> Any:
        value = device.attributes[domain].get(name, MISSING)
        return CelError(message) if value is MISSING else value

    def capacity(device: Device, frame: Frame) -> Any:
        value = device.capacity[domain].get(name, MISSING)
        return CelError(message) if value is MISSING else value

    return attribute if of_attributes else capacity

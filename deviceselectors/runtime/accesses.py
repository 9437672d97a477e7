"""Python source for accesses to fields and elements: `base.field`, `base[key]`, `base.?field`, `has(base.field)`.

cel-go collects the accesses that follow each other and applies them together to the innermost object. That shows: only
that object is looked at for being an optional, and the whole costs one unit besides one for each access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deviceselectors import types as static
from deviceselectors.ast import IDENT, Call, Node, Select
from deviceselectors.runtime import operators
from deviceselectors.runtime.emitter import Value
from deviceselectors.runtime.values import NONE, DomainMap, Optional

if TYPE_CHECKING:
    from deviceselectors.runtime.generator import Generator

#: Where the fields of `device` are, and their class.
DEVICE_FIELDS = {
    "driver": ("d.driver", str),
    "allowMultipleAllocations": ("d.multiple", bool),
    "attributes": ("d.attributes", DomainMap),
    "capacity": ("d.capacity", DomainMap),
}
_ACCESS = frozenset(("_[_]", "_[?_]", "_?._"))
_NEVER_OPTIONAL = frozenset((static.LIST, static.MAP, static.STRING, static.INT, static.BOOL, static.UINT))


def is_call(node: Node, name: str) -> bool:
    return isinstance(node, Call) and node.function == name


def is_access(node: Node) -> bool:
    if isinstance(node, Select):
        return not node.test_only
    return isinstance(node, Call) and node.function in _ACCESS


def split_access(node: Node) -> tuple[Node, list[tuple[Node | str, bool]]]:
    """The innermost object and the accesses to it: a field name or the node of a key, and whether it is optional."""
    steps: list[tuple[Node | str, bool]] = []
    while is_access(node):
        if isinstance(node, Select):
            steps.append((node.field, False))
            node = node.operand
        else:
            assert isinstance(node, Call)
            key = node.args[1]
            constant = getattr(key, "value", None)
            steps.append((constant if constant.__class__ is str else key, node.function != "_[_]"))
            node = node.args[0]
    steps.reverse()
    return node, steps


class AccessChain:
    """Accesses to fields and elements one after the other: `base.field[key].?field`.

    From the first optional access on, or if the base is an optional, what is missing is no error, and the result an
    optional. `optional` is True or False, or the name of a local where that is known only at run time.
    """

    def __init__(self, generator: Generator, base: Node) -> None:
        self.generator = generator
        self.device = False
        self.fails = False
        self.misses = False
        self.optional: bool | str = False
        self.cls: type | None = None
        if base.kind == IDENT and base.name == "device" and "device" not in generator.scope:  # type: ignore[attr-defined]
            self.device = True
            self.text = "d"
            return
        value = generator.raw(base) if base.kind == IDENT or is_call(base, "_?_:_") else generator.value(base)
        self.fails, self.cls = value.fails, value.cls
        self.text = value.text
        kind = base.type.kind if base.type is not None else static.DYN
        if value.cls is Optional or (value.cls is None and kind not in _NEVER_OPTIONAL):
            self._find_out()

    def _find_out(self) -> None:
        generator = self.generator
        self.text = generator.temporary(self.text)
        self.optional = generator.temporary(f"{self.text}.__class__ is {generator.refer(Optional)}")
        generator.emit(f"if {self.optional}: {self.text} = {self.text}.value")
        self.misses = True

    def step(self, key: Node | str, optional: bool) -> None:
        """One access; the key is a field name or the node of an index."""
        generator = self.generator
        if optional:
            if isinstance(self.optional, str):
                generator.emit(f"{self.optional} = True")
            self.optional = True
        if self.device and isinstance(key, str):
            self._device_field(key)
            return
        if isinstance(key, str) and self.cls is DomainMap and not self.misses:
            # a domain is always there
            self.text, self.cls = f"{self.text}[{key!r}]", dict
            generator.pay(1)
            return
        self._own_name()
        tests = self._alive()
        if tests:
            generator.flush()
            with generator.block(f"if {' and '.join(tests)}:"):
                self._access(key)
                generator.flush()
        else:
            self._access(key)
        self.fails = True
        self.misses = self.misses or self.optional is not False
        self.cls = None

    def _device_field(self, key: str) -> None:
        self.text, self.cls = DEVICE_FIELDS[key]
        self.device = False
        self.generator.pay(1)

    def _own_name(self) -> None:
        """The object under a name that may be assigned to."""
        self.text = self.generator.temporary(self.text)

    def _alive(self) -> list[str]:
        tests = []
        if self.fails:
            tests.append(f"{self.text}.__class__ is not {self.generator.error}")
        if self.misses:
            tests.append(f"{self.text} is not {self.generator.missing}")
        return tests

    def _access(self, key: Node | str) -> None:
        generator = self.generator
        if self.optional is False:
            generator.pay(1)
        key_value = Value(repr(key)) if isinstance(key, str) else generator.atom(generator.raw(key))
        generator.flush()
        if key_value.fails:
            with generator.block(f"if {key_value.text}.__class__ is {generator.error}:"):
                if isinstance(self.optional, str) and generator.limit is not None:
                    generator.emit(f"if not {self.optional}: c += 1")
                generator.emit(f"{self.text} = {key_value.text}")
            with generator.block("else:"):
                self._lookup(key, key_value.text)
        else:
            self._lookup(key, key_value.text)

    def _lookup(self, key: Node | str, key_text: str) -> None:
        generator = self.generator
        checked = isinstance(key, str) or generator.plan.is_constant(key)
        get = generator.refer(operators.lookup if checked else operators.lookup_any)
        access = generator.refer(operators.access if checked else operators.access_any)
        arguments = f"({self.text}, {key_text})"
        if self.optional is False:
            generator.assign_guarded(self.text, access + arguments)
            return
        if isinstance(self.optional, str):
            with generator.block(f"if not {self.optional}:"):
                if generator.limit is not None:
                    generator.emit("c += 1")
                generator.assign_guarded(self.text, access + arguments)
            with generator.block("else:"):
                self._lookup_optional(get + arguments)
        else:
            self._lookup_optional(get + arguments)

    def _lookup_optional(self, text: str) -> None:
        generator = self.generator
        generator.assign_guarded(self.text, text)
        if generator.limit is not None:
            error, missing = generator.error, generator.missing
            generator.emit(
                f"if {self.text} is not {missing} and {self.text}.__class__ is not {error}: c += 1"
            )

    def result(self) -> Value:
        generator = self.generator
        if self.device:
            return Value("d.as_map()", cls=dict)
        if self.optional is False:
            return Value(self.text, self.fails, self.cls)
        wrapped = f"{generator.refer(NONE)} if {self.text} is {generator.missing} else "
        wrapped += f"{generator.refer(Optional)}({self.text})"
        if isinstance(self.optional, str):
            wrapped = f"({wrapped}) if {self.optional} else {self.text}"
        if self.fails:
            wrapped = f"{self.text} if {self.text}.__class__ is {generator.error} else ({wrapped})"
        cls = Optional if self.optional is True else None
        return Value(generator.temporary(wrapped), self.fails, cls)

    def presence(self, field: str) -> Value:
        """Whether the field is there: what `has` gives."""
        generator = self.generator
        if self.device:
            generator.pay(1)
            return Value("True", cls=bool)
        result = generator.name("t")
        tests = self._alive()
        if self.optional is False and not tests:
            generator.pay(1)
            self._test_presence(result, field)
            return Value(result, True, bool)
        self.text = generator.temporary(self.text)
        generator.flush()
        with generator.block(f"if {' and '.join(self._alive()) or 'True'}:"):
            self._test_presence(result, field)
            if generator.limit is not None:
                free = f" and {result} is not True" if self.optional is True else ""
                if isinstance(self.optional, str):
                    free = f" and {self.optional} and {result} is not True"
                generator.emit(f"if not (True{free}): c += 1" if free else "c += 1")
        missing = (
            f"False if {self.text} is {generator.missing} else {self.text}" if self.misses else self.text
        )
        generator.emit(f"else: {result} = {missing}")
        return Value(result, True, bool)

    def _test_presence(self, result: str, field: str) -> None:
        generator = self.generator
        lookup, missing = generator.refer(operators.lookup), generator.missing
        generator.assign_guarded(result, f"{lookup}({self.text}, {field!r}) is not {missing}")

"""Python source for list, map and message literals, whose elements may be errors or optional."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deviceselectors.ast import Node
from deviceselectors.runtime.emitter import Value
from deviceselectors.runtime.values import Optional

if TYPE_CHECKING:
    from deviceselectors.runtime.generator import Generator


class LiteralBuilder:
    """The elements of a list, map or message literal; the first error among them is the literal's value."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        #: the local for the first error, once there can be one
        self.result = ""

    def add(self, node: Node) -> Value:
        generator = self.generator
        if not self.result:
            value = generator.atom(generator.value(node))
            self._note_error(value)
        else:
            generator.flush()
            with generator.block(f"if {self.result} is {generator.missing}:"):
                value = generator.atom(generator.value(node))
                self._note_error(value)
                generator.flush()
        return Value(value.text, False, value.cls)

    def _note_error(self, value: Value) -> None:
        if not value.fails:
            return
        generator = self.generator
        test = f"{value.text}.__class__ is {generator.error}"
        if self.result:
            generator.emit(f"if {test}: {self.result} = {value.text}")
        else:
            self.result = generator.temporary(f"{value.text} if {test} else {generator.missing}")

    def unwrap(self, value: Value, error: str) -> Value:
        """The content of an optional element, `MISSING` if it has none."""
        generator = self.generator
        name = generator.name("t")
        if not self.result:
            self.result = generator.temporary(generator.missing)
        generator.flush()
        with generator.block(f"if {self.result} is {generator.missing}:"):
            optional = generator.refer(Optional)
            value = generator.local(value)
            generator.emit(
                f"{name} = {value.text}.value if {value.text}.__class__ is {optional} else {error}"
            )
            self._note_error(Value(name, True))
        return Value(name)

    def finish(self, text: str, cls: type | None, *, may_raise: bool = False) -> Value:
        generator = self.generator
        if not self.result:
            return generator.guard(text) if may_raise else Value(generator.temporary(text), False, cls)
        with generator.block(f"if {self.result} is {generator.missing}:"):
            if may_raise:
                generator.assign_guarded(self.result, text)
            else:
                generator.emit(f"{self.result} = {text}")
        return Value(self.result, True, cls)

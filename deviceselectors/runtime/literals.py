"""Code for list, map and message literals, whose elements may be errors or optional."""

from __future__ import annotations

from deviceselectors.ast import Node
from deviceselectors.runtime import trees
from deviceselectors.runtime.plan_writer import PlanWriter
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import MISSING, Optional
from deviceselectors.runtime.writer import Value


class LiteralBuilder:
    """The elements of a list, map or message literal; the first error among them is the literal's value."""

    def __init__(self, generator: PlanWriter) -> None:
        self.generator = generator
        #: the local for the first error, once there can be one
        self.result = ""

    def add(self, node: Node) -> Value:
        """Emit what computes an element, unless one before it has failed."""
        generator = self.generator
        if not self.result:
            value = generator.atom(generator.value(node))
            self._note_error(value)
        else:
            generator.flush()
            with generator.when(self._no_error_yet()):
                value = generator.atom(generator.value(node))
                self._note_error(value)
                generator.flush()
        return Value(value.tree, False, value.cls)

    def _no_error_yet(self) -> Tree:
        return trees.compare(trees.name(self.result), "is", self.generator.refer(MISSING))

    def _note_error(self, value: Value) -> None:
        if not value.fails:
            return
        generator = self.generator
        failed = generator.is_error(value.tree)
        if self.result:
            generator.assign_when(failed, self.result, value.tree)
        else:
            self.result = generator.name("t")
            first = trees.choose(failed, value.tree, generator.refer(MISSING))
            generator.assign(self.result, first)

    def unwrap(self, value: Value, error: Tree) -> Value:
        """The content of an optional element, `MISSING` if it has none."""
        generator = self.generator
        name = generator.name("t")
        if not self.result:
            self.result = generator.name("t")
            generator.assign(self.result, generator.refer(MISSING))
        generator.flush()
        with generator.when(self._no_error_yet()):
            content = trees.attribute(value.tree, "value")
            is_optional = generator.is_class(value.tree, Optional)
            generator.assign(name, trees.choose(is_optional, content, error))
            self._note_error(Value(trees.name(name), True))
        return Value(trees.name(name))

    def finish(self, literal: Tree, cls: type | None, *, may_raise: bool = False) -> Value:
        """The literal's value: the first error, else what the tree makes of the elements."""
        generator = self.generator
        if not self.result:
            return generator.guard(literal) if may_raise else Value(generator.temporary(literal), False, cls)
        with generator.when(self._no_error_yet()):
            if may_raise:
                generator.assign_guarded(self.result, literal)
            else:
                generator.assign(self.result, literal)
        return Value(trees.name(self.result), True, cls)

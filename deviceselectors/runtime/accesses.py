"""Code for accesses to fields and elements: `base.field`, `base[key]`, `base.?field`, `has(base.field)`.

cel-go collects the accesses that follow each other and applies them together to the innermost object. That shows: only
that object is looked at for being an optional, and the whole costs one unit besides one for each access.
"""

from __future__ import annotations

from copy import copy

from deviceselectors import types as static
from deviceselectors.ast import IDENT, Node
from deviceselectors.runtime import operators, trees
from deviceselectors.runtime.plan_writer import DEVICE, PlanWriter
from deviceselectors.runtime.shapes import is_call
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import NONE, DomainMap, Optional
from deviceselectors.runtime.writer import Value

#: Where the fields of `device` are, and their class.
DEVICE_FIELDS: dict[str, tuple[Tree, type]] = {
    "driver": (trees.attribute(DEVICE, "driver"), str),
    "allowMultipleAllocations": (trees.attribute(DEVICE, "multiple"), bool),
    "attributes": (trees.attribute(DEVICE, "attributes"), DomainMap),
    "capacity": (trees.attribute(DEVICE, "capacity"), DomainMap),
}
_NEVER_OPTIONAL = frozenset((static.LIST, static.MAP, static.STRING, static.INT, static.BOOL, static.UINT))


class AccessChain:
    """Accesses to fields and elements one after the other: `base.field[key].?field`.

    From the first optional access on, or if the base is an optional, what is missing is no error, and the result an
    optional. `optional` is True or False, or the name of a local where that is known only at run time.
    """

    def __init__(self, generator: PlanWriter, base: Node) -> None:
        self.generator = generator
        self.device = False
        self.fails = False
        self.misses = False
        self.optional: bool | str = False
        self.cls: type | None = None
        #: the local with the object, once there is one
        self.local = ""
        if base.kind == IDENT and base.name == "device" and "device" not in generator.scope:  # type: ignore[attr-defined]
            self.device = True
            self.object = DEVICE
            return
        value = generator.raw(base) if base.kind == IDENT or is_call(base, "_?_:_") else generator.value(base)
        self.fails, self.cls = value.fails, value.cls
        self.object = value.tree
        kind = base.type.kind if base.type is not None else static.DYN
        if value.cls is Optional or (value.cls is None and kind not in _NEVER_OPTIONAL):
            self._find_out()

    def _find_out(self) -> None:
        generator = self.generator
        self._own_local()
        self.optional = generator.name("t")
        generator.assign(self.optional, generator.is_class(self.object, Optional))
        content = trees.attribute(self.object, "value")
        generator.assign_when(trees.name(self.optional), self.local, content)
        self.misses = True

    def step(self, key: Node | str, optional: bool) -> None:
        """One access; the key is a field name or the node of an index."""
        generator = self.generator
        if optional:
            if isinstance(self.optional, str):
                generator.assign(self.optional, trees.TRUE)
            self.optional = True
        if self.device and isinstance(key, str):
            self._device_field(key)
            return
        if isinstance(key, str) and self.cls is DomainMap and not self.misses:
            # a domain is always there
            self.object, self.cls = trees.item(self.object, generator.refer(key)), dict
            generator.pay(1)
            return
        self._own_local()
        tests = self._alive()
        if tests:
            generator.flush()
            with generator.when(trees.both(tests)):
                self._access(key)
                generator.flush()
        else:
            self._access(key)
        self.fails = True
        self.misses = self.misses or self.optional is not False
        self.cls = None

    def _device_field(self, key: str) -> None:
        self.object, self.cls = DEVICE_FIELDS[key]
        self.device = False
        self.generator.pay(1)

    def _own_local(self) -> None:
        """Puts the object into a local that may be assigned to."""
        self.local = self.generator.name("t")
        self.generator.assign(self.local, self.object)
        self.object = trees.name(self.local)

    def _alive(self) -> list[Tree]:
        tests = []
        if self.fails:
            tests.append(self.generator.is_no_error(self.object))
        if self.misses:
            tests.append(self.generator.is_there(self.object))
        return tests

    def _access(self, key: Node | str) -> None:
        generator = self.generator
        key_value = generator.constant(key) if isinstance(key, str) else generator.atom(generator.raw(key))
        if self.optional is False:
            generator.pay(1)
        generator.flush()
        if key_value.fails:
            with generator.when(generator.is_error(key_value.tree)) as otherwise:
                if isinstance(self.optional, str) and generator.counts:
                    with generator.when(trees.negated(trees.name(self.optional))):
                        generator.pay_one()
                generator.assign(self.local, key_value.tree)
            with generator.otherwise(otherwise):
                self._lookup(key, key_value.tree)
        else:
            self._lookup(key, key_value.tree)

    def _lookup(self, key: Node | str, key_tree: Tree) -> None:
        generator = self.generator
        checked = isinstance(key, str) or generator.plan.is_constant(key)
        lookup = generator.refer(operators.lookup if checked else operators.lookup_any)
        access = generator.refer(operators.access if checked else operators.access_any)
        looked_up = trees.call(lookup, self.object, key_tree)
        accessed = trees.call(access, self.object, key_tree)
        if self.optional is False:
            generator.assign_guarded(self.local, accessed)
            return
        if isinstance(self.optional, str):
            with generator.when(trees.negated(trees.name(self.optional))) as otherwise:
                if generator.counts:
                    generator.pay_one()
                generator.assign_guarded(self.local, accessed)
            with generator.otherwise(otherwise):
                self._lookup_optional(looked_up)
        else:
            self._lookup_optional(looked_up)

    def _lookup_optional(self, looked_up: Tree) -> None:
        generator = self.generator
        generator.assign_guarded(self.local, looked_up)
        if generator.counts:
            found = [generator.is_there(self.object), generator.is_no_error(self.object)]
            with generator.when(trees.both(found)):
                generator.pay_one()

    def result(self) -> Value:
        """The value that the chain leads to."""
        generator = self.generator
        if self.device:
            return generator.whole_device()
        if self.optional is False:
            return Value(self.object, self.fails, self.cls)
        wrapped = trees.choose(
            generator.is_missing(self.object),
            generator.refer(NONE),
            trees.call(generator.refer(Optional), self.object),
        )
        if isinstance(self.optional, str):
            wrapped = trees.choose(trees.name(self.optional), wrapped, self.object)
        if self.fails:
            wrapped = trees.choose(generator.is_error(self.object), self.object, wrapped)
        cls = Optional if self.optional is True else None
        return Value(generator.temporary(wrapped), self.fails, cls)

    def unwrapped_presence(self, field: str) -> Value:
        """What `has` gives in branches of `?:` and as a key: if the chain is optional, an optional of the field."""
        generator = self.generator
        if self.optional is False:
            return self.presence(field)
        if self.optional is True:
            self.step(field, False)
            return self.result()
        result = generator.name("t")
        optional, plain = copy(self), copy(self)
        optional.optional, plain.optional = True, False
        generator.flush()
        with generator.when(trees.name(self.optional)) as otherwise:
            content = optional.unwrapped_presence(field)
            generator.flush()
            generator.assign(result, content.tree)
        with generator.otherwise(otherwise):
            found = plain.presence(field)
            generator.flush()
            generator.assign(result, found.tree)
        return Value(trees.name(result), True)

    def presence(self, field: str) -> Value:
        """Whether the field is there: what `has` gives."""
        generator = self.generator
        if self.device:
            generator.pay(1)
            return Value(trees.TRUE, cls=bool)
        result = generator.name("t")
        tests = self._alive()
        if self.optional is False and not tests:
            generator.pay(1)
            self._test_presence(result, field)
            return Value(trees.name(result), True, bool)
        self._own_local()
        generator.flush()
        with generator.when(trees.both(self._alive() or [trees.TRUE])) as otherwise:
            self._test_presence(result, field)
            if generator.counts:
                self._pay_presence(result)
        with generator.otherwise(otherwise):
            absent = trees.choose(generator.is_missing(self.object), trees.FALSE, self.object)
            generator.assign(result, absent if self.misses else self.object)
        return Value(trees.name(result), True, bool)

    def _pay_presence(self, result: str) -> None:
        """An optional access that finds nothing is free."""
        generator = self.generator
        if self.optional is False:
            generator.pay_one()
            return
        costs = [trees.compare(trees.name(result), "is", trees.TRUE)]
        if isinstance(self.optional, str):
            costs.append(trees.negated(trees.name(self.optional)))
        with generator.when(trees.either(costs)):
            generator.pay_one()

    def _test_presence(self, result: str, field: str) -> None:
        generator = self.generator
        found = trees.call(generator.refer(operators.lookup), self.object, generator.refer(field))
        generator.assign_guarded(result, generator.is_there(found))

"""Which CEL environment an expression is checked in."""

from __future__ import annotations

from functools import cache


class Environment:
    """The environment and what of it depends on feature gates.

    `kind` is `new` for an expression that an API request brings or changes: kube-apiserver checks it against what the
    previous release knows as well. `stored` is for one that is in a stored object: everything is allowed, whatever the
    gates. `consumable_capacity` is the gate DRAConsumableCapacity (declares `device.allowMultipleAllocations`),
    `list_attributes` the gate DRAListTypeAttributes (attributes are `dyn` and may be lists, `includes` exists).
    `derived` is for expressions of derived attributes, which may give other results than bool.

    Immutable and hashable. Source: KEP-4381, KEP-5075, KEP-5491; k8s.io/dynamic-resource-allocation 0.37.
    """

    __slots__ = (
        "_hash",
        "_key",
        "derived",
        "functions",
        "has_multiple_allocations",
        "has_untyped_attributes",
        "kind",
    )

    def __init__(
        self,
        kind: str = "new",
        consumable_capacity: bool = True,
        list_attributes: bool = False,
        derived: bool = False,
    ) -> None:
        if kind not in ("new", "stored"):
            raise ValueError(f"kind must be new or stored, not {kind!r}")
        stored = kind == "stored"
        self.kind = kind
        #: whether `device.allowMultipleAllocations` is declared
        self.has_multiple_allocations = stored or consumable_capacity
        #: whether attributes are `dyn` rather than `any`, and `includes` is declared
        self.has_untyped_attributes = stored or list_attributes
        self.derived = derived
        #: equal for environments that declare the same functions
        self.functions = 2 if stored else int(list_attributes)
        self._key = (kind, self.has_multiple_allocations, self.has_untyped_attributes, derived)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Environment) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"Environment(kind={self.kind!r}, consumable_capacity={self.has_multiple_allocations}, "
            f"list_attributes={self.has_untyped_attributes}, derived={self.derived})"
        )


@cache
def environment_of(consumable_capacity: bool, list_attributes: bool, derived: bool) -> Environment:
    """The environment for what a request brings, one object for the same gates."""
    return Environment(
        consumable_capacity=consumable_capacity, list_attributes=list_attributes, derived=derived
    )

"""Which CEL environment an expression is checked in."""

from __future__ import annotations

from functools import cache

from resourceapi.measured import CLASSIC_MINOR, NEWEST


class Environment:
    """The environment and what of it depends on feature gates.

    `kind` is `new` for an expression that an API request brings or changes: kube-apiserver checks it against what the
    previous release knows as well. `stored` is for one that is in a stored object: everything is allowed, whatever the
    gates. `consumable_capacity` is the gate DRAConsumableCapacity (declares `device.allowMultipleAllocations`),
    `list_attributes` the gate DRAListTypeAttributes (attributes are `dyn` and may be lists, `includes` exists).
    `derived` is for expressions of derived attributes, which may give other results than bool.

    `named_resources` is for the selectors of v1alpha2, which kube-apiserver 1.30 checks: there is no device, but a map
    of attributes for each type of values.

    Immutable and hashable. Source: KEP-4381, KEP-5075, KEP-5491; k8s.io/dynamic-resource-allocation 0.30 and 0.37.
    """

    def __init__(
        self,
        kind: str = "new",
        consumable_capacity: bool = True,
        list_attributes: bool = False,
        derived: bool = False,
        named_resources: bool = False,
        release: int = NEWEST,
    ) -> None:
        if kind not in ("new", "stored"):
            raise ValueError(f"kind must be new or stored, not {kind!r}")
        stored = kind == "stored"
        self.kind = kind
        #: whether `device.allowMultipleAllocations` is declared
        self.has_multiple_allocations = consumable_capacity or (stored and release >= 34)
        #: whether attributes are `dyn` rather than `any`, and `includes` is declared
        self.has_untyped_attributes = list_attributes or (stored and release >= 36)
        self.derived = derived
        self.named_resources = named_resources
        #: the release of the server, whose syntax, rules and messages hold
        self.server = release
        #: the release whose libraries expressions can use: for new ones, that before the server's
        self.release = release if stored else release - 1
        #: equal for environments that declare the same functions
        self.functions = (self.server, stored, self.has_untyped_attributes)
        self._key = (*self.functions, self.has_multiple_allocations, derived)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Environment) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"Environment(kind={self.kind!r}, consumable_capacity={self.has_multiple_allocations}, "
            f"list_attributes={self.has_untyped_attributes}, derived={self.derived}, "
            f"named_resources={self.named_resources})"
        )


@cache
def environment_of(
    consumable_capacity: bool,
    list_attributes: bool,
    derived: bool,
    release: int = NEWEST,
    stored: bool = False,
) -> Environment:
    """The environment for what a request to a server of release 1.``release`` brings, one object for the same gates."""
    return Environment(
        "stored" if stored else "new",
        consumable_capacity=consumable_capacity,
        list_attributes=list_attributes,
        derived=derived,
        release=release,
    )


@cache
def environment_of_named_resources(stored: bool) -> Environment:
    """The environment for selectors of v1alpha2, that a request brings or that are stored."""
    return Environment("stored" if stored else "new", named_resources=True, release=CLASSIC_MINOR)

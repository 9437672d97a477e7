"""May a device be taken? One rule after the other, each with a cluster that differs in just that."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from allocator.features import Features
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from tests.allocator.objects import (
    ALL_FEATURES,
    alternative,
    ask,
    claim,
    cluster,
    counter_slice,
    device,
    device_class,
    devices_of,
    draws,
    exactly,
    first_of,
    held,
    node,
    slice_of,
    without,
)


class Scenario(NamedTuple):
    """What a cluster has, what is requested, and which devices are found (None: does not fit)."""

    id: str
    slices: list[Object]
    claims: list[Object]
    found: list[str] | None
    holders: list[Object] = []  # noqa: RUF012 - never changed
    features: Features = ALL_FEATURES
    node: Node | None = None


def parametrised(scenarios: list[Scenario]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("scenario", scenarios, ids=[scenario.id for scenario in scenarios])


def check(scenario: Scenario) -> None:
    state = cluster(
        *scenario.slices,
        features=scenario.features,
        holders=scenario.holders,
        nodes=[scenario.node or node()],
    )
    assert devices_of(ask(state, *scenario.claims)) == scenario.found


ADMIN = exactly("a", adminAccess=True)
USE = [
    Scenario("free", [slice_of("d")], [claim(exactly())], ["r=d"]),
    Scenario("held", [slice_of("d")], [claim(exactly())], None, [held("d")]),
    Scenario("held-elsewhere", [slice_of("d")], [claim(exactly())], ["r=d"], [held("d", pool="other")]),
    Scenario("held-by-admin", [slice_of("d")], [claim(exactly())], ["r=d"], [held("d", adminAccess=True)]),
    Scenario("admin-takes-held", [slice_of("d")], [claim(ADMIN)], ["a=d"], [held("d")]),
    Scenario("admin-twice-in-claim", [slice_of("d")], [claim(ADMIN, exactly("b", adminAccess=True))], None),
    Scenario("normal-after-admin", [slice_of("d")], [claim(ADMIN), claim(exactly(), name="c2")], None),
    Scenario(
        "admin-after-normal-of-other-claim",
        [slice_of("d")],
        [claim(exactly()), claim(ADMIN, name="c2")],
        ["r=d", "a=d"],
    ),
    Scenario("two-of-one", [slice_of("d")], [claim(exactly(count=2))], None),
    Scenario("all-but-one-is-held", [slice_of("d", "e")], [claim(exactly(count=None))], None, [held("e")]),
    Scenario("all-of-none", [slice_of()], [claim(exactly(count=None))], None),
]


@parametrised(USE)
def test_use(scenario: Scenario) -> None:
    """A device is for one claim; admin access looks only at the own claim (KEP-5018)."""
    check(scenario)


def tainted(effect: str) -> Object:
    return slice_of(device("d", taints=[{"key": "k", "value": "v", "effect": effect}]), "e")


def tolerating(**toleration: str) -> list[Object]:
    return [claim(exactly(tolerations=[toleration]))]


TAINTS = [
    Scenario("no-schedule", [tainted("NoSchedule")], [claim(exactly())], ["r=e"]),
    Scenario("no-execute", [tainted("NoExecute")], [claim(exactly())], ["r=e"]),
    Scenario("none", [tainted("None")], [claim(exactly())], ["r=d"]),
    Scenario("exists", [tainted("NoSchedule")], tolerating(operator="Exists"), ["r=d"]),
    Scenario("equal", [tainted("NoSchedule")], tolerating(key="k", operator="Equal", value="v"), ["r=d"]),
    Scenario("other-value", [tainted("NoSchedule")], tolerating(key="k", operator="Equal"), ["r=e"]),
    Scenario("other-key", [tainted("NoSchedule")], tolerating(key="x", operator="Exists"), ["r=e"]),
    Scenario(
        "other-effect", [tainted("NoExecute")], tolerating(operator="Exists", effect="NoSchedule"), ["r=e"]
    ),
    Scenario(
        "unknown-operator", [tainted("NoSchedule")], tolerating(key="k", operator="In", value="v"), ["r=e"]
    ),
    Scenario(
        "gate-off",
        [tainted("NoSchedule")],
        [claim(exactly())],
        ["r=d"],
        features=without("DRADeviceTaints"),
    ),
    Scenario("all-with-tainted", [tainted("NoSchedule")], [claim(exactly(count=None))], None),
]


@parametrised(TAINTS)
def test_taints(scenario: Scenario) -> None:
    """A device with a taint needs a toleration of the request (KEP-5055)."""
    check(scenario)


def partitions(*devices: Object, sets: dict[str, dict[str, str]] | None = None) -> list[Object]:
    return [counter_slice(sets or {"s": {"m": "4"}}), slice_of(*devices, count=2)]


def part(name: str, amount: str, counter_set: str = "s", groups: list[str] | None = None) -> Object:
    return device(name, consumesCounters=[draws(counter_set, {"m": amount}, groups)])


TWO = [claim(exactly(count=2))]
COUNTERS = [
    Scenario("enough", partitions(part("d", "2"), part("e", "2")), TWO, ["r=d", "r=e"]),
    Scenario("one-short", partitions(part("d", "2"), part("e", "3")), TWO, None),
    Scenario(
        "allocated-draws",
        partitions(part("d", "2"), part("e", "3")),
        [claim(exactly())],
        None,
        [held("d")],
    ),
    Scenario(
        "skips-the-large",
        partitions(part("d", "3"), part("e", "2"), part("f", "1")),
        TWO,
        ["r=d", "r=f"],
    ),
    Scenario(
        "overdrawn-blocks-other-sets",
        partitions(
            part("x", "9", "a"), part("d", "1", "b"), device("e"), sets={"a": {"m": "4"}, "b": {"m": "4"}}
        ),
        [claim(exactly())],
        ["r=e"],
        [held("x")],
    ),
    Scenario(
        "admin-pays", partitions(part("d", "4"), part("e", "1")), [claim(exactly(count=1), ADMIN)], None
    ),
    Scenario(
        "gate-off",
        [slice_of(part("d", "1"), "e")],
        [claim(exactly())],
        ["r=e"],
        features=without("DRAPartitionableDevices"),
    ),
]


@parametrised(COUNTERS)
def test_counters(scenario: Scenario) -> None:
    """Devices that share hardware draw from counters of their pool, none of which may be overdrawn (KEP-4815)."""
    check(scenario)


def grouped(*groups: list[str] | None) -> list[Object]:
    return partitions(*(part(f"d{index}", "1", groups=each) for index, each in enumerate(groups)))


NO_GROUPS = without("DRADeviceCompatibilityGroups")
GROUPS = [
    Scenario("same", grouped(["mig"], ["mig"]), TWO, ["r=d0", "r=d1"]),
    Scenario("exclusive", grouped(["mig"], ["vgpu"]), TWO, None),
    Scenario("one-in-common", grouped(["mig", "x"], ["vgpu", "x"]), TWO, ["r=d0", "r=d1"]),
    Scenario("none-with-none", grouped(None, []), TWO, ["r=d0", "r=d1"]),
    Scenario("none-with-some", grouped(None, ["mig"]), TWO, None),
    Scenario("some-with-none", grouped(["mig"], None), TWO, None),
    Scenario(
        "in-common-to-all", grouped(["a", "b"], ["b", "c"], ["a", "c"]), [claim(exactly(count=3))], None
    ),
    Scenario("mig-then-vgpu", grouped(["mig"], ["vgpu"]), [claim(exactly())], None, [held("d0")]),
    Scenario("vgpu-then-mig", grouped(["mig"], ["vgpu"]), [claim(exactly())], None, [held("d1")]),
    Scenario(
        "given-back-when-counters-refuse",
        [
            counter_slice({"s": {"m": "2"}}),
            slice_of(part("big", "3", groups=["vgpu"]), part("d", "1", groups=["mig"]), count=2),
        ],
        [claim(exactly())],
        ["r=d"],
    ),
    Scenario(
        "two-sets-each-on-its-own",
        [
            counter_slice({"s": {"m": "4"}, "t": {"m": "4"}}),
            slice_of(
                part("d", "1", "s", ["mig"]),
                device(
                    "e", consumesCounters=[draws("s", {"m": "1"}, ["mig"]), draws("t", {"m": "1"}, ["x"])]
                ),
                part("f", "1", "t", ["y"]),
                count=2,
            ),
        ],
        [claim(exactly(count=2))],
        ["r=d", "r=e"],
    ),
    Scenario("gate-off", grouped(["mig"]), [claim(exactly())], None, features=NO_GROUPS),
    Scenario("gate-off-without-groups", grouped(None), [claim(exactly())], ["r=d0"], features=NO_GROUPS),
]


@parametrised(GROUPS)
def test_compatibility_groups(scenario: Scenario) -> None:
    """Devices on one counter set need a group in common, or all have none (KEP-5963)."""
    check(scenario)


def attributed(**values: Any) -> list[Object]:
    devices = [
        device(name, attributes={} if value is None else {"a": value}) for name, value in values.items()
    ]
    return [slice_of(*devices)]


def constrained(kind: str, count: int = 2, attribute: str = "gpu.example.com/a") -> list[Object]:
    return [claim(exactly(count=count), constraints=[{f"{kind}Attribute": attribute}])]


SCALARS = without("DRAListTypeAttributes")
CONSTRAINTS = [
    Scenario("match", attributed(d=1, e=2, f=1), constrained("match"), ["r=d", "r=f"]),
    Scenario("match-by-another-first", attributed(d=1, e=2, f=2), constrained("match"), ["r=e", "r=f"]),
    Scenario("match-one-missing", attributed(d=None), constrained("match", 1), None),
    Scenario("match-types-differ", attributed(d=1, e="1", f=True), constrained("match"), None),
    Scenario("match-other-domain", attributed(d=1), constrained("match", 1, "x.example.com/a"), None),
    Scenario("match-list", attributed(d=["a", "b"], e=["b", "c"]), constrained("match"), ["r=d", "r=e"]),
    Scenario("match-list-scalar", attributed(d=["a", "b"], e="b"), constrained("match"), ["r=d", "r=e"]),
    Scenario(
        "match-list-rolling",
        attributed(d=["a", "b"], e=["b", "c"], f=["a", "c"]),
        constrained("match", 3),
        None,
    ),
    Scenario(
        "match-list-gate-off-first", attributed(d=["a"]), constrained("match", 1), ["r=d"], features=SCALARS
    ),
    Scenario(
        "match-list-gate-off-second", attributed(d="a", e=["a"]), constrained("match"), None, features=SCALARS
    ),
    Scenario("distinct", attributed(d=1, e=1, f=2), constrained("distinct"), ["r=d", "r=f"]),
    Scenario("distinct-missing", attributed(d=None), constrained("distinct", 1), None),
    Scenario("distinct-types", attributed(d=1, e="1"), constrained("distinct"), ["r=d", "r=e"]),
    Scenario("distinct-lists-overlap", attributed(d=["a", "b"], e=["b"]), constrained("distinct"), None),
    Scenario("distinct-lists", attributed(d=["a"], e=["b"]), constrained("distinct"), ["r=d", "r=e"]),
    Scenario(
        "only-named-requests",
        attributed(d=1, e=2),
        [
            claim(
                exactly(),
                exactly("s"),
                constraints=[{"matchAttribute": "gpu.example.com/a", "requests": ["r"]}],
            )
        ],
        ["r=d", "s=e"],
    ),
    Scenario(
        "subrequest",
        attributed(d=1, e=2, f=1),
        [
            claim(
                exactly(),
                first_of("s", alternative("x"), alternative("y")),
                constraints=[{"matchAttribute": "gpu.example.com/a", "requests": ["r", "s/x"]}],
            )
        ],
        ["r=d", "s/x=f"],
    ),
    Scenario(
        "constraint-of-other-subrequest",
        attributed(d=1, e=2),
        [
            claim(
                exactly(),
                first_of("s", alternative("x"), alternative("y")),
                constraints=[{"matchAttribute": "gpu.example.com/a", "requests": ["r", "s/x"]}],
            )
        ],
        ["r=d", "s/y=e"],
    ),
    Scenario(
        "derived-before-published",
        attributed(d=1, e=2),
        [
            claim(
                exactly(count=2, derivedAttributes=[{"name": "gpu.example.com/a", "expression": "'same'"}]),
                constraints=[{"matchAttribute": "gpu.example.com/a"}],
            )
        ],
        ["r=d", "r=e"],
    ),
]


@parametrised(CONSTRAINTS)
def test_constraints(scenario: Scenario) -> None:
    """Devices of a claim have one value in common, or all different ones (KEP-4381, KEP-5491)."""
    check(scenario)


def shared_device(**policy: Any) -> Object:
    capacity: Object = {"value": "10"}
    if policy:
        capacity["requestPolicy"] = policy
    return device("d", allowMultipleAllocations=True, capacity={"m": capacity})


def share(amount: str | None = None, name: str = "r") -> Object:
    return exactly(name) if amount is None else exactly(name, capacity={"m": amount})


SHARING = [
    Scenario(
        "two-requests", [slice_of(shared_device())], [claim(share("5"), share("5", "s"))], ["r=d", "s=d"]
    ),
    Scenario("too-much", [slice_of(shared_device())], [claim(share("5"), share("6", "s"))], None),
    Scenario("all-of-it-by-default", [slice_of(shared_device())], [claim(share(), share("1", "s"))], None),
    Scenario(
        "one-request-takes-it-once",
        [slice_of(shared_device())],
        [claim(exactly(count=2, capacity={"m": "1"}))],
        None,
    ),
    Scenario("unknown-capacity", [slice_of(shared_device())], [claim(exactly(capacity={"x": "1"}))], None),
    Scenario(
        "share-in-use",
        [slice_of(shared_device())],
        [claim(share("5"))],
        None,
        [held("d", shareID="1", consumedCapacity={"m": "6"})],
    ),
    Scenario(
        "share-leaves-enough",
        [slice_of(shared_device())],
        [claim(share("4"))],
        ["r=d"],
        [held("d", shareID="1", consumedCapacity={"m": "6"})],
    ),
    Scenario("held-without-share", [slice_of(shared_device())], [claim(share("1"))], None, [held("d")]),
    Scenario(
        "exclusive-too-small",
        [slice_of(device("d", capacity={"m": {"value": "4"}}))],
        [claim(exactly(capacity={"m": "5"}))],
        None,
    ),
    Scenario(
        "gate-off-is-exclusive",
        [slice_of(shared_device())],
        [claim(exactly(), exactly("s"))],
        None,
        features=without("DRAConsumableCapacity"),
    ),
]


@parametrised(SHARING)
def test_consumable_capacity(scenario: Scenario) -> None:
    """Several requests share a device as long as its capacities suffice (KEP-5075)."""
    check(scenario)


SKIPPING = slice_of("d", skipNodeOperations=["*"])
OPTIONAL = "DRAOptionalNodeOperations"
OTHERS = [
    Scenario("node-declares", [SKIPPING], [claim(exactly())], ["r=d"], node=node(declared=[OPTIONAL])),
    Scenario("node-does-not", [SKIPPING], [claim(exactly())], None),
    Scenario(
        "gate-off",
        [SKIPPING],
        [claim(exactly())],
        None,
        features=without(OPTIONAL),
        node=node(declared=[OPTIONAL]),
    ),
    Scenario(
        "binding-conditions-off",
        [slice_of(device("d", bindingConditions=["ready"]), "e")],
        [claim(exactly())],
        ["r=e"],
        features=without("DRADeviceBindingConditions"),
    ),
    Scenario(
        "selector-of-request",
        attributed(d=1, e=2),
        [claim(exactly(selectors=["device.attributes['gpu.example.com'].a == 2"]))],
        ["r=e"],
    ),
    Scenario(
        "per-device-node",
        [slice_of(device("d", nodeName="other"), device("e", nodeName="n"), perDeviceNodeSelection=True)],
        [claim(exactly())],
        ["r=e"],
    ),
]


@parametrised(OTHERS)
def test_node_and_selection(scenario: Scenario) -> None:
    """A device must be for the node, be usable there, and be selected."""
    check(scenario)


def test_class_selects() -> None:
    """Selectors of the class and of the request must both choose the device."""
    classes = [device_class("gpu", ["device.attributes['gpu.example.com'].a > 1"])]
    state = cluster(*attributed(d=1, e=2, f=3), classes=classes)
    wanted = claim(exactly(device_class="gpu", selectors=["device.attributes['gpu.example.com'].a != 2"]))
    assert devices_of(ask(state, wanted)) == ["r=f"]

"""In which order the search goes, and where it ends with an error."""

from __future__ import annotations

import pytest

from allocator.features import Features
from allocator.scheduling import FATAL, NODE, NodeAnswer
from resourceapi.objects import Object
from tests.allocator.objects import (
    ALL_FEATURES,
    alternative,
    ask,
    claim,
    cluster,
    device,
    device_class,
    devices_of,
    exactly,
    first_of,
    held,
    slice_of,
    without,
)

THREE = slice_of(
    device("d", attributes={"a": 1}), device("e", attributes={"a": 2}), device("f", attributes={"a": 2})
)
SAME = [{"matchAttribute": "gpu.example.com/a"}]
BIG_SMALL = first_of("r", alternative("big", 3), alternative("small"))

ORDERS: dict[str, tuple[list[Object], list[str] | None]] = {
    "device-order": ([claim(exactly(count=2))], ["r=d", "r=e"]),
    "next-request-from-the-start": (
        [claim(exactly(selectors=["device.attributes['gpu.example.com'].a == 2"]), exactly("s"))],
        ["r=e", "s=d"],
    ),
    "goes-back-within-claim": (
        [claim(exactly(), exactly("s", selectors=["device.attributes['gpu.example.com'].a == 1"]))],
        ["r=e", "s=d"],
    ),
    "goes-back-to-earlier-claim": (
        [
            claim(exactly()),
            claim(exactly("s", selectors=["device.attributes['gpu.example.com'].a == 1"]), name="c2"),
        ],
        ["r=e", "s=d"],
    ),
    "first-alternative": ([claim(BIG_SMALL)], ["r/big=d", "r/big=e", "r/big=f"]),
    "later-request-brings-next-alternative": ([claim(BIG_SMALL, exactly("s"))], ["r/small=d", "s=e"]),
    "later-claim-brings-next-alternative": (
        [claim(BIG_SMALL), claim(exactly("s"), name="c2")],
        ["r/small=d", "s=e"],
    ),
    "devices-before-alternatives": (
        [
            claim(
                first_of("r", alternative("x"), alternative("y", 2)),
                exactly("s", selectors=["device.attributes['gpu.example.com'].a == 1"]),
            )
        ],
        ["r/x=e", "s=d"],
    ),
    "group-that-is-large-enough": ([claim(exactly(count=2), constraints=SAME)], ["r=e", "r=f"]),
    "all": ([claim(exactly(count=None))], ["r=d", "r=e", "r=f"]),
    "count-of-zero": ([claim(exactly(count=0))], []),
    "no-requests": ([claim()], []),
    "too-few": ([claim(exactly(count=4))], None),
}


@pytest.mark.parametrize(("claims", "expected"), ORDERS.values(), ids=ORDERS)
def test_order(claims: list[Object], expected: list[str] | None) -> None:
    """Depth first over claims, requests, alternatives and devices; the first solution wins (KEP-4816)."""
    assert devices_of(ask(cluster(THREE), *claims)) == expected


def test_too_many_devices_tries_smaller_alternatives() -> None:
    """A claim has at most 32 devices; alternatives that would give it more are passed over."""
    many = slice_of(*(f"d{index:02}" for index in range(40)))
    lists = [first_of(f"r{index}", alternative("big", 20), alternative("small", 12)) for index in range(2)]
    assert served(ask(cluster(many), claim(*lists))) == ["r0/big"] * 20 + ["r1/small"] * 12
    lists.append(first_of("r2", alternative("big", 20), alternative("small", 8)))
    found = served(ask(cluster(many), claim(*lists)))
    assert found == ["r0/small"] * 12 + ["r1/small"] * 12 + ["r2/small"] * 8


def served(answer: NodeAnswer) -> list[str]:
    """The request that each device was found for."""
    return [each.partition("=")[0] for each in devices_of(answer) or ()]


def test_depth_costs_no_recursion() -> None:
    """A pod with many claims of many devices each goes deeper than Python can recurse."""
    many = slice_of(*(f"d{index}" for index in range(1280)))
    claims = [claim(exactly(count=32), name=f"c{index}") for index in range(40)]
    found = devices_of(ask(cluster(many), *claims))
    assert found is not None
    assert len(found) == 1280


UNKNOWN = 'deviceclass.resource.k8s.io "x" not found'
LISTED = first_of("r", alternative("s", adminAccess=False), alternative("t", capacity={"m": "1"}))
ERRORS: dict[str, tuple[list[Object], Features, str]] = {
    "missing-class": (
        [claim(exactly(device_class="x"))],
        ALL_FEATURES,
        f"claim ns/c, request r: could not retrieve device class x: {UNKNOWN}",
    ),
    "missing-class-in-unused-alternative": (
        [claim(first_of("r", alternative("s"), alternative("t", device_class="x")))],
        ALL_FEATURES,
        f"claim ns/c, request t: could not retrieve device class x: {UNKNOWN}",
    ),
    "no-class": (
        [claim(exactly(device_class=""))],
        ALL_FEATURES,
        "claim ns/c, request r: missing device class name (unsupported request type?)",
    ),
    "unknown-request-kind": (
        [claim({"name": "r"})],
        ALL_FEATURES,
        "claim ns/c, request r: missing device class name (unsupported request type?)",
    ),
    "unknown-mode": (
        [claim(exactly(allocationMode="Some"))],
        ALL_FEATURES,
        "claim ns/c, request r: unsupported count mode Some",
    ),
    "unknown-selector": (
        [claim({"name": "r", "exactly": {"deviceClassName": "any", "selectors": [{}]}})],
        ALL_FEATURES,
        "claim ns/c, request r, selector #0: CEL expression empty (unsupported selector type?)",
    ),
    "unknown-constraint": (
        [claim(exactly(), constraints=[{"requests": ["r"]}])],
        ALL_FEATURES,
        "claim ns/c, constraint #0: empty constraint (unsupported constraint type?)",
    ),
    "33-devices": (
        [claim(exactly(count=33))],
        ALL_FEATURES,
        "claim ns/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 already accounted for",
    ),
    "33-devices-in-two-requests": (
        [claim(exactly(count=32), exactly("s"))],
        ALL_FEATURES,
        "claim ns/c, request s: adding 1 devices exceeds the claim limit of 32, with 32 already accounted for",
    ),
    "alternatives-off": (
        [claim(LISTED)],
        without("DRAPrioritizedList"),
        "claim ns/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
    ),
    "capacity-off": (
        [claim(exactly(capacity={"m": "1"}))],
        without("DRAConsumableCapacity"),
        "claim ns/c, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ),
    "capacity-of-alternative-off": (
        [claim(LISTED)],
        without("DRAConsumableCapacity"),
        "claim ns/c, subrequest t: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ),
    "admin-access-off": (
        [claim(exactly(adminAccess=False))],
        without("DRAAdminAccess"),
        "claim ns/c, request r: admin access is requested, but the feature is disabled",
    ),
    "derived-attributes-off": (
        [claim(exactly(derivedAttributes=[{"name": "x/y", "expression": "1"}]))],
        without("DRADerivedAttributes"),
        "claim ns/c, request r: cannot handle request with derived attributes, the feature is disabled",
    ),
    "compile-error": (
        [claim(exactly(selectors=["'text'"]))],
        ALL_FEATURES,
        "claim ns/c: selector #0: CEL compile error: must evaluate to bool or the unknown type, not string",
    ),
    "run-time-error": (
        [claim(exactly(selectors=["device.attributes['gpu.example.com'].x == 1"]))],
        ALL_FEATURES,
        (
            "claim ns/c: selector #0 on device gpu.example.com/pool/d: CEL runtime error: no such key: x. consider "
            "using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
            "fields"
        ),
    ),
    "derived-attribute-error": (
        [
            claim(
                exactly(
                    derivedAttributes=[
                        {"name": "x/y", "expression": "device.attributes['gpu.example.com'].x"}
                    ]
                ),
                constraints=[{"matchAttribute": "x/y"}],
            )
        ],
        ALL_FEATURES,
        "evaluate derived attribute x/y on device gpu.example.com/pool/d failed: no such key: x",
    ),
    "all-against-constraint": (
        [claim(exactly(count=None), constraints=SAME)],
        ALL_FEATURES,
        (
            "claim ns/c, request r: cannot add device gpu.example.com/pool/e because a claim constraint would not be "
            "satisfied"
        ),
    ),
    "capacity-not-representable": (
        [claim(exactly(capacity={"m": "-1"}))],
        ALL_FEATURES,
        (
            'claim ns/c, request r: checking capacity for device gpu.example.com/shared/g: capacity "m": capacity '
            "value is negative"
        ),
    ),
}
SHARED = slice_of(
    device("g", allowMultipleAllocations=True, capacity={"m": {"value": "1"}}), name="shared", pool="shared"
)


@pytest.mark.parametrize(("claims", "features", "text"), ERRORS.values(), ids=ERRORS)
def test_fatal_errors(claims: list[Object], features: Features, text: str) -> None:
    """What is wrong with a claim or class ends the pod's attempt, with kube-scheduler's text."""
    answer = ask(cluster(THREE, SHARED, features=features), *claims)
    assert (answer.error, answer.error_kind, answer.result) == (text, FATAL, None)


def test_class_is_named_in_errors() -> None:
    """An error of a class's selector names the class."""
    state = cluster(THREE, classes=[device_class("any", ["true", "nothing"])])
    assert ask(state, claim(exactly())).error.startswith("class any: selector #1: CEL compile error: ")


def test_expressions_and_shared_devices() -> None:
    """To expressions that the stable allocator evaluates no device allows multiple allocations."""
    state = slice_of(device("d", allowMultipleAllocations=True))
    shared = claim(exactly(selectors=["device.allowMultipleAllocations"]))
    assert devices_of(ask(cluster(state), shared)) == ["r=d"]
    assert devices_of(ask(cluster(state, features=without("DRAConsumableCapacity")), shared)) == ["r=d"]
    assert devices_of(ask(cluster(state, features=Features()), shared)) is None


def test_device_in_use_is_not_evaluated() -> None:
    """A run-time error on a device that is held does not matter."""
    state = cluster(slice_of("c", device("d", attributes={"a": 1})), holders=[held("c")])
    wanted = claim(exactly(selectors=["device.attributes['gpu.example.com'].a == 1"]))
    assert devices_of(ask(state, wanted)) == ["r=d"]


TWICE = slice_of("x", "x", name="bad", pool="bad")
ALONE = slice_of("y", name="lonely", pool="lonely", count=2)
STATES: dict[str, tuple[Object, int | None, str, str]] = {
    "invalid-no-fit": (TWICE, 4, "invalid resource pools were encountered", NODE),
    "invalid-fits": (TWICE, 1, "", ""),
    "incomplete-no-fit": (ALONE, 4, "", ""),
    "all-invalid": (
        TWICE,
        None,
        "claim ns/c, request r: asks for all devices, but resource pool gpu.example.com/bad is currently invalid",
        FATAL,
    ),
    "all-incomplete": (
        ALONE,
        None,
        (
            "claim ns/c, request r: asks for all devices, but resource pool gpu.example.com/lonely is currently being "
            "updated"
        ),
        FATAL,
    ),
}


@pytest.mark.parametrize(("slice", "count", "text", "kind"), STATES.values(), ids=STATES)
def test_pool_states(slice: Object, count: int | None, text: str, kind: str) -> None:
    """`All` needs every pool of the node in order; others fail only if an invalid pool may be why."""
    answer = ask(cluster(THREE, slice), claim(exactly(count=count)))
    assert (answer.error, answer.error_kind) == (text, kind)

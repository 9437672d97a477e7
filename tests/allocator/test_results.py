"""What is written into a claim's status."""

from __future__ import annotations

from typing import Any

import pytest

from allocator import results
from allocator.features import Features
from resourceapi.encoding import encode
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    alternative,
    ask,
    claim,
    cluster,
    device,
    device_class,
    exactly,
    first_of,
    node,
    opaque,
    slice_of,
    without,
)

CLASSES = [
    device_class("any", config=[opaque("any-1"), opaque("any-2")]),
    device_class("other", config=[opaque("other")]),
]
ALL_D = slice_of("d", "e", "f")


def result_of(*slices: Object, wanted: Object, features: Features = ALL_FEATURES, **fields: Any) -> Object:
    """The AllocationResult of the only claim, as JSON."""
    state = cluster(*slices, features=features, classes=CLASSES, nodes=[node(**fields)])
    answer = ask(state, wanted)
    assert answer.result is not None, answer.error
    return encode(SCHEMAS["v1"], "AllocationResult", answer.result[0])


def config_of(wanted: Object) -> list[str]:
    """Each configuration as `source text: requests`."""
    config = result_of(ALL_D, wanted=wanted)["devices"].get("config", [])
    return [
        f"{entry['source']} {entry['opaque']['parameters']['is']}: {' '.join(entry.get('requests', []))}"
        for entry in config
    ]


def for_requests(text: str, *requests: str) -> Object:
    return {**opaque(text), **({"requests": list(requests)} if requests else {})}


SUB = first_of("l", alternative("x", 9), alternative("y", device_class="other"))
CONFIGS = {
    "one-request-needs-no-name": (claim(exactly()), ["FromClass any-1: ", "FromClass any-2: "]),
    "classes-in-order-of-requests": (
        claim(exactly(device_class="other"), exactly("s"), exactly("t", device_class="other")),
        ["FromClass other: r t", "FromClass any-1: s", "FromClass any-2: s"],
    ),
    "chosen-alternative": (
        claim(exactly(), SUB),
        ["FromClass any-1: r", "FromClass any-2: r", "FromClass other: l/y"],
    ),
    "claim-config-for-all": (
        claim(exactly(device_class="other"), config=[for_requests("mine")]),
        ["FromClass other: ", "FromClaim mine: "],
    ),
    "claim-config-by-name": (
        claim(
            exactly(device_class="other"),
            SUB,
            config=[
                for_requests("a", "r"),
                for_requests("b", "l/y"),
                for_requests("c", "l/x"),
                for_requests("d", "l"),
            ],
        ),
        ["FromClass other: ", "FromClaim a: r", "FromClaim b: l/y", "FromClaim d: l"],
    ),
    "all-requests-named": (
        claim(exactly(device_class="other"), SUB, config=[for_requests("a", "l/y", "r")]),
        ["FromClass other: ", "FromClaim a: "],
    ),
}


@pytest.mark.parametrize(("wanted", "expected"), CONFIGS.values(), ids=CONFIGS)
def test_config(wanted: Object, expected: list[str]) -> None:
    """Of classes, each once, then of the claim; no names where it is for all requests (KEP-4816)."""
    assert config_of(wanted) == expected


def requirement(key: str, *values: str) -> Object:
    return {"key": key, "operator": "In", "values": list(values)}


def on(*requirements: Object, fields: Object | None = None) -> Object:
    term: Object = {"matchExpressions": list(requirements)}
    if fields:
        term["matchFields"] = [fields]
    return {"nodeSelectorTerms": [term]}


ZONE, DISK = requirement("zone", "a", "b"), requirement("disk", "ssd")
THIS_NODE = {"nodeSelectorTerms": [{"matchFields": [requirement("metadata.name", "n")]}]}
SELECTORS: dict[str, tuple[list[Object], Object | None]] = {
    "everywhere": ([slice_of("d")], None),
    "node-name": ([slice_of("d", nodeName="n")], THIS_NODE),
    "one-device-on-a-node": (
        [slice_of("d", name="1", nodeSelector=on(ZONE)), slice_of("e", name="2", pool="q", nodeName="n")],
        THIS_NODE,
    ),
    "binds-to-node": ([slice_of(device("d", bindsToNode=True))], THIS_NODE),
    "selector": ([slice_of("d", nodeSelector=on(ZONE))], on(ZONE)),
    "equal-requirements-once": (
        [
            slice_of("d", name="1", nodeSelector=on(ZONE)),
            slice_of("e", name="2", pool="q", nodeSelector=on(requirement("zone", "b", "a"), DISK)),
        ],
        on(ZONE, DISK),
    ),
    "fields": (
        [slice_of("d", nodeSelector=on(ZONE, fields=requirement("metadata.name", "n", "m")))],
        on(ZONE, fields=requirement("metadata.name", "n", "m")),
    ),
    "per-device": (
        [slice_of(device("d", nodeSelector=on(ZONE)), perDeviceNodeSelection=True)],
        on(ZONE),
    ),
}


@pytest.mark.parametrize(("slices", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_node_selector(slices: list[Object], expected: Object | None) -> None:
    """The nodes that can use all devices."""
    labels = {"zone": "a", "disk": "ssd"}
    result = result_of(*slices, wanted=claim(exactly(count=None)), labels=labels)
    assert result.get("nodeSelector") == expected


def test_device_result() -> None:
    """A result has what the kubelet needs: tolerations of the request, conditions, operations to skip."""
    tolerations = [{"operator": "Exists"}]
    special = device("d", bindingConditions=["ready"], bindingFailureConditions=["broken"])
    result = result_of(
        slice_of(special, skipNodeOperations=["*"]),
        wanted=claim(first_of("r", alternative("s", tolerations=tolerations))),
        declared=["DRAOptionalNodeOperations"],
    )
    assert result["devices"]["results"] == [
        {
            "request": "r/s",
            "driver": DRIVER,
            "pool": "pool",
            "device": "d",
            "tolerations": tolerations,
            "bindingConditions": ["ready"],
            "bindingFailureConditions": ["broken"],
            "skipNodeOperations": ["*"],
        }
    ]


def test_older_allocators_do_not_know_operations_to_skip() -> None:
    """They take such devices on any node, and write nothing about it."""
    result = result_of(slice_of("d", skipNodeOperations=["*"]), wanted=claim(exactly()), features=Features())
    assert "skipNodeOperations" not in result["devices"]["results"][0]


@pytest.mark.parametrize("admin", [True, False])
def test_admin_access(admin: bool) -> None:
    """It is written only where it is true."""
    result = result_of(ALL_D, wanted=claim(exactly(adminAccess=admin)))
    assert result["devices"]["results"][0].get("adminAccess") is (True if admin else None)


SHARED = device("d", allowMultipleAllocations=True, capacity={"m": {"value": "10"}, "n": {"value": "1"}})


def test_shares() -> None:
    """Each share has an ID of its own and consumes of all capacities, in the way they are written."""
    wanted = claim(exactly(capacity={"m": "2000m", "n": "0"}), exactly("s", capacity={"m": "8"}))
    first, second = result_of(slice_of(SHARED), wanted=wanted)["devices"]["results"]
    assert first["shareID"] != second["shareID"]
    assert first["consumedCapacity"] == {"m": "2", "n": "0"}
    assert second["consumedCapacity"] == {"m": "8", "n": "1"}


def test_without_consumable_capacity_nothing_is_shared() -> None:
    """The device is taken as a whole."""
    features = without("DRAConsumableCapacity")
    (only,) = result_of(slice_of(SHARED), wanted=claim(exactly()), features=features)["devices"]["results"]
    assert only.keys() == {"request", "driver", "pool", "device"}


def test_selectors_with_very_many_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each requirement is looked at once, however many there are and however many devices of the slice are taken."""
    looked_at: list[Object] = []
    signature = results._signature

    def counted(requirement: Object) -> tuple[object, ...]:
        looked_at.append(requirement)
        return signature(requirement)

    monkeypatch.setattr(results, "_signature", counted)
    many = on(*[{"key": f"key-{number}", "operator": "DoesNotExist"} for number in range(300)])
    result = result_of(slice_of("d", "e", nodeSelector=many), wanted=claim(exactly(count=2)))
    assert result["nodeSelector"] == many
    assert len(looked_at) == 300

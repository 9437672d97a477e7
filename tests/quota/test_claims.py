"""What a claim counts: requests add up, alternatives do not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quota.amounts import written
from quota.claims import charges, demands, devices_by_class
from quota.evaluators import ClaimEvaluator, evaluator_for
from quota.names import ExtendedResources
from resourceapi.model.versions import GROUP
from resourceapi.records.classes import DeviceClass
from resourceapi.releases import Profile
from tests.quota.objects import alternative, claim, exactly, first_of

MAX_INT64 = 2**63 - 1


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param([], {}, id="no-requests"),
        pytest.param([exactly("r", "gpu", 3)], {"gpu": 3}, id="exact-count"),
        pytest.param([exactly("r", "gpu", None, "All")], {"gpu": 32}, id="all-is-the-most-there-can-be"),
        pytest.param([exactly("r", "gpu", None, "Future")], {}, id="unknown-mode"),
        pytest.param([exactly("r", "gpu", 7, "Future")], {}, id="unknown-mode-with-count"),
        pytest.param([exactly("r", "gpu", 2), exactly("s", "gpu", 3)], {"gpu": 5}, id="requests-add-up"),
        pytest.param([exactly("r", "gpu"), exactly("s", "nic", 2)], {"gpu": 1, "nic": 2}, id="classes-apart"),
        pytest.param(
            [
                first_of(
                    "r", alternative("a", "gpu", 2), alternative("b", "gpu", 5), alternative("c", "gpu", 3)
                )
            ],
            {"gpu": 5},
            id="largest-alternative",
        ),
        pytest.param(
            [first_of("r", alternative("a", "gpu", 2), alternative("b", "old", 5))],
            {"gpu": 2, "old": 5},
            id="every-class-among-the-alternatives",
        ),
        pytest.param(
            [first_of("r", alternative("a", "gpu", 33), alternative("b", "gpu", None, "All"))],
            {"gpu": 33},
            id="count-above-all",
        ),
        pytest.param(
            [first_of("r", alternative("a", "gpu", 31), alternative("b", "gpu", None, "All"))],
            {"gpu": 32},
            id="all-above-count",
        ),
        pytest.param(
            [first_of("r", alternative("a", "gpu", 2), alternative("b", "gpu", 9, "Future"))],
            {"gpu": 2},
            id="unknown-mode-among-alternatives",
        ),
        pytest.param(
            [first_of("r", alternative("a", "gpu", 2)), first_of("s", alternative("a", "gpu", 3))],
            {"gpu": 5},
            id="requests-with-alternatives-add-up",
        ),
        pytest.param(
            [
                first_of("r", alternative("a", "gpu", 2), alternative("b", "nic", 1)),
                exactly("s", "nic", 4),
            ],
            {"gpu": 2, "nic": 5},
            id="alternatives-and-exact",
        ),
        pytest.param([{"name": "r", "future": {}}], {}, id="unknown-kind-of-request"),
        pytest.param(
            [exactly("r", "gpu", MAX_INT64), exactly("s", "gpu", MAX_INT64)],
            {"gpu": 2 * MAX_INT64},
            id="more-than-64-bits",
        ),
    ],
)
def test_devices(requests: list[dict[str, Any]], expected: dict[str, int]) -> None:
    """For each class, the sum over requests of the largest number among a request's alternatives."""
    assert devices_by_class(demands(claim(*requests))) == expected


def test_every_demand_is_listed() -> None:
    """Alternatives that do not count are in the account, too; of equal ones the first counts."""
    found = demands(
        claim(
            first_of("r", alternative("a", "gpu", 1), alternative("b", "gpu", 2), alternative("c", "gpu", 2)),
            exactly("s", "nic", None, "All"),
        )
    )
    assert [(demand.name, demand.devices, demand.counted) for demand in found] == [
        ("r/a", 1, False),
        ("r/b", 2, True),
        ("r/c", 2, False),
        ("s", 32, True),
    ]


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 40)), min_size=1, max_size=8), max_size=6
    )
)
def test_no_choice_of_alternatives_gets_more(requests: list[list[tuple[str, int]]]) -> None:
    """Whichever alternative is allocated for each request: no class gives more devices than were counted.

    And for each class there is a choice that gives exactly as many, so that less would not be enough.
    """
    made = [
        first_of(f"r{i}", *(alternative(f"s{j}", *wanted) for j, wanted in enumerate(subrequests)))
        for i, subrequests in enumerate(requests)
    ]
    counted = devices_by_class(demands(claim(*made)))
    for wanted in "abc":
        worst = sum(max((n for c, n in subs if c == wanted), default=0) for subs in requests)
        assert counted.get(wanted, 0) == worst


CLASSES = [
    DeviceClass("ext", extended_resource="example.com/gpu"),
    DeviceClass("plain"),
    DeviceClass("twin", extended_resource="example.com/gpu"),
]


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        pytest.param(
            [exactly("r", "ext", 2)],
            {"requests.deviceclass.resource.kubernetes.io/ext": "2", "requests.example.com/gpu": "2"},
            id="class-with-a-resource",
        ),
        pytest.param(
            [exactly("r", "plain")],
            {"requests.deviceclass.resource.kubernetes.io/plain": "1"},
            id="class-without-a-resource",
        ),
        pytest.param(
            [exactly("r", "absent")],
            {"requests.deviceclass.resource.kubernetes.io/absent": "1"},
            id="class-that-does-not-exist",
        ),
        pytest.param(
            [exactly("r", "ext", 2), exactly("s", "twin", 3)],
            {
                "requests.deviceclass.resource.kubernetes.io/ext": "2",
                "requests.deviceclass.resource.kubernetes.io/twin": "3",
                "requests.example.com/gpu": "3",
            },
            id="classes-that-share-a-resource",
        ),
    ],
)
def test_extended_resources(requests: list[dict[str, Any]], expected: dict[str, str]) -> None:
    """Devices of a class also count as the extended resources by which pods could ask for them, if that is on."""
    obj = claim(*requests)
    base = written(charges(obj))
    assert written(ClaimEvaluator(ExtendedResources(CLASSES)).usage(obj)) == {**base, **expected}
    assert written(ClaimEvaluator(None).usage(obj)) == base


@pytest.mark.parametrize(
    ("name", "on", "off"),
    [
        pytest.param("count/resourceclaims.resource.k8s.io", True, True, id="count"),
        pytest.param("absent.deviceclass.resource.k8s.io/devices", True, True, id="any-class"),
        pytest.param("requests.deviceclass.resource.kubernetes.io/plain", True, False, id="implicit"),
        pytest.param(
            "requests.deviceclass.resource.kubernetes.io/absent", False, False, id="implicit-of-no-class"
        ),
        pytest.param("requests.example.com/gpu", True, False, id="explicit"),
        pytest.param("requests.example.com/other", False, False, id="resource-of-no-class"),
        pytest.param("example.com/gpu", False, False, id="without-requests"),
        pytest.param("count/resourceclaimtemplates.resource.k8s.io", False, False, id="other-kind"),
        pytest.param("pods", False, False, id="pods"),
    ],
)
def test_names_that_concern_claims(name: str, on: bool, off: bool) -> None:
    """Which limits make a quota concern claims, with extended resources on and off."""
    assert bool(ClaimEvaluator(ExtendedResources(CLASSES)).matching([name])) is on
    assert bool(ClaimEvaluator(None).matching([name])) is off


@pytest.mark.parametrize(("release", "is_charged"), [("1.34", False), ("1.35", True), ("1.37", True)])
def test_claims_are_charged_for_extended_resources_since_1_35(release: str, *, is_charged: bool) -> None:
    """A real 1.34.4 lets a claim for two devices pass a quota of one, also with the gate on; 1.35.4 does not."""
    profile = Profile(release, {"DRAExtendedResource": True})
    evaluator = evaluator_for(GROUP, "ResourceClaim", profile, ExtendedResources(CLASSES))
    assert evaluator is not None
    assert bool(evaluator.matching(["requests.example.com/gpu"])) is is_charged

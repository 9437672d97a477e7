"""Refusals that name the request, the alternative, the class, the number, and who has the rest."""

from __future__ import annotations

import pytest

from quota.admission import Shortage
from quota.claims import demands
from quota.explanation import User, explain
from quota.names import ExtendedResources
from resourceapi.quantity import Quantity
from resourceapi.records.classes import DeviceClass
from tests.quota.objects import alternative, claim, exactly, first_of

GPU = "gpu.deviceclass.resource.k8s.io/devices"
RESOURCES = ExtendedResources(
    [
        DeviceClass("gpu", extended_resource="example.com/gpu"),
        DeviceClass("twin", extended_resource="example.com/gpu"),
    ]
)
DEMANDS = demands(
    claim(
        first_of(
            "main", alternative("large", "big"), alternative("small", "gpu", 2), alternative("tiny", "gpu", 1)
        ),
        exactly("extra", "gpu", None, "All"),
        exactly("net", "nic"),
    )
)


def shortage(resource: str, requested: int, used: int, limit: int) -> Shortage:
    return Shortage("team-quota", resource, Quantity(requested), Quantity(used), Quantity(limit))


def user(name: str, amount: int, kind: str = "claim") -> User:
    return User(kind, name, Quantity(amount))


@pytest.mark.parametrize(
    ("found", "users", "expected"),
    [
        pytest.param(
            shortage(GPU, 34, 3, 36),
            [user("a", 2), user("b", 1)],
            f'1 too few devices of class "gpu" ({GPU}): needed 34 for '
            'request "main", alternative "small" (class "gpu", ExactCount): 2; '
            'request "extra" (class "gpu", All, at worst): 32, '
            'quota "team-quota" leaves 33 of 36 (used by claim "a" 2, claim "b" 1)',
            id="alternatives-and-users",
        ),
        pytest.param(
            shortage(GPU, 34, 0, 4),
            [],
            f'30 too few devices of class "gpu" ({GPU}): needed 34 for '
            'request "main", alternative "small" (class "gpu", ExactCount): 2; '
            'request "extra" (class "gpu", All, at worst): 32, quota "team-quota" leaves 4 of 4',
            id="nobody-else",
        ),
        pytest.param(
            shortage("count/resourceclaims.resource.k8s.io", 1, 2, 2),
            [user("a", 1)],
            '1 too few claims: needed 1, quota "team-quota" has none left of 2 (used by claim "a" 1, others 1)',
            id="number-of-claims-and-unknown-users",
        ),
        pytest.param(
            shortage("nic.deviceclass.resource.k8s.io/devices", 1, 21, 21),
            [user(f"c{number}", number) for number in range(1, 7)],
            '1 too few devices of class "nic" (nic.deviceclass.resource.k8s.io/devices): needed 1 for '
            'request "net" (class "nic", ExactCount): 1, quota "team-quota" has none left of 21 '
            '(used by claim "c6" 6, claim "c5" 5, claim "c4" 4, claim "c3" 3, claim "c2" 2, others 1)',
            id="largest-users-first",
        ),
        pytest.param(
            shortage("requests.example.com/gpu", 34, 40, 40),
            [user("p", 40, "Pod")],
            "34 too few requests.example.com/gpu: needed 34 for "
            'request "main", alternative "small" (class "gpu", ExactCount): 2; '
            'request "extra" (class "gpu", All, at worst): 32, '
            'quota "team-quota" has none left of 40 (used by Pod "p" 40)',
            id="extended-resource-of-two-classes",
        ),
        pytest.param(
            shortage(GPU, 34, 40, 4),
            [],
            f'70 too few devices of class "gpu" ({GPU}): needed 34 for '
            'request "main", alternative "small" (class "gpu", ExactCount): 2; '
            'request "extra" (class "gpu", All, at worst): 32, '
            'quota "team-quota" has none left of 4 (used by others 40)',
            id="limit-lowered-below-usage",
        ),
    ],
)
def test_explain(found: Shortage, users: list[User], expected: str) -> None:
    """One sentence per limit."""
    assert explain(found, DEMANDS, users, RESOURCES) == expected

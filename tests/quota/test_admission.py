"""Which quota refuses an object, in which words, and what is charged otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from quota.admission import admit
from quota.amounts import written
from quota.evaluators import ClaimEvaluator, PodEvaluator
from quota.names import ExtendedResources
from quota.resource_quotas import ResourceQuota
from resourceapi.quantity import Amounts, Quantity, amounts_of
from resourceapi.releases import Profile
from tests.quota.objects import alternative, claim, container, exactly, first_of, pod

GPU, NIC = (f"{name}.deviceclass.resource.k8s.io/devices" for name in ("gpu", "nic"))
COUNT = "count/resourceclaims.resource.k8s.io"
CLAIMS = ClaimEvaluator(ExtendedResources())
TWO = claim(first_of("r", alternative("a", "gpu", 2), alternative("b", "nic", 1)))


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **more: Any) -> ResourceQuota:
    given = amounts_of(used)
    return ResourceQuota(
        more.get("name", "q"),
        "team",
        amounts_of(hard),
        {**amounts_of(dict.fromkeys(hard, "0")), **given},
        more.get("scopes", ()),
    )


@pytest.mark.parametrize(
    ("hard", "used", "expected"),
    [
        pytest.param({GPU: "2", COUNT: "1"}, {}, {GPU: "2", COUNT: "1"}, id="at-the-limit"),
        pytest.param({GPU: "2k"}, {GPU: "998"}, {GPU: "1k"}, id="canonical-sums"),
        pytest.param({"pods": "1", GPU: "5"}, {}, {GPU: "2", "pods": "0"}, id="other-limits-stay"),
        pytest.param({"pods": "1"}, {"pods": "1"}, {"pods": "1"}, id="quota-of-other-things"),
        pytest.param(
            {GPU: "4", "x/y": "1"}, {"x/y": "9"}, {GPU: "2", "x/y": "9"}, id="exceeded-but-not-used"
        ),
    ],
)
def test_charged(hard: dict[str, str], used: dict[str, str], expected: dict[str, str]) -> None:
    """What fits is added to what is used, under the names that the quota limits."""
    verdict = admit([quota(hard, used)], CLAIMS, TWO)
    assert verdict.message == ""
    assert written(verdict.quotas[0].used) == dict(sorted(expected.items()))


class NotGoneThrough(Amounts):
    """Limits of which single ones may be looked up."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("each limit of a quota was looked at")


@pytest.mark.parametrize("limit", ["1", "2"], ids=["refused", "charged"])
def test_work_does_not_depend_on_the_number_of_limits(limit: str) -> None:
    """A quota with thousands of limits takes no longer for each claim than one with those that the claim uses."""
    limits = NotGoneThrough({GPU: Quantity(int(limit))})
    verdict = admit([quota({GPU: limit})._replace(hard=limits)], CLAIMS, TWO)
    assert [shortage.resource for shortage in verdict.shortages] == ([GPU] if limit == "1" else [])


@pytest.mark.parametrize(
    ("hard", "used", "expected"),
    [
        pytest.param(
            {GPU: "1", NIC: "1"},
            {},
            f"exceeded quota: q, requested: {GPU}=2, used: {GPU}=0, limited: {GPU}=1",
            id="only-what-is-exceeded",
        ),
        pytest.param(
            {GPU: "1", NIC: "0", COUNT: "7"},
            {COUNT: "7"},
            "exceeded quota: q, "
            f"requested: {COUNT}=1,{GPU}=2,{NIC}=1, used: {COUNT}=7,{GPU}=0,{NIC}=0, limited: {COUNT}=7,{GPU}=1,{NIC}=0",
            id="all-that-are-exceeded",
        ),
        pytest.param(
            {GPU: "3"},
            {GPU: "2"},
            f"exceeded quota: q, requested: {GPU}=2, used: {GPU}=2, limited: {GPU}=3",
            id="one-too-few",
        ),
    ],
)
def test_refused(hard: dict[str, str], used: dict[str, str], expected: str) -> None:
    """The server's message lists the limits that would be exceeded; nothing is charged."""
    before = quota(hard, used)
    verdict = admit([before], CLAIMS, TWO)
    assert verdict.message == expected
    assert verdict.quotas == (before,)


def test_every_quota_must_have_room() -> None:
    """A quota that has room is not charged if another one has none."""
    roomy, full = quota({GPU: "9"}, name="roomy"), quota({NIC: "0"}, name="full")
    verdict = admit([roomy, full], CLAIMS, TWO)
    assert [shortage.quota for shortage in verdict.shortages] == ["full"]
    assert verdict.quotas == (roomy, full)


def test_scoped_quotas_are_about_pods() -> None:
    """Claims are in no scope."""
    scoped = quota({GPU: "0"}, scopes=({"scopeName": "NotTerminating", "operator": "Exists"},))
    assert admit([scoped], CLAIMS, TWO).message == ""


def test_mandatory_comes_first() -> None:
    """A pod that does not say what it uses is refused before anything is counted."""
    quotas = [quota({"pods": "0"}), quota({"requests.cpu": "1"}, name="compute")]
    verdict = admit(quotas, PodEvaluator(Profile()), pod(container()))
    assert verdict.message == "failed quota: compute: must specify requests.cpu for: c"


@pytest.mark.parametrize(("copies", "fits"), [(0, True), (1, True), (3, True), (4, False), (2**31, False)])
def test_copies(copies: int, fits: bool) -> None:
    """Several objects at once count as often as there are."""
    verdict = admit([quota({NIC: "3"})], CLAIMS, claim(exactly("r", "nic")), copies)
    assert (verdict.message == "") is fits


def test_shortage_says_how_much() -> None:
    """What is missing is what was asked for beyond what is left."""
    (shortage,) = admit([quota({GPU: "3"}, {GPU: "2"})], CLAIMS, TWO).shortages
    assert (str(shortage.requested), str(shortage.used), str(shortage.limit)) == ("2", "2", "3")
    assert str(shortage.missing) == "1"

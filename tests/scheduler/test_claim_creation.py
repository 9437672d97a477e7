"""Pods whose claims are not created from templates are noticed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from resourceapi.records.pods import Pod, PodClaim
from scheduler.claim_creation import LATE_SECONDS, ClaimCreation
from scheduler.server_check import BUILT_IN, CUSTOM_RESOURCES

WAITS = PodClaim("gpu", "", is_generated=True)


def pod(name: str, claim: PodClaim = WAITS, scheduler: str = "claimcheck", leaving: bool = False) -> Pod:
    return Pod("ns", name, f"uid-{name}", "", scheduler, 0, (claim,), leaving)


class Watched:
    """What is looked at, and what was shown and logged."""

    def __init__(self, caplog: pytest.LogCaptureFixture, serves: str = BUILT_IN) -> None:
        caplog.set_level("INFO", "claimcheck")
        self.pods: dict[str, Pod] = {}
        self.shown: list[int] = []
        self.now = 0.0
        self._records = caplog.records
        self._creation = ClaimCreation(self.pods, "claimcheck", serves, self.shown.append, lambda: self.now)

    def put(self, *pods: Pod) -> None:
        self.pods.update({each.key: each for each in pods})

    def look(self, seconds: float = 0) -> None:
        self.now += seconds
        self._creation.look()

    @property
    def logged(self) -> list[Any]:
        return [(each.getMessage(), cast(Any, each).fields) for each in self._records]


def test_late_claims(caplog: pytest.LogCaptureFixture) -> None:
    """Said once when the first pod has waited too long, and once when none does any more."""
    watched = Watched(caplog)
    watched.put(pod("a"))
    watched.look()
    watched.put(pod("b"))
    watched.look(LATE_SECONDS - 1)
    assert (watched.shown, watched.logged) == ([0, 0], [])
    watched.look(1)
    watched.look(LATE_SECONDS)
    assert watched.shown == [0, 0, 1, 2]
    [(message, fields)] = watched.logged
    assert (message, fields["pods"], fields["example"]) == ("claims are not created", 1, "ns/a")
    watched.pods.clear()
    watched.put(pod("a", WAITS._replace(claim="a-gpu-x")), pod("b", WAITS._replace(is_needed=False)))
    watched.look(LATE_SECONDS)
    watched.look(LATE_SECONDS)
    assert watched.shown[4:] == [0, 0]
    assert [message for message, _ in watched.logged[1:]] == ["claims are created again"]


def test_pods_that_do_not_count(caplog: pytest.LogCaptureFixture) -> None:
    """Those of other schedulers, and those that are going; a pod with a name that was used before waits anew."""
    watched = Watched(caplog)
    watched.put(pod("a", scheduler="default-scheduler"), pod("b", leaving=True), pod("c"))
    watched.look()
    watched.put(pod("c")._replace(uid="another"))
    watched.look(LATE_SECONDS)
    assert watched.shown == [0, 0]


EVENTS_SAY = "the pod's events say why, if kube-controller-manager runs its claim controller"
CONTENT_TYPE = (
    "where CRDs serve resource.k8s.io, kube-controller-manager creates claims only with "
    "--kube-api-content-type=application/json"
)
CREATED = PodClaim("gpu", "train-gpu-x", is_generated=True)


@pytest.mark.parametrize(
    ("serves", "other", "advice"),
    [
        (BUILT_IN, None, EVENTS_SAY),
        (BUILT_IN, CREATED, EVENTS_SAY),
        (CUSTOM_RESOURCES, None, CONTENT_TYPE),
        (CUSTOM_RESOURCES, PodClaim("gpu", "own", is_generated=False), CONTENT_TYPE),
        (CUSTOM_RESOURCES, CREATED, EVENTS_SAY),
    ],
)
def test_advice(caplog: pytest.LogCaptureFixture, serves: str, other: PodClaim | None, advice: str) -> None:
    """It says what to look at; where another pod, whoever schedules it, has got its claim, that is this pod alone."""
    watched = Watched(caplog, serves)
    watched.put(pod("a"))
    if other is not None:
        watched.put(pod("b", other, scheduler="default-scheduler"))
    watched.look()
    watched.look(LATE_SECONDS)
    assert watched.logged[0][1]["advice"] == advice

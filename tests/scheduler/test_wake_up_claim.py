"""The claim whose changes make kube-scheduler retry pods."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from cluster.store import version_of
from resourceapi.api_client import Unavailable
from scheduler.waking import ANNOTATION, WakeUpClaim
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault

PATH = "/apis/resource.k8s.io/v1/namespaces/system/resourceclaims/wake-up"


def woken_at(api: FakeApi) -> str:
    value = api.get(PATH)["metadata"]["annotations"][ANNOTATION]
    assert isinstance(value, str)
    return value


def verbs(api: FakeApi) -> list[str]:
    asked = [request.verb for request in api.requests]
    api.requests.clear()
    return asked


def test_claim_is_made_and_then_changed_by_one_request() -> None:
    api = FakeApi()
    claim = WakeUpClaim(api, "system", "wake-up")
    claim.touch()
    before = woken_at(api)
    assert verbs(api) == ["PATCH", "POST"]
    claim.touch()
    assert woken_at(api) > before
    assert verbs(api) == ["PATCH"]


def test_claim_that_is_there_already_is_used() -> None:
    api = FakeApi()
    WakeUpClaim(api, "system", "wake-up").touch()
    before = woken_at(api)
    WakeUpClaim(api, "system", "wake-up").touch()
    assert verbs(api) == ["PATCH", "POST", "PATCH"]
    assert woken_at(api) > before


def test_whoever_has_it_changed_knows_the_version() -> None:
    """Also if another replica has just made it."""
    api = FakeApi()
    claim = WakeUpClaim(api, "system", "wake-up")
    for _ in range(2):
        assert claim.touch() == version_of(api.get(PATH))
    api.remove(PATH)
    gate = api.pause(1, lambda request: request.verb == "POST")
    with ThreadPoolExecutor(1) as threads:
        touching = threads.submit(claim.touch)
        gate.reached.wait()
        WakeUpClaim(api, "system", "wake-up").touch()
        gate.resume.set()
        assert touching.result() == version_of(api.get(PATH))


def test_claim_can_never_get_devices() -> None:
    api = FakeApi()
    WakeUpClaim(api, "system", "wake-up").touch()
    (request,) = api.get(PATH)["spec"]["devices"]["requests"]
    assert request["exactly"]["selectors"] == [{"cel": {"expression": "false"}}]


def test_what_others_do_to_the_claim_is_no_obstacle() -> None:
    """They change it (what they wrote stays), or delete it."""
    api = FakeApi()
    claim = WakeUpClaim(api, "system", "wake-up")
    claim.touch()
    api.change(PATH, {"metadata": {"labels": {"a": "b"}}})
    before = woken_at(api)
    claim.touch()
    assert woken_at(api) > before
    assert api.get(PATH)["metadata"]["labels"] == {"a": "b"}
    api.remove(PATH)
    claim.touch()
    assert woken_at(api) > before


@pytest.mark.parametrize("fault", [Fault.REFUSED, Fault.LOST, Fault.TWICE, 500, 403])
@pytest.mark.parametrize("nth", [1, 2])
def test_failed_request_is_told_and_the_next_touch_works(fault: Fault | int, nth: int) -> None:
    api = FakeApi()
    claim = WakeUpClaim(api, "system", "wake-up")
    for _ in range(2):
        api.fail(nth, fault)
        try:
            claim.touch()
            claim.touch()
        except Unavailable:
            assert fault is not Fault.TWICE
    claim.touch()
    before = woken_at(api)
    claim.touch()
    assert woken_at(api) > before

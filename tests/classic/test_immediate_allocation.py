"""Claims that are allocated as soon as they exist, and the end of all claims."""

from __future__ import annotations

import pytest

from classic.claims import SyncError
from tests.classic.scenes import DRIVER, FINALIZER, Scene, allocation_on, claim, resource_class


@pytest.fixture
def scene() -> Scene:
    scene = Scene()
    scene.have(resource_class(), claim(mode="Immediate"))
    return scene


def test_claim_is_allocated_with_the_finalizer_first(scene: Scene) -> None:
    assert scene.sync_claim() == "NOTHING"
    assert scene.status() == {"driverName": DRIVER, "allocation": allocation_on("")}
    assert scene.finalizers() == [FINALIZER]
    assert [(each.verb, each.kind) for each in scene.objects.writes[-2:]] == [
        ("update", "ResourceClaim"),
        ("update status", "ResourceClaim"),
    ]
    assert scene.driver.calls == [
        ("get_class_parameters", "acme-gpu"),
        ("get_claim_parameters", "claim"),
        ("allocate", "claim", ""),
    ]


def test_allocated_claim_is_left_alone(scene: Scene) -> None:
    scene.sync_claim()
    writes = len(scene.objects.writes)
    scene.sync_claim()
    assert (scene.methods(), len(scene.objects.writes)) == (["allocate"], writes)


@pytest.mark.parametrize(
    "other",
    [
        resource_class(driver="other.example.com"),
        # the scheduler allocates the claims of these classes
        resource_class(structuredParameters=True),
    ],
)
def test_claims_of_others_are_left_alone(other: dict[str, object]) -> None:
    scene = Scene()
    scene.have(other, claim(mode="Immediate"))
    assert (scene.sync_claim(), scene.driver.calls, len(scene.objects.writes)) == ("NOTHING", [], 2)


def test_delayed_claim_waits_for_a_pod() -> None:
    scene = Scene()
    scene.have(resource_class(), claim())
    assert (scene.sync_claim(), scene.driver.calls) == ("NOTHING", [])


def test_claim_that_is_gone(scene: Scene) -> None:
    assert scene.sync_claim("nobody") == "NOTHING"


def test_missing_class_is_told_and_tried_again() -> None:
    scene = Scene()
    scene.have(claim(mode="Immediate"))
    with pytest.raises(SyncError, match="ResourceClass acme-gpu does not exist"):
        scene.sync_claim()
    assert scene.events == [("ResourceClaim", "claim", "Allocating", "ResourceClass acme-gpu does not exist")]
    scene.have(resource_class())
    scene.sync_claim()
    assert "allocation" in scene.status()


def test_parameters_that_cannot_be_read() -> None:
    """The text names the parameters, and the driver's exception is the cause."""
    scene = Scene()
    reference = {"apiGroup": "gpu.example.com", "kind": "GPUInit", "name": "init"}
    scene.have(resource_class(parametersRef=reference), claim(mode="Immediate"))
    scene.driver.failing["get_class_parameters"] = cause = KeyError("not found")
    with pytest.raises(SyncError) as raised:
        scene.sync_claim()
    text = "class parameters GPUInit.gpu.example.com init: KeyError: 'not found'"
    assert (str(raised.value), raised.value.__cause__) == (text, cause)
    assert scene.events == [
        ("ResourceClass", "acme-gpu", "Allocating", text),
        ("ResourceClaim", "claim", "Allocating", text),
    ]
    assert scene.finalizers() == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (RuntimeError("no GPU is free"), "claim claim: allocate: no GPU is free"),
        (RuntimeError(), "claim claim: allocate: RuntimeError"),
    ],
)
def test_allocation_that_fails_is_told_and_tried_again(scene: Scene, error: Exception, text: str) -> None:
    """The driver that has begun is asked for the same again, without taking back first what it may be about to finish."""
    scene.driver.failing["allocate"] = error
    for _ in range(2):
        with pytest.raises(SyncError) as raised:
            scene.sync_claim()
        assert str(raised.value) == text
    assert scene.events[0] == ("ResourceClaim", "claim", "Allocating", text)
    assert scene.methods() == ["allocate", "allocate"]
    scene.driver.failing.clear()
    scene.sync_claim()
    assert "allocation" in scene.status()


def test_driver_that_says_nothing(scene: Scene) -> None:
    scene.driver.says_nothing = True
    with pytest.raises(SyncError, match="the driver has given neither an allocation nor an error"):
        scene.sync_claim()


def test_interrupted_allocation_is_taken_back_first(scene: Scene) -> None:
    """The finalizer without an allocation: another process has begun, and nobody knows with what."""
    scene.driver.failing["allocate"] = RuntimeError("killed")
    with pytest.raises(SyncError):
        scene.sync_claim()
    scene.driver.failing.clear()
    scene.methods()
    scene.restart()
    scene.sync_claim()
    assert scene.methods() == ["deallocate", "allocate"]
    assert "allocation" in scene.status()


# --- deallocation


def test_deleted_claim_is_deallocated_and_goes(scene: Scene) -> None:
    scene.sync_claim()
    scene.objects.delete("ResourceClaim", "default", "claim")
    assert scene.sync_claim() == "NOTHING"
    assert (scene.driver.held, scene.objects.all("ResourceClaim")) == ({}, [])


def test_claim_in_use_stays_until_nobody_uses_it(scene: Scene) -> None:
    scene.sync_claim()
    scene.set_status(**scene.status(), reservedFor=[{"resource": "pods", "name": "pod", "uid": "1"}])
    scene.objects.delete("ResourceClaim", "default", "claim")
    scene.sync_claim()
    assert (scene.methods(), "allocation" in scene.status()) == (["allocate"], True)
    scene.set_status(driverName=DRIVER, allocation=allocation_on(""))
    scene.sync_claim()
    assert scene.objects.all("ResourceClaim") == []


def test_deallocation_that_was_requested() -> None:
    """Allocation, driver and request go in one write, then the finalizer; a delayed claim then waits for the next node."""
    scene = Scene()
    scene.have(resource_class(), claim(finalizers=["example.com/other", FINALIZER]))
    scene.set_status(driverName=DRIVER, allocation=allocation_on("node"), deallocationRequested=True)
    assert scene.sync_claim() == "NOTHING"
    assert (scene.status(), scene.finalizers()) == ({}, ["example.com/other"])
    assert scene.methods() == ["deallocate"]
    assert [each.verb for each in scene.objects.writes[-2:]] == ["update status", "update"]


def test_claim_that_is_deleted_while_it_is_being_allocated(scene: Scene) -> None:
    """What the driver may have begun is taken back, though nothing is stored."""
    scene.driver.failing["allocate"] = RuntimeError("not yet")
    with pytest.raises(SyncError):
        scene.sync_claim()
    scene.objects.delete("ResourceClaim", "default", "claim")
    scene.methods()
    scene.sync_claim()
    assert (scene.methods(), scene.objects.all("ResourceClaim")) == (["deallocate"], [])


def test_deallocation_that_fails_keeps_the_claim(scene: Scene) -> None:
    scene.sync_claim()
    scene.objects.delete("ResourceClaim", "default", "claim")
    scene.driver.failing["deallocate"] = OSError("the device does not answer")
    with pytest.raises(SyncError, match="deallocate: the device does not answer"):
        scene.sync_claim()
    assert scene.events == [
        ("ResourceClaim", "claim", "Deallocating", "deallocate: the device does not answer")
    ]
    assert ("allocation" in scene.status(), scene.finalizers()) == (True, [FINALIZER])


def test_claim_of_another_driver_is_not_deallocated() -> None:
    scene = Scene()
    scene.have(claim(finalizers=["other.example.com/deletion-protection"]))
    scene.set_status(driverName="other.example.com", allocation={}, deallocationRequested=True)
    writes = len(scene.objects.writes)
    scene.sync_claim()
    assert (scene.driver.calls, len(scene.objects.writes)) == ([], writes)


def test_allocation_of_another_driver_stays_where_the_finalizer_goes() -> None:
    """The class has changed its driver since this one was interrupted."""
    scene = Scene()
    scene.have(claim(finalizers=[FINALIZER, "other.example.com/deletion-protection"]))
    scene.set_status(driverName="other.example.com", allocation={}, deallocationRequested=True)
    scene.sync_claim()
    assert scene.methods() == ["deallocate"]
    assert scene.finalizers() == ["other.example.com/deletion-protection"]
    assert scene.status()["allocation"] == {}

"""Events about patches that fail: once, in words that can be shown anywhere, by the leader alone."""

from __future__ import annotations

from typing import Any

from cluster.event_writer import EventWriter
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from scheduler.patch_events import PAUSE_SECONDS, QUIET_SECONDS, REPEAT_SECONDS, PatchEvents
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.small_cluster import gpus, v1
from tests.scheduler.test_device_patches import patch

FAULTY = [{"cel": {"expression": 'device.attributes["gpu.example.com"].absent == 1'}}]


class Told:
    """A cluster with two nodes of two devices, whose failing patches are told."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.picture = ClusterPicture(Profile("1.37", {}))
        self.now = 0.0
        self.leads = True
        self.begin()
        for name in ("n1", "n2"):
            self.picture.slices.put(gpus(name, 2))

    def begin(self) -> None:
        """As a replica that has just been started."""
        self.writer = EventWriter(self.api, "claimcheck-scheduler", "replica-0", lambda: self.now)
        self.events = PatchEvents(self.picture, self.writer, lambda: self.leads, lambda: self.now)

    def put(self, name: str, **filter: Any) -> None:
        self.picture.patches.put(patch(name, **filter))

    def after(self, seconds: float) -> list[Object]:
        """All events that there are after so many seconds."""
        self.events.look()
        self.now += seconds
        self.events.look()
        while self.writer.write_next():
            pass
        return self.api.all("events", "/apis/events.k8s.io/v1")


def test_event_about_a_patch() -> None:
    """One for all devices, as `kubectl describe` looks for it."""
    told = Told()
    told.put("faulty", selectors=FAULTY)
    assert told.after(QUIET_SECONDS - 1) == [], "its class may be about to be created"
    (event,) = told.after(1)
    assert event["note"].startswith(
        "does not apply to 4 devices, such as gpu.example.com/n1/gpu-0: CEL runtime error: "
    )
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {
        "apiVersion": "claimcheck.example.com/v1alpha3",
        "kind": "ResourceSlicePatch",
        "name": "faulty",
        "uid": "uid-faulty",
    }
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedPatching", "Patching")
    assert "series" not in event
    assert told.after(REPEAT_SECONDS - 1) == [event], "nothing has changed"


def test_event_is_there_as_long_as_the_patch_fails() -> None:
    """API servers delete events after an hour."""
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.after(QUIET_SECONDS)
    (event,) = told.after(REPEAT_SECONDS)
    assert event["series"]["count"] == 2
    told.picture.patches.put(patch("faulty"))
    (event,) = told.after(REPEAT_SECONDS)
    assert event["series"]["count"] == 2, "it does not fail any more"


def test_other_words_come_once_a_minute() -> None:
    """Devices come and go."""
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.after(QUIET_SECONDS)
    for number in range(10):
        told.picture.slices.put(gpus("n1", 3 + number))
        assert len(told.after(1)) == 1
    assert len(told.after(PAUSE_SECONDS)) == 2


def test_patch_that_fails_on_and_off() -> None:
    """What was said of it is not forgotten while it does not fail: drivers may publish and withdraw devices for ever."""
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.after(QUIET_SECONDS)
    for number in range(10):
        for node in ("n1", "n2"):
            told.picture.slices.put(gpus(node, 0))
        told.after(1)
        told.picture.slices.put(gpus("n1", 1 + number))
        assert len(told.after(QUIET_SECONDS)) == 1
    told.after(PAUSE_SECONDS)
    assert len(told.after(QUIET_SECONDS)) == 2


def test_patch_that_fails_again_is_told_of_once_it_has_failed_for_a_while() -> None:
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.after(QUIET_SECONDS)
    told.put("faulty")
    told.after(PAUSE_SECONDS - 1)
    told.put("faulty", deviceClassName="absent")
    assert len(told.after(QUIET_SECONDS - 1)) == 1, "its class may be about to be created"
    assert len(told.after(1)) == 2


def test_class_that_does_not_exist() -> None:
    told = Told()
    told.put("early", deviceClassName="gpu")
    told.after(QUIET_SECONDS - 1)
    told.picture.classes.put(v1("DeviceClass", "gpu", spec={}))
    assert told.after(QUIET_SECONDS) == [], "it was created a moment later"
    told.picture.classes.lose()
    (event,) = told.after(QUIET_SECONDS)
    assert event["note"].startswith("applies to no device: ")
    assert "gpu" in event["note"]


def test_only_the_leader_tells() -> None:
    """And a new one does not repeat what has been told, but counts it."""
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.leads = False
    assert told.after(QUIET_SECONDS) == []
    told.leads = True
    assert told.after(0) == []
    assert len(told.after(QUIET_SECONDS)) == 1
    told.begin()
    (event,) = told.after(QUIET_SECONDS)
    assert event["series"]["count"] == 2


def test_patch_that_is_made_anew_is_told_of_anew() -> None:
    told = Told()
    told.put("faulty", selectors=FAULTY)
    told.after(QUIET_SECONDS)
    again = patch("faulty", selectors=FAULTY)
    again["metadata"]["uid"] = "uid-other"
    told.picture.patches.put(again)
    events = told.after(QUIET_SECONDS)
    assert {event["regarding"]["uid"] for event in events} == {"uid-faulty", "uid-other"}


def test_words_are_escaped_and_bounded() -> None:
    """Expressions may quote what drivers have written."""
    told = Told()
    device = {"attributes": {"model": {"string": "\x1b[2J" + "x" * 60}}}
    told.picture.slices.put(gpus("n1", 1, **device))
    expression = 'int(device.attributes["gpu.example.com"].model) == 1'
    told.put("faulty", pool="n1", selectors=[{"cel": {"expression": expression}}])
    (event,) = told.after(QUIET_SECONDS)
    assert "\x1b" not in event["note"]
    assert len(event["note"].encode()) <= 1024

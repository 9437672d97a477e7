"""Events: how they are counted, and what bounds them."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from cluster.event_writer import COUNTING_SECONDS, MOST_QUEUED, EventWriter, Subject
from resourceapi.names import long_name
from resourceapi.objects import Object
from resourceapi.records.pods import Pod, read_pod
from scheduler.refusal_events import PodEvents
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault
from tests.scheduler.test_filtering import pod

EVENTS = "/apis/events.k8s.io/v1"


class Writer:
    """Events that are written to a server in memory."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.now = 0.0
        self.begin()

    def begin(self) -> None:
        """As a replica that has just begun to lead."""
        self.writer = EventWriter(self.api, "claimcheck-scheduler", "replica-0", lambda: self.now)
        self.events = PodEvents(self.writer)

    def write_all(self) -> list[Object]:
        while self.writer.write_next():
            pass
        return self.api.all("events", EVENTS)


def record(name: str) -> Pod:
    return read_pod(pod(name, "c"))


def test_event_is_as_kubectl_expects_it() -> None:
    writer = Writer()
    writer.events.warn(record("p"), "does not fit")
    (event,) = writer.write_all()
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "ns",
        "name": "p",
        "uid": "uid-p",
    }
    shown_fields = {key: event[key] for key in ("type", "reason", "note", "reportingController", "action")}
    assert shown_fields == {
        "type": "Warning",
        "reason": "FailedScheduling",
        "note": "does not fit",
        "reportingController": "claimcheck-scheduler",
        "action": "Scheduling",
    }
    assert event["metadata"]["namespace"] == "ns"
    assert event["reportingInstance"] == "replica-0"
    assert "series" not in event


def test_same_words_are_counted_and_the_count_is_written_now_and_then() -> None:
    writer = Writer()
    for _ in range(5):
        writer.events.warn(record("p"), "no")
        writer.write_all()
    (event,) = writer.write_all()
    assert "series" not in event, "written less than a minute ago"
    writer.now += COUNTING_SECONDS
    writer.events.warn(record("p"), "no")
    (event,) = writer.write_all()
    assert event["series"]["count"] == 6
    assert len(writer.api.requests) == 2


def test_other_words_are_another_event() -> None:
    """And those that have been said before are counted in the event that there is, whoever has said them."""
    writer = Writer()
    for words in ("no", "still not", "no"):
        writer.events.warn(record("p"), words)
        writer.write_all()
    writer.begin()
    writer.events.warn(record("p"), "still not")
    counts = {each["note"]: each.get("series", {}).get("count") for each in writer.write_all()}
    assert counts == {"no": 2, "still not": 2}


def test_object_in_no_namespace() -> None:
    """Its events are in the namespace in which API servers want them to be."""
    writer = Writer()
    writer.writer.warn(Subject("example.com/v1", "Kind", "", "name", "uid-1", "Doing", "FailedDoing"), "no")
    (event,) = writer.write_all()
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"] == {
        "apiVersion": "example.com/v1",
        "kind": "Kind",
        "name": "name",
        "uid": "uid-1",
    }
    assert (event["action"], event["reason"]) == ("Doing", "FailedDoing")


def test_event_that_has_expired_is_made_anew() -> None:
    writer = Writer()
    writer.events.warn(record("p"), "no")
    (event,) = writer.write_all()
    name = event["metadata"]["name"]
    writer.api.remove(f"{EVENTS}/namespaces/ns/events/{name}")
    writer.now += COUNTING_SECONDS
    writer.events.warn(record("p"), "no")
    (event,) = writer.write_all()
    assert event["metadata"]["name"] == name
    assert event["series"]["count"] == 2


@pytest.mark.parametrize("fault", [Fault.REFUSED, 403, 500])
def test_event_that_cannot_be_written_is_left_out(fault: Fault | int) -> None:
    """The next one about the pod is tried again, later."""
    writer = Writer()
    writer.api.fail(1, fault)
    writer.events.warn(record("p"), "no")
    assert writer.write_all() == []
    writer.now += COUNTING_SECONDS
    writer.events.warn(record("p"), "no")
    assert len(writer.write_all()) == 1


def test_queue_is_bounded_by_leaving_out_the_oldest() -> None:
    writer = Writer()
    for number in range(MOST_QUEUED + 10):
        writer.events.warn(record(f"p{number}"), "no")
    names = [each["regarding"]["name"] for each in writer.write_all()]
    assert names == [f"p{number}" for number in range(10, MOST_QUEUED + 10)]


@pytest.mark.parametrize(
    ("pod_name", "length"),
    [
        ("p" * 253, 253),
        ("p" * 235 + "-" + "p" * 17, 252),
        ("p" * 235 + "." + "p" * 17, 252),
        ("p" * 233 + "---" + "p" * 17, 250),
    ],
)
def test_name_of_event_is_valid_whatever_the_name_of_the_pod(pod_name: str, length: int) -> None:
    writer = Writer()
    writer.events.warn(record(pod_name), "no")
    (event,) = writer.write_all()
    assert len(event["metadata"]["name"]) == length
    assert not long_name(event["metadata"]["name"])


def test_namespace_with_many_pods_does_not_keep_others_from_their_events() -> None:
    writer = Writer()
    for number in range(MOST_QUEUED):
        writer.events.warn(record(f"p{number}"), "no")
    other = pod("q", "c")
    other["metadata"]["namespace"] = "other"
    writer.events.warn(read_pod(other), "no")
    for _ in range(2):
        writer.writer.write_next()
    assert [each["regarding"]["name"] for each in writer.api.all("events", EVENTS)] == ["p1", "q"]


def test_thread_writes_what_is_queued() -> None:
    writer = Writer()
    ending, written = Event(), Event()
    writer.api.hooks.append(lambda request: written.set())
    thread = Thread(target=writer.writer.run, args=(ending,))
    thread.start()
    writer.events.warn(record("p"), "no")
    assert written.wait(120)
    ending.set()
    thread.join()

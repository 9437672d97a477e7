"""Collections of a cluster's objects: what they hold, and what listeners get to know."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.store import Change, Collection, VersionedCollection, version_of
from resourceapi.api_client import Listing
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.pools import DeviceId
from resourceapi.releases import Profile
from webhook.devices import DeviceIndex
from webhook.object_cache import ClaimCounts, ClaimLabels, read_claim

PROFILE = Profile("1.37", {})


def read(obj: Object) -> Any:
    """An object with what counts of it; one with `odd` cannot be read."""
    return None if obj.get("odd") else obj["spec"]


def obj(name: str, value: int = 0, **more: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "team"}, "spec": value, **more}


class Mirror:
    """What a listener has been told."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}
        self.calls = 0

    def __call__(self, changes: Sequence[Change[Any]]) -> None:
        self.calls += 1
        assert changes
        for key, before, after in changes:
            assert self.objects.get(key) == before != after
            if after is None:
                del self.objects[key]
            else:
                self.objects[key] = after


# What an API server does to a collection, and which of that a watch of it shows: events in order, some left out before
# a new list.
NAMES = st.sampled_from("abcd")
OBJECTS = st.builds(obj, NAMES, st.integers(0, 2)) | st.builds(obj, NAMES, odd=st.just(True))
STEPS = st.lists(st.tuples(st.sampled_from(("put", "remove", "list", "lose")), OBJECTS), max_size=30)


@given(STEPS, st.integers(0, 30))
@settings(max_examples=300, deadline=None)
def test_any_order_of_events_gives_the_state_of_a_new_list(
    steps: list[tuple[str, Object]], late: int
) -> None:
    """Whatever lists and events come: in the end there is what a list shows, and listeners know the same."""
    collection: Collection[Any] = Collection(read)
    server: dict[str, Object] = {}
    early, later = Mirror(), Mirror()
    collection.listen(early)
    for number, (step, changed) in enumerate(steps):
        if number == late:
            collection.listen(later)
        if step == "put":
            server[key_of(changed)] = changed
            collection.put(changed)
        elif step == "remove":
            server.pop(key_of(changed), None)
            collection.remove(changed)
        elif step == "list":
            server[key_of(changed)] = changed  # an event that was missed
            collection.replace(list(server.values()))
        else:
            server.clear()
            collection.lose()
        assert collection.objects == {
            key: each["spec"] for key, each in server.items() if not each.get("odd")
        }
    fresh: Collection[Any] = Collection(read)
    fresh.replace(server.values())
    assert collection.objects == fresh.objects == early.objects
    assert later.objects == (early.objects if late < len(steps) else {})


def test_key() -> None:
    """Objects without a namespace have their name, odd ones an empty one."""
    found = [key_of(each) for each in (obj("a"), {"metadata": {"name": "b"}}, {"metadata": None}, {})]
    assert found == ["team/a", "b", "", ""]


def test_a_list_that_fails_changes_nothing() -> None:
    """What was there stays until all is read."""

    def broken() -> Iterable[Object]:
        yield obj("b")
        raise OSError

    collection = Collection(read)
    collection.replace([obj("a")])
    with pytest.raises(OSError):  # noqa: PT011 - which one does not matter
        collection.replace(broken())
    assert collection.objects == {"team/a": 0}


def test_listeners_hear_of_real_changes_only() -> None:
    """One call for all changes of a moment, none where nothing is different."""
    collection, mirror = Collection(read), Mirror()
    collection.listen(mirror)
    for _ in range(2):
        collection.replace([obj("a"), obj("b", 1)])
        collection.put(obj("a", other="heartbeat"))
        collection.remove(obj("c"))
    assert mirror.calls == 1


def test_is_listed() -> None:
    """After the first list, an empty one included, until the kind is not served any more, which is known as well."""
    collection = Collection(read)
    seen = [(collection.is_listed, collection.is_known)]
    changes: list[Callable[[], None]] = [
        lambda: collection.put(obj("a")),
        lambda: collection.replace([]),
        collection.lose,
    ]
    for change in changes:
        change()
        seen.append((collection.is_listed, collection.is_known))
    assert seen == [(False, False), (False, False), (True, True), (False, True)]


def slice_of(name: str, pool: str, model: str, count: int, *, generation: int = 1) -> Object:
    devices = [{"name": f"d{index}", "attributes": {"model": {"string": model}}} for index in range(count)]
    spec = {
        "driver": "d.example.com",
        "nodeName": pool,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": 1},
        "devices": devices,
    }
    return {"apiVersion": "resource.k8s.io/v1", "metadata": {"name": name}, "spec": spec}


SLICES = st.builds(slice_of, NAMES, st.sampled_from("pq"), st.sampled_from("xy"), st.integers(0, 2))
DEVICE_STEPS = st.lists(st.tuples(st.sampled_from(("put", "remove", "list")), SLICES), max_size=15)


def groups(index: DeviceIndex) -> set[tuple[str, frozenset[tuple[DeviceId, str]]]]:
    return {
        (repr(group.properties.attributes), frozenset(group.members.items()))
        for group in index.groups.values()
    }


@given(DEVICE_STEPS)
@settings(max_examples=150, deadline=None)
def test_index_of_a_watch_is_that_of_files(steps: list[tuple[str, Object]]) -> None:
    """However slices have come and gone, devices are grouped as if all had been read at once."""
    watched = DeviceIndex(PROFILE)
    there: dict[str, Object] = {}
    for step, changed in steps:
        if step == "remove":
            there.pop(key_of(changed), None)
            watched.slices.remove(changed)
            continue
        there[key_of(changed)] = changed
        if step == "put":
            watched.slices.put(copy.deepcopy(changed))
        else:
            watched.slices.replace(copy.deepcopy(list(there.values())))
    files = DeviceIndex(PROFILE)
    files.slices.replace(copy.deepcopy(list(there.values())))
    assert groups(watched) == groups(files)
    assert (watched.count(), watched.is_settled) == (files.count(), files.is_settled)


CLAIMS = st.builds(
    lambda name, uid, allocated: {
        "metadata": {"name": name, "uid": uid},
        "status": {"allocation": {}} if allocated else {},
    },
    NAMES,
    NAMES,
    st.booleans(),
)


class Shown:
    """The numbers that metrics would show."""

    def __init__(self) -> None:
        self.numbers: dict[ClaimLabels, int] = {}

    def set_claims(self, labels: ClaimLabels, number: int) -> None:
        self.numbers[labels] = number


@given(st.lists(st.tuples(st.sampled_from(("put", "remove", "list")), CLAIMS), max_size=20))
@settings(max_examples=150, deadline=None)
def test_counts_of_a_watch_are_those_of_a_list(steps: list[tuple[str, Object]]) -> None:
    """Claims are counted once, whatever has happened to them."""
    watched, shown = Collection(read_claim), Shown()
    ClaimCounts(watched).show(shown)
    there: dict[str, Object] = {}
    for step, claim in steps:
        if step == "remove":
            there.pop(key_of(claim), None)
            watched.remove(claim)
        elif step == "put":
            there[key_of(claim)] = claim
            watched.put(claim)
        else:
            watched.replace(there.values())
    listed, expected = Collection(read_claim), Shown()
    ClaimCounts(listed).show(expected)
    listed.replace(there.values())
    assert {labels: number for labels, number in shown.numbers.items() if number} == expected.numbers


def test_unreadable_objects_are_absent(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever one object does to what reads it, the others are there; the log names it."""
    collection = Collection(lambda found: {"spec": found["spec"]})
    broken: Object = {"metadata": {"name": "broken", "namespace": "team"}}
    collection.replace([obj("a", 1), broken, obj("b", 2)])
    assert collection.objects == {"team/a": {"spec": 1}, "team/b": {"spec": 2}}
    collection.put({**broken, "metadata": {"name": "a", "namespace": "team"}})
    assert (list(collection.objects), collection.is_listed) == (["team/b"], True)
    logged = [vars(record)["fields"] for record in caplog.records if record.message == "object ignored"]
    assert logged == [
        {"kind": "", "name": f"team/{name}", "reason": "KeyError: 'spec'"} for name in ("broken", "a")
    ]


def versioned(version: int, uid: str = "u", name: str = "x") -> Object:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


class _Listed(Listing):
    """A list without a server."""

    def __init__(self, revision: int, *objects: Object) -> None:
        self._objects = objects
        self.revision = str(revision)

    def __iter__(self) -> Iterator[Object]:
        return iter(self._objects)


Act = Callable[[VersionedCollection[Object]], None]


def put(version: int, uid: str = "u") -> Act:
    return lambda c: c.put(versioned(version, uid))


def answer(version: int) -> Act:
    return lambda c: c.update(versioned(version))


def remove(version: int, uid: str = "u", name: str = "x") -> Act:
    return lambda c: c.remove(versioned(version, uid, name))


def drop(version: int) -> Act:
    return lambda c: c.drop(versioned(version))


def replace(revision: int, *objects: Object) -> Act:
    return lambda c: c.replace(_Listed(revision, *objects))


VERSIONS: dict[str, tuple[list[Act], int | None]] = {
    "newer": ([put(6)], 6),
    "older": ([put(4)], 5),
    "newer answer": ([answer(6)], 6),
    "older answer": ([answer(4)], 5),
    "older predecessor": ([put(4, "before")], 5),
    "successor": ([put(6, "after")], 6),
    "deleted": ([remove(6)], None),
    "an older one deleted": ([remove(4)], 5),
    "the predecessor deleted": ([remove(6, "before")], 5),
    "an older list": ([replace(4)], 5),
    "an older list with it": ([replace(4, versioned(3))], 5),
    "a newer list": ([replace(6)], None),
    "an answer that comes after the deletion": ([remove(7), put(6)], None),
    "an answer that comes after the list": ([replace(7), put(6)], None),
    "an answer that comes after a later deletion": ([remove(6), remove(8, "v", "y"), put(7, "after")], None),
    "a successor after the deletion": ([remove(7), put(8, "after")], 8),
    "a list of a cluster that was restored": ([replace(7), replace(3), put(4)], 4),
    "gone by an answer that came before the watch": ([drop(9), put(8, "after")], 8),
}


@pytest.mark.parametrize(("acts", "version"), VERSIONS.values(), ids=VERSIONS)
def test_newer_version_counts(acts: list[Act], version: int | None) -> None:
    """Whichever comes first: an answer to a write, a watch event or a list."""
    collection = VersionedCollection[Object](lambda obj: obj, lambda held: held)
    collection.put(versioned(5))
    for act in acts:
        act(collection)
    held = collection.objects.get("x")
    assert (None if held is None else version_of(held)) == version


def test_known_versions_are_not_read_again() -> None:
    """A watch event about an own write, whose answer has come before, costs next to nothing."""
    read: list[int] = []

    def note(obj: Object) -> Object:
        read.append(version_of(obj))
        return obj

    collection = VersionedCollection(note, lambda held: held)
    for version in (5, 5, 4, 6):
        collection.put(versioned(version))
    assert read == [5, 6]


def test_object_that_goes_while_an_answer_about_it_is_read_stays_gone() -> None:
    """Else nothing would ever remove it: the watch has told of the deletion already."""

    def read_late(obj: Object) -> Object:
        if version_of(obj) == 6:
            collection.remove(versioned(7))
        return obj

    collection = VersionedCollection(read_late, lambda held: held)
    collection.put(versioned(5))
    collection.update(versioned(6))
    assert collection.objects == {}

"""Changes of many devices are made in parts, so that filters come between; each device is as before, or as it is to be."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

import pytest

from allocator.nodes import Nodes
from allocator.scheduling import Mode
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler import cluster_picture
from scheduler.cluster_picture import ClusterPicture, Settling
from tests.scheduler.small_cluster import gpus, node, v1
from tests.scheduler.test_device_patches import patch, wanting

NODES = [f"n{number}" for number in range(8)]


@pytest.fixture
def picture(monkeypatch: pytest.MonkeyPatch) -> ClusterPicture:
    """Of several nodes; there is time for one slice in each part."""
    monkeypatch.setattr(cluster_picture, "STEP_SECONDS", -1.0)
    picture = ClusterPicture(Profile("1.37", {}))
    picture.classes.put(v1("DeviceClass", "gpu", spec={}))
    for name in NODES:
        picture.nodes.put(node(name))
        picture.slices.put(gpus(name, 1))
    picture.claim_objects.put(wanting("c"))
    return picture


def fitting(picture: ClusterPicture) -> list[str]:
    """The nodes on which a pod that needs a patched device fits."""
    with picture.lock:
        answers = picture.state.place([picture.claim_objects.objects["ns/c"]], Mode.FILTER, UNLIMITED).nodes
        return [answer.node for answer in answers if answer.result is not None]


def taint_rule(name: str) -> Object:
    taint = {"key": "k", "effect": "NoSchedule"}
    return v1("DeviceTaintRule", name, spec={"deviceSelector": {"driver": "gpu.example.com"}, "taint": taint})


def test_one_part_after_the_other(picture: ClusterPicture) -> None:
    """Filters in between see what is done so far, and each part may help a pod."""
    assert picture.is_settled
    picture.patches.put(patch("one"))
    work, seen, gains = Settling(picture), [len(fitting(picture))], [picture.gains]
    while work.step():
        seen.append(len(fitting(picture)))
        gains.append(picture.gains)
    assert picture.is_settled
    assert seen[0] < len(NODES)
    assert seen == sorted(seen)
    assert len(set(seen)) > 2
    assert seen[-1] == len(NODES)
    assert gains[-1] > gains[0]
    assert not work.step(), "nothing is left"


CHANGES: dict[str, tuple[Callable[[ClusterPicture], None], int]] = {
    "patch-removed": (lambda picture: picture.patches.remove(patch("one")), 0),
    "other-value": (lambda picture: picture.patches.put(patch("one", "silver")), 0),
    "rule": (lambda picture: picture.rules.put(taint_rule("r")), 0),
    "node": (lambda picture: picture.slices.put(gpus("n0", 2)), len(NODES)),
    "kind-not-served": (lambda picture: picture.patches.lose(), 0),
    "slices-anew": (lambda picture: picture.slices.replace([gpus(name, 2) for name in NODES]), len(NODES)),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
def test_changes_while_others_are_being_made(
    picture: ClusterPicture, change: Callable[[ClusterPicture], None], expected: int
) -> None:
    """In the end all is as if it had been done at once."""
    picture.patches.put(patch("one"))
    work = Settling(picture)
    work.step()
    change(picture)
    while work.step():
        pass
    assert len(fitting(picture)) == expected


def test_devices_are_not_seen_without_the_taint_that_forbids_them(
    picture: ClusterPicture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice that comes waits for its turn, and one that is replaced stays as it was."""
    picture.patches.put(patch("one"))
    picture.rules.put(taint_rule("r"))
    work = Settling(picture)
    while work.step():
        pass
    monkeypatch.setattr(picture, "settle_some", lambda: None)
    picture.nodes.put(node("late"))
    picture.slices.put(gpus("late", 1))
    picture.slices.put(gpus("n0", 2))
    assert fitting(picture) == []
    assert [len(slice.devices) for slice in picture.state.inventory] == [1] * len(NODES)
    monkeypatch.undo()
    picture.warm_up()
    assert fitting(picture) == []
    assert [len(slice.devices) for slice in picture.state.inventory] == [2, *[1] * len(NODES)]


def test_leader_begins_with_all_done(picture: ClusterPicture) -> None:
    picture.patches.put(patch("one"))
    before = picture.is_settled
    picture.warm_up()
    assert (before, picture.is_settled) == (False, True)
    assert fitting(picture) == NODES


def test_warming_up_has_an_end(picture: ClusterPicture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices may select nodes with thousands of requirements, patches change all devices, and a Lease does not wait.

    Filters find out the rest, and what patches change is done as of any change.
    """
    monkeypatch.setattr(cluster_picture, "WARM_UP_SECONDS", -1.0)
    picture.patches.put(patch("one"))
    with monkeypatch.context() as patched:
        patched.setattr(Nodes, "class_of", lambda *_: pytest.fail("there is no time"))
        picture.warm_up()
    assert not picture.is_settled
    assert len(fitting(picture)) < len(NODES)
    work = Settling(picture)
    while work.step():
        pass
    assert fitting(picture) == NODES


def test_thread_does_what_is_left(picture: ClusterPicture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after something has failed."""
    monkeypatch.setattr(cluster_picture, "SETTLING_SECONDS", 0.0)
    settle, failures = picture.settle_some, [RuntimeError("no")]
    done, ending = Event(), Event()

    def failing() -> None:
        if failures:
            raise failures.pop()
        settle()
        if picture.is_settled:
            done.set()

    picture.patches.put(patch("one"))
    monkeypatch.setattr(picture, "settle_some", failing)
    thread = Thread(target=Settling(picture).run, args=(ending,))
    thread.start()
    assert done.wait(120)
    ending.set()
    thread.join()
    assert fitting(picture) == NODES


def test_a_list_is_taken_in_in_parts(picture: ClusterPicture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile driver's list of large slices does not hold up filters until the last of them is read."""
    parts: list[float] = []
    monkeypatch.setattr(picture.lock, "released", parts.append)
    picture.slices.replace([gpus(name, 2) for name in NODES])
    assert len(parts) >= len(NODES)
    picture.slices.replace([])
    assert len(parts) >= 2 * len(NODES)

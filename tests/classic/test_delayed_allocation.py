"""The negotiation with the scheduler: which nodes do not suit a pod's claims, and the allocation for the selected one."""

from __future__ import annotations

import asyncio

import pytest

from classic.claims import MOST_CHARACTERS, NotYet, SyncError, together
from classic.controller import MOST_CLAIMS, Controller, Next
from classic.memory_objects import Write
from resourceapi.errors import WriteConflict
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from tests.classic.scenes import (
    DRIVER,
    FINALIZER,
    NAMESPACE,
    FakeDriver,
    Scene,
    allocation_on,
    claim,
    context,
    pod,
    resource_class,
)

NODES = ["node-1", "node-2", "node-3"]


def scene_with(*objects: Object) -> Scene:
    scene = Scene()
    scene.have(resource_class(), *objects)
    return scene


def test_nodes_are_checked_without_a_selected_one() -> None:
    scene = scene_with(claim(), pod(), context(potential=NODES))
    scene.driver.unsuitable = ["node-2"]
    assert scene.sync_context() == "RECHECK"
    assert (scene.unsuitable(), scene.methods()) == ({"gpu": ["node-2"]}, ["unsuitable_nodes"])
    assert "status" not in scene.claim()


def test_allocated_for_the_selected_node_and_reserved_for_the_pod() -> None:
    scene = scene_with(claim(), pod(), context(potential=NODES, selected="node-1"))
    scene.driver.unsuitable = ["node-2"]
    assert scene.sync_context() == "RECHECK"
    assert scene.status() == {
        "driverName": DRIVER,
        "allocation": allocation_on("node-1"),
        "reservedFor": [{"resource": "pods", "name": "pod", "uid": "uid-of-pod"}],
    }
    assert (scene.finalizers(), scene.unsuitable()) == ([FINALIZER], {"gpu": ["node-2"]})
    assert [(each.verb, each.kind) for each in scene.objects.writes[-3:]] == [
        ("update", "ResourceClaim"),
        ("update status", "ResourceClaim"),
        ("update status", "PodSchedulingContext"),
    ]


def test_nothing_is_written_again() -> None:
    scene = scene_with(claim(), pod(), context(potential=NODES, selected="node-1"))
    scene.sync_context()
    writes = len(scene.objects.writes)
    assert (scene.sync_context(), len(scene.objects.writes)) == ("RECHECK", writes)


def test_not_reserved_if_the_scheduler_is_to_do_it() -> None:
    scene = Scene(options={"reserve": False})
    scene.have(resource_class(), claim(), pod(), context(potential=NODES, selected="node-1"))
    scene.sync_context()
    assert "reservedFor" not in scene.status()


def test_unsuitable_selected_node_is_not_honoured() -> None:
    scene = scene_with(claim(), pod(), context(potential=NODES, selected="node-1"))
    scene.driver.unsuitable = ["node-1"]
    assert scene.sync_context() == "RECHECK"
    assert (scene.finalizers(), scene.unsuitable()) == ([], {"gpu": ["node-1"]})
    assert scene.methods() == ["unsuitable_nodes"]


def test_selected_node_has_to_suit_all_claims() -> None:
    """None of two claims is allocated where one of them cannot be."""
    scene = scene_with(
        claim("a"), claim("b"), pod(one="a", two="b"), context(potential=NODES, selected="node-1")
    )

    class Picky(FakeDriver):
        async def unsuitable_nodes(self, pod, claims, potential_nodes):  # type: ignore[no-untyped-def]
            claims[1].unsuitable_nodes = ["node-1"]

    scene.driver = Picky()
    scene.restart()
    scene.sync_context()
    assert scene.unsuitable() == {"one": [], "two": ["node-1"]}
    assert (scene.methods(), scene.finalizers("a"), scene.finalizers("b")) == ([], [], [])


def test_claims_of_a_pod_are_allocated_together() -> None:
    scene = scene_with(
        claim("a"), claim("b"), pod(one="a", two="b"), context(potential=NODES, selected="node-1")
    )
    scene.sync_context()
    assert ("unsuitable_nodes", "pod", "one", "two", NODES) in scene.driver.calls
    assert ("allocate", "a", "b", "node-1") in scene.driver.calls
    assert scene.status("a")["allocation"] == scene.status("b")["allocation"] == allocation_on("node-1")


def test_claim_under_two_names() -> None:
    """It is one claim for the driver; the scheduler is told about each name."""
    scene = scene_with(claim(), pod(one="claim", two="claim"), context(potential=NODES, selected="node-1"))
    scene.driver.unsuitable = ["node-2"]
    scene.sync_context()
    assert ("allocate", "claim", "node-1") in scene.driver.calls
    assert scene.unsuitable() == {"one": ["node-2"], "two": ["node-2"]}
    assert len(scene.status()["reservedFor"]) == 1


@pytest.mark.parametrize(
    ("potential", "checked"),
    [
        (["node-2"], ["node-2", "node-1"]),
        # a scheduler with one feasible node does not list it
        ([], ["node-1"]),
    ],
)
def test_selected_node_is_checked_in_any_case(potential: list[str], checked: list[str]) -> None:
    scene = scene_with(claim(), pod(), context(potential=potential, selected="node-1"))
    scene.driver.unsuitable = ["node-1"]
    scene.sync_context()
    assert ("unsuitable_nodes", "pod", "gpu", checked) in scene.driver.calls
    assert (scene.unsuitable(), scene.finalizers()) == ({"gpu": ["node-1"]}, [])


@pytest.mark.parametrize(
    "settled",
    [
        pytest.param([claim(mode="Immediate")], id="immediate allocation"),
        pytest.param([claim(class_name="other")], id="another driver"),
        pytest.param([claim(class_name="structured")], id="structured parameters"),
        pytest.param([{**claim(), "status": {"driverName": DRIVER, "allocation": {}}}], id="allocated"),
    ],
)
def test_claims_with_which_there_is_nothing_to_do(settled: list[Object]) -> None:
    """The context is looked at again, as that may change."""
    scene = scene_with(
        resource_class("other", "other.example.com"),
        resource_class("structured", structuredParameters=True),
        *settled,
        pod(),
        context(potential=NODES, selected="node-1"),
    )
    writes = len(scene.objects.writes)
    assert (scene.sync_context(), scene.driver.calls, len(scene.objects.writes)) == ("RECHECK", [], writes)


def test_claims_of_two_drivers() -> None:
    """Each allocates its own, and leaves the other's status as it is."""
    scene = scene_with(
        resource_class("other", "other.example.com"),
        claim("a"),
        claim("b", class_name="other"),
        pod(one="a", two="b"),
        context(potential=NODES, selected="node-1"),
    )
    other = FakeDriver()
    other_controller = Controller("other.example.com", other, scene.objects)
    scene.sync_context()
    assert (scene.unsuitable(), "status" in scene.claim("b")) == ({"one": []}, False)
    with pytest.raises(
        SyncError, match="claim b: allocate"
    ):  # the fake insists on the finalizer of the first
        asyncio.run(other_controller.sync_context(NAMESPACE, "pod"))
    assert scene.finalizers("b") == ["other.example.com/deletion-protection"]
    assert ("allocate", "b", "node-1") in other.calls


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([claim(), pod()], id="no context"),
        pytest.param([claim(), pod(), context()], id="neither potential nodes nor a selected one"),
        pytest.param([claim(), context(selected="node-1")], id="no pod"),
        pytest.param([claim(), pod(), context(selected="node-1", owner="else")], id="of another pod"),
    ],
)
def test_contexts_that_are_no_more_or_not_yet(objects: list[Object]) -> None:
    scene = scene_with(*objects)
    assert (scene.sync_context(), scene.driver.calls, scene.events) == ("NOTHING", [], [])


@pytest.mark.parametrize("kind", ["Pod", "PodSchedulingContext"])
def test_what_is_being_deleted_is_left_alone(kind: str) -> None:
    objects = [pod(), context(selected="node-1")]
    for each in objects:
        each["metadata"]["finalizers"] = ["example.com/other"]
    scene = scene_with(claim(), *objects)
    scene.objects.delete(kind, NAMESPACE, "pod")
    assert (scene.sync_context(), scene.driver.calls) == ("NOTHING", [])


# --- claims that are made from templates


def pod_with_template(made: str | None, *, listed: bool = True) -> Object:
    found = pod()
    found["spec"]["resourceClaims"] = [{"name": "gpu", "source": {"resourceClaimTemplateName": "template"}}]
    status = {"name": "gpu", **({"resourceClaimName": made} if made else {})}
    return {**found, "status": {"resourceClaimStatuses": [status] if listed else []}}


def owned(uid: str) -> Object:
    return claim("pod-gpu-x2x", ownerReferences=[{"kind": "Pod", "uid": uid, "controller": True}])


def test_claim_from_a_template() -> None:
    scene = scene_with(
        owned("uid-of-pod"), pod_with_template("pod-gpu-x2x"), context(potential=NODES, selected="node-1")
    )
    scene.sync_context()
    assert scene.status("pod-gpu-x2x")["allocation"] == allocation_on("node-1")


def test_claim_that_was_made_for_another_pod() -> None:
    scene = scene_with(owned("else"), pod_with_template("pod-gpu-x2x"), context(selected="node-1"))
    text = "pod claim gpu: claim pod-gpu-x2x was not made for the pod"
    with pytest.raises(SyncError, match=text):
        scene.sync_context()
    assert scene.events == [
        ("Pod", "pod", "Allocating", text),
        ("PodSchedulingContext", "pod", "Allocating", text),
    ]
    assert scene.finalizers("pod-gpu-x2x") == []


def test_pod_that_needs_no_claim_after_all() -> None:
    scene = scene_with(pod_with_template(None), context(selected="node-1"))
    assert (scene.sync_context(), scene.driver.calls) == ("RECHECK", [])


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param([pod_with_template("x", listed=False)], id="not made from its template"),
        pytest.param([pod()], id="missing"),
        pytest.param([pod(), claim(finalizers=["example.com/other"])], id="being deleted"),
    ],
)
def test_claims_that_are_still_to_come_are_waited_for_silently(objects: list[Object]) -> None:
    """The scheduler waits for them, too; no other claim of the pod is allocated meanwhile."""
    scene = scene_with(*objects, context(selected="node-1"))
    scene.objects.delete("ResourceClaim", NAMESPACE, "claim")
    with pytest.raises(NotYet):
        scene.sync_context()
    assert scene.events == []


@pytest.mark.parametrize("is_too_many", [False, True])
def test_pod_with_very_many_claims(is_too_many: bool) -> None:
    """One is refused before the driver is asked anything, and the pod's event says why."""
    names = [f"gpu-{number}" for number in range(MOST_CLAIMS + is_too_many)]
    scene = scene_with(claim(), pod(**dict.fromkeys(names, "claim")), context(selected="node-1"))
    if is_too_many:
        with pytest.raises(
            SyncError, match="the pod has 257 claims: drivers allocate for pods with up to 256"
        ):
            scene.sync_context()
        assert (scene.driver.calls, scene.events[0][0]) == ([], "Pod")
    else:
        scene.sync_context()
        assert len(scene.unsuitable()) == MOST_CLAIMS


def test_source_without_a_name() -> None:
    odd = pod()
    odd["spec"]["resourceClaims"] = [{"name": "gpu", "source": {}}]
    scene = scene_with(odd, context(selected="node-1"))
    with pytest.raises(SyncError, match="source has neither resourceClaimName nor resourceClaimTemplateName"):
        scene.sync_context()


# --- failures


def test_missing_class() -> None:
    scene = Scene()
    scene.have(claim(), pod(), context(selected="node-1"))
    with pytest.raises(SyncError, match="pod claim gpu: ResourceClass acme-gpu does not exist"):
        scene.sync_context()
    assert [kind for kind, *_ in scene.events] == ["Pod", "PodSchedulingContext"]


@pytest.mark.parametrize(
    ("method", "kinds"),
    [
        (
            "get_class_parameters",
            ["ResourceClass", "ResourceClaim", "Pod", "PodSchedulingContext"],
        ),
        ("get_claim_parameters", ["ResourceClaim", "Pod", "PodSchedulingContext"]),
    ],
)
def test_parameters_that_cannot_be_read(method: str, kinds: list[str]) -> None:
    """Whoever may look for the reason is told: administrators of classes, owners of claims and pods."""
    scene = scene_with(claim(), pod(), context(selected="node-1"))
    scene.driver.failing[method] = ValueError("memory: 2Gigs is no quantity")
    with pytest.raises(SyncError, match="memory: 2Gigs is no quantity"):
        scene.sync_context()
    assert [kind for kind, *_ in scene.events] == kinds


def test_nodes_that_cannot_be_checked() -> None:
    scene = scene_with(claim(), pod(), context(selected="node-1"))
    scene.driver.failing["unsuitable_nodes"] = RuntimeError("the inventory is not there yet")
    with pytest.raises(SyncError, match="checking potential nodes: the inventory is not there yet"):
        scene.sync_context()
    assert (scene.finalizers(), scene.unsuitable()) == ([], {})


def test_one_claim_fails_the_other_one_is_stored() -> None:
    scene = scene_with(
        claim("a"), claim("b"), pod(one="a", two="b"), context(potential=NODES, selected="node-1")
    )

    class Half(FakeDriver):
        async def allocate(self, claims, selected_node):  # type: ignore[no-untyped-def]
            await super().allocate(claims, selected_node)
            if len(claims) == 2:
                claims[0].error = OSError("broken")

    scene.driver = Half()
    scene.restart()
    with pytest.raises(SyncError, match="claim a: allocate: broken"):
        scene.sync_context()
    assert ("allocation" in scene.status("a"), "allocation" in scene.status("b")) == (False, True)
    scene.sync_context()
    assert "allocation" in scene.status("a")


def test_errors_of_several_claims_are_told_together() -> None:
    scene = scene_with(claim("a"), claim("b"), pod(one="a", two="b"), context(selected="node-1"))
    scene.driver.failing["allocate"] = error = OSError("broken")
    with pytest.raises(SyncError) as raised:
        scene.sync_context()
    assert str(raised.value) == "claim a: allocate: broken; claim b: allocate: broken"
    group = raised.value.__cause__
    assert isinstance(group, ExceptionGroup)
    causes = [each.__cause__.__cause__ for each in group.exceptions if each.__cause__]
    assert causes == [error, error]


def test_errors_of_very_many_claims_are_bounded() -> None:
    error = together([SyncError("x" * MOST_CHARACTERS)] * MOST_CLAIMS)
    assert len(str(error)) == MOST_CHARACTERS


def test_claim_that_changes_while_it_is_being_allocated() -> None:
    """The answer is not stored, and the driver is asked for the same again; it has allocated once."""
    scene = scene_with(claim(), pod(), context(potential=NODES, selected="node-1"))

    async def label() -> None:
        scene.driver.failing.clear()
        found = scene.claim()
        scene.objects.update(
            "ResourceClaim", {**found, "metadata": {**found["metadata"], "labels": {"a": "b"}}}
        )

    scene.driver.failing["allocate"] = label
    with pytest.raises(WriteConflict):
        scene.sync_context()
    assert (scene.events, "status" in scene.claim()) == ([], False)
    scene.sync_context()
    assert scene.methods().count("allocate") == 2
    assert scene.status()["allocation"] == allocation_on("node-1")


def test_another_node_is_selected_before_the_first_is_allocated() -> None:
    """What the driver may have begun for the first node is taken back before it begins with the second."""
    scene = scene_with(claim(), pod(), context(potential=NODES, selected="node-1"))

    async def killed() -> None:
        scene.driver.held[scene.claim()["metadata"]["uid"]] = "node-1"
        raise RuntimeError("killed")

    scene.driver.failing["allocate"] = killed
    with pytest.raises(SyncError):
        scene.sync_context()
    scene.driver.failing.clear()
    found = scene.objects.get("PodSchedulingContext", NAMESPACE, "pod")
    assert found is not None
    spec = {"selectedNode": "node-2", "potentialNodes": NODES}
    scene.objects.update("PodSchedulingContext", {**found, "spec": spec})
    scene.methods()
    scene.sync_context()
    assert scene.methods() == ["unsuitable_nodes", "deallocate", "allocate"]
    assert scene.status()["allocation"] == allocation_on("node-2")


def test_interrupted_claim_that_no_pod_waits_for() -> None:
    """Whether an allocation or a deallocation was interrupted: the driver is to hold nothing, and the finalizer goes."""
    scene = scene_with(claim(finalizers=[FINALIZER]))
    assert scene.sync_claim() == "NOTHING"
    assert (scene.methods(), scene.finalizers()) == (["deallocate"], [])


def test_claim_that_this_process_is_allocating_is_not_interrupted() -> None:
    """An allocation that has failed is tried again for its pod."""
    scene = scene_with(claim(), pod(), context(selected="node-1"))
    scene.driver.failing["allocate"] = RuntimeError("not ready yet")
    with pytest.raises(SyncError):
        scene.sync_context()
    scene.methods()
    scene.sync_claim()
    assert (scene.methods(), scene.finalizers()) == ([], [FINALIZER])


def test_second_claim_of_a_pod_changes_before_it_has_the_finalizer() -> None:
    """Nothing is allocated or taken back; the next attempt goes on."""
    scene = scene_with(claim("a"), claim("b"), pod(one="a", two="b"), context(selected="node-1"))

    def label(write: Write) -> None:
        if write.kind == "ResourceClaim" and write.after and name_of(write.after) == "a":
            scene.objects.listeners.clear()
            found = scene.claim("b")
            metadata = {**found["metadata"], "labels": {"c": "d"}}
            scene.objects.update("ResourceClaim", {**found, "metadata": metadata})

    scene.objects.listeners.append(label)
    with pytest.raises(WriteConflict):
        scene.sync_context()
    scene.sync_claim("a")
    scene.sync_context()
    assert scene.methods() == ["unsuitable_nodes", "unsuitable_nodes", "allocate"]
    assert "allocation" in scene.status("b")


def test_claim_of_two_pods_is_allocated_once() -> None:
    """While the driver works for the first, the second gets no call; then there is nothing to do for it."""
    scene = scene_with(
        claim(), pod("a"), pod("b"), context("a", selected="node-1"), context("b", selected="node-2")
    )

    async def both() -> None:
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            begun.set()
            await goes_on.wait()

        scene.driver.failing["allocate"] = slow
        first = asyncio.create_task(scene.controller.sync_context(NAMESPACE, "a"))
        await begun.wait()
        with pytest.raises(NotYet, match="claim default/claim: the driver is being asked about it"):
            await scene.controller.sync_context(NAMESPACE, "b")
        with pytest.raises(NotYet):
            await scene.controller.sync_claim(NAMESPACE, "claim")
        goes_on.set()
        assert await first is Next.RECHECK
        assert await scene.controller.sync_context(NAMESPACE, "b") is Next.RECHECK

    asyncio.run(both())
    assert scene.methods().count("allocate") == 1
    assert scene.status()["allocation"] == allocation_on("node-1")

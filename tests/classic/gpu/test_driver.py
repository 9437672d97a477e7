"""The GPU driver's answers to its controller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from classic.gpu.ledger import allocation_of
from classic.gpu.parameters import GPUInit, GPURequirements, ParameterObjects, ParametersError, Reference
from resourceapi.api_client import Unavailable
from resourceapi.objects import Object
from tests.classic.gpu.scenes import DRIVER, GI, Scene, StoredParameters, claim, described

REFERENCE = {"apiGroup": "gpu.example.com", "kind": "GPURequirements", "name": "small"}
PATH = "/apis/gpu.example.com/v1/namespaces/tests/gpurequirements/small"


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def parameters_object(kind: str, name: str, **fields: object) -> Object:
    return {"apiVersion": "gpu.example.com/v1", "kind": kind, "metadata": {"name": name}, **fields}


# --- parameters


def test_parameters_are_read_from_the_objects_that_are_named() -> None:
    scene = Scene()
    scene.parameters[PATH] = parameters_object("GPURequirements", "small", memory="2Gi")
    scene.parameters["/apis/gpu.example.com/v1/gpuinits/init"] = parameters_object(
        "GPUInit", "init", initCommand=["/bin/init"]
    )
    asking = claim("a", 1)
    asking["spec"]["parametersRef"] = REFERENCE
    of_class = {"parametersRef": {"apiGroup": "gpu.example.com", "kind": "GPUInit", "name": "init"}}
    assert run(scene.driver.get_claim_parameters(asking, {}, None)) == GPURequirements(2 * GI)
    assert run(scene.driver.get_class_parameters(of_class)) == GPUInit(("/bin/init",))


def test_without_parameters_a_claim_asks_for_all_of_a_gpu() -> None:
    scene = Scene()
    assert run(scene.driver.get_claim_parameters(claim("a", 1), {}, None)) == GPURequirements(None, 1)
    assert run(scene.driver.get_class_parameters({})) == GPUInit()


def test_parameters_that_are_missing_or_wrong_are_the_users_mistake() -> None:
    scene = Scene()
    asking = claim("a", 1)
    asking["spec"]["parametersRef"] = REFERENCE
    with pytest.raises(
        ParametersError, match=r"^there is no GPURequirements\.gpu\.example\.com small in namespace tests$"
    ):
        run(scene.driver.get_claim_parameters(asking, {}, None))
    scene.parameters[PATH] = parameters_object("GPURequirements", "small", memory="2 gigs")
    with pytest.raises(ParametersError, match=r'^memory: "2 gigs": must be a quantity such as 2Gi: '):
        run(scene.driver.get_claim_parameters(asking, {}, None))


def test_api_server_that_does_not_answer_is_no_mistake_of_users() -> None:
    parameters = ParameterObjects(StoredParameters({}, code=500))
    with pytest.raises(Unavailable, match="500 it is too late"):
        run(parameters.read(Reference("GPUInit", "", "init")))


# --- allocation


def test_allocation_is_for_one_node_and_names_gpus_and_memory() -> None:
    scene = Scene(worker="2x16Gi")
    asking = scene.ask("a", f"{2 * GI}", init=GPUInit(("/bin/init",)))
    run(scene.driver.allocate([asking], "worker"))
    assert asking.allocation is not None
    data = asking.allocation["resourceHandles"][0].pop("data")
    assert asking.allocation == {
        "availableOnNodes": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["worker"]}]}
            ]
        },
        "resourceHandles": [{"driverName": DRIVER}],
        "shareable": True,
    }
    assert json.loads(data) == {
        "devices": [{"device": "gpu-0", "memory": "2Gi"}],
        "initCommand": ["/bin/init"],
    }


def test_claims_share_the_memory_of_a_gpu_until_there_is_no_room() -> None:
    scene = Scene(worker="2x5")
    found = [run(scene.allocated("worker", scene.ask(name))) for name in "abcde"]
    assert found[:4] == ["worker/0=2", "worker/0=2", "worker/1=2", "worker/1=2"]
    assert found[4] == "node worker has no room for 1 GPU with 2; free: gpu-0 1, gpu-1 1"


def test_claims_of_a_pod_get_all_or_nothing() -> None:
    scene = Scene(worker="2x5")
    both = scene.ask("a", "4"), scene.ask("b", "2x2")
    problem = "node worker has no room for 1 GPU with 4, 2 GPUs with 2 each; free: gpu-0 5, gpu-1 5"
    assert run(scene.allocated("worker", *both)) == f"{problem} {problem}"
    assert run(scene.allocated("worker", scene.ask("c", "5x2"))) == "worker/0=5+1=5"


def test_claim_that_a_pod_uses_twice_is_allocated_once() -> None:
    scene = Scene(worker="1x3")
    asked = scene.ask("a"), scene.ask("a")
    assert run(scene.allocated("worker", *asked)) == "worker/0=2 worker/0=2"


def test_attempt_that_is_repeated_has_the_same_result() -> None:
    """Also if another claim would make it look different by now."""
    scene = Scene(worker="2x8")
    first = scene.ask("a"), scene.ask("b", "8")
    before = run(scene.allocated("worker", *first))
    scene.claims.put(claim("c", 9))
    run(scene.allocated("worker", scene.ask("c", "6")))
    assert (
        run(scene.allocated("worker", scene.ask("a"), scene.ask("b", "8")))
        == before
        == "worker/1=2 worker/0=8"
    )


def test_attempt_that_asks_for_something_else_is_a_new_one() -> None:
    scene = Scene(one="1x8", two="1x8")
    assert run(scene.allocated("one", scene.ask("a"))) == "one/0=2"
    assert run(scene.allocated("one", scene.ask("a", "8"))) == "one/0=8"
    assert run(scene.allocated("two", scene.ask("a", "8"))) == "two/0=8"
    assert run(scene.allocated("one", scene.ask("b", "8"))) == "one/0=8"


def test_immediate_allocation_takes_the_node_with_the_most_free_memory() -> None:
    scene = Scene(small="1x8", large="2x8", none="0x8")
    assert [run(scene.allocated("", scene.ask(name, "8"))) for name in "abc"] == [
        "large/0=8",
        "large/1=8",
        "small/0=8",
    ]
    assert run(scene.allocated("", scene.ask("a", "8"))) == "large/0=8"
    assert run(scene.allocated("", scene.ask("d"))) == "no node that takes pods has room for 1 GPU with 2"


def test_immediate_allocation_keeps_to_the_suitable_nodes_of_the_class() -> None:
    scene = Scene(small="1x8", large="2x8")
    asking = scene.ask("a")
    on_small = {"key": "metadata.name", "operator": "In", "values": ["small"]}
    asking.resource_class["suitableNodes"] = {"nodeSelectorTerms": [{"matchFields": [on_small]}]}
    assert run(scene.allocated("", asking)) == "small/0=2"


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("none", "node none has no GPUs"),
        ("elsewhere", "there is no node elsewhere"),
        ("small", "node small has no room for 1 GPU of its own; free: gpu-0 6"),
    ],
)
def test_node_that_is_selected_and_has_no_room_is_an_error(node: str, problem: str) -> None:
    scene = Scene(small="1x8", none="0x8")
    run(scene.allocated("small", scene.ask("a")))
    assert run(scene.allocated(node, scene.ask("b", "all"))) == problem


def test_driver_that_starts_again_knows_what_was_written() -> None:
    before, after = Scene(worker="1x4"), Scene(worker="1x4")
    written, lost = before.ask("a"), before.ask("b")
    run(before.allocated("worker", written, lost))
    found = allocation_of(DRIVER, written.allocation or {})
    after.claims.replace([claim("a", 2, found), claim("b", 1)])
    assert run(after.allocated("worker", after.ask("b"))) == "worker/0=2"
    assert "no room" in run(after.allocated("worker", after.ask("c")))


def test_memory_is_free_once_the_api_server_has_the_claim_without_it() -> None:
    scene = Scene(worker="1x2")
    asking = scene.ask("a")
    run(scene.allocated("worker", asking))
    allocated = claim("a", 2, allocation_of(DRIVER, asking.allocation or {}))
    scene.claims.put(allocated)
    run(scene.driver.deallocate(allocated))
    run(scene.driver.deallocate(claim("never-allocated", 1)))
    assert "no room" in run(scene.allocated("worker", scene.ask("b")))
    scene.claims.put(claim("a", 3))
    assert run(scene.allocated("worker", scene.ask("b"))) == "worker/0=2"


def test_claim_that_is_gone_or_has_changed_gets_nothing() -> None:
    """The claim may go while the other claims of its pod get their finalizers."""
    scene = Scene(worker="1x8")
    gone, modified, unchanged = (scene.ask(name) for name in ("gone", "modified", "unchanged"))
    scene.claims.remove(claim("gone", 2))
    scene.claims.put(claim("modified", 3))
    run(scene.driver.allocate([gone, modified, unchanged], "worker"))
    assert [described(each) for each in (gone, modified, unchanged)] == [
        "the claim has been deleted",
        "the claim has been modified",
        "worker/0=2",
    ]
    assert (gone.allocation, modified.allocation) == (None, None)
    assert scene.ledger.free("worker", {"gpu-0": 8}) == {"gpu-0": 6}


# --- unsuitable nodes


def test_nodes_without_room_for_all_claims_of_a_pod_are_unsuitable_for_all_of_them() -> None:
    scene = Scene(four="2x2", full="1x4", none="0x8", two="1x3")
    run(scene.allocated("full", scene.ask("z", "4")))
    assert run(scene.unsuitable(scene.ask("a"))) == "full none"
    assert run(scene.unsuitable(scene.ask("a"), scene.ask("b"))) == "full none two"
    assert run(scene.unsuitable(scene.ask("a"), scene.ask("a"))) == "full none"
    assert run(scene.unsuitable(scene.ask("a", "3"))) == "four full none"


def test_nodes_where_the_pods_claims_hold_memory_already_are_suitable_for_them() -> None:
    scene = Scene(one="1x2", two="1x2")
    run(scene.allocated("one", scene.ask("a")))
    assert run(scene.unsuitable(scene.ask("a"))) == ""
    assert run(scene.unsuitable(scene.ask("b"))) == "one"


@pytest.mark.parametrize(("tick", "most", "least"), [(1.0, 30, 20), (0.0, 5, 0)])
def test_others_need_not_wait_until_all_nodes_are_checked(tick: float, most: int, least: int) -> None:
    """Each of them may take a while, if claims almost fit. A pod with nodes that take no time waits for nobody."""
    scene = Scene(**{f"node-{number}": "1x1" for number in range(20)})
    scene.tick = tick
    turns = []

    async def count_turns() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async def check() -> None:
        other = asyncio.create_task(count_turns())
        await scene.driver.unsuitable_nodes({}, [scene.ask("a")], sorted(scene.nodes))
        other.cancel()

    run(check())
    assert least <= len(turns) <= most


def test_node_that_is_new_or_gone_counts_at_once() -> None:
    scene = Scene(one="1x2", two="1x2")
    gone = scene.nodes.pop("two")
    run(scene.driver.unsuitable_nodes({}, [asking := scene.ask("a")], ["one", "two"]))
    assert asking.unsuitable_nodes == ["two"]
    scene.nodes["two"] = gone
    assert run(scene.unsuitable(scene.ask("a"))) == ""

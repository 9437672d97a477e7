"""What each check of doctor finds, and what it does not mistake for an illness: the table of cases.yaml."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import IGNORE, ClusterState
from claimcheck.answers.doctor.checks import CHECKS
from claimcheck.answers.doctor.examination import Examination, examine
from claimcheck.answers.doctor.examined import Examined
from documents.manifest import Unwritten
from resourceapi.limits import RESERVED_FOR
from resourceapi.releases import Profile

_DATA = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())
CASES: list[dict[str, Any]] = _DATA["cases"]
_SECONDS = 300.0


def _title(obj: dict[str, Any]) -> str:
    metadata = obj["metadata"]
    return f"{obj['kind']} " + "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))


def examination(objects: list[dict[str, Any]], case: dict[str, Any], namespace: str = "") -> Examination:
    state = ClusterState(Profile(case.get("release", "1.37"), case.get("gates", {})), "default")
    manifests = state.learn(Unwritten("cluster", each) for each in objects)
    assert [each.message for each in state.failures] == []
    return examine(Examined(state, manifests, namespace, TimeLimit(_SECONDS)))


def named(name: str) -> dict[str, Any]:
    """A case by its name."""
    return next(each for each in CASES if each["name"] == name)


def cluster(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects of the healthy cluster with what a case adds and takes out."""
    objects = {_title(each): each for each in [*_DATA["healthy"], *case.get("add", ())]}
    return [each for title, each in objects.items() if title not in case.get("remove", ())]


def _can_be_mixed(case: dict[str, Any]) -> bool:
    """Whether a case adds illnesses and leaves the healthy cluster beside them as it is."""
    healthy = {_title(each) for each in _DATA["healthy"]}
    return (
        bool(case["finds"])
        and not (case.get("remove") or case.get("release"))
        and healthy.isdisjoint(map(_title, case["add"]))
    )


def mixed() -> Iterator[dict[str, Any]]:
    """Clusters with three to six of the illnesses."""
    random = Random("mixed")
    possible = [case for case in CASES if _can_be_mixed(case)]
    made = 0
    while made < 10:
        chosen = random.sample(possible, random.randint(3, 6))
        added = [each for case in chosen for each in case["add"]]
        uids = [each["metadata"]["uid"] for each in added if "uid" in each["metadata"]]
        if len({*map(_title, added)}) == len(added) and len({*uids}) == len(uids):
            made += 1
            yield {
                "name": f"several-{made}",
                "add": added,
                "gates": {name: on for case in chosen for name, on in case.get("gates", {}).items()},
                "finds": [each for case in chosen for each in case["finds"]],
            }


MIXED = list(mixed())


@pytest.mark.parametrize("case", MIXED, ids=lambda case: case["name"])
def test_illnesses_do_not_hide_each_other(case: dict[str, Any]) -> None:
    """Of several all are found, and nothing else."""
    found = {
        (each.check.code, f"{one.kind} {one.full_name}")
        for each in examination(cluster(case), case).diagnoses
        for one in each.objects
    }
    assert found == {(each["code"], one) for each in case["finds"] for one in each["objects"]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_finds(case: dict[str, Any]) -> None:
    """All that is expected, about these objects, and nothing else."""
    answer = examination(cluster(case), case)
    assert answer.is_complete
    found = [
        {
            "code": each.check.code,
            "objects": [f"{one.kind} {one.full_name}" for one in each.objects],
            "cause": each.cause,
            "devices": each.devices,
        }
        for each in answer.diagnoses
    ]
    expected = [{"devices": 0} | each for each in case["finds"]]
    for one, other in zip(found, expected, strict=False):
        if other["cause"] == "*":  # the allocator's words, which its own tests hold
            other["cause"] = one["cause"]
    assert found == [{key: each[key] for key in ("code", "objects", "cause", "devices")} for each in expected]
    for diagnosis, wanted in zip(answer.diagnoses, case["finds"], strict=True):
        assert diagnosis.remedy == wanted.get("remedy", diagnosis.remedy)


def test_each_check_has_a_case() -> None:
    """But for the one about claims for hundreds of pods, which has a test of its own."""
    assert {each["code"] for case in CASES for each in case["finds"]} | {"CD022"} == set(CHECKS)


@pytest.mark.parametrize(("users", "codes"), [(229, []), (230, ["CD022"]), (RESERVED_FOR, ["CD022"])])
def test_a_claim_that_is_nearly_full(users: int, codes: list[str]) -> None:
    """From nine tenths of what the API server takes."""
    claim = next(each for each in _DATA["healthy"] if each["kind"] == "ResourceClaim")
    reserved = [{"resource": "pods", "name": f"p{each}", "uid": f"u{each}"} for each in range(users)]
    claim = claim | {"status": claim["status"] | {"reservedFor": reserved}}
    pods = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": each["name"], "namespace": "team", "uid": each["uid"]},
         "spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "i"}]}}
        for each in reserved
    ]  # fmt: skip
    answer = examination(cluster({"add": [claim, *pods]}), {})
    assert [each.check.code for each in answer.diagnoses] == codes


def test_only_one_namespace() -> None:
    """Pods and claims of others are not looked at; devices, which all share, are."""
    case = named("the pod of a claim is gone")
    former = named("a slice of a former generation")
    objects = cluster({"add": former["add"], "remove": case["remove"]})
    assert [each.check.code for each in examination(objects, {}, "team").diagnoses] == ["CD003", "CD012"]
    assert [each.check.code for each in examination(objects, {}, "other").diagnoses] == ["CD012"]


def test_an_annotation_silences_a_check_for_any_object() -> None:
    """Whatever kind of object is found, its annotation is heeded; what is not a stored object, such as a pool, has none."""
    silenced, heard = set(), set()
    for case in CASES:
        kinds = {one.kind for each in examination(cluster(case), case).diagnoses for one in each.objects}
        ignore = {IGNORE: ", ".join(CHECKS)}
        annotated = [
            each | {"metadata": each["metadata"] | {"annotations": ignore}} for each in cluster(case)
        ]
        left = {one.kind for each in examination(annotated, case).diagnoses for one in each.objects}
        silenced |= kinds - left
        heard |= left
    assert heard <= {"pool", "device"}
    assert {"Pod", "ResourceClaim", "ResourceSlice", "DeviceClass", "DeviceTaintRule", "Node"} <= silenced


def test_a_gone_pod_is_not_told_from_one_that_may_not_be_read() -> None:
    """Where pods could not be listed, none is taken for gone, and the answer is not complete."""
    from claimcheck.answers.outcome import Unread

    state = ClusterState(Profile("1.37", {}), "default")
    case = named("the pod of a claim is gone")
    manifests = state.learn(Unwritten("cluster", each) for each in cluster(case))
    state.unread["Pod"] = Unread("cluster", "forbidden", "Pod", is_forbidden=True)
    answer = examine(Examined(state, manifests, "", TimeLimit(_SECONDS)))
    assert answer.diagnoses == []
    assert not answer.is_complete


def test_commands_of_hostile_names() -> None:
    """A name is one word of a command, whatever a file says: commands are there to be copied and run."""
    pod = next(each for each in _DATA["healthy"] if each["metadata"]["name"] == "next")
    hostile = [
        pod | {"metadata": {"name": "x;touch y", "namespace": "team", "uid": "h"}},
        pod | {"metadata": {"name": "lost", "namespace": "$(id)", "uid": "i"}},
    ]
    slice = next(each for each in _DATA["healthy"] if each["kind"] == "ResourceSlice")
    driver = "$(touch y)"
    broken = slice | {
        "metadata": {"name": "broken"},
        "spec": slice["spec"] | {"driver": driver, "pool": slice["spec"]["pool"] | {"resourceSliceCount": 2}},
    }
    answer = examination([*cluster({}), *hostile, broken], {})
    commands = [each.command for each in answer.diagnoses if each.command]
    assert ["claimcheck", "devices", f"--driver={driver}"] in map(shlex.split, commands)
    assert "x;touch y" in {word.partition("/")[2] for each in commands for word in shlex.split(each)}
    assert "$(id)" in {word for each in commands for word in shlex.split(each)}
    assert not [each for each in commands if re.search(r"^[^']*[;$(]", each)]


def test_the_time_ends_all_checks() -> None:
    """What there was no time for is told."""
    state = ClusterState(Profile("1.37", {}), "default")
    manifests = state.learn(
        Unwritten("cluster", each) for each in cluster(named("two drivers publish one device"))
    )
    examined = Examined(state, manifests, "", TimeLimit(_SECONDS))
    examined.limit = TimeLimit(-1.0)
    answer = examine(examined)
    assert answer.diagnoses == []
    assert "ResourceSlices" in answer.unfinished


def test_many_resources_and_drivers_of_a_vendor_are_one_finding() -> None:
    """Their pairs, of which there may be millions, are not looked at."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    node |= {
        "status": {
            "allocatable": {f"acme.example/r{each}": "1" for each in range(50)} | {"pods": "500", "cpu": "8"}
        }
    }
    slice = next(each for each in _DATA["healthy"] if each["kind"] == "ResourceSlice")
    more = [
        slice
        | {
            "metadata": {"name": f"s{each}"},
            "spec": slice["spec"] | {"driver": f"d{each}.acme.example", "devices": [{"name": "d"}]},
        }
        for each in range(20)
    ]
    answer = examination(cluster({"add": [node, *more]}), {})
    assert [each.check.code for each in answer.diagnoses] == ["CD009"]

"""Small clusters with pods that are scheduled one after the other, and what a real kube-scheduler of 1.37 made of them.

A file of `data/outcomes` is about one subject. In a case, `nodes` gives what each node has, `devices` those of each node (`slices`
other ones), `claims` their requests, `running` the pods that are on nodes already, and `pods` what each pod needs;
`outcome_objects.py` says how they are written. CASE stands for the name of the case, which sets its objects apart from those of
others in one cluster. `like` names cases of upstream's tests that ask the same.

`expect` is recorded (`python -m tests.e2e.record_outcomes`): of each pod its node, what its claims got, and what they take of the
node; or how many nodes kube-scheduler turned down for which reasons, or what else it said; or that it waits.
`differs` says why Claimcheck's answer is another one, and which. `sidecar` is the decision about a pod where that is another one with
`claimcheck schedule` (docs/how-to/schedule.md says why).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from resourceapi.manifests import mapping
from tests.case_files import read_yaml
from tests.claimcheck.outcome_objects import Object, objects_of, pod_of

DIRECTORY = Path(__file__).parent / "data" / "outcomes"
#: What is said of nodes of other cases, and of the one that each server of the tests has.
_OF_OTHER_NODES = (
    "node(s) didn't match Pod's node affinity/selector",
    "node(s) had untolerated taint(s)",
    "node(s) were unschedulable",
)
#: What stands before an error on a node: kube-scheduler names the plugin, Claimcheck the node.
_BEFORE_ERROR = re.compile(r'^.*?(running "DynamicResources" filter plugin|fails the attempt): ')


class Case(NamedTuple):
    """One cluster.

    :param objects: all but the pods that come.
    :param pods: these, by their short names, in the order in which they come.
    :param expected: what kube-scheduler made of each of them; empty as long as nobody has asked.
    :param ours: where Claimcheck's answer is another one, that.
    :param sidecar: where the decision is another one with the sidecar, that (see :func:`decision`).
    """

    name: str
    subject: str
    gates: Sequence[str]
    like: Sequence[str]
    objects: Sequence[Object]
    pods: Mapping[str, Object]
    expected: Mapping[str, Object]
    ours: Mapping[str, Object]
    sidecar: Mapping[str, Object]


class Subject(NamedTuple):
    """A file: what it is about, and upstream's files that ask the same."""

    name: str
    about: str
    upstream: Sequence[str]
    cases: Sequence[Case]


def subjects() -> Iterator[Subject]:
    """All files."""
    for path in sorted(DIRECTORY.glob("*.yaml")):
        document = read_yaml(path)
        found = [
            _case(_named(each, each["case"]), path.stem, document.get("gates", ()))
            for each in document["cases"]
        ]
        yield Subject(path.stem, document["about"], document.get("upstream", ()), found)


def cases() -> Iterator[Case]:
    """All of them."""
    for subject in subjects():
        yield from subject.cases


def _named(value: Any, name: str) -> Any:
    """The value with the name of the case."""
    if isinstance(value, dict):
        return {_named(key, name): _named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, name) for each in value]
    return value.replace("CASE", name) if isinstance(value, str) else value


def _case(case: Object, subject: str, gates: Sequence[str]) -> Case:
    name = case["case"]
    pods = {pod: pod_of(name, pod, needs) for pod, needs in case["pods"].items()}
    like = case.get("like", ())
    return Case(
        name,
        subject,
        gates,
        [like] if isinstance(like, str) else like,
        list(objects_of(case)),
        pods,
        case.get("expect", {}),
        case.get("differs", {}).get("ours", {}),
        case.get("sidecar", {}),
    )


def unbound(case: str, message: str) -> Object:
    """What kube-scheduler said of a pod that it did not bind: for how many nodes of the case which reason, or the message."""
    available = message.partition("are available: ")[2]
    counted = available.partition(" preemption: ")[0].removesuffix(".")
    reasons: dict[str, int] = {}
    for each in counted.split(", "):
        count, _, reason = each.partition(" ")
        if not count.isdigit():
            return {"says": counted or _BEFORE_ERROR.sub("", message)}
        if reason not in _OF_OTHER_NODES:
            reasons[reason] = int(count)
    return {"reasons": reasons}


def decision(outcome: Object) -> Object:
    """What is decided about a pod, whatever is said of it: the node, what its claims get and take there, and who has to go."""
    bound = () if outcome.get("waits") else ("node", "claims", "takes")
    return {key: outcome[key] for key in (*bound, "evicts") if key in outcome}


def by_extender(expected: Object) -> Object:
    """What becomes of a pod if an extender refuses the nodes: it has one reason for each, and kube-scheduler makes no room there."""
    reasons = expected.get("reasons", {})
    if len(reasons) > 1 and set(reasons.values()) == {1}:
        return {"reasons": {" and ".join(sorted(reasons)): 1}}
    return {key: value for key, value in expected.items() if key != "evicts"}


def bound(
    case: str, pod: Object, node: str, status: Mapping[str, Any], claims: Mapping[str, Mapping[str, Any]]
) -> Object:
    """What became of a pod that has a node.

    :param status: its own.
    :param claims: the `status` of each claim that it uses, by the name that it has in the pod.
    """
    found: Object = {"node": node.removeprefix(f"{case}-")}
    held = {name: _held(case, pod, node, each) for name, each in claims.items() if each}
    if held:
        found["claims"] = held
    takes = status.get("nodeAllocatableResourceClaimStatuses") or []
    return found | ({"takes": takes} if takes else {})


def _held(case: str, pod: Object, node: str, status: Mapping[str, Any]) -> Any:
    """What a claim has got: its devices, and what is unusual besides."""
    allocation = mapping(status, "allocation")
    devices = mapping(allocation, "devices")
    results = [_result(case, each) for each in devices.get("results", ())]
    more: Object = {}
    users = [each["name"].removeprefix(f"{case}-") for each in status.get("reservedFor", ())]
    if users != [pod["metadata"]["name"].removeprefix(f"{case}-")]:
        more["for"] = users
    if devices.get("config"):
        more["config"] = [
            {key: value for key, value in each.items() if key in ("source", "requests")}
            for each in devices["config"]
        ]
    selector = allocation.get("nodeSelector")
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    if selector != {"nodeSelectorTerms": [{"matchFields": [here]}]}:
        more["selector"] = selector and [
            each for term in selector["nodeSelectorTerms"] for part in term.values() for each in part
        ]
    return {"devices": results, **more} if more else results


def _result(case: str, result: Object) -> Any:
    where = f"{result['pool'].removeprefix(f'{case}-')}/{result['device']}"
    if result["driver"] != f"{case}.example.com":
        where = f"{result['driver']}/{where}"
    text = f"{result['request']} {where}"
    usual = ("request", "driver", "pool", "device", "shareID")
    more = {key: value for key, value in result.items() if key not in usual}
    if "consumedCapacity" in more:
        more["consumedCapacity"] = {name: str(value) for name, value in more["consumedCapacity"].items()}
    return {"device": text, **more} if more else text

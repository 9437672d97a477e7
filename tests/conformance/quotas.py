"""Replays quota cases: a namespace with one ResourceQuota, in which objects are created one by one."""

from __future__ import annotations

from typing import Any

from quota import amounts
from quota.names import ExtendedResources
from quota.namespace import Namespace
from quota.resource_quotas import from_object, review
from resourceapi.records.classes import read_device_class
from resourceapi.releases import Profile
from tests.conformance.answers import Case, Json, expectation, same_json
from tests.conformance.comparison import PARTS, Comparison, part_of
from tests.conformance.profiles import PROFILES
from tests.conformance.replay import NODES
from validation.requests import Answer, Request
from validation.server import Server


def answer(case: Case) -> dict[str, Any]:
    """`steps`: of each its `code`, the rest of the refusal, and what is used of the quota after it."""
    settings = PROFILES[case["profile"]]
    labels = {case["namespace"]: case["namespaceLabels"]}
    server = Server(Profile(settings.release, settings.gates), namespaces=labels, nodes=NODES)
    created, namespace = _with_quota(server, case)
    steps = []
    for step in case["steps"]:
        reply = namespace.create(
            Request(
                api_version=step["apiVersion"],
                kind=step["kind"],
                namespace=case["namespace"],
                body=step["object"],
            ),
            dry_run=step.get("dryRun", False),
        )
        used = amounts.written(namespace.quotas[0].used) if namespace.quotas else None
        steps.append({**_without_object(reply), "usedAfter": used})
    return {"quota": _without_object(created), "steps": steps}


def published(answered: dict[str, Any]) -> dict[str, Any]:
    """Of an answer what tells the verdicts and the usage."""
    return {"steps": [{"code": step["code"], "usedAfter": step["usedAfter"]} for step in answered["steps"]]}


def compare(case: Case, answered: dict[str, Any]) -> Comparison:
    """Verdict: every request, that for the quota included, gets its code and every usage is the same."""
    differences: list[tuple[str, Json, Json]] = []
    verdict = True
    if answered.get("reason") == "Crash":
        return Comparison(False, False, [("steps", None, answered["message"])])
    pairs = [("quota", case["quotaExpect"], answered["quota"])]
    for index, (step, reply) in enumerate(zip(case["steps"], answered["steps"], strict=True)):
        pairs.append((f"step {index}", {**step["expect"], "usedAfter": step["usedAfter"]}, reply))
    for place, expected, reply in pairs:
        for name in (*PARTS, "usedAfter"):
            if name == "object" or (expected.get("unordered") and name in ("message", "causes")):
                continue
            left, right = part_of(case, expected, name), part_of(case, reply, name)
            if not same_json(left, right):
                differences.append((f"{place}: {name}", left, right))
                verdict = verdict and name not in ("code", "usedAfter")
    return Comparison(verdict, not differences, differences)


def _with_quota(server: Server, case: Case) -> tuple[Answer, Namespace]:
    """The case's namespace, with its quota if the server takes it."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": case["hard"]},
    }
    created = review(server, body, case["namespace"])
    quotas = [from_object(created.object)] if created.accepted else []
    return created, Namespace(
        server, ExtendedResources(map(read_device_class, case["deviceClasses"])), quotas
    )


def _without_object(reply: Answer) -> dict[str, Any]:
    status = None if reply.accepted else reply.status()
    expected = expectation(reply.code, case={"object": None}, status=status, warnings=reply.warnings)
    expected.pop("object", None)
    return expected

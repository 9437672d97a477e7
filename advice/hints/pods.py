"""Hints for the claims of pods and of workloads' pod templates."""

from __future__ import annotations

from typing import Any

from advice.hints.hint import Hint
from advice.hints.problem import Problem
from advice.hints.snippet import yaml
from resourceapi.field_errors import DUPLICATE, INVALID, NOT_FOUND, REQUIRED
from resourceapi.manifests import entries, pod_spec, text, value_at
from resourceapi.nearness import did_you_mean
from validation.rule_names import WRONG_TYPE

CONTAINER_CLAIM = r"ontainers\[\]\.resources\.claims\[\]"


def pod_claim_names(manifest: Any) -> list[str]:
    """The names under `resourceClaims` of a pod, or of a workload's pod template."""
    _, spec = pod_spec(manifest)
    return [name for claim in entries(spec, "resourceClaims") if (name := text(claim, "name"))]


def _bare_claim_name(problem: Problem) -> str:
    """`- gpu` instead of `- name: gpu`."""
    value = problem.value
    while not isinstance(value, str):
        if not isinstance(value, list) or not value:
            return ""
        value = value[0]
    return f"write a mapping: `- name: {value}`"


def _bare_pod_claim(problem: Problem) -> str:
    value = problem.value
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        return ""
    return "name the claim or the template that it stands for:\n" + yaml(
        [{"name": value, "resourceClaimTemplateName": f"{value}-template"}]
    )


def _subrequest(problem: Problem) -> str:
    value = problem.value
    if not isinstance(value, str) or "/" not in value:
        return ""
    main = value.partition("/")[0]
    return f"name only the request, whichever alternative is chosen: `request: {main}`"


def _unknown_claim(problem: Problem) -> str:
    name = value_at(problem.value, ("name",))
    names = pod_claim_names(problem.object)
    question = did_you_mean(name, names) if isinstance(name, str) else ""
    if question:
        return question
    if not names:
        entry = {"name": name, "resourceClaimTemplateName": f"{name}-template"}
        return "add an entry to the pod's `resourceClaims`:\n" + yaml([entry])
    return ""


HINTS = (
    Hint("bare-claim-name", (WRONG_TYPE,), _bare_claim_name, place=CONTAINER_CLAIM + r"?$|claims$"),
    Hint("bare-pod-claim", (WRONG_TYPE,), _bare_pod_claim, place=r"resourceClaims(\[\])?$"),
    Hint("subrequest-in-pod", (INVALID,), _subrequest, place=CONTAINER_CLAIM + r"\.request$"),
    Hint("unknown-pod-claim", (NOT_FOUND,), _unknown_claim, place=CONTAINER_CLAIM + "$"),
    Hint(
        "pod-claim-without-source",
        (REQUIRED, INVALID),
        "set `resourceClaimName` to use an existing claim, or `resourceClaimTemplateName` "
        "to create one for each pod",
        place=r"resourceClaims\[\]$",
        message="must specify one of",
    ),
    Hint(
        "claim-used-twice",
        (DUPLICATE,),
        "list a claim once without `request`, or each of its requests at most once",
        place=CONTAINER_CLAIM + "$",
    ),
)

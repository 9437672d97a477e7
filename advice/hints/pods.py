"""Hints for the claims of pods and of workloads' pod templates."""

from __future__ import annotations

from typing import Any

from advice.hints.hint import Advice, Hint, Problem, moved, scalar, yaml
from resourceapi.field_errors import DUPLICATE, INVALID, NOT_FOUND, REQUIRED
from resourceapi.manifests import MISSING, entries, pod_spec, text, value_at
from resourceapi.phrases import nearest
from validation.requests import UNKNOWN_FIELD, WRONG_TYPE

CONTAINER_CLAIM = r"ontainers\[\]\.resources\.claims\[\]"


def pod_claim_names(manifest: Any) -> list[str]:
    """The names under `resourceClaims` of a pod, or of a workload's pod template."""
    _, spec = pod_spec(manifest)
    return [name for claim in entries(spec, "resourceClaims") if (name := text(claim, "name"))]


def _bare_claim_name(problem: Problem) -> str | Advice:
    """`- gpu` instead of `- name: gpu`."""
    value = problem.value
    if isinstance(value, list):
        value = value[0] if value else ""
    if not isinstance(value, str) or not value or value == "...":
        return ""
    fixed = {"name": value}
    return Advice(
        f"write a mapping: `- name: {scalar(value)}`",
        (problem.path, fixed if isinstance(problem.path[-1], int) else [fixed]),
    )


def _bare_pod_claim(problem: Problem) -> str:
    value = problem.value
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str) or value == "...":
        return ""
    return "name the claim or the template that it stands for:\n" + yaml(
        [{"name": value, "resourceClaimTemplateName": f"{value}-template"}]
    )


def _subrequest(problem: Problem) -> str | Advice:
    value = problem.value
    if not isinstance(value, str) or "/" not in value:
        return ""
    main = value.partition("/")[0]
    return Advice(
        f"name only the request, whichever alternative is chosen: `request: {main}`", (problem.path, main)
    )


def _claims_beside_resources(problem: Problem) -> Advice:
    text = "move `claims` under the container's `resources`"
    to = (*problem.path[:-1], "resources", "claims")
    return Advice(text, *moved(problem, to)) if value_at(problem.object, to) is MISSING else Advice(text)


def _resource_claims_in_container(problem: Problem) -> Advice:
    text = "move `resourceClaims` to the pod's spec; a container lists their names under `resources.claims`"
    spec = problem.path[
        : max(n for n, part in enumerate(problem.path) if str(part).lower().endswith("containers"))
    ]
    to = (*spec, "resourceClaims")
    return Advice(text, *moved(problem, to)) if value_at(problem.object, to) is MISSING else Advice(text)


def _unknown_claim(problem: Problem) -> str | Advice:
    name = value_at(problem.value, ("name",))
    names = pod_claim_names(problem.object)
    meant = nearest(name, names) if isinstance(name, str) else ""
    if meant:
        return Advice(f"did you mean `{meant}`?", ((*problem.path, "name"), meant))
    if not names:
        entry = {"name": name, "resourceClaimTemplateName": f"{name}-template"}
        return "add an entry to the pod's `resourceClaims`:\n" + yaml([entry])
    return ""


HINTS = (
    Hint(
        "claims-beside-resources", (UNKNOWN_FIELD,), _claims_beside_resources, place=r"ontainers\[\]\.claims$"
    ),
    Hint(
        "resource-claims-in-container",
        (UNKNOWN_FIELD,),
        _resource_claims_in_container,
        place=r"ontainers\[\](\.resources)?\.resourceClaims$",
    ),
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

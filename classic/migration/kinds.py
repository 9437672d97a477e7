"""The kinds of classic DRA, and how an object of one is recognised."""

from __future__ import annotations

from typing import Any

from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, DEVICE_CLASS
from resourceapi.kinds import RESOURCE_SLICE as SLICE
from resourceapi.manifests import mapping, text
from resourceapi.model.versions import CLASSIC_VERSIONS, GROUP, MISTAKEN_GROUP
from resourceapi.model.workloads import KINDS as WORKLOADS
from resourceapi.releases import split_api_version

RESOURCE_CLASS = "ResourceClass"
CLAIM_PARAMETERS = "ResourceClaimParameters"
CLASS_PARAMETERS = "ResourceClassParameters"
SCHEDULING_CONTEXTS = ("PodSchedulingContext", "PodScheduling")
RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE = CLAIM.name, CLAIM_TEMPLATE.name
RESOURCE_SLICE = SLICE.name
#: Kinds that only the classic API has.
CLASSIC_ONLY = (RESOURCE_CLASS, CLAIM_PARAMETERS, CLASS_PARAMETERS, *SCHEDULING_CONTEXTS)
V1ALPHA3 = "v1alpha3"
#: What v1alpha3 has as of 1.31; the kinds that it got later stay there.
_OF_1_31 = (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE, DEVICE_CLASS.name, RESOURCE_SLICE)


def is_classic(value: dict[str, Any]) -> bool:
    """Whether an object has the shape of v1alpha1 or v1alpha2, whatever version it names."""
    kind = text(value, "kind")
    group, version = _type(value)
    if group not in (GROUP, MISTAKEN_GROUP):
        return False
    if kind in CLASSIC_ONLY or (
        kind in (*_OF_1_31, "ResourcePool", "DevicePool") and version in CLASSIC_VERSIONS
    ):
        return True
    return kind in (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE) and "resourceClassName" in claim_spec(value)


def is_of_1_31(value: dict[str, Any]) -> bool:
    """Whether an object is one of v1alpha3 as 1.31 had it."""
    return _type(value) == (GROUP, V1ALPHA3) and text(value, "kind") in _OF_1_31


def is_misplaced_workload(value: dict[str, Any]) -> bool:
    """Whether it is a pod, or a kind with a pod template, in a group of DRA."""
    return _type(value)[0] in (GROUP, MISTAKEN_GROUP) and text(value, "kind") in _WORKLOAD_VERSIONS


def workload_version(kind: str) -> str:
    """The apiVersion of a pod, or a kind with a pod template."""
    return _WORKLOAD_VERSIONS[kind]


def claim_spec(value: dict[str, Any]) -> dict[str, Any]:
    """The spec of a claim, also that in a template."""
    if text(value, "kind") == RESOURCE_CLAIM_TEMPLATE:
        return mapping(value, "spec", "spec")
    return mapping(value, "spec")


def _type(value: dict[str, Any]) -> tuple[str, str]:
    return split_api_version(text(value, "apiVersion"))


_WORKLOAD_VERSIONS = {
    kind: f"{group}/v1" if group else "v1" for group, kinds in WORKLOADS.items() for kind in kinds
}

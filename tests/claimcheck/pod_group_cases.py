"""Reads `data/pod_groups.yaml`: the objects of a case, and what is expected of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from resourceapi.objects import Object
from tests.case_files import read_yaml

GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
LABEL = "case"
DRIVER = "gpu.example.com"
_RESOURCE, _SCHEDULING = "resource.k8s.io/v1", "scheduling.k8s.io/v1beta1"
_FILE = Path(__file__).with_name("data") / "pod_groups.yaml"


class Outcome(NamedTuple):
    """How many pods of each name are bound, of each claim how many devices it has, and for whom; messages about pods."""

    bound: dict[str, int]
    got: dict[str, dict[str, Any]]
    says: dict[str, str]


class Case(NamedTuple):
    """A case; its nodes, which no other may use, have its number in their names."""

    number: int
    content: dict[str, Any]

    def __str__(self) -> str:
        return str(self.content["case"])

    @property
    def namespace(self) -> str:
        """The namespace of its objects."""
        return f"case-{self.number}"

    @property
    def expected(self) -> Outcome:
        """What the file says; what it leaves out of `got` and `says` is not looked at."""
        return Outcome(self.content["bound"], self.content.get("got") or {}, self.content.get("says") or {})

    @property
    def by_any_order(self) -> list[Outcome]:
        """What is expected where pods may be looked at in another order than that in which they were created.

        A live scheduler takes the pods first whose claims a controller happened to make first.
        """
        others = [self.expected._replace(bound=bound) for bound in self.content.get("or bound") or ()]
        return [self.expected, *others]

    def seen(self, outcome: Outcome) -> Outcome:
        """The part of an outcome of which the file says something."""
        begins = {
            pod: outcome.says.get(pod, "")[: len(message)] for pod, message in self.expected.says.items()
        }
        return outcome._replace(got=outcome.got if "got" in self.content else {}, says=begins)

    def cluster(self) -> Iterator[Object]:
        """Its nodes with their devices."""
        for name, devices in self.content["nodes"].items():
            node = self._node(name)
            labels = {"kubernetes.io/hostname": node, LABEL: self.namespace}
            resources = {"cpu": "8", "memory": "8Gi", "pods": "100"}
            yield _object("v1", "Node", node, labels=labels) | {"status": {"allocatable": resources}}
            if devices:
                spec = {
                    "driver": DRIVER,
                    "nodeName": node,
                    "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": f"d{number}"} for number in range(devices)],
                }
                yield _object(_RESOURCE, "ResourceSlice", node) | {"spec": spec}

    def objects(self) -> Iterator[Object]:
        """What is put into its namespace, in this order; pods come last."""
        for name, count in (self.content.get("templates") or {}).items():
            yield self._named(_RESOURCE, "ResourceClaimTemplate", name) | {"spec": {"spec": _spec(count)}}
        for name, count in (self.content.get("claims") or {}).items():
            yield self._named(_RESOURCE, "ResourceClaim", name) | {"spec": _spec(count)}
        for name, group in (self.content.get("groups") or {}).items():
            count = group.get("minCount")
            policy: Object = {"gang": {"minCount": count}} if count else {"basic": {}}
            spec: Object = {"schedulingPolicy": policy}
            if group.get("claims"):
                spec["resourceClaims"] = _entries(group["claims"])
            yield self._named(_SCHEDULING, "PodGroup", name) | {"spec": spec}
        for each in self.content["pods"]:
            for number in range(each.get("count", 1)):
                yield self._named("v1", "Pod", f"{each['name']}-{number}") | {"spec": self._pod_spec(each)}

    def _pod_spec(self, pod: Object) -> Object:
        selector = {LABEL: self.namespace}
        if "node" in pod:
            selector["kubernetes.io/hostname"] = self._node(pod["node"])
        claims = _entries(pod.get("claims") or {})
        resources: Object = {"claims": [{"name": each["name"]} for each in claims]}
        if "cpu" in pod:
            resources["requests"] = {"cpu": str(pod["cpu"])}
        container = {"name": "c", "image": "i", "resources": resources}
        spec: Object = {"containers": [container], "nodeSelector": selector, "resourceClaims": claims}
        return spec | ({"schedulingGroup": {"podGroupName": pod["group"]}} if "group" in pod else {})

    def _node(self, name: str) -> str:
        return f"{self.namespace}-{name}"

    def _named(self, api_version: str, kind: str, name: str) -> Object:
        return _object(api_version, kind, name, namespace=self.namespace)


DEVICE_CLASS: Object = {
    "apiVersion": _RESOURCE,
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}


def cases() -> list[Case]:
    """All of them."""
    return [Case(number, content) for number, content in enumerate(read_yaml(_FILE))]


def _object(api_version: str, kind: str, name: str, **metadata: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def _spec(count: int) -> Object:
    exactly = {"deviceClassName": "gpu", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def _entries(claims: Object) -> list[Object]:
    fields = {"claim": "resourceClaimName", "template": "resourceClaimTemplateName"}
    return [
        {"name": name, **{fields[kind]: value for kind, value in source.items()}}
        for name, source in claims.items()
    ]

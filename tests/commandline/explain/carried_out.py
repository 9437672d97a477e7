"""What `claimcheck explain` suggests, carried out in objects, as somebody would who reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher

from resourceapi.objects import Object


class Objects:
    """What is explained, the cluster, and options of the command."""

    def __init__(self, workloads: list[Object], cluster: list[Object], options: Iterable[str] = ()) -> None:
        self.workloads, self.cluster, self.options = workloads, cluster, list(options)

    def named(self, name: str, *kinds: str) -> Object:
        """The object of this `namespace/name`."""
        namespace, _, bare = name.rpartition("/")
        return next(
            each
            for each in (*self.workloads, *self.cluster)
            if each["kind"] in kinds
            and each["metadata"]["name"] == bare
            and each["metadata"].get("namespace", namespace and "default") == namespace
        )

    def devices(self, claim: str) -> Object:
        """`spec.devices` of a claim, or of the template from which it is made for a pod."""
        namespace, _, bare = claim.rpartition("/")
        for pod in self.workloads:
            for entry in pod["spec"].get("resourceClaims") or () if pod["kind"] == "Pod" else ():
                made = f"{pod['metadata']['name']}-{entry['name']}"  # with a suffix, once it exists
                if "resourceClaimTemplateName" in entry and f"{bare}-".startswith(f"{made}-"):
                    template = f"{namespace}/{entry['resourceClaimTemplateName']}"
                    of_template: Object = self.named(template, "ResourceClaimTemplate")["spec"]["spec"][
                        "devices"
                    ]
                    return of_template
        devices: Object = self.named(claim, "ResourceClaim")["spec"]["devices"]
        return devices

    def request(self, subject: str) -> Object:
        """The request or alternative with the name `claim:request/alternative`."""
        claim, _, name = subject.partition(":")
        main_name, _, sub = name.partition("/")
        request = next(each for each in self.devices(claim)["requests"] if each["name"] == main_name)
        if not sub:
            details: Object = request.get("exactly", request)
            return details
        return next(each for each in request["firstAvailable"] if each["name"] == sub)

    def pods(self) -> list[Object]:
        return [each["spec"] for each in self.workloads if each["kind"] == "Pod"]


def _class(objects: Objects, remedy: Object) -> None:
    objects.request(remedy["subject"])["deviceClassName"] = remedy["value"]


def _count(objects: Objects, remedy: Object) -> None:
    made = re.search(r"the limit of (\S+) of container (\S+)$", remedy["text"])
    if made:
        pod = remedy["subject"].partition(":")[0].removesuffix("-extended-resources")
        containers = objects.named(pod, "Pod")["spec"]["containers"]
        (container,) = [each for each in containers if each["name"] == made[2]]
        container["resources"]["limits"][made[1]] = remedy["value"]
        return
    claim, _, names = remedy["subject"].partition(":")
    for name in names.split(", "):
        objects.request(f"{claim}:{name}").update(allocationMode="ExactCount", count=remedy["value"])


def _capacity(objects: Objects, remedy: Object) -> None:
    (name,) = re.findall(r"(?:at most \S+ of|the capacity) (\S+)", remedy["text"])
    requests = objects.request(remedy["subject"]).setdefault("capacity", {}).setdefault("requests", {})
    if remedy.get("value") is None:
        del requests[name]
    else:
        requests[name] = remedy["value"]


def _selector(objects: Objects, remedy: Object) -> None:
    if ":" in remedy["subject"]:
        details = objects.request(remedy["subject"])
    else:
        details = objects.named(remedy["subject"], "DeviceClass")["spec"]
    if re.match(r"without the \d+ selectors ", remedy["text"]):
        del details["selectors"]
        return
    whole = remedy.get("value")
    old = [each["cel"]["expression"] for each in details["selectors"]]
    # the report quotes one that is left out; one that is corrected is like what it becomes
    changed = max(
        old,
        key=lambda each: (
            SequenceMatcher(None, each, whole).ratio() if whole else f"`{each}`" in remedy["text"]
        ),
    )
    new = (whole if each == changed else each for each in old)
    details["selectors"] = [{"cel": {"expression": each}} for each in new if each]


def _name(objects: Objects, remedy: Object) -> None:
    if "#" in remedy["subject"]:
        claim, _, place = remedy["subject"].partition("#")
        objects.devices(claim)["constraints"][int(place)]["matchAttribute"] = remedy["value"]
        return
    ((old, new),) = remedy["value"].items()
    request = objects.request(remedy["subject"])
    if remedy["text"].startswith("with the capacity "):
        request["capacity"]["requests"][new] = request["capacity"]["requests"].pop(old)
        return
    for selector in request["selectors"]:
        selector["cel"]["expression"] = selector["cel"]["expression"].replace(old, new)


def _constraint(objects: Objects, remedy: Object) -> None:
    claim, _, place = remedy["subject"].partition("#")
    del objects.devices(claim)["constraints"][int(place)]


def _request(objects: Objects, remedy: Object) -> None:
    claim, _, name = remedy["subject"].partition(":")
    devices = objects.devices(claim)
    devices["requests"] = [each for each in devices["requests"] if each["name"] != name]
    for constraint in devices.get("constraints") or ():
        if "requests" in constraint:
            constraint["requests"] = [each for each in constraint["requests"] if each != name]


def _alternative(objects: Objects, remedy: Object) -> None:
    claim, _, name = remedy["subject"].partition(":")
    main_name, _, sub = name.partition("/")
    request = next(each for each in objects.devices(claim)["requests"] if each["name"] == main_name)
    request["firstAvailable"] = [each for each in request["firstAvailable"] if each["name"] != sub]


def _taint_of(text: str) -> Object:
    key, value, effect = re.fullmatch(r"([^=:]+)(?:=([^:]*))?:(\w+)", text).groups()  # type: ignore[union-attr]
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _toleration(objects: Objects, remedy: Object) -> None:
    toleration = {"operator": "Equal", **_taint_of(remedy["subject"])}
    for each in objects.workloads:
        spec = each.get("spec") or {}
        for request in (spec.get("devices") or spec.get("spec", {}).get("devices", {})).get("requests", ()):
            for details in request.get("firstAvailable") or [request["exactly"]]:
                details.setdefault("tolerations", []).append(toleration)


def _taint(objects: Objects, remedy: Object) -> None:
    gone = _taint_of(remedy["subject"]).items()  # a server adds the time
    for each in objects.cluster:
        for device in (
            (each.get("spec") or {}).get("devices") or () if each["kind"] == "ResourceSlice" else ()
        ):
            device["taints"] = [taint for taint in device.get("taints") or () if not gone <= taint.items()]
    objects.cluster = [
        each
        for each in objects.cluster
        if each["kind"] != "DeviceTaintRule" or not gone <= each["spec"]["taint"].items()
    ]


def _patch(objects: Objects, remedy: Object) -> None:
    objects.cluster.remove(objects.named(remedy["subject"], "ResourceSlicePatch"))


def _release(objects: Objects, remedy: Object) -> None:
    for name in remedy["subject"].split(", "):
        del objects.named(name, "ResourceClaim")["status"]


def _gate(objects: Objects, remedy: Object) -> None:
    (names,) = re.findall(r"feature gates? (.*) on in", remedy["text"])
    objects.options += ["--feature-gates", ",".join(f"{name}=true" for name in names.split(", "))]


def _node(objects: Objects, remedy: Object) -> None:
    text = remedy["text"]
    for right, wrong in re.findall(r"with (?:nodeSelector|node affinity) (\S+) instead of (\S+)", text):
        for pod in objects.pods():
            _relabel(pod, wrong, right)
        return
    for pod in objects.pods():
        for key in re.findall(r"([^ =]+)=", text) if "nodeSelector" in text else ():
            pod.get("nodeSelector", {}).pop(key, None)
        if "required node affinity" in text:
            del pod["affinity"]
        if excluded := re.search(r"node affinity excluded (.*), where", text):
            _exclude(pod, excluded[1].split(", "))
        tolerations = [{"operator": "Equal", **_taint_of(each)} for each in _node_taints(text)]
        pod.setdefault("tolerations", []).extend(tolerations)
    for name in remedy["names"] if "if the node were" in text else ():
        spec = objects.named(name, "Node")["spec"]
        if "were uncordoned" in text:
            del spec["unschedulable"]
        if "were ready" in text:
            spec["taints"] = [each for each in spec["taints"] if "node.kubernetes.io/" not in each["key"]]


def _relabel(pod: Object, wrong: str, right: str) -> None:
    """Only the key, or the key with its value."""
    (old, _, before), (new, _, after) = wrong.partition("="), right.partition("=")
    if old in (selector := pod.get("nodeSelector", {})):
        value = selector.pop(old)
        selector[new] = after or value
    required = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    for term in required.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get(
        "nodeSelectorTerms", ()
    ):
        for each in term.get("matchExpressions", ()):
            if each["key"] == old:
                each["key"] = new
                each["values"] = [after if value == before else value for value in each.get("values", ())]


def _exclude(pod: Object, nodes: list[str]) -> None:
    affinity = pod.setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.setdefault("nodeSelectorTerms", [{}]):
        elsewhere = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": nodes}
        term.setdefault("matchExpressions", []).append(elsewhere)


def _node_taints(text: str) -> list[str]:
    return re.findall(r"\S+:(?:NoSchedule|NoExecute)\b", text)


def _requests(objects: Objects, remedy: Object) -> None:
    for resource, most in re.findall(r"request for (\S+) of (\S+) or less", remedy["text"]):
        for pod in objects.pods():
            holder = pod if resource in pod.get("resources", {}).get("requests", ()) else pod["containers"][0]
            for each in (pod, *pod["containers"], *pod.get("initContainers", ())):
                for name in ("requests", "limits"):
                    each.get("resources", {}).get(name, {}).pop(resource, None)
            holder.setdefault("resources", {}).setdefault("requests", {})[resource] = most
            if "/" in resource:
                holder["resources"].setdefault("limits", {})[resource] = most


def _pair(objects: Objects, remedy: Object) -> None:
    for each in remedy["changes"]:
        APPLIED[each["kind"]](objects, each)


APPLIED: dict[str, Callable[[Objects, Object], None]] = {
    "class": _class,
    "count": _count,
    "capacity": _capacity,
    "selector": _selector,
    "name": _name,
    "constraint": _constraint,
    "request": _request,
    "alternative": _alternative,
    "toleration": _toleration,
    "taint": _taint,
    "patch": _patch,
    "release": _release,
    "gate": _gate,
    "node": _node,
    "requests": _requests,
    "pair": _pair,
}

"""Every remedy that `claimcheck explain` names can be carried out in the files, and then the pod fits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from resourceapi.objects import Object
from tests.commandline.explain.test_explain import CASES, DIRECTORY, OPTIONS


class Files:
    """The documents of a case, and options of the command."""

    def __init__(self, case: str) -> None:
        self.workloads, self.cluster = (
            list(yaml.safe_load_all((DIRECTORY / case / name).read_text(encoding="utf-8")))
            for name in ("workloads.yaml", "cluster.yaml")
        )
        self.options = list(OPTIONS.get(case, []))

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
        try:
            found = self.named(claim, "ResourceClaim")["spec"]
        except StopIteration:
            found = self.named(self._template(claim), "ResourceClaimTemplate")["spec"]["spec"]
        devices: Object = found["devices"]
        return devices

    def _template(self, claim: str) -> str:
        """The template from which a claim is made for a pod, as which the claim is named."""
        namespace, _, bare = claim.rpartition("/")
        for pod in self.workloads:
            for entry in pod["spec"].get("resourceClaims") or () if pod["kind"] == "Pod" else ():
                if bare == f"{pod['metadata']['name']}-{entry['name']}":
                    return f"{namespace}/{entry['resourceClaimTemplateName']}"
        raise LookupError(claim)

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

    def fits(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], index: int) -> bool:
        """Whether the explanation of the object with this index says so."""
        paths = [tmp_path / "workloads.yaml", tmp_path / "cluster.yaml"]
        for path, documents in zip(paths, (self.workloads, self.cluster), strict=True):
            path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
        return bool(_explained(paths, self.options, capsys)[index]["verdict"] == "fits")


def _explained(paths: list[Path], options: list[str], capsys: pytest.CaptureFixture[str]) -> list[Any]:
    main(["explain", "-f", str(paths[0]), "--inventory", str(paths[1]), "-o", "json", *options])
    found: list[Any] = json.loads(capsys.readouterr().out)["objects"]
    return found


def _class(files: Files, remedy: Object) -> None:
    files.request(remedy["subject"])["deviceClassName"] = remedy["value"]


def _count(files: Files, remedy: Object) -> None:
    made = re.search(r"the limit of (\S+) of container (\S+)$", remedy["text"])
    if made:
        pod = remedy["subject"].partition(":")[0].removesuffix("-extended-resources")
        containers = files.named(pod, "Pod")["spec"]["containers"]
        (container,) = [each for each in containers if each["name"] == made[2]]
        container["resources"]["limits"][made[1]] = remedy["value"]
        return
    claim, _, names = remedy["subject"].partition(":")
    for name in names.split(", "):
        files.request(f"{claim}:{name}").update(allocationMode="ExactCount", count=remedy["value"])


def _capacity(files: Files, remedy: Object) -> None:
    (name,) = re.findall(r"(?:at most \S+ of|the capacity) (\S+)", remedy["text"])
    requests = files.request(remedy["subject"]).setdefault("capacity", {}).setdefault("requests", {})
    if remedy.get("value") is None:
        del requests[name]
    else:
        requests[name] = remedy["value"]


def _selector(files: Files, remedy: Object) -> None:
    if ":" in remedy["subject"]:
        details = files.request(remedy["subject"])
    else:
        details = files.named(remedy["subject"], "DeviceClass")["spec"]
    assert len(details["selectors"]) == 1
    whole = remedy.get("value")
    details["selectors"] = [{"cel": {"expression": whole}}] if whole else []


def _name(files: Files, remedy: Object) -> None:
    if "#" in remedy["subject"]:
        claim, _, place = remedy["subject"].partition("#")
        files.devices(claim)["constraints"][int(place)]["matchAttribute"] = remedy["value"]
        return
    ((old, new),) = remedy["value"].items()
    for selector in files.request(remedy["subject"])["selectors"]:
        selector["cel"]["expression"] = selector["cel"]["expression"].replace(old, new)


def _constraint(files: Files, remedy: Object) -> None:
    claim, _, place = remedy["subject"].partition("#")
    del files.devices(claim)["constraints"][int(place)]


def _request(files: Files, remedy: Object) -> None:
    claim, _, name = remedy["subject"].partition(":")
    devices = files.devices(claim)
    devices["requests"] = [each for each in devices["requests"] if each["name"] != name]
    for constraint in devices.get("constraints") or ():
        if "requests" in constraint:
            constraint["requests"] = [each for each in constraint["requests"] if each != name]


def _alternative(files: Files, remedy: Object) -> None:
    claim, _, name = remedy["subject"].partition(":")
    main_name, _, sub = name.partition("/")
    request = next(each for each in files.devices(claim)["requests"] if each["name"] == main_name)
    request["firstAvailable"] = [each for each in request["firstAvailable"] if each["name"] != sub]


def _taint_of(text: str) -> Object:
    key, value, effect = re.fullmatch(r"([^=:]+)(?:=([^:]*))?:(\w+)", text).groups()  # type: ignore[union-attr]
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _toleration(files: Files, remedy: Object) -> None:
    for each in files.workloads:
        for request in (each.get("spec") or {}).get("devices", {}).get("requests", ()):
            request["exactly"].setdefault("tolerations", []).append(
                {"operator": "Equal", **_taint_of(remedy["subject"])}
            )


def _taint(files: Files, remedy: Object) -> None:
    gone = _taint_of(remedy["subject"])
    for each in files.cluster:
        for device in (
            (each.get("spec") or {}).get("devices") or () if each["kind"] == "ResourceSlice" else ()
        ):
            device["taints"] = [taint for taint in device.get("taints") or () if taint != gone]
    files.cluster = [
        each for each in files.cluster if each["kind"] != "DeviceTaintRule" or each["spec"]["taint"] != gone
    ]


def _patch(files: Files, remedy: Object) -> None:
    files.cluster.remove(files.named(remedy["subject"], "ResourceSlicePatch"))


def _release(files: Files, remedy: Object) -> None:
    for name in remedy["subject"].split(", "):
        del files.named(name, "ResourceClaim")["status"]


def _gate(files: Files, remedy: Object) -> None:
    (names,) = re.findall(r"feature gates? (.*) on in", remedy["text"])
    files.options += ["--feature-gates", ",".join(f"{name}=true" for name in names.split(", "))]


def _node(files: Files, remedy: Object) -> None:
    text = remedy["text"]
    for pod in files.pods():
        for key in re.findall(r"([^ =]+)=", text) if "nodeSelector" in text else ():
            pod.get("nodeSelector", {}).pop(key, None)
        if "required node affinity" in text:
            del pod["affinity"]
        tolerations = [{"operator": "Equal", **_taint_of(each)} for each in _node_taints(text)]
        pod.setdefault("tolerations", []).extend(tolerations)
    for name in remedy["names"] if "if the node were" in text else ():
        spec = files.named(name, "Node")["spec"]
        if "were uncordoned" in text:
            del spec["unschedulable"]
        if "were ready" in text:
            spec["taints"] = [each for each in spec["taints"] if "node.kubernetes.io/" not in each["key"]]


def _node_taints(text: str) -> list[str]:
    return re.findall(r"\S+:(?:NoSchedule|NoExecute)\b", text)


def _requests(files: Files, remedy: Object) -> None:
    for resource, most in re.findall(r"request for (\S+) of (\S+) or less", remedy["text"]):
        for pod in files.pods():
            holder = pod if resource in pod.get("resources", {}).get("requests", ()) else pod["containers"][0]
            for each in (pod, *pod["containers"], *pod.get("initContainers", ())):
                for name in ("requests", "limits"):
                    each.get("resources", {}).get(name, {}).pop(resource, None)
            holder.setdefault("resources", {}).setdefault("requests", {})[resource] = most
            if "/" in resource:
                holder["resources"].setdefault("limits", {})[resource] = most


def _pair(files: Files, remedy: Object) -> None:
    for each in remedy["changes"]:
        APPLIED[each["kind"]](files, each)


APPLIED: dict[str, Callable[[Files, Object], None]] = {
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


@pytest.mark.parametrize("case", CASES)
def test_remedies_help(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is said to make the pod fit does, when somebody changes the files like that."""
    paths = [DIRECTORY / case / name for name in ("workloads.yaml", "cluster.yaml")]
    for index, explained in enumerate(_explained(paths, OPTIONS.get(case, []), capsys)):
        for remedy in explained.get("remedies", ()):
            of_pods = any(
                part in remedy["text"] for part in ("if its node affinity", "for a pod that tolerates")
            )
            if of_pods and explained["kind"] == "ResourceClaim":
                continue  # only the pods that will use it have these
            files = Files(case)
            APPLIED[remedy["kind"]](files, remedy)
            assert files.fits(tmp_path, capsys, index), remedy["text"]


def test_every_kind_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """The cases have remedies of every kind."""
    kinds: set[str] = set()
    for case in CASES:
        paths = [DIRECTORY / case / name for name in ("workloads.yaml", "cluster.yaml")]
        for explained in _explained(paths, OPTIONS.get(case, []), capsys):
            kinds.update(remedy["kind"] for remedy in explained.get("remedies", ()))
    assert kinds >= APPLIED.keys()


def test_gate_for_extended_resources(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A resource for which a class stands only with a gate that the release lets one turn on."""
    (tmp_path / "all.yaml").write_text(
        """apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  pool: {name: p, resourceSliceCount: 1, generation: 1}
  driver: gpu.example.com
  nodeName: n1
  devices: [{name: d}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec: {extendedResourceName: example.com/gpu}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 4, memory: 8Gi, pods: 10}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i, resources: {limits: {example.com/gpu: 1}}}]
""",
        encoding="utf-8",
    )
    for more, code, remedies in (
        (["1.35"], 1, ["DRAExtendedResource"]),
        (["1.35", "--feature-gates", "DRAExtendedResource=true"], 0, []),
    ):
        file = str(tmp_path / "all.yaml")
        assert (
            main(["explain", "-o", "json", "-f", file, "--inventory", file, "--kube-version", *more]) == code
        )
        text = capsys.readouterr().out
        assert [remedy for remedy in ["DRAExtendedResource"] if f'"{remedy}"' in text] == remedies

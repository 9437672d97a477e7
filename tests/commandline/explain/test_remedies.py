"""Every remedy that `claimcheck explain` names can be carried out in the files, and then the pod fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.commandline.explain.carried_out import APPLIED, Objects
from tests.commandline.explain.test_explain import CASES, DIRECTORY, OPTIONS


def _objects(case: str) -> Objects:
    """The documents of a case."""
    files = (DIRECTORY / case / name for name in ("workloads.yaml", "cluster.yaml"))
    workloads, cluster = (list(yaml.safe_load_all(file.read_text(encoding="utf-8"))) for file in files)
    return Objects(workloads, cluster, OPTIONS.get(case, ()))


def _fits(objects: Objects, tmp_path: Path, capsys: pytest.CaptureFixture[str], index: int) -> bool:
    """Whether the explanation of the object with this index says so."""
    paths = [tmp_path / "workloads.yaml", tmp_path / "cluster.yaml"]
    for path, documents in zip(paths, (objects.workloads, objects.cluster), strict=True):
        path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return bool(_explained(paths, objects.options, capsys)[index]["verdict"] == "fits")


def _explained(paths: list[Path], options: list[str], capsys: pytest.CaptureFixture[str]) -> list[Any]:
    main(["explain", "-f", str(paths[0]), "--inventory", str(paths[1]), "-o", "json", *options])
    found: list[Any] = json.loads(capsys.readouterr().out)["objects"]
    return found


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
            objects = _objects(case)
            APPLIED[remedy["kind"]](objects, remedy)
            assert _fits(objects, tmp_path, capsys, index), remedy["text"]


def test_every_kind_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """The cases have remedies of every kind."""
    kinds: set[str] = set()
    for case in CASES:
        paths = [DIRECTORY / case / name for name in ("workloads.yaml", "cluster.yaml")]
        for explained in _explained(paths, OPTIONS.get(case, []), capsys):
            kinds.update(remedy["kind"] for remedy in explained.get("remedies", ()))
    assert kinds >= APPLIED.keys()


def test_all_changes_are_in_one_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Smaller requests, a value that was probably meant, and devices that others release."""
    case = _objects("pairs")
    name = "misspelt-and-in-use"
    case.workloads = [each for each in case.workloads if each["metadata"]["name"] == name]
    case.cluster = [each for each in case.cluster if each["metadata"]["name"] != "n1"]
    (pod,) = case.pods()
    pod["containers"][0]["resources"]["requests"] = {"cpu": "100"}
    assert not _fits(case, tmp_path, capsys, 0)
    paths = [tmp_path / "workloads.yaml", tmp_path / "cluster.yaml"]
    (explained,) = _explained(paths, [], capsys)
    changes = [[each["kind"] for each in remedy["changes"]] for remedy in explained["remedies"]]
    assert ["requests", "selector", "release"] in changes
    remedy = explained["remedies"][changes.index(["requests", "selector", "release"])]
    APPLIED["pair"](case, remedy)
    assert _fits(case, tmp_path, capsys, 0)


@pytest.mark.parametrize(
    ("spec", "model", "expected"),
    [
        pytest.param(
            {"tolerations": [{"operator": "Exists"}], "nodeSelector": {"no": "node"}},
            "a100",
            {("node", "requests"): ["n1", "n2"]},
            id="lower-requests-for-the-smaller-node",
        ),
        pytest.param(
            {},
            "A100",
            {("requests", "selector"): ["n2"], ("node", "requests", "selector"): ["n1", "n2"]},
            id="a-toleration-for-the-smaller-node",
        ),
    ],
)
def test_nodes_that_are_opened_together(
    spec: dict[str, Any],
    model: str,
    expected: dict[tuple[str, ...], list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What opens a node may open others that lack less, and then the pod may be placed there."""
    case = _objects("pairs")
    name = "no-room-and-misspelt"
    case.workloads = [each for each in case.workloads if each["metadata"]["name"] == name]
    case.cluster = [each for each in case.cluster if each["kind"] != "ResourceClaim"]
    for node in ("n1", "n2"):
        case.named(node, "Node")["spec"] = {}
    case.named("n1", "Node")["spec"]["taints"] = [{"key": "a", "value": "b", "effect": "NoSchedule"}]
    case.named("n1", "Node")["status"]["allocatable"]["cpu"] = "32"
    case.pods()[0].update(spec)
    (selector,) = case.request(f"team/{name}:gpu")["selectors"]
    selector["cel"]["expression"] = selector["cel"]["expression"].replace("A100", model)
    assert not _fits(case, tmp_path, capsys, 0)
    paths = [tmp_path / "workloads.yaml", tmp_path / "cluster.yaml"]
    (explained,) = _explained(paths, [], capsys)
    found = {
        tuple(change["kind"] for change in remedy["changes"]): sorted(remedy["names"])
        for remedy in explained["remedies"]
    }
    assert found == expected


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

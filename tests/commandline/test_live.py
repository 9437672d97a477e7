"""`--live`: which cluster is asked, in which namespace and as which release, and what files are checked against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.applying import applied
from commandline.main import main
from commandline.scenario import ObjectName, names_and_files
from documents import parse
from tests.commandline.test_kubeconfig import (
    CLASS,
    GROUP,
    LABELS,
    TOKEN,
    FakeCluster,
    _address,
    _claim,
    _kubeconfig,
    _report,
    _with_a_template,
    cluster,
)

__all__ = ["cluster"]
CLAIM = (
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: {name}{more}}}\n"
    "spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: {device_class}{rest}}}}}]}}}}\n"
)


def _file(directory: Path, *claims: dict[str, str]) -> str:
    texts = [
        CLAIM.format(**{"more": "", "rest": "", "device_class": "gpu.example.com", **each}) for each in claims
    ]
    (directory / "claims.yaml").write_text("---\n".join(texts), encoding="utf-8")
    return str(directory / "claims.yaml")


@pytest.fixture
def live(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """A cluster that $KUBECONFIG leads to, in the namespace team."""
    config = json.loads(Path(_kubeconfig(tmp_path, _address(cluster))).read_text(encoding="utf-8"))
    config["contexts"][0]["context"]["namespace"] = "team"
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none:{tmp_path}/config")
    cluster.has_names = True
    cluster.objects["/api/v1/namespaces/team"] = {"metadata": {"name": "team", "labels": LABELS}}
    return cluster


def test_default_kubeconfig(live: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """`--live` asks the cluster of $KUBECONFIG."""
    assert _report(capsys, "--live")["summary"]["valid"] == 4


def test_home(
    live: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the variable it is the one of ~/.kube/config."""
    (tmp_path / ".kube").mkdir()
    (tmp_path / "config").rename(tmp_path / ".kube" / "config")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _report(capsys, "--live")["summary"]["valid"] == 4


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (
            "/no/file",
            "no cluster to ask: $KUBECONFIG names no file that exists (/no/file); name a kubeconfig",
        ),
        ("", "no cluster to ask: there is no ~/.kube/config; name a kubeconfig with --kubeconfig FILE"),
    ],
)
def test_nothing_to_ask(
    variable: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No cluster is an error that says where one was looked for."""
    monkeypatch.setenv("KUBECONFIG", variable)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert main(["validate", "--live"]) == 2
    assert capsys.readouterr().err.startswith(f"claimcheck: {message}")


def test_files_against_a_cluster(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Stored objects are updated, others created; classes and namespaces are those of the cluster.

    Nothing becomes of an object that is refused, so the summary counts only the others.
    """
    live.objects[f"{GROUP}/v1/namespaces/team/resourceclaims/first"] = _claim("first")
    file = _file(
        tmp_path,
        {"name": "first", "rest": ", count: 2"},
        {"name": "new", "rest": ", adminAccess: true"},
        {"name": "typo", "device_class": "gpu.exampel.com"},
        {"name": "lost", "more": ", namespace: nowhere"},
    )
    report = _report(capsys, file, "--live", code=1)
    found = [
        (each["name"], each.get("verb"), [finding["message"] for finding in each["findings"]])
        for each in report["results"]
    ]
    assert found == [
        ("first", "update", ["Invalid value: null: field is immutable"]),
        ("new", "create", []),
        ("typo", "create", ['DeviceClass "gpu.exampel.com" is not in the cluster']),
        ("lost", None, ['namespaces "nowhere" not found']),
    ]
    assert main(["validate", file, "--live"]) == 1
    assert "2 valid, 2 invalid; 2 to create; " in capsys.readouterr().out


def test_nothing_to_change(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`kubectl apply` sends nothing for an object as it was applied, so not even a rule that came later can refuse it."""
    file = _file(tmp_path, {"name": "first", "device_class": "GPU"})
    stored = next(iter(parse(Path(file).read_text(encoding="utf-8")))).value  # type: ignore[union-attr]
    first = applied({"metadata": {"name": "first", "namespace": "team"}}, stored, "team")
    assert first is not None
    live.objects[f"{GROUP}/v1/namespaces/team/resourceclaims/first"] = first
    [result] = _report(capsys, file, "--live", "--no-lint")["results"]
    assert (result["verb"], result["findings"]) == ("update", [])
    first["metadata"]["annotations"] = {}
    [result] = _report(capsys, file, "--live", "--no-lint", code=1)["results"]
    assert [finding["rule"] for finding in result["findings"]] == ["FieldValueInvalid"]


def test_what_is_not_known_is_not_held_against_files(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may not list classes is told that they were not checked; labels of namespaces are asked for one by one."""
    live.forbidden = {f"{GROUP}/v1/deviceclasses", "/api/v1/namespaces", "/api/v1/nodes"}
    file = _file(tmp_path, {"name": "new", "rest": ", adminAccess: true", "device_class": "other"})
    assert main(["validate", file, "--live", "-o", "json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["results"][0]["findings"] == []
    assert "not checked: whether device classes exist: the server answers 403" in captured.err
    live.forbidden.add("/api/v1/namespaces/team")
    plain = _file(tmp_path, {"name": "new", "device_class": "other"})
    assert main(["validate", plain, "--live", "-o", "json"]) == 0
    assert "not checked: whether the namespace team exists" in capsys.readouterr().err
    file = _file(tmp_path, {"name": "new", "rest": ", adminAccess: true", "device_class": "other"})
    assert main(["validate", file, "--live", "-o", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["failures"][0]["file"] == "test/namespaces/team"


USER = """
apiVersion: v1
kind: Pod
metadata: {name: user, namespace: %s}
spec:
  containers: [{name: app, image: app, resources: {claims: [{name: a}, {name: b}]}}]
  resourceClaims: [{name: a, resourceClaimTemplateName: nope}, {name: b, resourceClaimName: first}]
"""


def test_view_of_one_namespace_is_enough(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where lists of all namespaces are forbidden, those of the pods are read, and tell what is not there.

    What cannot be read in a namespace is not held against its pods.
    """
    live.versions = {"v1": ("resourceclaims", "resourceclaimtemplates", "deviceclasses")}
    for resource in ("resourceclaims", "resourceclaimtemplates"):
        live.forbidden.add(f"{GROUP}/v1/{resource}")
        live.forbidden |= {f"{GROUP}/v1/namespaces/{name}/{resource}" for name in ("default", "other")}
    live.lists["/api/v1/namespaces"].append({"metadata": {"name": "other"}})
    live.lists[f"{GROUP}/v1/namespaces/team/resourceclaims"] = [_claim("first")]
    live.has_names = True
    file = tmp_path / "pods.yaml"
    file.write_text(USER % "team")
    main(["validate", str(file), "--live", "-n", "team"])
    named = capsys.readouterr()
    main(["validate", str(file), "--live"])
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == (named.out, "")
    assert "warning[CC003]: " in captured.out
    assert 'ResourceClaimTemplate "nope" is not in namespace team of the cluster' in captured.out
    assert "`kubectl get resourceclaimtemplates --namespace team`" in captured.out
    assert "CC004" not in captured.out
    file.write_text(f"{USER % 'team'}---{USER % 'other'}")
    main(["validate", str(file), "--live", "-o", "json"])
    captured = capsys.readouterr()
    told = (
        "not checked: whether templates exist that pods name in the namespace other: the server answers 403"
    )
    assert told in captured.err
    first, second = json.loads(captured.out)["results"]
    assert [each["rule"] for each in first["findings"] if each["severity"] == "warning"] == ["CC003"]
    assert not [each for each in second["findings"] if each["severity"] == "warning"]


def test_stored_object_that_may_not_be_read(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Then nobody knows whether it is an update: there is no verdict."""
    live.forbidden = {f"{GROUP}/v1/namespaces/team/resourceclaims/first"}
    report = _report(capsys, _file(tmp_path, {"name": "first"}), "--live", code=2)
    assert report["results"] == []
    assert report["failures"][0]["file"] == "test/ResourceClaim team/first"


@pytest.mark.parametrize("options", [[], ["--server-side"]], ids=["apply", "server-side"])
def test_stored_object_that_no_server_can_have(
    options: list[str], live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An object of another shape is no answer, and so no verdict."""
    odd = {**_claim("first"), "spec": {"devices": {"requests": ["odd"]}}}
    live.objects[f"{GROUP}/v1/namespaces/team/resourceclaims/first"] = odd
    report = _report(capsys, _file(tmp_path, {"name": "first"}), "--live", *options, code=2)
    assert report["results"] == []
    assert "the answer is no such object: json: cannot unmarshal string" in report["failures"][0]["message"]


def test_dead_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is asked once; nothing is said of the files."""
    config = _kubeconfig(tmp_path, "http://127.0.0.1:9")
    report = _report(capsys, _file(tmp_path, {"name": "a"}, {"name": "b"}), "--kubeconfig", config, code=2)
    assert report["results"] == []
    assert [each["message"] for each in report["failures"]] == [
        "no answer from http://127.0.0.1:9: connection refused"
    ]


@pytest.mark.parametrize("command", ["quota", "explain", "simulate", "cel"])
def test_no_verdict_without_a_server(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command says why there is no answer, and nothing else."""
    config = _kubeconfig(tmp_path, "http://127.0.0.1:9")
    subject = "true" if command == "cel" else _file(tmp_path, {"name": "a"})
    assert main([command, subject, "--kubeconfig", config]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "no answer from http://127.0.0.1:9: connection refused" in captured.err


def test_something_else_than_an_api_server(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who answers 404 to everything is not a cluster in which namespaces are missing."""
    live.allowed, live.refusal = (), (404, {})
    live.versions = {}
    live.objects.clear()
    report = _report(capsys, _file(tmp_path, {"name": "a"}), "--live", code=2)
    assert (report["results"], len(report["failures"])) == ([], 1)


def test_names_that_are_dots(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No object has them: files are answered as by validation, others as by kubectl; the cluster is not asked."""
    file = _file(tmp_path, {"name": '".."'}, {"name": "a", "more": ', namespace: ".."'})
    report = _report(capsys, file, "--live", code=1)
    assert [each.get("verb") for each in report["results"]] == ["create", None]
    assert report["results"][0]["findings"][0]["field"] == "metadata.name"
    assert [each["message"] for each in report["results"][1]["findings"]] == ['namespaces ".." not found']
    for arguments, what in ((["pod/.."], "resource name"), (["pod/a", "-n", ".."], "namespace")):
        assert main(["explain", "--live", *arguments]) == 2
        assert f"invalid {what} \"..\": [may not be '..']" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "quota", "explain"])
def test_another_namespace(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Objects that name another namespace than -n are refused in kubectl's words."""
    file = _file(tmp_path, {"name": "a", "more": ", namespace: there"})
    assert main([command, file, "-n", "here"]) == (1 if command == "validate" else 2)
    assert (
        'the namespace from the provided object "there" does not match the namespace "here". '
        "You must pass '--namespace=there' to perform this operation."
    ) in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("version", "expected", "told"),
    [
        ({"major": "1", "minor": "36"}, "1.36", ""),
        ({"major": "1", "minor": "37+", "emulationMinor": "35"}, "1.35", ""),
        ({"major": "1", "minor": "30"}, "1.30", ""),
        (
            {"major": "1", "minor": "20"},
            "1.32",
            "the cluster runs Kubernetes 1.20; this is the answer of 1.32",
        ),
        (
            {"major": "1", "minor": "99"},
            "1.37",
            "the cluster runs Kubernetes 1.99; this is the answer of 1.37",
        ),
        ({"major": "2", "minor": "1"}, "1.37", ""),
        ({"major": "1", "minor": "x"}, "1.37", ""),
    ],
)
def test_release_of_the_cluster(
    version: dict[str, str], expected: str, told: str, live: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is that of the release that the cluster runs, or emulates, unless another one is named."""
    live.version = version
    assert main(["validate", "--live", "-o", "json"]) in (0, 1)
    captured = capsys.readouterr()
    assert json.loads(captured.out)["release"] == expected
    assert told in captured.err
    assert main(["validate", "--live", "-o", "json", "--kube-version", "1.36"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["release"] == "1.36"


def test_objects_of_classic_dra(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cluster that runs 1.30 is asked for v1alpha2: its claims and classes, and the stored object that a file updates."""
    live.version, live.versions = (
        {"major": "1", "minor": "30"},
        {"v1alpha2": ("resourceclasses", "resourceclaims")},
    )
    api = "/apis/resource.k8s.io/v1alpha2"
    gpu = {"metadata": {"name": "gpu", "uid": "1", "resourceVersion": "1"}, "driverName": "gpu.example.com"}
    live.objects = {f"{api}/resourceclasses": {"items": [gpu]}, f"{api}/resourceclasses/gpu": gpu}
    file = tmp_path / "classic.json"
    claim = {"kind": "ResourceClaim", "metadata": {"name": "a"}, "spec": {"resourceClassName": "gpus"}}
    changed = {"kind": "ResourceClass", "metadata": {"name": "gpu"}, "driverName": "nic.example.com"}
    items = [{"apiVersion": "resource.k8s.io/v1alpha2", **each} for each in (claim, changed)]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    main(["validate", "--live", "-o", "json", str(file)])
    results = json.loads(capsys.readouterr().out)["results"]
    assert [each["verb"] for each in results] == ["create", "update"]
    assert [finding["rule"] for finding in results[0]["findings"]] == ["CC002"]


def test_explain_by_name(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain pod/NAME` asks the cluster, in the namespace of the context."""
    pod = json.loads(_with_a_template(live, tmp_path).read_text(encoding="utf-8"))
    live.objects["/api/v1/namespaces/team/pods/train"] = {
        "metadata": {"name": "train", "namespace": "team", "uid": "1"},
        "spec": pod["spec"],
    }
    for name in ("pod/train", "po/train", "pods.v1/train"):
        assert main(["explain", name]) == 0
        assert "team/train" in capsys.readouterr().out
    assert main(["explain", "pod", "train"]) == 0
    capsys.readouterr()
    assert main(["explain", "pod/other"]) == 2
    assert (
        capsys.readouterr().err
        == 'claimcheck: pod/other: the server answers 404 pods "other" not found in the namespace team\n'
    )
    assert main(["explain", "claim/train"]) == 2
    assert "claim/train: neither a file nor an object such as pod/NAME" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("train", "train: no such file or directory; did you mean pod/train?"),
        (
            "jobs",
            "jobs: which one? Name objects as jobs/NAME, or as jobs NAME…; there is no file jobs",
        ),
    ],
)
def test_a_name_or_type_alone(
    argument: str, expected: str, live: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever leaves out half of TYPE/NAME is told what is missing, and nothing about what has been checked."""
    assert main(["explain", argument]) == 2
    assert capsys.readouterr() == ("", f"claimcheck: {expected}\n")
    assert not live.asked


def test_a_pod_on_its_node(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists that may not be read do not matter to a pod that has all it needs."""
    _with_a_template(live, tmp_path)
    allocation = {"devices": {"results": [{"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}
    held = {
        "metadata": {"name": "held", "namespace": "team"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
        "status": {"allocation": allocation},
    }
    live.lists[f"{GROUP}/v1/namespaces/team/resourceclaims"] = [held]
    live.objects["/api/v1/namespaces/team/pods/p"] = {
        "metadata": {"name": "p", "namespace": "team"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "x"}],
            "resourceClaims": [{"name": "r", "resourceClaimName": "held"}],
        },
    }
    group = ("deviceclasses", "resourceslices", "resourceclaims")
    live.forbidden = {"/api/v1/nodes", "/api/v1/pods", *(f"{GROUP}/v1/{each}" for each in group)}
    assert main(["explain", "pod/p"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == ["  claim team/held, allocated", "    r: d/p/x", "", "1 checked: 1 fits"]


@pytest.mark.parametrize(
    ("replicas", "expected", "code"),
    [
        (
            2,
            (
                ", one of 2 pods, 1 of which is on a node already): does not fit on n1: "
                "request gpu finds 0 of 1 device: held by pod team/d-5f-x (claim d-5f-x-gpu)\n"
            ),
            1,
        ),
        (1, ", 1 of which is on a node already): all its pods are on nodes\n", 0),
    ],
)
def test_pods_of_a_workload_that_are_on_nodes(
    replicas: int,
    expected: str,
    code: int,
    live: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are counted, are not simulated again, and nobody is told to end them for the others."""
    pod = json.loads(_with_a_template(live, tmp_path).read_text(encoding="utf-8"))
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "d"}}}
    spec["template"] = {"metadata": {"labels": {"app": "d"}}, "spec": pod["spec"]}
    live.objects["/apis/apps/v1/namespaces/team/deployments/d"] = {
        "metadata": {"name": "d", "namespace": "team"},
        "spec": spec,
        "status": {"replicas": replicas},
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "d-5f", "uid": "1", "controller": True}
    labels = {"app": "d", "pod-template-hash": "5f"}
    live.lists["/api/v1/pods"] = [
        {
            "metadata": {"name": "d-5f-x", "namespace": "team", "labels": labels, "ownerReferences": [owner]},
            "spec": {**pod["spec"], "nodeName": "n1"},
        }
    ]
    slices = live.lists[f"{GROUP}/v1/resourceslices"]
    held = [
        {
            "request": "gpu",
            "driver": each["spec"]["driver"],
            "pool": each["spec"]["pool"]["name"],
            "device": d["name"],
        }
        for each in slices
        for d in each["spec"]["devices"]
    ]
    live.lists[f"{GROUP}/v1/resourceclaims"] = [
        {
            "metadata": {"name": "d-5f-x-gpu", "namespace": "team"},
            "spec": {
                "devices": {
                    "requests": [{"name": "gpu", "exactly": {"deviceClassName": CLASS["metadata"]["name"]}}]
                }
            },
            "status": {
                "reservedFor": [{"resource": "pods", "name": "d-5f-x", "uid": "2"}],
                "allocation": {"devices": {"results": held}},
            },
        }
    ]
    assert main(["explain", "deployment/d"]) == code
    told = capsys.readouterr().out
    assert expected in told
    assert "d-5f-x ended" not in told
    assert "who holds" not in told
    assert main(["simulate", "deployment/d"]) == code
    assert f"0 of {replicas - 1} pod" in capsys.readouterr().out


def test_explain_by_name_in_an_inventory(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an inventory, nobody is asked."""
    inventory = _file(tmp_path, {"name": "a", "more": ", namespace: here"})
    main(["explain", "resourceclaim/a", "--inventory", inventory, "-n", "here"])
    assert "here/a" in capsys.readouterr().out
    assert main(["explain", "resourceclaim/a", "--inventory", inventory]) == 2
    assert "resourceclaim/a: not in the namespace default of the inventory" in capsys.readouterr().err
    assert not live.asked


def test_a_cluster_without_objects(live: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the cluster that has none."""
    live.lists = {path: [] for path in live.lists}
    assert main(["validate", "--live"]) == 0
    assert "nothing was validated: the cluster has no objects" in capsys.readouterr().err
    assert main(["cel", "true", "--live"]) == 2
    assert "no devices in the cluster " in capsys.readouterr().err


def test_cel_and_quota(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Devices and quotas of the cluster are used."""
    _with_a_template(live, tmp_path)
    assert main(["cel", 'device.driver == "gpu.example.com"', "--live"]) == 0
    assert "1 device: 1 match" in capsys.readouterr().out
    hard = {"gpu.example.com.deviceclass.resource.k8s.io/devices": "1"}
    quota: dict[str, Any] = {"metadata": {"name": "few", "namespace": "team"}, "spec": {"hard": hard}}
    quota["status"] = {"hard": hard, "used": hard}
    live.lists["/api/v1/namespaces/team/resourcequotas"] = [quota]
    live.asked.clear()
    live.lists[f"{GROUP}/v1/deviceclasses"] = [CLASS]
    assert main(["quota", _file(tmp_path, {"name": "new"}), "--live"]) == 1
    assert "claim team/new" in (told := capsys.readouterr().out)
    assert "does not fit" in told
    assert "/api/v1/namespaces/team/pods" in live.asked  # nothing of other namespaces
    assert not {"/api/v1/pods", "/api/v1/resourcequotas", "/api/v1/namespaces"} & live.asked


def test_the_newest_class_stands_for_a_resource(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The age of live classes is known, which decides between those that give themselves the same name."""
    _with_a_template(live, tmp_path)
    spec = {**CLASS["spec"], "extendedResourceName": "example.com/gpu"}
    live.lists[f"{GROUP}/v1/deviceclasses"] = [
        {"metadata": {"name": name, "creationTimestamp": f"{year}-01-01T00:00:00Z"}, "spec": spec}
        for name, year in (("a", 2024), ("b", 2026), ("c", 2025))
    ]
    container = {"name": "c", "image": "x", "resources": {"limits": {"example.com/gpu": "1"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [container]}}
    (tmp_path / "pod.json").write_text(json.dumps(pod), encoding="utf-8")
    assert main(["explain", str(tmp_path / "pod.json"), "--live"]) == 0
    assert "example.com/gpu stands for devices of class b, for which" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("unread", "expected"),
    [
        (f"{GROUP}/v1/deviceclasses", "cannot be answered: DeviceClasses could not be read"),
        (f"{GROUP}/v1/resourceslices", "cannot be answered: ResourceSlices could not be read"),
        (
            "/api/v1/nodes",
            "Nodes could not be read: only nodes that ResourceSlices name are known, without labels",
        ),
        (
            f"{GROUP}/v1/resourceclaims",
            "ResourceClaims of other namespaces than team could not be read: devices that they hold count as free.",
        ),
        (
            "/api/v1/pods",
            "Pods of other namespaces than team could not be read: what they take of nodes counts as free.",
        ),
    ],
)
def test_what_an_explanation_cannot_know(
    unread: str, expected: str, live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said, and nothing is said that is not known."""
    asks = _with_a_template(live, tmp_path)
    live.lists[f"{GROUP}/v1/namespaces/team/resourceclaims"] = live.lists["/api/v1/namespaces/team/pods"] = []
    live.forbidden = {unread}
    code = main(["explain", str(asks)])
    assert main(["explain", str(asks), "--live"]) == (0 if unread.endswith("pods") else 2)
    told = capsys.readouterr().out
    assert expected in told
    assert "there is no DeviceClass" not in told
    assert code == 2  # without a cluster there is no answer


def test_a_pod_that_selects_nodes_that_are_not_known(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether their labels match cannot be said."""
    asks = _with_a_template(live, tmp_path)
    pod = json.loads(asks.read_text(encoding="utf-8"))
    pod["spec"]["nodeSelector"] = {"zone": "a"}
    asks.write_text(json.dumps(pod), encoding="utf-8")
    live.forbidden = {"/api/v1/nodes"}
    assert main(["explain", str(asks), "--live"]) == 2
    told = capsys.readouterr().out
    assert "cannot be answered: Nodes could not be read, and the pod selects them by labels" in told


def test_quotas_that_may_not_be_read(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether something fits cannot be said then."""
    live.forbidden = {"/api/v1/resourcequotas", "/api/v1/namespaces/team/resourcequotas"}
    assert main(["quota", _file(tmp_path, {"name": "new"}), "--live"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, "test/resourcequotas: the server answers 403" in captured.err) == ("", True)


def test_somebody_else(live: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """`--as` and its like are sent with every request."""
    _report(capsys, "--live", "--as", "jane", "--as-group", "a", "--as-group", "b", "--as-uid", "7")
    assert {tuple(headers) for headers in live.impersonated} == {
        (
            ("Impersonate-User", "jane"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
        )
    }
    assert TOKEN


def test_names_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there is a file; short names, plurals and groups are kubectl's."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "x").write_text("")
    train = ObjectName("Deployment", "train")
    for name in ("deploy/train", "deployments/train", "deployment.apps/train", "Deployment/train"):
        assert names_and_files([name, "file.yaml"]) == ([train], ["file.yaml"])
    assert names_and_files(["pod/x", "pod/y", "job/a/b"]) == ([ObjectName("Pod", "y")], ["pod/x", "job/a/b"])
    assert names_and_files(["resourceclaimtemplates", "a", "b"])[0] == [
        ObjectName("ResourceClaimTemplate", "a"),
        ObjectName("ResourceClaimTemplate", "b"),
    ]
    assert names_and_files(["pod", "x.yaml"]) == ([], ["pod", "x.yaml"])  # a directory


def test_objects_of_a_cluster_are_not_applied(
    live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a repository asks for server-side apply, that is for its files."""
    (tmp_path / ".claimcheck.yaml").write_text("server-side: true\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    live.lists[f"{GROUP}/v1/resourceclaims"][0]["metadata"]["finalizers"] = ["a.b/c", "a.b/c"]
    assert _report(capsys, "--live")["summary"]["valid"] == 4


def test_nothing_to_patch(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not in the cluster is named as the server names it."""
    (tmp_path / "patch.yaml").write_text("{}", encoding="utf-8")
    file = _file(tmp_path, {"name": "x"})
    report = _report(capsys, file, "--live", "--patch-file", str(tmp_path / "patch.yaml"), code=1)
    [finding] = report["results"][0]["findings"]
    assert finding["message"] == 'resourceclaims.resource.k8s.io "x" not found'


def test_another_uid(live: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`kubectl apply` sends a patch, in which the uid is immutable."""
    stored = _claim("first")
    stored["metadata"]["uid"] = "a-b-c"
    live.objects[f"{GROUP}/v1/namespaces/team/resourceclaims/first"] = stored
    report = _report(capsys, _file(tmp_path, {"name": "first", "more": ", uid: abc"}), "--live", code=1)
    messages = {each.get("field"): each["message"] for each in report["results"][0]["findings"]}
    assert messages["metadata.uid"] == 'Invalid value: "abc": field is immutable'

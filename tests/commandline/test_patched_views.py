"""Every command that looks at devices sees them as ResourceSlicePatches change them: from files, and from a live cluster."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.commandline.test_kubeconfig import FakeCluster, _address, _kubeconfig, cluster

__all__ = ["cluster"]
DRIVER = "gpu.example.com"
MODEL = f'device.attributes["{DRIVER}"].model == "a100"'
OFF = ("--feature-gates", "DRAAdminControlledDeviceAttributes=false")
OWN = "claimcheck.example.com/v1alpha3"

DEVICE_CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": DRIVER},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "training", "namespace": "team"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {"deviceClassName": DRIVER, "selectors": [{"cel": {"expression": MODEL}}]},
                }
            ]
        }
    },
}


def slice_of(node: str, model: str) -> dict[str, Any]:
    """One device on a node."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0", "attributes": {"model": {"string": model}}}],
        },
    }


def patch(name: str, model: str = "a100", api_version: str = OWN, **filter: Any) -> dict[str, Any]:
    """A patch of the attribute that the claim looks at."""
    devices = {"filter": filter, "attributes": {f"{DRIVER}/model": {"string": model}}}
    return {
        "apiVersion": api_version,
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": devices},
    }


SLICES = [slice_of("n1", "ga100"), slice_of("n2", "ga100")]
PATCH = patch("model", pool="n2")


def written(file: Path, *objects: dict[str, Any]) -> str:
    file.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return str(file)


class Commands:
    """What each of the commands says of a claim and an inventory in files."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._directory, self._capsys = directory, capsys

    def _json(self, *arguments: str) -> Any:
        main([*arguments, "-o", "json"])
        captured = self._capsys.readouterr()
        assert not captured.err
        return json.loads(captured.out)

    def explain(self, where: list[str]) -> list[str]:
        """The nodes on which the claim fits."""
        answer = self._json("explain", "-f", self._claim(), *where)["objects"][0]
        return [answer["placement"]["node"]] if answer["verdict"] == "fits" else []

    def simulate(self, where: list[str]) -> list[str]:
        """The node on which it is placed."""
        (placed,) = self._json("simulate", "-f", self._claim(), *where)["runs"][0]["placements"]
        return [placed["node"]] if placed["node"] else []

    def cel(self, where: list[str]) -> list[str]:
        """The nodes of the devices that match."""
        groups = self._json("cel", MODEL, *where)["groups"]
        return [
            device["pool"] for group in groups if group["outcome"] == "match" for device in group["devices"]
        ]

    def validate(self, where: list[str]) -> list[str]:
        """Nothing if no device matches (CC014)."""
        results = self._json("validate", self._claim(), *where)["results"]
        rules = [finding["rule"] for result in results for finding in result["findings"]]
        assert set(rules) <= {"CC014"}
        return [] if rules else ["n2"]

    def _claim(self) -> str:
        return written(self._directory / "claim.yaml", CLAIM)


COMMANDS = ("explain", "simulate", "cel", "validate")
View = Callable[[list[str]], list[str]]


@pytest.fixture(params=COMMANDS)
def view(request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> View:
    """The nodes with a matching device, as one of the commands sees it."""
    found: View = getattr(Commands(tmp_path, capsys), request.param)
    return found


@pytest.mark.parametrize("api_version", [OWN, "resource.k8s.io/v1alpha3"])
def test_files(view: View, tmp_path: Path, api_version: str) -> None:
    """Only the patched device matches; without its patch, or with the gate off, none does."""
    release = [] if api_version == OWN else ["--kube-version", "kep"]
    unpatched = written(tmp_path / "unpatched.yaml", DEVICE_CLASS, *SLICES)
    patched = written(tmp_path / "patched.yaml", DEVICE_CLASS, *SLICES, {**PATCH, "apiVersion": api_version})
    assert view(["--inventory", unpatched, *release]) == []
    assert view(["--inventory", patched, *release]) == ["n2"]
    assert view(["--inventory", patched, *release, *OFF]) == []


@pytest.mark.parametrize("release", ["1.34", "1.35", "1.36", "1.37"])
def test_releases(view: View, tmp_path: Path, release: str) -> None:
    """The release makes no difference: the kind is a CRD of the project."""
    patched = written(tmp_path / "patched.yaml", DEVICE_CLASS, *SLICES, PATCH)
    assert view(["--inventory", patched, "--kube-version", release]) == ["n2"]


def test_class(view: View, tmp_path: Path) -> None:
    """A patch that names a class is about the devices that this class chooses, and about none if it is not there."""
    of_n2 = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].model == "ga100-n2"'
    special = {
        **DEVICE_CLASS,
        "metadata": {"name": "special"},
        "spec": {"selectors": [{"cel": {"expression": of_n2}}]},
    }
    objects = [slice_of("n1", "ga100"), slice_of("n2", "ga100-n2"), patch("model", deviceClassName="special")]
    without = written(tmp_path / "without.yaml", DEVICE_CLASS, *objects)
    with_class = written(tmp_path / "with.yaml", DEVICE_CLASS, special, *objects)
    assert view(["--inventory", without]) == []
    assert view(["--inventory", with_class]) == ["n2"]


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_patch_to_be_tried(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch beside the claims counts as if it were in the cluster, which shows what it would do."""
    inventory = written(tmp_path / "cluster.yaml", DEVICE_CLASS, *SLICES)
    tried = written(tmp_path / "patch.yaml", PATCH)
    view = getattr(Commands(tmp_path, capsys), command)
    assert view(["--inventory", inventory]) == []
    assert view(["-f", tried, "--inventory", inventory]) == ["n2"]


def test_new_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster's patches also change the devices of new nodes, by the classes that they name as well."""
    inventory = written(
        tmp_path / "cluster.yaml", DEVICE_CLASS, *SLICES, patch("model", deviceClassName=DRIVER, pool="new")
    )
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "new"}}
    template = written(tmp_path / "template.yaml", node, slice_of("new", "ga100"))
    claim = written(tmp_path / "claim.yaml", CLAIM)
    asked = ["simulate", "-f", claim, "--inventory", inventory, "--node-template", template]
    assert main(asked) == 0
    assert "1 x new: places all of them" in capsys.readouterr().out


def _live(cluster: FakeCluster, tmp_path: Path) -> list[str]:
    path = "/apis/resource.k8s.io/v1"
    cluster.versions = {"v1": ("resourceclaims", "deviceclasses", "resourceslices")}
    cluster.lists = {
        f"{path}/deviceclasses": [DEVICE_CLASS],
        f"{path}/resourceslices": SLICES,
        "/api/v1/namespaces": [{"metadata": {"name": "team"}}],
        "/api/v1/nodes": [{"metadata": {"name": name}} for name in ("n1", "n2")],
    }
    cluster.objects = {"/api/v1/namespaces/team": {"metadata": {"name": "team"}}}
    cluster.has_names = True
    return ["--kubeconfig", _kubeconfig(tmp_path, _address(cluster)), "--kube-version", "1.37"]


def test_live(view: View, cluster: FakeCluster, tmp_path: Path) -> None:
    """They are read from the project's group where its CRD is installed; where it is not, there are none."""
    where = _live(cluster, tmp_path)
    assert view(where) == []
    cluster.has_patches = True
    cluster.lists[f"/apis/{OWN}/resourceslicepatches"] = [PATCH]
    assert view(where) == ["n2"]


def test_live_crd_served(view: View, cluster: FakeCluster, tmp_path: Path) -> None:
    """They are read from resource.k8s.io where CRDs serve that group."""
    where = _live(cluster, tmp_path)
    cluster.versions["v1alpha3"] = ("resourceslicepatches",)
    of_group = {**PATCH, "apiVersion": "resource.k8s.io/v1alpha3"}
    cluster.lists["/apis/resource.k8s.io/v1alpha3/resourceslicepatches"] = [of_group]
    assert view([*where[:-1], "kep"]) == ["n2"]
    assert view(where) == ["n2"]


def _refused(cluster: FakeCluster, tmp_path: Path) -> list[str]:
    where = _live(cluster, tmp_path)
    cluster.has_patches = True
    cluster.forbidden = {f"/apis/{OWN}/resourceslicepatches"}
    cluster.refusal = (403, {"message": "no right to list resourceslicepatches"})
    return [*where, "-n", "team"]


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_live_without_the_right(
    command: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who may not read them is told what is not known then."""
    claim = written(tmp_path / "claim.yaml", CLAIM)
    assert main([command, "-f", claim, *_refused(cluster, tmp_path)]) == 2
    told = capsys.readouterr().out
    assert (
        "ResourceSlicePatches could not be read: devices are taken to be as their slices describe them."
        in told
    )


def test_validate_without_the_right(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is concluded about devices that patches may change."""
    claim = written(tmp_path / "claim.yaml", CLAIM)
    assert main(["validate", claim, *_refused(cluster, tmp_path)]) == 0
    captured = capsys.readouterr()
    assert (
        "not checked: whether devices match, as patches may change them: the server answers 403"
        in captured.err
    )
    assert "CC014" not in captured.out


def test_cel_without_the_right(
    cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is about devices as their slices describe them, and says so, as those of other commands do."""
    where = _refused(cluster, tmp_path)[:-2]
    for command in (["cel", MODEL], ["devices"]):
        assert main([*command, *where]) == 2
        captured = capsys.readouterr()
        assert captured.out
        assert "resourceslicepatches: error: the server answers 403" in captured.err
        assert captured.err.endswith(
            "ResourceSlicePatches could not be read: devices are taken to be as their slices describe them.\n"
        )


@pytest.mark.parametrize(("filter", "code"), [({"pool": "n2"}, 0), ({"deviceClassName": DRIVER}, 2)])
def test_cel_without_the_right_to_classes(
    filter: dict[str, str],
    code: int,
    cluster: FakeCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Classes are asked for only where a patch names one."""
    where = _live(cluster, tmp_path)
    cluster.has_patches = True
    cluster.lists[f"/apis/{OWN}/resourceslicepatches"] = [patch("model", **filter)]
    cluster.forbidden = {"/apis/resource.k8s.io/v1/deviceclasses"}
    assert main(["cel", MODEL, *where]) == code
    assert ("deviceclasses: the server answers 403" in capsys.readouterr().err) is (code == 2)


def test_unreadable_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch that no server could have stored is reported, not passed over."""
    broken = {**PATCH, "spec": {"devices": {"attributes": ["not", "a", "map"]}}}
    inventory = written(tmp_path / "cluster.yaml", DEVICE_CLASS, *SLICES, broken)
    claim = written(tmp_path / "claim.yaml", CLAIM)
    for command in (["explain", "-f", claim], ["simulate", "-f", claim], ["cel", MODEL]):
        assert main([*command, "--inventory", inventory]) == 2
        captured = capsys.readouterr()
        assert "attributes" in captured.out + captured.err


def _pod(scheduler: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "team"},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{"name": "c", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}],
            "resourceClaims": [{"name": "gpu", "resourceClaimName": "training"}],
        },
    }


FOR_KUBE_SCHEDULER = "what is said here holds for kube-scheduler"
FOR_CLAIMCHECK = (
    "what is said here holds if `claimcheck schedule` serves it: kube-scheduler by itself ignores patches"
)
RENAME = patch("rename", "a100-80g")


@pytest.mark.parametrize(
    ("scheduler", "patches", "said", "not_said"),
    [
        ("default-scheduler", [RENAME], [FOR_CLAIMCHECK], ["it is for", "would say", FOR_KUBE_SCHEDULER]),
        ("claimcheck", [RENAME], [f"for the scheduler claimcheck; {FOR_CLAIMCHECK}"], ["would say"]),
        # a patch of no device, and none
        ("claimcheck", [patch("other", pool="n9")], [FOR_KUBE_SCHEDULER], ["ignores patches"]),
        ("claimcheck", [], [FOR_KUBE_SCHEDULER], ["ignores patches"]),
        ("default-scheduler", [], [], ["holds", "ignores patches"]),
    ],
)
def test_whose_answer_it_is(
    scheduler: str,
    patches: list[dict[str, Any]],
    said: list[str],
    not_said: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where patches apply to devices, the answers are not kube-scheduler's own, which are told apart."""
    slices = [slice_of("n1", "a100")] if patches == [RENAME] else SLICES
    inventory = written(tmp_path / "cluster.yaml", DEVICE_CLASS, *slices, *patches)
    pod = written(tmp_path / "pod.yaml", CLAIM, _pod(scheduler))
    for command in ("explain", "simulate"):
        asked = [command, "-f", pod, "--inventory", inventory]
        assert main(asked) == 1
        told = capsys.readouterr().out
        assert ("kube-scheduler by itself ignores patches, and sees" in told) is (patches == [RENAME])
        if command == "explain":
            assert all(each in told for each in said)
            assert not any(each in told for each in not_said)
        main([*asked, "-o", "json"])
        answer = json.loads(capsys.readouterr().out)
        about = answer["objects"][0] if command == "explain" else answer
        assert about.get("withPatches", False) is (patches == [RENAME])
        assert any("ignores patches" in each for each in answer["notes"]) is (patches == [RENAME])
        assert patches != [RENAME] or "kubeSchedulerWouldSay" not in about

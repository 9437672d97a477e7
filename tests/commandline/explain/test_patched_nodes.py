"""`explain` names the patch that is the cause, on whichever of the nodes that it shows as one its devices are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commandline.main import main
from resourceapi.objects import Object

DRIVER = "gpu.example.com"
NODES = 40
GROUP = {"apiVersion": "resource.k8s.io/v1"}
#: What the claim asks for: a model, or two devices of one model.
ASKED: dict[str, Object] = {
    "selector": {
        "requests": [
            {
                "name": "r",
                "exactly": {
                    "deviceClassName": "any",
                    "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "a100"'}}],
                },
            }
        ]
    },
    "constraint": {
        "requests": [{"name": "r", "exactly": {"deviceClassName": "any", "count": 2}}],
        "constraints": [{"matchAttribute": f"{DRIVER}/model"}],
    },
}


def cluster(patched: tuple[int, ...], *, model: str = "l40") -> list[Object]:
    """Nodes with an l40, or another model, and an l4 each; a patch of its own says so on some of them."""
    objects: list[Object] = [{**GROUP, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}}]
    for number in range(NODES):
        name = f"n{number:02}"
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [
            {"name": f"gpu-{place}", "attributes": {"model": {"string": model}}}
            for place, model in enumerate(("a100" if number in patched else model, "l4"))
        ]
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        objects.append({**GROUP, "kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec})
    for number in patched:
        content = {
            "filter": {"pool": f"n{number:02}", "device": "gpu-0"},
            "attributes": {f"{DRIVER}/model": {"string": model}},
        }
        objects.append(
            {
                "apiVersion": "claimcheck.example.com/v1alpha3",
                "kind": "ResourceSlicePatch",
                "metadata": {"name": f"patch-{number:02}"},
                "spec": {"devices": content},
            }
        )
    return objects


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("patched", [(0,), (39,), (20, 39)], ids=["first", "last", "two"])
def test_patch_is_named(
    patched: tuple[int, ...], asked: Object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The devices are alike on all nodes, and patches have made them so on some."""
    claim = {
        **GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": asked},
    }
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(cluster(patched)), encoding="utf-8")
    (tmp_path / "claim.yaml").write_text(yaml.safe_dump(claim), encoding="utf-8")
    files = ["-f", str(tmp_path / "claim.yaml"), "--inventory", str(tmp_path / "cluster.yaml")]
    assert main(["explain", *files]) == 1
    text = capsys.readouterr().out
    assert f"on n00 and {NODES - 1} nodes like it" in text
    [said] = [line for line in text.splitlines()[1:] if f"{DRIVER}/model comes from" in line]
    for number in patched:
        assert f"patch-{number:02}" in said


@pytest.mark.parametrize("command", ["explain", "cel"])
def test_what_a_patch_has_changed_is_not_misspelt(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever writes what the driver has published has made no mistake, however similar the value of other devices is."""
    requests = ASKED["selector"]["requests"]
    claim = {
        **GROUP,
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": requests}},
    }
    (tmp_path / "claim.yaml").write_text(yaml.safe_dump(claim), encoding="utf-8")
    [selector] = requests[0]["exactly"]["selectors"]
    asked = {"explain": ["-f", str(tmp_path / "claim.yaml")], "cel": [selector["cel"]["expression"]]}
    found = []
    for patched in ((0,), ()):
        (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(cluster(patched, model="h100")))
        assert main([command, *asked[command], "--inventory", str(tmp_path / "cluster.yaml")]) == 1
        found.append('did you mean "h100"?' in capsys.readouterr().out)
    assert found == [False, True]

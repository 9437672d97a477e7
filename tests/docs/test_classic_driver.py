"""The controller of the page about classic drivers, from a file as users would have it."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from classic.claims import SyncError
from classic.controller import Controller
from classic.driver import Restored
from resourceapi.objects import Object
from tests.classic.scenes import Scene, context
from tests.scheduler.fake_api import FakeApi

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "write-a-classic-driver.md").read_text("utf-8")
PROGRAM, UNIT_TEST = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(MANIFESTS,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DRIVER = "fpga.example.com"


def imported(file: Path, text: str) -> Any:
    """A module of the page."""
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def module(tmp_path: Path) -> Any:
    return imported(tmp_path / "fpga_driver.py", PROGRAM)


def objects_of_the_page() -> dict[str, Object]:
    """The manifests, with the claim as it is made from its template."""
    found = {each["kind"]: each for each in yaml.safe_load_all(MANIFESTS)}
    template, pod = found.pop("ResourceClaimTemplate"), found["Pod"]
    for kind in ("ConfigMap", "Pod"):
        found[kind]["metadata"]["namespace"] = "default"
    pod["metadata"]["uid"] = "uid-of-tls"
    pod["status"] = {"resourceClaimStatuses": [{"name": "fpga", "resourceClaimName": "tls-fpga"}]}
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "tls", "uid": "uid-of-tls", "controller": True}
    metadata = {"name": "tls-fpga", "namespace": "default", "ownerReferences": [owner]}
    head = {"apiVersion": "resource.k8s.io/v1alpha2", "kind": "ResourceClaim"}
    found["ResourceClaim"] = {**head, "metadata": metadata, "spec": template["spec"]["spec"]}
    return found


class Page:
    """The driver of the page, in the cluster of the page."""

    def __init__(self, module: Any) -> None:
        self.objects = objects_of_the_page()
        self.api = FakeApi([self.objects.pop("ConfigMap")])
        self.driver = module.FPGADriver(self.api.client())
        self.scene = Scene()
        self.scene.controller = Controller(DRIVER, self.driver, self.scene.objects, events=self.scene)

    def have(self, *, selected: str, potential: list[str]) -> None:
        self.scene.have(*self.objects.values(), context("tls", selected=selected, potential=potential))


def test_program_allocates_and_deallocates(module: Any) -> None:
    page = Page(module)
    page.have(selected="node-1", potential=["node-1", "node-2"])
    page.scene.sync_context("tls")
    status = page.scene.status("tls-fpga")
    assert status["allocation"] == module.allocation("node-1", "0:crypto")
    assert status["reservedFor"] == [{"resource": "pods", "name": "tls", "uid": "uid-of-tls"}]
    restored = module.FPGADriver(page.api.client())
    asyncio.run(restored.restore([page.scene.claim("tls-fpga")]))
    assert isinstance(restored, Restored)
    assert vars(restored)["_taken"] == page.driver._taken != {}
    page.scene.set_status("tls-fpga", **{key: status[key] for key in ("driverName", "allocation")})
    page.scene.objects.delete("ResourceClaim", "default", "tls-fpga")
    page.scene.sync_claim("tls-fpga")
    assert (page.driver._taken, page.scene.objects.all("ResourceClaim")) == ({}, [])


def test_program_gives_each_fpga_once(module: Any) -> None:
    page = Page(module)
    page.driver._taken = {"a": ("node-1", "0"), "b": ("node-1", "1"), "c": ("node-2", "0")}
    page.have(selected="node-1", potential=["node-1", "node-2"])
    page.scene.sync_context("tls")
    assert page.scene.unsuitable("tls") == {"fpga": ["node-1"]}
    assert "status" not in page.scene.claim("tls-fpga")


def test_event_of_the_page(module: Any) -> None:
    page = Page(module)
    del page.objects["ResourceClaim"]["spec"]["parametersRef"]
    page.have(selected="node-1", potential=[])
    with pytest.raises(SyncError) as raised:
        page.scene.sync_context("tls")
    assert f"Warning  Failed  2s  {DRIVER}/resource-driver  {raised.value}\n" in PAGE
    assert ("Pod", "tls", "Allocating", str(raised.value)) in page.scene.events


def test_unit_test_of_the_page(module: Any, tmp_path: Path) -> None:
    page = Page(module)
    page.driver._taken = {"a": ("node-1", "0"), "b": ("node-1", "1")}
    shown = imported(tmp_path / "unit_test.py", UNIT_TEST)
    shown.resource_class = page.objects["ResourceClass"]
    shown.claim, shown.pod = page.objects["ResourceClaim"], page.objects["Pod"]
    shown.context = context("tls", potential=["node-1", "node-2"])
    asyncio.run(shown.unsuitable_nodes_are_told(page.driver))

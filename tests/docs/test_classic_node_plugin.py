"""The driver of the page about node plugins."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from classic.kubelet.plugin import NodePlugin, PluginSettings
from classic.kubelet.preparation import NodeDriver
from classic.kubelet.wire.node_v1alpha3 import NodePrepareResourceResponse
from tests.classic.kubelet.fake_kubelet import FakeKubelet
from tests.classic.kubelet.node import claim, uid

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "classic-node-plugin.md"
DRIVER = "fpga.example.com"


def driver(directory: Path) -> NodeDriver:
    """The page's driver, from a file as users would have it."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    file = directory / "fpga_plugin.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("fpga_plugin", file)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: NodeDriver = module.FPGADriver()
    return made


def test_the_driver_of_the_page() -> None:
    """It prepares claims, refuses those of other nodes, and unprepares them, as the page says."""

    async def scenario(directory: Path) -> None:
        settings = PluginSettings(
            DRIVER, "fpga", directory / "plugins", directory / "registry", directory / "cdi"
        )
        async with NodePlugin(replace(settings, grace=0), driver(directory)):
            kubelet = FakeKubelet(settings.registry_directory)
            await kubelet.register_all()
            refused = "the claim is for an FPGA that this node does not have"
            assert await kubelet.prepare(DRIVER, claim(1, "1:crypto"), claim(2, "2:crypto")) == {
                uid(1): NodePrepareResourceResponse((f"{DRIVER}/fpga=fpga1.{uid(1)}",)),
                uid(2): NodePrepareResourceResponse(error=refused),
            }
            assert refused in PAGE.read_text(encoding="utf-8")
            (spec,) = settings.cdi_directory.iterdir()
            assert '"FPGA_IMAGE=crypto"' in spec.read_text(encoding="utf-8")
            assert {each.error for each in (await kubelet.unprepare(DRIVER, claim(1))).values()} == {""}
            assert list(settings.cdi_directory.iterdir()) == []

    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(scenario(Path(directory)))

"""A node plugin and a client that plays kubelet, over real Unix sockets."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from classic.kubelet.plugin import CannotListen, InvalidSettings, NodePlugin, PluginSettings
from classic.kubelet.preparation import AllocatedClaim
from classic.kubelet.wire import registration
from classic.kubelet.wire.node_v1alpha3 import NodePrepareResourceResponse, NodeUnprepareResourceResponse
from tests.classic.kubelet.fake_kubelet import SECONDS, call
from tests.classic.kubelet.node import DRIVER, Node, RecordingDriver, claim, device_name, uid

PREPARED = NodePrepareResourceResponse((device_name(),))
UNPREPARED = NodeUnprepareResourceResponse()


def test_from_registration_to_a_device_and_back(node: Node) -> None:
    """kubelet finds the plugin, has a claim prepared and unprepared; then nothing is left."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            assert node.kubelet.plugins == {DRIVER: str(node.root / "plugins" / DRIVER / "dra.sock")}
            assert await node.kubelet.prepare(DRIVER, claim(data="2Gi")) == {uid(0): PREPARED}
            assert [each.resource_handle for each in driver.prepared] == ["2Gi"]
            assert node.spec() == {
                "cdiVersion": "0.3.0",
                "kind": "gpu.example.com/gpu",
                "devices": [{"name": f"gpu-0.{uid(0)}", "containerEdits": {"env": ["GPU=gpu-0"]}}],
            }
            assert await node.kubelet.unprepare(DRIVER, claim()) == {uid(0): UNPREPARED}
        assert node.files() == []

    asyncio.run(scenario())


def test_the_single_call_version(node: Node) -> None:
    """The article's NodePrepareResource and NodeUnprepareResource do the same; errors are errors of the call."""

    async def scenario() -> None:
        driver = RecordingDriver()
        async with node.plugin(driver):
            assert await node.kubelet.prepare_one(DRIVER, claim()) == PREPARED
            assert await node.kubelet.unprepare_one(DRIVER, claim()) == ""
            driver.preparing = driver.unpreparing = failing
            error = "INTERNAL: OSError: no power"
            assert await node.kubelet.prepare_one(DRIVER, claim()) == NodePrepareResourceResponse(error=error)
            assert await node.kubelet.unprepare_one(DRIVER, claim()) == error

    asyncio.run(scenario())


async def failing(_claim: object) -> None:
    raise OSError("no power")


def test_errors_are_those_of_claims(node: Node) -> None:
    """One claim that fails leaves the others of the call alone, and has no spec."""

    async def scenario() -> None:
        async def second_fails(each: object) -> None:
            if str(each) == "default/claim-1":
                raise OSError("no\x1b[2Jpower")

        async with node.plugin(RecordingDriver(second_fails, second_fails)):
            results = await node.kubelet.prepare(DRIVER, claim(0), claim(1), claim(2))
            error = "OSError: no\\u001b[2Jpower"
            assert results == {
                uid(0): PREPARED,
                uid(1): NodePrepareResourceResponse(error=error),
                uid(2): NodePrepareResourceResponse((device_name(2),)),
            }
            assert [name for name in node.files() if uid(1) in name] == []
            assert await node.kubelet.unprepare(DRIVER, claim(0), claim(1)) == {
                uid(0): UNPREPARED,
                uid(1): NodeUnprepareResourceResponse(error),
            }

    asyncio.run(scenario())


def test_kubelet_asks_again_after_a_restart(node: Node) -> None:
    """The same claim gets the same devices, from the same plugin and from one that has been restarted as well."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            first = await node.kubelet.prepare(DRIVER, claim())
            assert await node.kubelet.prepare(DRIVER, claim()) == first
        spec = node.spec()
        async with node.plugin(RecordingDriver()):
            assert node.spec() == spec
            assert await node.kubelet.prepare(DRIVER, claim()) == first
            assert await node.kubelet.unprepare(DRIVER, claim()) == {uid(0): UNPREPARED}
            assert await node.kubelet.unprepare(DRIVER, claim()) == {uid(0): UNPREPARED}

    asyncio.run(scenario())


def test_what_was_never_prepared_is_unprepared_without_error(node: Node) -> None:
    """kubelet may ask after a preparation of which it never saw the result."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            assert await node.kubelet.unprepare(DRIVER, claim()) == {uid(0): UNPREPARED}

    asyncio.run(scenario())


def test_only_the_owner_reaches_sockets_and_specs(node: Node) -> None:
    """Sockets and specs are for the user of plugin and kubelet alone, whatever the umask."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            await node.kubelet.prepare(DRIVER, claim())
            modes = {name: stat.S_IMODE((node.root / name).stat().st_mode) for name in node.files()}
            assert modes == {
                f"cdi/{DRIVER}=gpu_{uid(0)}.json": 0o600,
                f"plugins/{DRIVER}/dra.sock": 0o600,
                f"registry/{DRIVER}-reg.sock": 0o600,
            }

    asyncio.run(scenario())


def test_answers_before_kubelet_gives_up(node: Node) -> None:
    """A driver that hangs with one claim does not cost kubelet the result of the other."""

    async def hang(asked: AllocatedClaim) -> None:
        if asked.uid == uid(0):
            await asyncio.Event().wait()

    async def scenario() -> None:
        node.kubelet.seconds = 1
        async with node.plugin(RecordingDriver(hang)):
            found = await node.kubelet.prepare(DRIVER, claim(0), claim(1))
            assert "has not finished" in found[uid(0)].error
            assert list(found[uid(1)].cdi_devices) == [device_name(1)]

    asyncio.run(scenario())
    assert node.settings.time_limit < SECONDS


def test_directories_are_the_owners(node: Node) -> None:
    """Others may at most look into them."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()):
            await node.kubelet.prepare(DRIVER, claim())

    umask = os.umask(0)
    try:
        asyncio.run(scenario())
    finally:
        os.umask(umask)
    directories = (node.settings.endpoint.parent, node.settings.cdi_directory)
    assert [stat.S_IMODE(each.stat().st_mode) for each in directories] == [0o750, 0o755]


def test_sockets_of_a_killed_plugin_are_replaced(node: Node) -> None:
    """Nobody answers at them; kubelet registers the new plugin."""

    async def scenario() -> None:
        for path in (node.settings.endpoint, node.settings.registration_socket):
            path.parent.mkdir(parents=True)
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(str(path))
        async with node.plugin(RecordingDriver()):
            assert await node.kubelet.prepare(DRIVER, claim()) == {uid(0): PREPARED}

    asyncio.run(scenario())


def test_the_old_plugin_leaves_the_sockets_of_the_new_one(node: Node) -> None:
    """In an update the new plugin may start before the old one has ended."""

    async def scenario() -> None:
        async with node.plugin(RecordingDriver()) as old, node.plugin(RecordingDriver()):
            await old.stop()
            assert len(node.kubelet.sockets()) == 1
            assert await node.kubelet.prepare(DRIVER, claim()) == {uid(0): PREPARED}

    asyncio.run(scenario())


def test_a_file_that_is_no_socket_stays(node: Node) -> None:
    """The plugin doesn't start, and leaves nothing else behind."""
    node.settings.registration_socket.parent.mkdir()
    node.settings.registration_socket.write_text("mine", encoding="utf-8")

    async def scenario() -> None:
        with pytest.raises(CannotListen, match=r"-reg\.sock: this is something other than a socket$"):
            await NodePlugin(node.settings, RecordingDriver()).start()

    asyncio.run(scenario())
    assert node.files() == [f"registry/{DRIVER}-reg.sock"]


def test_a_directory_that_cannot_be_made(node: Node) -> None:
    """The reason is told with the path."""
    node.settings.plugins_directory.write_text("", encoding="utf-8")

    async def scenario() -> None:
        with pytest.raises(CannotListen, match=r"/plugins/gpu\.example\.com: Not a directory$"):
            await NodePlugin(node.settings, RecordingDriver()).start()

    asyncio.run(scenario())


def test_kubelet_refuses_and_takes_the_plugin_later(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    """Its reason is logged, and the plugin waits for its next attempt."""

    async def scenario() -> None:
        async with NodePlugin(node.settings, RecordingDriver()) as plugin:
            await node.kubelet.register_all(refuse="Another plugin\nis registered")
            refused = [record for record in caplog.records if record.message == "kubelet refuses the plugin"]
            assert [record.fields["reason"] for record in refused] == ["Another plugin\\u000ais registered"]  # type: ignore[attr-defined]
            await node.kubelet.register_all()
            await plugin.registered()

    asyncio.run(scenario())


def test_registration_is_answered_with_what_kubelet_takes(node: Node) -> None:
    """A type that kubelet has a handler for, and a version that starts with 1."""

    async def scenario() -> None:
        async with NodePlugin(node.settings, RecordingDriver()):
            (path,) = node.kubelet.sockets()
            info = await call(path, registration.SERVICE, registration.GET_INFO, b"", registration.PluginInfo)
            assert info == registration.PluginInfo(
                "DRAPlugin", DRIVER, str(node.settings.endpoint), ("1.0.0",)
            )

    asyncio.run(scenario())


SETTINGS: list[tuple[str, Callable[[], object], str]] = [
    ("longest name", lambda: PluginSettings("d" * 18 + ".example", "gpu"), ""),
    (
        "name too long",
        lambda: PluginSettings("d" * 19 + ".example", "gpu"),
        "the driver's name has more than 26 characters",
    ),
    ("no name", lambda: PluginSettings("", "gpu"), "the driver's name must be a DNS subdomain"),
    ("path as name", lambda: PluginSettings("../etc", "gpu"), "the driver's name must be a DNS subdomain"),
    (
        "digit first",
        lambda: PluginSettings("3d.example", "gpu"),
        "3d.example/gpu cannot be a kind of CDI devices: a CDI vendor begins with a letter",
    ),
    (
        "no class",
        lambda: PluginSettings(DRIVER, ""),
        "gpu.example.com/ cannot be a kind of CDI devices: a CDI class begins with a letter",
    ),
    (
        "relative",
        lambda: PluginSettings(DRIVER, "gpu", Path("plugins")),
        "plugins: the path must be absolute",
    ),
]


@pytest.mark.parametrize(("make", "message"), [row[1:] for row in SETTINGS], ids=[row[0] for row in SETTINGS])
def test_settings(make: Callable[[], object], message: str) -> None:
    """What cannot work is refused before anything is started."""
    if not message:
        make()
        return
    with pytest.raises(InvalidSettings, match=f"^{message}"):
        make()


def test_paths_of_sockets_are_short(node: Node) -> None:
    """A path longer than the system allows is told so."""
    long = node.root / ("x" * 80)

    async def scenario() -> None:
        with pytest.raises(CannotListen, match=r"dra\.sock: the path of a socket can't be that long$"):
            await NodePlugin(PluginSettings(DRIVER, "gpu", long, long, long), RecordingDriver()).start()

    asyncio.run(scenario())

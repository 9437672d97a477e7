"""Calls of a node plugin that no kubelet makes: odd claims, mutated requests, bytes that are no HTTP/2."""

from __future__ import annotations

import asyncio
import random
import socket
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from grpc import StatusCode
from grpc.aio import AioRpcError

from classic.gpu.node import GPUNode
from classic.kubelet.plugin import NodePlugin, PluginSettings
from classic.kubelet.wire import node_v1alpha2, node_v1alpha3
from classic.kubelet.wire.message import Message
from classic.kubelet.wire.node_v1alpha3 import Claim
from classic.kubelet.wire.structured_handle import StructuredResourceHandle
from tests.classic.kubelet.fake_kubelet import FakeKubelet, call
from tests.classic.kubelet.node import DRIVER, claim, uid

CALLS = 400
SEED = 15

NAMES = ["../x", "..", "", "a/b", "a\0b", "\u202e", "x" * 70_000, "a\n", "%s%n", "{0}", "ä" * 300, "a" * 63]
GPU = '{"device":"gpu-0","memory":"2Gi"}'
HANDLES = [
    "",
    "[" * 16_000,
    "9" * 16_000,
    '"\\ud800"',
    f'{{"devices":[{GPU}]}}',
    f'{{"devices":[{GPU},{GPU}]}}',
    '{"devices":[{"device":"../../x","memory":"2Gi"}]}',
    '{"devices":[{"device":"gpu-0","memory":1e400}]}',
    f'{{"devices":[{{"device":"gpu-0","memory":{"9" * 15_000}}}]}}',
    f'{{"devices":[{GPU}],"initCommand":["/bin/sh","-c","id"]}}',
    f'{{"devices":[{GPU}],"initCommand":["/allowed","\\ud800\\u0000"]}}',
    f'{{"devices":[{GPU}],"initCommand":["/allowed","\\ud800"]}}',
    f'{{"devices":[{GPU}],"initCommand":[""]}}',
]
RAW = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"\0" * 9,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff\xff\xff\x04\0\0\0\0\0" * 50,
]


class Client:
    """Makes up requests."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def claim(self) -> Claim:
        """A claim that is odd in some way, or not."""
        namespace, name = (
            ("default", "claim") if self.random.random() < 0.7 else self.random.choices(NAMES, k=2)
        )
        which = uid(self.random.randrange(5_000)) if self.random.random() < 0.7 else self.random.choice(NAMES)
        structured = (StructuredResourceHandle(),) * self.random.choice((0, 0, 0, 1, 2))
        return Claim(namespace, which, name, self.random.choice(HANDLES), structured)

    def request(self) -> tuple[str, str, bytes, type[Message]]:
        """Service, method, request, and the type of the response."""
        odd = self.claim()
        claims = tuple(self.claim() for _ in range(self.random.randrange(10)))
        rest = (odd.namespace, odd.uid, odd.name, odd.resource_handle, odd.structured_resource_handle)
        new, old = node_v1alpha3, node_v1alpha2
        service, method, request, response_type = self.random.choice(
            [
                (
                    new.SERVICE,
                    new.PREPARE,
                    new.NodePrepareResourcesRequest(claims),
                    new.NodePrepareResourcesResponse,
                ),
                (
                    new.SERVICE,
                    new.UNPREPARE,
                    new.NodeUnprepareResourcesRequest(claims),
                    new.NodeUnprepareResourcesResponse,
                ),
                (
                    old.SERVICE,
                    old.PREPARE,
                    old.NodePrepareResourceRequest(*rest),
                    old.NodePrepareResourceResponse,
                ),
                (
                    old.SERVICE,
                    old.UNPREPARE,
                    old.NodeUnprepareResourceRequest(*rest),
                    old.NodeUnprepareResourceResponse,
                ),
            ]
        )
        data = request.to_bytes()
        return service, method, self.mutated(data) if self.random.random() < 0.4 else data, response_type

    def mutated(self, data: bytes) -> bytes:
        """The bytes with some changed, removed, or cut off."""
        changed = bytearray(data)
        for _ in range(self.random.randrange(1, 5)):
            if not changed:
                break
            at = self.random.randrange(len(changed))
            match self.random.randrange(3):
                case 0:
                    changed[at] = self.random.randrange(256)
                case 1:
                    del changed[at : at + self.random.randrange(9)]
                case _:
                    del changed[at:]
        return bytes(changed)


def files(root: Path) -> Sequence[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


async def fuzz(root: Path) -> None:
    settings = PluginSettings(DRIVER, "gpu", root / "plugins", root / "registry", root / "cdi")
    client, statuses = Client(SEED), Counter[StatusCode]()
    async with NodePlugin(replace(settings, grace=0), GPUNode(["/allowed"])):
        for _ in range(CALLS):
            service, method, request, response_type = client.request()
            try:
                await call(settings.endpoint, service, method, request, response_type)
                statuses[StatusCode.OK] += 1
            except AioRpcError as error:
                statuses[error.code()] += 1
        assert statuses.keys() == {StatusCode.OK, StatusCode.INVALID_ARGUMENT, StatusCode.INTERNAL}

        for path in (settings.endpoint, settings.registration_socket):
            for sent in RAW:
                with socket.socket(socket.AF_UNIX) as stranger:
                    stranger.connect(str(path))
                    stranger.sendall(sent)
        kubelet = FakeKubelet(settings.registry_directory)
        await kubelet.register_all()
        (result,) = (await kubelet.prepare(DRIVER, claim(6_000, HANDLES[4]))).values()
        assert result.error == ""
        specs = [file for file in files(root) if file.startswith("cdi/")]
        assert specs
        assert all(file.startswith(f"cdi/{DRIVER}=gpu_") and file.endswith(".json") for file in specs)
        sockets = [f"plugins/{DRIVER}/dra.sock", f"registry/{DRIVER}-reg.sock"]
        assert [file for file in files(root) if file not in specs] == sockets
    assert files(root) == specs


def test_node_plugin_survives() -> None:
    """Every call gets a status that we gave, kubelet is served afterwards, and files are where they belong."""
    with tempfile.TemporaryDirectory() as directory:
        asyncio.run(fuzz(Path(directory)))

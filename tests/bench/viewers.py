"""`python -m tests.bench.viewers [NODES [VIEWERS [SECONDS]]]`: what so many people (50) who look at one page cost, of a cluster that changes.

A stand-in for an API server has so many nodes (500) of 8 devices with pods that hold nine tenths of them, 30 pods that wait, and a claim that changes every
second. The page is `claimcheck ui --sign-in` in a process of its own. Half of the people look at pods that wait, the others at devices; of each half, one in five
is a tenant of another namespace, where one pod waits. Each has a token of their own, and asks again whenever told of a change, as the page does. Processor
seconds are those of the page alone. Nothing is asserted.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
from aiohttp import web

from resourceapi.objects import Object
from serving.listening import free_port
from tests.bench.watching import _claim, _claims, _class, _node, _object, _pod, _pods, _slice
from tests.serving.test_tls import write_pair

_GROUP = "resource.k8s.io/v1"
_KINDS = {
    "namespaces": "Namespace",
    "nodes": "Node",
    "pods": "Pod",
    "resourcequotas": "ResourceQuota",
    "deviceclasses": "DeviceClass",
    "resourceslices": "ResourceSlice",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
}


class Cluster:
    """The stand-in for an API server."""

    def __init__(self, nodes: int) -> None:
        self.counts: Counter[str] = Counter()
        self.revision = 1
        mine = _object("mine", "own", **{key: _pod("mine")[key] for key in ("spec", "status")})
        self.lists: dict[str, list[Object]] = {
            "namespaces": [_object("team", ""), _object("own", "")],
            "nodes": [*map(_node, range(nodes))],
            "pods": [*_pods(nodes, 0, 0), mine],
            "deviceclasses": [_class()],
            "resourceslices": [*map(_slice, range(nodes))],
            "resourceclaims": [*_claims(nodes), _object("mine", "own", spec=_claim("mine", 9)["spec"])],
        }

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if request.method == "POST":
            return web.json_response({"status": self._reviewed(path, await request.json())}, status=201)
        if path == "/version":
            return web.json_response({"major": "1", "minor": "37"})
        if path == "/apis/resource.k8s.io":
            return web.json_response({"versions": [{"groupVersion": _GROUP, "version": "v1"}]})
        if path == f"/apis/{_GROUP}":
            names = [
                each for each in _KINDS if each.startswith(("resource", "device")) and "quota" not in each
            ]
            return web.json_response({"resources": [{"name": each} for each in names]})
        name = path.rpartition("/")[2]
        if name not in _KINDS or path not in (f"/api/v1/{name}", f"/apis/{_GROUP}/{name}"):
            return web.json_response({"message": "not found"}, status=404)
        if request.query.get("watch"):
            return await self._watched(request, name)
        self.counts[f"lists of {name}"] += not request.query.get("continue")
        begin, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 10**9)
        items = self.lists.get(name, [])[begin : begin + limit]
        more = str(begin + limit) if begin + limit < len(self.lists.get(name, [])) else ""
        metadata = {"resourceVersion": str(self.revision), "continue": more}
        return web.json_response({"metadata": metadata, "items": items})

    async def _watched(self, request: web.Request, name: str) -> web.StreamResponse:
        self.counts[f"watches of {name}"] += 1
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(request)
        with suppress(ConnectionError):
            while True:
                await asyncio.sleep(1)
                if name == "resourceclaims":
                    self.revision += 1
                    changed = json.loads(json.dumps(self.lists[name][0]))
                    changed["metadata"]["resourceVersion"] = str(self.revision)
                    if self.revision % 2:  # it is released, and given to the pod again
                        changed["status"] = {}
                    await stream.write(json.dumps({"type": "MODIFIED", "object": changed}).encode() + b"\n")
        return stream

    def _reviewed(self, path: str, review: Object) -> Object:
        name = path.rpartition("/")[2]
        self.counts[name] += 1
        if name == "tokenreviews":
            return {"authenticated": True, "user": {"username": review["spec"]["token"]}}
        asked = review["spec"]["resourceAttributes"]
        is_tenant = review["spec"]["user"].startswith("tenant")
        own = asked.get("namespace") == "own" or asked["resource"] in (
            "resourceslices",
            "nodes",
            "deviceclasses",
        )
        return {"allowed": own or not is_tenant}


async def _looks(client: aiohttp.ClientSession, address: str, number: int, counts: Counter[str]) -> None:
    """What one person's page does."""
    paths = ("cluster", "map") if number % 2 else ("cluster", "doctor")
    name = f"{'tenant' if number % 10 in (0, 1) else 'admin'}-{number}"
    headers = {"Authorization": f"Bearer {name}", "Accept-Encoding": "gzip"}

    async def ask() -> None:
        for path in paths:
            async with client.get(f"{address}api/v1/{path}", headers=headers, ssl=False) as answer:
                counts[f"{path}: {answer.status}"] += 1
                counts["bytes"] += len(await answer.read())

    while True:
        async with client.get(f"{address}api/v1/changes", headers=headers, ssl=False) as stream:
            await ask()
            async for line in stream.content:
                if line.startswith(b"data:"):
                    await asyncio.sleep(0.15)
                    await ask()


@asynccontextmanager
async def _page(directory: Path, port: int) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    write_pair(directory)
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (directory / "kubeconfig").write_text(json.dumps(config))
    command = [sys.executable, "-m", "commandline.main", "ui", "--kubeconfig", str(directory / "kubeconfig")]
    command += ["--sign-in", "--port", "0"]
    command += ["--certificate", str(directory / "tls.crt"), "--key", str(directory / "tls.key")]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process, (await process.stdout.readline()).decode().strip()
    finally:
        process.terminate()
        await process.wait()


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _megabytes(process: int) -> Iterator[str]:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(("VmRSS", "VmHWM")):
            yield f"{line.split(':')[0]} {int(line.split()[1]) / 1000:,.0f} MB"


async def measure(nodes: int, viewers: int, seconds: float) -> None:
    cluster = Cluster(nodes)
    application = web.Application(client_max_size=1 << 24)
    application.router.add_route("*", "/{path:.*}", cluster.answer)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    port = free_port("127.0.0.1")
    await web.TCPSite(runner, "127.0.0.1", port).start()
    counts: Counter[str] = Counter()
    connections = aiohttp.TCPConnector(limit=0)
    with TemporaryDirectory() as directory:
        async with (
            _page(Path(directory), port) as (process, address),
            aiohttp.ClientSession(
                connector=connections, timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False
            ) as client,
        ):
            while True:
                async with client.get(f"{address}readyz", ssl=False) as answer:
                    if answer.status == 200:
                        break
                await asyncio.sleep(0.1)
            idle, at = _processor_seconds(process.pid), time.monotonic()
            await asyncio.sleep(seconds / 6)
            idle = (_processor_seconds(process.pid) - idle) / (time.monotonic() - at)
            people = [
                asyncio.create_task(_looks(client, address, number, counts)) for number in range(viewers)
            ]
            await asyncio.sleep(seconds / 6)  # until all have come
            used, at = _processor_seconds(process.pid), time.monotonic()
            counts.clear()
            await asyncio.sleep(seconds)
            used, took = _processor_seconds(process.pid) - used, time.monotonic() - at
            print(f"{viewers} viewers of {nodes:,} nodes for {took:.0f} s, a change each second")
            print(f"  processors: {used / took:.2f}, {idle:.2f} while nobody looks")
            print(f"  memory: {', '.join(_megabytes(process.pid))}")
            print(f"  answers: {dict(sorted(counts.items()))}")
            for each in people:
                each.cancel()
            failed = [
                each
                for each in await asyncio.gather(*people, return_exceptions=True)
                if isinstance(each, Exception)
            ]
            print(f"  failed: {len(failed)} {failed[:1]}")
    for name, count in sorted(cluster.counts.items()):
        print(f"  {name}: {count}")
    await runner.cleanup()


def main() -> None:
    nodes, viewers, seconds = (
        int(each) for each in [*sys.argv[1:], *("500", "50", "60")[len(sys.argv) - 1 :]]
    )
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    asyncio.run(measure(nodes, viewers, seconds))


if __name__ == "__main__":
    main()

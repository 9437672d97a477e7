"""`python -m tests.bench.webhook`: reviews per second over TLS, beside a Go webhook with upstream's validation.

The peer is built from `$CLAIMCHECK_SHARED/peer` (or `shared` beside the project); where that is absent Claimcheck is
measured alone. Both are measured in turns in one run, by the same client on the same machine; use ratios.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench.claims import prioritized_claim
from tests.bench.load import Requests, Result, full_speed, request_of, steady
from tests.webhook.examples import admission
from tests.webhook.running import running

ROUNDS = 3
SECONDS = 4.0
CONNECTIONS = 8
RATE = 1_000
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimcheck-peers"


class Target(NamedTuple):
    """A webhook that runs: its port and the certificate to trust."""

    port: int
    authority: str


def main() -> None:
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-bench-")))
        service = stack.enter_context(
            running(
                directory,
                listen={"workers": os.cpu_count() or 1},
                apiServer={"serves": "CustomResources"},
                lints="Off",
                logging={"level": "info"},
            )
        )
        ours = Target(service.port, str(service.authority))
        peer = stack.enter_context(_peer(directory))
        workers = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        print(f"{'reviews per second':44}{'claimcheck':>12}{'peer':>10}{'ratio':>8}")
        _compare("8 alternatives with selectors, repeated", ours, peer, repeated)
        before = _resident(workers)
        _compare("the same, expressions never seen before", ours, peer, fresh)
        print(
            f"memory of all workers: {before:.0f} MiB before the fresh expressions, {_resident(workers):.0f} after"
        )
        result = asyncio.run(
            steady(*ours, repeated(), rate=RATE, connections=4 * CONNECTIONS, seconds=2 * SECONDS)
        )
        print(f"at {RATE} reviews/s: {_latencies(result)}")


def _compare(title: str, ours: Target, peer: Target | None, make: Callable[[], Requests]) -> None:
    results: tuple[list[Result], list[Result]] = ([], [])
    for _ in range(ROUNDS):
        for target, found in zip((ours, peer), results, strict=True):
            if target is not None:
                speed = full_speed(*target, make(), connections=CONNECTIONS, seconds=SECONDS)
                found.append(asyncio.run(speed))
    mine, theirs = results
    rate = statistics.median(result.rate for result in mine)
    line = f"{title:44}{rate:12.0f}"
    if theirs:
        their_rate = statistics.median(result.rate for result in theirs)
        line += f"{their_rate:10.0f}{rate / their_rate:7.1f}x"
    print(line, flush=True)
    print(f"  claimcheck {_latencies(mine[-1])}")
    if theirs:
        print(f"  peer       {_latencies(theirs[-1])}")


def _latencies(result: Result) -> str:
    p50, p99 = result.percentile(50) * 1e3, result.percentile(99) * 1e3
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, most {result.latencies[-1] * 1e3:.1f} ms"


def repeated() -> Requests:
    """The same claim again and again."""
    request = request_of(json.dumps(admission(prioritized_claim(8))).encode())
    return lambda: request


_PLACEHOLDER = "0123456789"
_NUMBERS = itertools.count(10**9)


def fresh() -> Requests:
    """Claims with eight expressions that no service has seen before."""
    claim = prioritized_claim(8)
    for number, sub in enumerate(claim["spec"]["devices"]["requests"][0]["firstAvailable"]):
        sub["selectors"][0]["cel"]["expression"] += f' && device.driver != "n{number}-{_PLACEHOLDER}"'
    template = request_of(json.dumps(admission(claim)).encode())
    return lambda: template.replace(_PLACEHOLDER.encode(), b"%d" % next(_NUMBERS))


@contextlib.contextmanager
def _peer(directory: Path) -> Iterator[Target | None]:
    shared = Path(os.environ.get("CLAIMCHECK_SHARED") or Path(__file__).parents[3] / "shared")
    build = shared / "peer" / "build"
    if not build.exists():
        print("no peer here (CLAIMCHECK_SHARED): measured alone")
        yield None
        return
    binary = _CACHE / "webhook-peer"
    if not binary.exists():
        subprocess.run([str(build), "webhook", str(_CACHE)], check=True)
    authority, port = directory / "peer.pem", _free_port()
    command = [str(binary), "-listen", f"127.0.0.1:{port}", "-cert-out", str(authority)]
    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 30
            while not (authority.exists() and _listens(port)):
                if time.monotonic() > deadline:
                    raise SystemExit("the peer does not start")
                time.sleep(0.1)
            yield Target(port, str(authority))
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _resident(processes: set[int]) -> float:
    """MiB that processes have in memory (Linux)."""
    pages = sum(int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in processes)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()

"""`python -m tests.bench.webhook`: reviews per second over TLS, beside a Go webhook with upstream's validation.

The peer is built from `$CLAIMCHECK_SHARED/peer` (or `shared` beside the project); where that is absent Claimcheck is
measured alone. Both are measured in turns in one run, by the same client on the same machine; use ratios. CPU is that
of all processes of a service, per review: unlike reviews per second it says little about what else the machine does.
`--memory`: what memory Claimcheck takes in the course of 200,000 reviews.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.claims import prioritized_claim
from tests.bench.load import (
    Result,
    Target,
    counted,
    full_speed,
    request_of,
    resident,
    steady,
)
from tests.webhook.examples import admission
from tests.webhook.running import running

ROUNDS = 5
SECONDS = 4.0
CONNECTIONS = 16
RATE = 1_000
REVIEWS, STEPS = 200_000, 10
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimcheck-peers"


def main(arguments: list[str]) -> None:
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-bench-")))
        ours = stack.enter_context(_claimcheck(directory))
        if "--memory" in arguments:
            _memory(ours)
            return
        peer = stack.enter_context(_peer(directory))
        print(f"{'':34}{'reviews/s':>10}{'CPU us':>8}{'generator us':>14}{'p50 ms':>8}{'p99 ms':>8}")
        kinds = (("one spec", Reviews), ("known expressions", Known), ("new expressions", New))
        for title, make in kinds:
            _compare(f"8 alternatives, {title}", ours, peer, make)
        for title, make in kinds:
            print(f"{RATE} reviews/s, {title}")
            for name, target in (("claimcheck", ours), ("peer", peer)):
                if target is not None:
                    load = steady(target, make(), rate=RATE, connections=2 * CONNECTIONS, seconds=2 * SECONDS)
                    _print(name, load)


@contextlib.contextmanager
def _claimcheck(directory: Path) -> Iterator[Target]:
    workers = os.cpu_count() or 1
    with running(
        directory,
        listen={"workers": workers},
        apiServer={"serves": "CustomResources"},
        lints="Off",
        logging={"level": "info"},
    ) as service:
        processes = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        yield Target(service.port, str(service.authority), sorted(processes))


def _compare(title: str, ours: Target, peer: Target | None, make: type[Reviews]) -> None:
    print(title)
    rates = []
    results: dict[str, list[Result]] = {}
    for _ in range(ROUNDS):
        for name, target in (("claimcheck", ours), ("peer", peer)):
            if target is not None:
                load = full_speed(target, make(), connections=CONNECTIONS, seconds=SECONDS)
                results.setdefault(name, []).append(load)
    for name, found in results.items():
        middle = sorted(found)[len(found) // 2]
        rates.append(middle)
        _print(name, middle)
    if peer is not None:
        mine, theirs = rates
        print(
            f"  {'ratio':32}{mine.rate / theirs.rate:9.1f}x{theirs.service_cpu / mine.service_cpu:7.1f}x",
            flush=True,
        )


def _print(name: str, load: Result) -> None:
    print(
        f"  {name:32}{load.rate:10.0f}{load.service_cpu * 1e6:8.0f}{load.generator_cpu * 1e6:14.0f}"
        f"{load.percentile(50) * 1e3:8.1f}{load.percentile(99) * 1e3:8.1f}",
        flush=True,
    )


def _memory(target: Target) -> None:
    """Print the memory of all workers after every tenth of the reviews; the first is the warm-up."""
    for title, make in (("known expressions", Known), ("new expressions", New)):
        sizes = []
        for step in range(STEPS + 1):
            counted(target, make(), connections=CONNECTIONS, count=REVIEWS // STEPS)
            if step:
                sizes.append(resident(target.processes))
        middle = statistics.median(sizes)
        off = max(abs(size - middle) for size in sizes) / middle
        print(f"{title}: {REVIEWS} reviews after {REVIEWS // STEPS} to warm up")
        print(f"  MiB after every tenth: {' '.join(f'{size:.1f}' for size in sizes)}")
        print(f"  at most {off:.1%} off their median", flush=True)


_NUMBERS = itertools.count(10**9)
_PLACEHOLDER = b"0123456789"


class Reviews:
    """Makes requests with one review each: claims with names of their own and one spec, as from a template."""

    def __init__(self) -> None:
        self._parts = request_of(json.dumps(admission(self.claim())).encode()).split(_PLACEHOLDER)

    def __call__(self) -> bytes:
        return (b"%d" % next(_NUMBERS)).join(self._parts)

    def claim(self) -> dict[str, Any]:
        claim = prioritized_claim(8)
        claim["metadata"]["name"] = f"claim-{_PLACEHOLDER.decode()}"
        return claim


class Known(Reviews):
    """Claims with specs of their own, with the same eight expressions in all of them."""

    def claim(self) -> dict[str, Any]:
        claim = super().claim()
        claim["spec"]["devices"]["requests"][0]["name"] = f"main-{_PLACEHOLDER.decode()}"
        return claim


class New(Reviews):
    """Claims with eight expressions that no service has seen before."""

    def claim(self) -> dict[str, Any]:
        claim = super().claim()
        for number, sub in enumerate(claim["spec"]["devices"]["requests"][0]["firstAvailable"]):
            text = f' && device.driver != "n{number}-{_PLACEHOLDER.decode()}"'
            sub["selectors"][0]["cel"]["expression"] += text
        return claim


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
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 30
            while not (authority.exists() and _listens(port)):
                if time.monotonic() > deadline:
                    raise SystemExit("the peer does not start")
                time.sleep(0.1)
            yield Target(port, str(authority), [process.pid])
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    main(sys.argv[1:])

"""Several processes on one socket: connections are shared out, and nobody outlives the process that started them."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import Counter
from pathlib import Path

from tests.webhook.running import Running, running
from webhook.accepting import Shares


def test_shares() -> None:
    """A process is busier if some other has fewer connections."""
    shares = Shares(3)
    assert not shares.is_busier(0)
    shares.set(0, 1)
    assert shares.is_busier(0)
    shares.set(1, 2)
    shares.set(2, 1)
    assert not shares.is_busier(0)
    assert shares.is_busier(1)


def owners(service: Running, processes: set[int]) -> Counter[int]:
    """How many connections each process has (Linux)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f":{service.port:04X}"
    inodes = {
        f"socket:[{fields[9]}]"
        for line in lines
        if (fields := line.split())[1].endswith(port) and fields[3] == "01"
    }
    found: Counter[int] = Counter()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                found[process] += os.readlink(link) in inodes
            except OSError:
                continue
    return found


def test_connections_are_shared_out(tmp_path: Path) -> None:
    """Two workers get about the same number of connections, also after some were closed."""
    with running(tmp_path, listen={"workers": 2}) as service:
        workers = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        opened = [service.connect() for _ in range(12)]
        for connection in opened:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read() == b"ok\n"
        counts = owners(service, workers)
        assert sum(counts.values()) == 12
        assert all(3 <= counts[worker] <= 9 for worker in workers), counts
        for connection in opened:
            connection.close()


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    """When the supervisor is killed, its workers drain and end, and the port is free again."""
    with running(tmp_path, listen={"workers": 2}, timeouts={"lameDuck": 0.1, "drain": 1}) as service:
        workers = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        os.kill(service.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 20
        while any(map(is_running, workers)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", service.port)) != 0
    assert sum(entry.get("message") == "stopped" for entry in service.logged) == 2

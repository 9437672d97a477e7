"""What a Service does for its pods, on loopback: connections go to those whose `/readyz` is 200."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.e2e.balancer import Balancer, balancing

PERIOD_SECONDS = 0.05
"""How often each is asked; kubelet asks once a second at most."""
_PROBE_SECONDS = 1.0


@contextlib.contextmanager
def ready_service(backends: Sequence[int], authority: Path) -> Iterator[Balancer]:
    """A balancer for those of these ports that are ready at the time; `authority` signs their certificates."""
    ending = threading.Event()
    with balancing([]) as balancer:
        lock = threading.Lock()

        def probe(port: int) -> None:
            while not ending.wait(PERIOD_SECONDS):
                ready = is_ready(port, authority)
                with lock:
                    if ready != (port in balancer.backends):
                        others = [each for each in balancer.backends if each != port]
                        balancer.backends = [*others, port] if ready else others

        probes = [threading.Thread(target=probe, args=(port,), daemon=True) for port in backends]
        for each in probes:
            each.start()
        try:
            yield balancer
        finally:
            ending.set()
            for each in probes:
                each.join()


def is_ready(port: int, authority: Path, path: str = "/readyz") -> bool:
    """Whether a replica says that it is ready, or one of the checks of that."""
    try:
        context = ssl.create_default_context(cafile=str(authority))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=_PROBE_SECONDS, context=context)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False

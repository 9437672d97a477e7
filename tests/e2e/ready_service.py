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
"""How often each is asked, for tests that measure a take-over; kubelet asks once a second at most."""
_PROBE_SECONDS = 1.0


@contextlib.contextmanager
def ready_service(
    backends: Sequence[int], authority: Path, seconds: float = PERIOD_SECONDS
) -> Iterator[Balancer]:
    """A balancer for those of these ports that are ready at the time.

    :param authority: signs their certificates.
    :param seconds: how often each is asked.
    """
    ending = threading.Event()
    with balancing([]) as balancer:
        lock = threading.Lock()

        def probe(port: int) -> None:
            with contextlib.closing(ReadinessProbe(port, authority)) as each:
                while not ending.wait(seconds):
                    ready = each.is_ready()
                    with lock:
                        if ready != (port in balancer.backends):
                            others = [other for other in balancer.backends if other != port]
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


class ReadinessProbe:
    """Asks one replica, always on the same connection: a handshake each time would be most of a replica's work."""

    def __init__(self, port: int, authority: Path, seconds: float = _PROBE_SECONDS) -> None:
        """`seconds`: how long an answer is waited for."""
        context = ssl.create_default_context(cafile=str(authority))
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=seconds, context=context)

    def is_ready(self, path: str = "/readyz") -> bool:
        """Whether it says that it is ready, or that one of the checks of that is passed."""
        try:
            self._connection.request("GET", path)
            answer = self._connection.getresponse()
            answer.read()
            return answer.status == 200
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return False

    def close(self) -> None:
        self._connection.close()


def is_ready(port: int, authority: Path, path: str = "/readyz") -> bool:
    """Whether a replica says that it is ready, or that one of the checks of that is passed."""
    with contextlib.closing(ReadinessProbe(port, authority)) as probe:
        return probe.is_ready(path)

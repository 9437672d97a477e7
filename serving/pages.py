"""The pages that every service has for kubelet and Prometheus: ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from aiohttp import web

from serving.http_server import Response, text
from serving.metrics_page import MetricsPage


class Pages:
    """Answers requests for pages.

    While ``draining``, ``/readyz`` fails. ``/readyz/NAME`` tells one of the checks, whatever the others are.

    :param checks: what has to be so before requests are answered, by name.
    :param metrics: what is at ``/metrics``; None for nothing.
    """

    def __init__(
        self,
        checks: Mapping[str, Callable[[], bool]] = MappingProxyType({}),
        metrics: MetricsPage | None = None,
    ) -> None:
        self.draining = False
        self._checks = checks
        self._metrics = metrics
        self._pages: dict[str, Callable[[], web.Response]] = {
            "/healthz": lambda: text(200, "ok"),
            "/readyz": self._readiness,
            **{f"/readyz/{name}": partial(_check, check) for name, check in checks.items()},
        }

    def is_ready(self) -> bool:
        """Whether all checks hold."""
        return all(check() for check in self._checks.values())

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """The page that a request asks for, or an error."""
        is_of_metrics = self._metrics is not None and request.path == "/metrics"
        if not is_of_metrics and request.path not in self._pages:
            return text(404, "there is nothing here")
        if request.method not in ("GET", "HEAD"):
            return text(405, "only GET", Allow="GET, HEAD")
        if self._metrics is not None and is_of_metrics:
            shown = await self._metrics.current()
            if shown is None:
                return text(500, "internal error")
            return Response(body=shown[0], headers={"Content-Type": shown[1]})
        return self._pages[request.path]()

    def _readiness(self) -> web.Response:
        return text(503, "shutting down") if self.draining else _checked(self.is_ready())


def _check(check: Callable[[], bool]) -> web.Response:
    return _checked(check())


def _checked(holds: bool) -> web.Response:
    return text(200, "ok") if holds else text(503, "not ready")

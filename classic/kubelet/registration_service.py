"""The service by which a plugin becomes known to kubelet, which finds its socket in the registry's directory."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from classic.kubelet.rpc import Service, method
from classic.kubelet.wire import registration
from cluster.event_writer import shown
from resourceapi.logs import log


class RegistrationService:
    """Says who the plugin is and where its services are, and hears whether kubelet took it.

    :ivar registered: set while kubelet's last word is that it took the plugin.
    """

    def __init__(self, driver_name: str, endpoint: Path) -> None:
        self.registered = asyncio.Event()
        self._info = registration.PluginInfo(
            type=registration.DRA_PLUGIN,
            name=driver_name,
            endpoint=str(endpoint),
            supported_versions=(registration.API_VERSION,),
        )

    def service(self) -> Service:
        """What the server needs."""
        return Service(
            registration.SERVICE,
            {
                registration.GET_INFO: method(registration.InfoRequest, self._get_info),
                registration.NOTIFY: method(registration.RegistrationStatus, self._notify),
            },
        )

    async def _get_info(
        self, _request: registration.InfoRequest, _seconds: float | None
    ) -> registration.PluginInfo:
        return self._info

    async def _notify(
        self, status: registration.RegistrationStatus, _seconds: float | None
    ) -> registration.RegistrationStatusResponse:
        """Kubelet tries again after a refusal, so that it is no reason to end."""
        if status.plugin_registered:
            self.registered.set()
            log(logging.INFO, "kubelet has registered the plugin", driver=self._info.name)
        else:
            self.registered.clear()
            log(
                logging.ERROR,
                "kubelet refuses the plugin",
                driver=self._info.name,
                reason=shown(status.error),
            )
        return registration.RegistrationStatusResponse()

"""The service ``pluginregistration.Registration``: kubelet asks who is behind a socket, and says whether it was taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from classic.kubelet.wire.message import Message, message

SERVICE = "pluginregistration.Registration"
GET_INFO = "GetInfo"
NOTIFY = "NotifyRegistrationStatus"

DRA_PLUGIN = "DRAPlugin"
"""The type of plugin by which kubelet knows resource drivers."""
API_VERSION = "1.0.0"
"""kubelet takes only 1.x; which ``Node`` service there is, it finds out by calling."""


@message("pluginregistration.InfoRequest")
@dataclass(frozen=True, slots=True)
class InfoRequest(Message):
    """Nothing: who is there?"""


@message("pluginregistration.PluginInfo")
@dataclass(frozen=True, slots=True)
class PluginInfo(Message):
    """The plugin, and the socket on which kubelet is to call it."""

    type: Annotated[str, 1] = ""
    name: Annotated[str, 2] = ""
    endpoint: Annotated[str, 3] = ""
    supported_versions: Annotated[tuple[str, ...], 4] = ()


@message("pluginregistration.RegistrationStatus")
@dataclass(frozen=True, slots=True)
class RegistrationStatus(Message):
    """Whether kubelet took the plugin, or why not."""

    plugin_registered: Annotated[bool, 1] = False
    error: Annotated[str, 2] = ""


@message("pluginregistration.RegistrationStatusResponse")
@dataclass(frozen=True, slots=True)
class RegistrationStatusResponse(Message):
    """Nothing."""

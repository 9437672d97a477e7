"""The kubelet's side of a classic driver: what a node plugin serves, and the CDI specs that it writes."""

from __future__ import annotations

from pathlib import Path

# Where a node has what kubelet, container runtimes and drivers share.

KUBELET = Path("/var/lib/kubelet")
#: In kubelet's directory, where it has the sockets of plugins, and where it looks for plugins.
PLUGINS, REGISTRY = "plugins", "plugins_registry"
#: Where runtimes look for specs that a driver writes while the node is up; it is empty after the node has been started.
CDI_SPECS = Path("/var/run/cdi")

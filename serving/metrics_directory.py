"""Where the processes of a server share what they count; set before ``prometheus_client`` is imported, which reads it."""

from __future__ import annotations

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

"""The configuration of ``claimcheck schedule``; its schema is ``config.schema.json``."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from serving.config_file import Config, assembled, read_config


def load_config(file: str) -> Config:
    """Read a configuration.

    :raises ConfigError: with everything that is wrong, in the order of the file.
    """
    config = read_config(file, schema_of_config())
    if config.get("leaderElection", "renewSeconds") * 3 > config.get("leaderElection", "leaseSeconds"):
        message = "leaderElection.renewSeconds: must be at most a third of leaderElection.leaseSeconds"
        raise config.error(("leaderElection", "renewSeconds"), message)
    if client_name(config):
        for name in ("certificateFile", "clientAuthorityFile"):
            if config.get("tls", name) is not None:
                message = f"tls.clientCertificate: not beside tls.{name}"
                raise config.error(("tls", "clientCertificate"), message)
    return config


def client_name(config: Config) -> str:
    """The name of kube-scheduler in a certificate that the own authority makes for it; empty if it makes none."""
    return config.get("tls", "clientCertificate") or ""


@cache
def schema_of_config() -> dict[str, Any]:
    """The published JSON Schema of the file."""
    return assembled(json.loads(files("scheduler").joinpath("config.schema.json").read_text("utf-8")))

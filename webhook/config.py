"""The configuration of ``claimcheck serve``; its schema is ``config.schema.json``."""

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
    return read_config(file, schema_of_config())


@cache
def schema_of_config() -> dict[str, Any]:
    """The published JSON Schema of the file."""
    return assembled(json.loads(files("webhook").joinpath("config.schema.json").read_text("utf-8")))

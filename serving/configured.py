"""What every service's :class:`serving.application.Application` has of its configuration."""

from __future__ import annotations

from serving.application import Settings
from serving.config_file import Config, ConfigError


class Configured:
    """The part of an application that the sections tell which all services have."""

    def __init__(self, config: Config, *, workers: int) -> None:
        """Take a configuration.

        :param workers: how many processes serve.
        """
        self._config = config
        self._workers = workers

    @property
    def settings(self) -> Settings:
        """The settings of the server."""
        get = self._config.get
        return Settings(
            address=get("listen", "address"),
            port=get("listen", "port"),
            workers=self._workers,
            connections=get("limits", "connections"),
            idle_seconds=get("timeouts", "idle"),
            drain_grace_seconds=get("timeouts", "lameDuck"),
            drain_seconds=get("timeouts", "drain"),
        )

    @property
    def log_level(self) -> str:
        """The name of the least level of log lines."""
        level: str = self._config.get("logging", "level")
        return level

    def config_error(self, section: str, message: str) -> ConfigError:
        """An error about a section of the configuration."""
        return self._config.error((section,), message)

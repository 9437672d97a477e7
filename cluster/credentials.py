"""Credentials of a kubeconfig's user: as the library loads them, but that of a plugin or none at all."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from kubernetes.config import ConfigException
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger


class PluginFailed(Exception):
    """A credential plugin that gives no credentials; the text is what it says itself, if anything, in several lines."""


class Loader(KubeConfigLoader):
    """Loads one context of a kubeconfig.

    Where the library goes on without credentials when a plugin fails, this one fails: an anonymous user sees other things.
    """

    context: str
    _cluster: Any
    _user: Any

    @classmethod
    def of_file(cls, file: str, context: str) -> Loader:
        """:param context: empty: the file's current one."""
        merged = KubeConfigMerger(file).config  # type: ignore[no-untyped-call]
        if merged is None:
            raise ConfigException("Invalid kube-config file. No configuration found.")
        loader = cls(config_dict=merged, active_context=context or None, config_base_path=None)
        loader.context = context or str(loader.current_context["name"])
        return loader

    @property
    def user(self) -> Mapping[str, Any]:
        """What the file says of the user."""
        found = getattr(self._user, "value", None)
        return found if isinstance(found, dict) else {}

    def _load_from_exec_plugin(self) -> bool:
        """:raises PluginFailed: if there is none, or it fails."""
        if "exec" not in self.user:
            return False
        try:
            directory = self._get_base_path(self._cluster.path)  # type: ignore[no-untyped-call]
            status = ExecProvider(self._user["exec"], directory, self._cluster).run()  # type: ignore[no-untyped-call]
        except (ConfigException, OSError) as error:
            said = str(error)
            raise PluginFailed(said if said.startswith("exec: ") else f"exec: {said}") from None
        except AttributeError:  # from the library, for a plugin whose errors went to the terminal
            raise PluginFailed("exec: process failed") from None
        if not isinstance(status, dict):
            raise PluginFailed("exec: the plugin's status is no mapping")
        token, certificate, key = (
            status.get(name) for name in ("token", "clientCertificateData", "clientKeyData")
        )
        if not token and not (certificate and key):
            raise PluginFailed("exec: the plugin gives neither a token nor a certificate with its key")
        given = {"token": token} if token else {}
        if certificate and key:
            given["client-certificate-data"] = b64encode(str(certificate).encode()).decode()
            given["client-key-data"] = b64encode(str(key).encode()).decode()
        self._user.value = {**self.user, **given}
        self._load_user_token()  # type: ignore[no-untyped-call]
        return True

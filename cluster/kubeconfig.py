"""Access as a kubeconfig file describes it (Kubernetes docs, "Organizing Cluster Access Using kubeconfig Files")."""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from kubernetes.client import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger
from yaml import YAMLError

from cluster.access import Access
from documents.errors import DocumentError
from documents.sources import read_file
from resourceapi.errors import ClaimcheckError
from resourceapi.shortening import shortened

# What is shown of the output of a credential plugin.
MAX_COMPLAINT = 2_000
# What may stand in the name of a header; all else of a key is percent-encoded.
_HEADER_PUNCTUATION = "!#$&'*+-.^_`|~"
# The library lets through whatever a file provokes in it.
_UNUSABLE = (ConfigException, YAMLError, OSError, ValueError, TypeError, LookupError, AttributeError)


class KubeconfigError(ClaimcheckError):
    """A kubeconfig that cannot be used; the text may have several lines and quote the output of a credential plugin."""


def kubeconfig_access(file: str, context: str = "") -> tuple[Access, str]:
    """Access to the cluster of a context, and the context's name.

    :param context: empty: the file's current context.
    :raises KubeconfigError: if the file cannot be used.
    """
    try:
        read_file(file)  # for a clear message if it cannot be read
        with _quiet():
            loader = _Loader.of_file(file, context)
            configuration = Configuration()
            loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
            impersonation = list(_impersonation(loader.user))
            configuration.retries = False
            pool = RESTClientObject(configuration).pool_manager
    except DocumentError as error:
        raise KubeconfigError(error.message) from None
    except _UNUSABLE as error:
        raise KubeconfigError((str(error).strip().splitlines() or [type(error).__name__])[0]) from None
    if not configuration.verify_ssl:  # as the file says; kubectl does not warn either
        from urllib3 import disable_warnings

        disable_warnings()
    return Access(configuration.host, pool, lambda: [*loader.authorization(), *impersonation]), loader.context


class _Loader(KubeConfigLoader):
    """Loads one context of a kubeconfig.

    Where the library goes on without credentials when a plugin fails, this one fails: an anonymous user sees other
    things.
    """

    context: str
    token: str
    _cluster: Any
    _user: Any

    @classmethod
    def of_file(cls, file: str, context: str) -> _Loader:
        """:param context: empty: the file's current one."""
        merged = KubeConfigMerger(file).config  # type: ignore[no-untyped-call]
        if merged is None:
            raise ConfigException("Invalid kube-config file. No configuration found.")
        loader = cls(config_dict=merged, active_context=context or None, config_base_path=None)
        loader.context = context or str(loader.current_context["name"])
        return loader

    @property
    def user(self) -> Mapping[str, Any]:
        """The user's entry in the file."""
        found = getattr(self._user, "value", None)
        return found if isinstance(found, dict) else {}

    def authorization(self) -> Iterator[tuple[str, str]]:
        """The header with the user's token, if there is one; a token in a file is read anew.

        :raises OSError: if that file cannot be read.
        """
        if "tokenFile" in self.user:
            self._load_user_token()  # type: ignore[no-untyped-call]
        token = getattr(self, "token", "")
        if token:  # one from a file may end in a line break, which no header can hold
            yield "Authorization", token.strip()

    def _load_from_exec_plugin(self) -> bool:
        """:raises KubeconfigError: if the plugin is missing or fails."""
        if "exec" not in self.user:
            return False
        try:
            directory = self._get_base_path(self._cluster.path)  # type: ignore[no-untyped-call]
            status = ExecProvider(self._user["exec"], directory, self._cluster).run()  # type: ignore[no-untyped-call]
        except (ConfigException, OSError) as error:
            output = str(error)
            raise _plugin_error(output.removeprefix("exec: ")) from None
        except AttributeError:  # from the library, for a plugin whose errors went to the terminal
            raise _plugin_error("process failed") from None
        if not isinstance(status, dict):
            raise _plugin_error("the plugin's status is no mapping")
        token, certificate, key = (
            status.get(name) for name in ("token", "clientCertificateData", "clientKeyData")
        )
        if not token and not (certificate and key):
            raise _plugin_error("the plugin gives neither a token nor a certificate with its key")
        given = {"token": token} if token else {}
        if certificate and key:
            given["client-certificate-data"] = b64encode(str(certificate).encode()).decode()
            given["client-key-data"] = b64encode(str(key).encode()).decode()
        self._user.value = {**self.user, **given}
        self._load_user_token()  # type: ignore[no-untyped-call]
        return True


def _plugin_error(output: str) -> KubeconfigError:
    return KubeconfigError(shortened(f"exec: {output}", MAX_COMPLAINT))


def _impersonation(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The headers by which a user acts as another one (Kubernetes docs, "User impersonation").

    :raises TypeError: for values of a wrong type.
    :raises ValueError: for attributes of a user without a name.
    """
    name, uid = user.get("as"), user.get("as-uid")
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not isinstance(groups, list) or not isinstance(extra, dict):
        raise TypeError("as-groups must be a list, as-user-extra a mapping")
    headers = [("Impersonate-User", name), ("Impersonate-Uid", uid)]
    headers += [("Impersonate-Group", group) for group in groups]
    for key, values in extra.items():
        if not isinstance(values, list):
            raise TypeError("as-user-extra must have a list of strings for each key")
        header = "Impersonate-Extra-" + quote(str(key), safe=_HEADER_PUNCTUATION)
        headers += [(header, value) for value in values]
    given = [(header, value) for header, value in headers if value]
    if given and not name:
        raise ValueError("as-uid, as-groups and as-user-extra need a user: as")
    for header, value in given:
        if not isinstance(value, str):
            raise TypeError(f"{header}: not a string")
        yield header, value


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the library's log lines off the terminal: what matters is reported."""
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)

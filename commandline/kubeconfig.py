"""A connection to a cluster as a kubeconfig file describes it (Kubernetes docs, "Organizing Cluster Access").

Understood are servers with and without TLS, client certificates, tokens, and credential plugins (`exec`), which is what
kubectl's own configurations hold; not the login methods that Kubernetes has dropped.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Mapping
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, Request, build_opener

from commandline.errors import UsageError
from documents import Document, parse
from documents.errors import DocumentError
from documents.sources import read_file

TIMEOUT_SECONDS = 30
PLUGIN_TIMEOUT_SECONDS = 60
MAX_ANSWER_BYTES = 256 * 1024 * 1024

Settings = dict[str, Any]


class Unavailable(Exception):
    """The cluster gives no answer, or none that is of use."""


class Cluster:
    """Sends requests to one cluster.  ``name`` is that of the context."""

    def __init__(self, file: str, context: str = "") -> None:
        """
        :param context: which of the file's contexts; empty: its current one.
        :raises UsageError: for a file that cannot be used.
        """
        self._file = file
        config = self._read()
        self.name = context or str(config.get("current-context") or "")
        if not self.name:
            raise self._unusable("it has no current context: name one with --context")
        chosen = self._entry(config, "contexts", "context", self.name)
        cluster = self._entry(config, "clusters", "cluster", str(chosen.get("cluster") or ""))
        user = self._entry(config, "users", "user", str(chosen["user"])) if chosen.get("user") else {}
        self._server = str(cluster.get("server") or "").rstrip("/")
        if not self._server.startswith(("http://", "https://")):
            raise self._unusable(f"the cluster of context {self.name} has no server")
        self._headers = {"Accept": "application/json", **self._authorization(user)}
        self._opener = self._connected(cluster, user)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The object at a path of the API.

        :raises Unavailable: if there is none.
        """
        url = self._server + path + ("?" + urlencode(query) if query else "")
        try:
            with self._opener.open(Request(url, headers=self._headers), timeout=TIMEOUT_SECONDS) as response:
                answer = json.loads(response.read(MAX_ANSWER_BYTES))
        except HTTPError as error:
            with error:
                raise Unavailable(f"the server answers {error.code} {error.reason}") from None
        except URLError as error:
            raise Unavailable(f"no answer from {self._server}: {error.reason}") from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"no usable answer from {self._server}: {error}") from None
        if not isinstance(answer, dict):
            raise Unavailable(f"no usable answer from {self._server}")
        return answer

    # --- the file -----------------------------------------------------------------------------------------------

    def _unusable(self, why: str) -> UsageError:
        return UsageError(f"--kubeconfig {self._file}: {why}")

    def _read(self) -> Settings:
        try:
            found = next(parse(read_file(self._file), self._file), None)
        except DocumentError as error:
            raise self._unusable(error.message) from None
        if isinstance(found, Document):
            return found.value
        raise self._unusable("it is empty" if found is None else str(found))

    def _entry(self, config: Settings, section: str, key: str, name: str) -> Settings:
        """An entry of one of the file's lists."""
        entries = config.get(section)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(key), dict):
                settings: Settings = entry[key]
                return settings
        raise self._unusable(f"it has no {key} {name!r}")

    def _bytes(self, settings: Settings, key: str) -> bytes | None:
        """What stands in the file itself (``…-data``), or in another file that it names."""
        data, path = settings.get(f"{key}-data"), settings.get(key)
        try:
            if isinstance(data, str) and data:
                return base64.b64decode(data, validate=True)
            if isinstance(path, str) and path:
                return read_file(os.path.join(os.path.dirname(self._file), path))
        except (DocumentError, binascii.Error) as error:
            raise self._unusable(f"{key}: {error}") from None
        return None

    # --- who asks -----------------------------------------------------------------------------------------------

    def _authorization(self, user: Settings) -> dict[str, str]:
        if isinstance(user.get("exec"), dict):
            self._run_plugin(user)
        token = user.get("token")
        if not token and isinstance(user.get("tokenFile"), str):
            token = (self._bytes({"tokenFile": user["tokenFile"]}, "tokenFile") or b"").decode().strip()
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _run_plugin(self, user: Settings) -> None:
        """Ask a credential plugin, and put what it answers among the user's settings."""
        plugin = user["exec"]
        api_version = str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1")
        asked = {"apiVersion": api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environment = {**os.environ, "KUBERNETES_EXEC_INFO": json.dumps(asked)}
        for variable in plugin.get("env") or ():
            environment[str(variable["name"])] = str(variable["value"])
        command = [str(plugin.get("command")), *(str(argument) for argument in plugin.get("args") or ())]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, timeout=PLUGIN_TIMEOUT_SECONDS, check=True
            )
            status = json.loads(done.stdout)["status"]
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
            raise self._unusable(f"the credential plugin {command[0]} fails: {error}") from None
        user["token"] = status.get("token")
        for key, answered in (
            ("client-certificate", "clientCertificateData"),
            ("client-key", "clientKeyData"),
        ):
            if status.get(answered):
                user[f"{key}-data"] = base64.b64encode(status[answered].encode()).decode()

    # --- the connection -----------------------------------------------------------------------------------------

    def _connected(self, cluster: Settings, user: Settings) -> OpenerDirector:
        proxy = cluster.get("proxy-url")
        proxies = ProxyHandler({"http": str(proxy), "https": str(proxy)} if proxy else None)
        if not self._server.startswith("https://"):
            return build_opener(proxies)
        try:
            return build_opener(proxies, HTTPSHandler(context=self._tls(cluster, user)))
        except ssl.SSLError as error:
            raise self._unusable(f"its certificates cannot be used: {error}") from None

    def _tls(self, cluster: Settings, user: Settings) -> ssl.SSLContext:
        authority = self._bytes(cluster, "certificate-authority")
        context = ssl.create_default_context(
            cadata=authority.decode("ascii", "replace") if authority else None
        )
        if cluster.get("insecure-skip-tls-verify") is True:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        certificate, key = self._bytes(user, "client-certificate"), self._bytes(user, "client-key")
        if certificate and key:
            # OpenSSL reads them from files only.
            with tempfile.NamedTemporaryFile() as file:
                file.write(certificate + b"\n" + key)
                file.flush()
                context.load_cert_chain(file.name)
        return context

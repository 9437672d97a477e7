"""A connection to a cluster as a kubeconfig file describes it (Kubernetes docs, "Organizing Cluster Access")."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from commandline.errors import UsageError
from commandline.reports.escaping import on_one_line
from documents.errors import DocumentError
from documents.sources import read_file
from resourceapi.shortening import shortened

TIMEOUT_SECONDS = 30
# So much is shown of what a credential plugin says.
MAX_COMPLAINT = 2_000
# What may stand in the name of a header; all else of a key is percent-encoded.
_HEADER_PUNCTUATION = "!#$&'*+-.^_`|~"


class Unavailable(Exception):
    """The cluster gives no answer, or none that is of use.  ``code`` is the HTTP status with which it refuses, else 0."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class Cluster:
    """Sends requests to one cluster.  ``name`` is that of the context."""

    def __init__(self, file: str, context: str = "") -> None:
        """
        :param context: which of the file's contexts; empty: its current one.
        :raises UsageError: for a file that cannot be used.
        """
        # loaded here, since it takes longer than all the rest of a run on files
        from kubernetes import client, config
        from yaml import YAMLError

        from cluster.credentials import Loader, PluginFailed

        unusable = (
            config.ConfigException,
            YAMLError,
            OSError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
        )
        try:
            read_file(file)  # for a clear message if it cannot be read
            with _quiet():
                loader = Loader.of_file(file, context)
                self.name = loader.context
                configuration = client.Configuration()
                loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
                self._impersonation = list(_impersonation(loader.user))
                self._client = client.ApiClient(configuration)
        except DocumentError as error:
            raise UsageError(f"--kubeconfig {file}: {error.message}") from None
        except PluginFailed as error:
            complaint = on_one_line(shortened(str(error), MAX_COMPLAINT))
            raise UsageError(f"--kubeconfig {file}: {complaint}") from None
        except unusable as error:  # the library lets through whatever the file provokes in it
            raise UsageError(f"--kubeconfig {file}: {_first_line(error)}") from None
        configuration.retries = False
        if not configuration.verify_ssl:  # which the file says, and kubectl does not remark upon
            from urllib3 import disable_warnings

            disable_warnings()
        configuration.refresh_api_key_hook = None  # a run is too short for a token to expire
        # a token that is read from a file may end in a line break, which no header can hold
        configuration.api_key = {name: key.strip() for name, key in configuration.api_key.items()}

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The object at a path of the API.

        :raises Unavailable: if there is none.
        """
        code, answer = self.ask("GET", path, query=query)
        if code >= 300:
            raise Unavailable(f"the server answers {code} {answer.get('message') or ''}".rstrip(), code)
        return answer

    def ask(
        self,
        verb: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> tuple[int, dict[str, Any]]:
        """Send one request: HTTP status and the object in the answer, a Status if it is refused.

        :raises Unavailable: if there is no answer, or none of use.
        """
        from kubernetes.client.exceptions import OpenApiException
        from urllib3 import HTTPHeaderDict
        from urllib3.exceptions import HTTPError

        host = self._client.configuration.host
        try:
            method, url, headers, content, _ = self._client.param_serialize(
                verb,
                path,
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json", "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
            )
            sent = HTTPHeaderDict(headers)
            for name, value in self._impersonation:
                sent.add(name, value)
            response = self._client.call_api(method, url, sent, content, _request_timeout=TIMEOUT_SECONDS)
            data: bytes = response.read()  # type: ignore[no-untyped-call]
        except (OpenApiException, HTTPError, OSError, ValueError) as error:
            raise Unavailable(f"no answer from {host}: {_cause(error)}") from None
        if response.status >= 300:
            return response.status, {"message": _told(data) or response.reason}
        try:
            answer = json.loads(data)
        except ValueError as error:
            raise Unavailable(f"no usable answer from {host}: {error}") from None
        if not isinstance(answer, dict):
            raise Unavailable(f"no usable answer from {host}")
        return response.status, answer


def _impersonation(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The headers that ask to act for somebody else (Kubernetes docs, "User impersonation").

    :raises TypeError: for what is no text, list or mapping where one belongs.
    :raises ValueError: for parts of a user without a name.
    """
    name, uid = user.get("as"), user.get("as-uid")
    groups, extra = user.get("as-groups") or [], user.get("as-user-extra") or {}
    if not isinstance(groups, list) or not isinstance(extra, dict):
        raise TypeError("as-groups must be a list, as-user-extra a mapping")
    headers = [("Impersonate-User", name), ("Impersonate-Uid", uid)]
    headers += [("Impersonate-Group", group) for group in groups]
    for key, values in extra.items():
        if not isinstance(values, list):
            raise TypeError("as-user-extra must have a list of texts for each key")
        header = "Impersonate-Extra-" + quote(str(key), safe=_HEADER_PUNCTUATION)
        headers += [(header, value) for value in values]
    given = [(header, value) for header, value in headers if value]
    if given and not name:
        raise ValueError("as-uid, as-groups and as-user-extra need a user: as")
    for header, value in given:
        if not isinstance(value, str):
            raise TypeError(f"{header}: not a text")
        yield header, value


class _quiet:
    """Keeps the library's log lines off the terminal: what matters is reported."""

    def __enter__(self) -> None:
        logging.disable(logging.ERROR)

    def __exit__(self, *exception: object) -> None:
        logging.disable(logging.NOTSET)


def _cause(error: Exception) -> str:
    """What a connection failed for, without the wrapping of the libraries."""
    reason = getattr(error, "reason", None)
    text = _first_line(reason if isinstance(reason, Exception) else error)
    return text.rpartition("): ")[2] or text


def _told(data: bytes) -> str:
    """The message of the Status with which the server refuses a request."""
    try:
        message = json.loads(data)["message"]
    except (ValueError, LookupError, TypeError):
        return ""
    return message if isinstance(message, str) else ""


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__

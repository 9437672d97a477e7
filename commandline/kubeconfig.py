"""A connection to a cluster as a kubeconfig file describes it (Kubernetes docs, "Organizing Cluster Access")."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from commandline.errors import UsageError
from documents.errors import DocumentError
from documents.sources import read_file

TIMEOUT_SECONDS = 30


class Unavailable(Exception):
    """The cluster gives no answer, or none that is of use."""


class Cluster:
    """Sends requests to one cluster.  ``name`` is that of the context."""

    def __init__(self, file: str, context: str = "") -> None:
        """
        :param context: which of the file's contexts; empty: its current one.
        :raises UsageError: for a file that cannot be used.
        """
        # loaded here, since it takes longer than all the rest of a run on files
        from kubernetes import config
        from yaml import YAMLError

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
                _, current = config.list_kube_config_contexts(file)  # type: ignore[no-untyped-call]
                self.name = context or str(current["name"])
                self._client = config.new_client_from_config(  # type: ignore[no-untyped-call]
                    file, self.name, persist_config=False
                )
        except DocumentError as error:
            raise UsageError(f"--kubeconfig {file}: {error.message}") from None
        except unusable as error:  # the library lets through whatever the file provokes in it
            raise UsageError(f"--kubeconfig {file}: {_first_line(error)}") from None
        configuration = self._client.configuration
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
            raise Unavailable(f"the server answers {code} {answer.get('message') or ''}".rstrip())
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
        from urllib3.exceptions import HTTPError

        host = self._client.configuration.host
        try:
            request = self._client.param_serialize(
                verb,
                path,
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json", "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
            )
            response = self._client.call_api(*request, _request_timeout=TIMEOUT_SECONDS)
            data = response.read()
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

"""``--kubeconfig``: the live objects of a cluster instead of files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from commandline.errors import UsageError
from commandline.manifests import Manifest
from commandline.results import Failure, Result
from documents.document import Path
from documents.errors import DocumentError
from documents.positions import Place
from resourceapi.fieldpath import json_pointer
from resourceapi.model import workloads
from resourceapi.model.versions import GROUP
from resourceapi.releases import KINDS

PAGE = 500
CONTEXT_LISTS = (("v1", "Namespace", "namespaces"), ("v1", "Node", "nodes"))
WORKLOAD_LISTS = tuple(
    (f"{group}/v1".lstrip("/"), kind, workloads.RESOURCES[kind])
    for group, kinds in workloads.KINDS.items()
    for kind in kinds
)
# What a server sets itself; sent with a new object it would only be dropped again.
SERVER_FIELDS = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
TIMEOUT_SECONDS = 30


class LiveObject:
    """An object of a cluster.  It has a name where others have a file, and no lines."""

    index = 0
    line = 0
    notices: tuple[DocumentError, ...] = ()

    def __init__(self, cluster: str, resource: str, value: dict[str, Any]) -> None:
        self.value = value
        metadata = value.get("metadata") or {}
        parts = (cluster, resource, metadata.get("namespace"), metadata.get("name"))
        self.file = "/".join(str(part) for part in parts if part)

    def locate(self, path: Path) -> Place:
        return Place(0, 0, 1, exact=False)

    locate_key = locate

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        return Place(0, 0, 1, exact=False)

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        return []

    def source_line(self, number: int) -> str:
        return ""

    def json_pointer(self, path: Path) -> str:
        return json_pointer(path)


def live_objects(kubeconfig: str, context: str) -> Iterator[Manifest | Result | Failure]:
    """All DRA objects of a cluster, and the pods, workloads, namespaces and nodes.

    :param context: the name of a context in the file; empty: its current one.
    :raises UsageError: without the ``kubernetes`` package, or if the file cannot be used.
    """
    client, cluster = _connect(kubeconfig, context)
    for api_version, kind, resource in (*CONTEXT_LISTS, *_group_lists(client), *WORKLOAD_LISTS):
        try:
            for item in _items(client, api_version, resource):
                value = {"apiVersion": api_version, "kind": kind, **_without_server_fields(item)}
                if kind in workloads.RESOURCES and not _uses_claims(value):
                    continue
                yield LiveObject(cluster, resource, value)
        except _Unavailable as error:
            yield Failure(f"{cluster}/{resource}", str(error))


class _Unavailable(Exception):
    """The cluster does not give a list."""


def _connect(kubeconfig: str, context: str) -> tuple[Any, str]:
    """A client of the ``kubernetes`` package, which knows every way to log in, and what to call the cluster."""
    try:
        from kubernetes import config
    except ImportError:
        raise UsageError("--kubeconfig needs the Python package kubernetes: pip install kubernetes") from None
    try:
        client = config.new_client_from_config(config_file=kubeconfig, context=context or None)
        _, current = config.list_kube_config_contexts(config_file=kubeconfig)
    except (config.ConfigException, OSError) as error:
        raise UsageError(f"--kubeconfig {kubeconfig}: {error}") from None
    return client, context or current["name"]


def _group_lists(client: Any) -> list[tuple[str, str, str]]:
    """The kinds of the DRA group, each in the best version that the cluster serves."""
    versions = _get(client, f"/apis/{GROUP}", {}).get("versions", ())
    served = [entry["version"] for entry in versions]
    resources = {
        version: {entry["name"] for entry in _get(client, f"/apis/{GROUP}/{version}", {})["resources"]}
        for version in served
    }
    lists = []
    for kind in KINDS.values():
        best = next(
            (version for version in kind.versions if kind.resource in resources.get(version, ())), None
        )
        if best is not None:
            lists.append((f"{GROUP}/{best}", kind.name, kind.resource))
    return lists


def _items(client: Any, api_version: str, resource: str) -> Iterator[dict[str, Any]]:
    """The objects of a list, page by page."""
    path = f"/apis/{api_version}/{resource}" if "/" in api_version else f"/api/{api_version}/{resource}"
    query = {"limit": str(PAGE)}
    while True:
        page = _get(client, path, query)
        yield from page.get("items") or ()
        following = (page.get("metadata") or {}).get("continue")
        if not following:
            return
        query = {"limit": str(PAGE), "continue": following}


def _get(client: Any, path: str, query: dict[str, str]) -> dict[str, Any]:
    """:raises _Unavailable: if there is no answer, or none that is of use."""
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        response = client.call_api(
            path,
            "GET",
            query_params=list(query.items()),
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
            _request_timeout=TIMEOUT_SECONDS,
        )
        answer = json.loads(response.data)
    except ApiException as error:
        raise _Unavailable(f"the server answers {error.status} {error.reason}") from None
    except (HTTPError, ValueError) as error:
        raise _Unavailable(f"no usable answer: {error}") from None
    if not isinstance(answer, dict):
        raise _Unavailable("no usable answer")
    return answer


def _without_server_fields(item: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in (item.get("metadata") or {}).items() if key not in SERVER_FIELDS}
    return {**item, "metadata": metadata}


def _uses_claims(value: dict[str, Any]) -> bool:
    from validation.lints.shapes import pod_spec

    return bool(pod_spec(value)[1].get("resourceClaims"))

"""Requests for pods, and texts that answers to them have in common."""

from __future__ import annotations

from typing import Any

from resourceapi.objects import Object
from resourceapi.releases import Profile
from validation.requests import Answer, Request
from validation.server import Server

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    " an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY_NAME = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric"
    " character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
CLAIM = {"name": "a", "resourceClaimName": "c"}
NO_LIMIT = "Required value: Limit must be set for non overcommitable resources"


def container(**fields: Any) -> Object:
    return {"name": "app", "image": "registry.example.com/app:1", **fields}


def asking(**resources: Any) -> Object:
    """The spec of a pod whose only container has resources; the pod has the claim ``a``."""
    return {"containers": [container(resources=resources)], "resourceClaims": [CLAIM]}


def post(kind: str, api_version: str, obj: Object, release: str = "1.37", **more: Any) -> Answer:
    body = {"apiVersion": api_version, "kind": kind, **obj}
    request = Request(api_version=api_version, kind=kind, namespace="default", body=body, **more)
    return Server(Profile(release)).handle(request)


def post_pod(spec: Object, release: str = "1.37", **more: Any) -> Answer:
    return post("Pod", "v1", {"metadata": {"name": "pod"}, "spec": spec}, release, **more)


def texts(answer: Answer) -> list[str]:
    assert answer.code in (201, 200, 422), answer.message
    return [str(error) for error in answer.errors]
